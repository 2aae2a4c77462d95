// How long a branch stays in the trash.

/** The setting as it is stored (JSON: milliseconds, or null for ever), or `otherwise` when a person has set none. */
export function keptMsOf(stored: string | undefined, otherwise: number): number | null {
  if (stored === undefined) return otherwise;
  const value: unknown = JSON.parse(stored);
  return typeof value === 'number' ? value : null;
}

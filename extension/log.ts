// What the extension writes to its log: an output channel of the editor, or a test's list. Texts of
// conversations and keys never go there; ids, states and errors do.

/** The part of VS Code's LogOutputChannel that is used. */
export interface Log {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** One line about an error for the log: its code and ids when it is ours. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? `${code}: ${error.message}` : error.message;
}

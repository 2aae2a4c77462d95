// The one assertion of the product. What it guards must hold; when it does not, there is a bug, and the turn
// that met it ends with the message (the process goes on).

/** What an assertion that failed throws. */
export class InvariantError extends Error {
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(message: string, facts: Readonly<Record<string, unknown>>) {
    super(`${message} ${JSON.stringify(facts)}`);
    this.name = 'InvariantError';
    this.facts = facts;
  }
}

/** Throws unless `holds`. `facts` are ids and numbers for the log. */
export function invariant(
  holds: boolean,
  message: string,
  facts: Readonly<Record<string, unknown>> = {},
): asserts holds {
  if (!holds) throw new InvariantError(message, facts);
}

/** Returns a value that must be there. */
export function must<T>(
  value: T | undefined | null,
  message: string,
  facts: Readonly<Record<string, unknown>> = {},
): T {
  if (value === undefined || value === null) throw new InvariantError(message, facts);
  return value;
}

// The protocol's version. A client of the same major attaches; a new method, field or action adds to the minor.

export const protocolVersion = { major: 1, minor: 0 } as const;

/** Sorts builds: a newer one may take over from an older one, never the reverse. Year, month, day and a counter. */
export const build = '2026.11.30.1';

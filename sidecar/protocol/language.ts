// What language servers of an editor say about files, in the words of the Language Server Protocol (3.17): lines and
// characters count from 0, characters are UTF-16 units, severities are its numbers. Files are absolute paths.

export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

/** 1 error, 2 warning, 3 information, 4 hint. */
export type Severity = 1 | 2 | 3 | 4;

export interface Diagnostic {
  readonly path: string;
  readonly range: Range;
  readonly severity: Severity;
  readonly message: string;
  /** Who says so, such as `ts` or `eslint`; null: it is not said. */
  readonly source: string | null;
  readonly code: string | null;
}

export interface Diagnostics {
  /** Errors first; at most as many as were asked for. */
  readonly diagnostics: readonly Diagnostic[];
  /** How many there are beyond those. */
  readonly more: number;
  /** For a file that stands in no tab: some servers, TypeScript's among them, check only files that do. */
  readonly unseen: boolean;
}

/** What can be asked about the name at a position. */
export type Seek = 'definition' | 'references' | 'implementation';

export interface CodeLocation {
  readonly path: string;
  readonly range: Range;
  /** The text of its first line, without the spaces around it; null: it cannot be read. */
  readonly text: string | null;
}

export interface Locations {
  readonly locations: readonly CodeLocation[];
  readonly more: number;
}

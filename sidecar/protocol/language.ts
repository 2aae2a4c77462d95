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

/** Puts `newText` in the place of what stands in the range. */
export interface TextEdit {
  readonly range: Range;
  readonly newText: string;
}

/** The edits of one file; as LSP's TextDocumentEdit, with the text itself named instead of a version of it. */
export interface FileEdits {
  readonly path: string;
  /** SHA-256 (hex) of the text that the ranges are of, as UTF-8, without a byte order mark, line ends as `\n`. */
  readonly text: string;
  readonly edits: readonly TextEdit[];
}

/** What a rename would change. The editor itself changes nothing. */
export type Renaming =
  | {
      readonly kind: 'edit';
      /** The name that the server renames, which may be another one than stands at the position; null: it does not say. */
      readonly renames: string | null;
      readonly documentChanges: readonly FileEdits[];
      /** What the server wants besides edits of files: files made, moved or removed. Only counted. */
      readonly fileOperations: number;
    }
  /** The editor's text of the file is not the one that the position is of. */
  | { readonly kind: 'stale' }
  | {
      readonly kind: 'refused';
      /** No language server knows this file; else one does, and `message` is why it does not rename here. */
      readonly unknown: boolean;
      readonly message: string;
    };

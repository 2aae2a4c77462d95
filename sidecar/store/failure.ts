// What an error of SQLite means for a person: one place that reads its codes.
//
// Codes are the extended result codes of https://sqlite.org/rescode.html, as better-sqlite3 spells them.

import Database from 'better-sqlite3';
import { RoostError } from '../protocol/errors.ts';

/** SQLite's code of an error, or null when the error is not SQLite's. */
export function codeOf(error: unknown): string | null {
  return error instanceof Database.SqliteError ? error.code : null;
}

/** True when a code says that there is no room on the disk. */
export const isFull = (code: string): boolean => code === 'SQLITE_FULL';

/** The error to show when a store did not open. */
export function openFailure(error: unknown, directory: string): unknown {
  if (error instanceof RoostError) return error;
  const code = codeOf(error) ?? nodeCode(error);
  const said = error instanceof Error ? error.message : String(error);
  if (code === null) return error;
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') {
    return new RoostError(
      'store/corrupt',
      `The store in ${directory} is damaged (${said}). Nothing was changed. Move the folder away to start with an empty store, or put a backup in its place.`,
      { code },
    );
  }
  if (isFull(code) || code === 'ENOSPC' || code === 'EDQUOT') {
    return new RoostError(
      'store/full',
      `There is no room for the store in ${directory}. Free some space and try again.`,
      { code },
    );
  }
  if (code.startsWith('SQLITE_BUSY')) {
    return new RoostError(
      'store/owned',
      `Another program holds the store in ${directory}. Close it and try again.`,
      { code },
    );
  }
  if (unwritable.has(code) || code.startsWith('SQLITE_CANTOPEN') || code.startsWith('SQLITE_READONLY')) {
    return new RoostError(
      'store/unwritable',
      `The folder ${directory} cannot be written (${said}). Give yourself the right to write there, or choose another folder with --store.`,
      { code },
    );
  }
  return new RoostError(
    'store/failed',
    `The store in ${directory} could not be opened (${said}). Check the disk and try again.`,
    { code },
  );
}

const unwritable = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOTDIR',
  'EEXIST',
  'ENOENT',
  'SQLITE_PERM',
  'SQLITE_AUTH',
]);

/** The code of an error of Node's own calls, such as ENOSPC. */
export function nodeCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

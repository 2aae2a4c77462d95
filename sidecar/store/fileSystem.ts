// Refuses folders on file systems where a database in WAL mode is known to break.

import { statfsSync } from 'node:fs';
import { RoostError } from '../protocol/errors.ts';

/**
 * Linux's numbers of network and shared file systems (linux/magic.h, and vboxsf's own header). WAL needs memory
 * shared between connections and locks that hold, and these give neither reliably
 * (https://sqlite.org/wal.html, 1; https://sqlite.org/howtocorrupt.html, 2.1). A FUSE file system may be a
 * local, encrypted one, so it is let in.
 */
const refused: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9p (a Windows folder seen from WSL, or a folder of the host of a virtual machine)'],
  [0x786f4256, 'vboxsf (a shared folder of VirtualBox)'],
  [0x5346414f, 'AFS'],
  [0x73757245, 'Coda'],
]);

/**
 * @throws RoostError `store/fileSystem` when a store in this folder could be damaged (case 117).
 */
export function checkFileSystem(directory: string): void {
  const name = networkKind(directory);
  if (name === null) return;
  throw new RoostError(
    'store/fileSystem',
    `The folder ${directory} is on ${name}, where a database can be damaged. Choose a folder on a disk of this machine with --store.`,
    { directory },
  );
}

/** What kind of network file system a folder is on; null when none is known. */
function networkKind(directory: string): string | null {
  if (process.platform === 'win32')
    return /^[\\/]{2}(?![.?][\\/])/.test(directory) ? 'a network share' : null;
  if (process.platform !== 'linux') return null;
  return refusedKind(statfsSync(directory).type);
}

/** The name of a file system that is refused, by Linux's number; null for all others. */
export function refusedKind(type: number): string | null {
  // The kernel's number is a signed word on some machines.
  return refused.get(type >>> 0) ?? null;
}

// The page cache of the system: forgets files, so that what is read next comes from the disk as after a restart of
// the machine.

import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Forgets the whole cache where that is allowed (root on Linux), else the files of a folder; says which.
 * GNU dd passes `nocache` on as posix_fadvise(POSIX_FADV_DONTNEED) for the whole file when it copies nothing.
 */
export function dropCaches(folder: string): string {
  try {
    execFileSync('sync');
    writeFileSync('/proc/sys/vm/drop_caches', '1');
    return 'the whole page cache was dropped';
  } catch {
    // Not root, or not Linux.
  }
  try {
    const files = readdirSync(folder).map((name) => path.join(folder, name));
    for (const file of files.filter((each) => statSync(each).isFile())) {
      execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
    }
    return "the store's files were dropped from the page cache";
  } catch {
    return 'the page cache could not be dropped: warm';
  }
}

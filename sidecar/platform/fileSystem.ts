// Which file system a folder is on, and whether SQLite's write-ahead log is safe there.
//
// The log needs shared memory between connections and locks that hold; network file systems and the bridges
// between two operating systems give neither, and the store ends corrupt or locked (case 117).

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';

/**
 * Types as /proc/self/mountinfo and `mount` name them. `9p` and `drvfs` are WSL's view of Windows, `fuse.grpcfuse`
 * and `osxfs` are Docker Desktop's view of the host. virtiofs is not here: one kernel sees it, and its locks hold.
 */
const unsafe = new Set([
  ...['nfs', 'nfs4', 'cifs', 'smb3', 'smbfs', 'afpfs', 'webdav', 'davfs', 'ncpfs', 'afs', 'ceph', 'lustre'],
  ...['gpfs', 'beegfs', 'glusterfs', '9p', 'drvfs', 'vboxsf', 'vmhgfs', 'prl_fs', 'osxfs', 'ftp'],
  ...['fuse.sshfs', 'fuse.s3fs', 'fuse.rclone', 'fuse.grpcfuse', 'fuse.osxfs', 'fuse.glusterfs'],
  ...['fuse.vmhgfs-fuse', 'fuse.gvfsd-fuse', 'fuse.davfs2', 'fuse.ceph', 'fuse.juicefs', 'fuse.gcsfuse'],
]);

/** The type of the file system that holds `path` when the store may not be there; null when it may, or nobody knows. */
export function unsafeFileSystem(path: string): string | null {
  if (process.platform === 'win32') return /^[\\/]{2}(?![.?][\\/])/.test(path) ? 'network share' : null;
  const type =
    process.platform === 'darwin' ? fromMount(path, mountTable()) : fromMountInfo(path, mountInfo());
  return type !== null && unsafe.has(type) ? type : null;
}

/** The type of the mount that holds `path`, from the text of /proc/self/mountinfo (proc_pid_mountinfo(5)). */
export function fromMountInfo(path: string, text: string): string | null {
  const mounts = text.split('\n').flatMap((line) => {
    const [before, after] = line.split(' - ');
    const point = before?.split(' ')[4];
    const type = after?.split(' ')[0];
    return point === undefined || type === undefined ? [] : [{ point: unescape(point), type }];
  });
  return deepest(path, mounts);
}

/** The same from the output of macOS's `mount`: `//me@host/share on /Volumes/share (smbfs, nodev)`. */
export function fromMount(path: string, text: string): string | null {
  const mounts = [...text.matchAll(/^.* on (\/.*) \(([^,)]+)[,)]/gm)].map(([, point = '', type = '']) => ({
    point,
    type,
  }));
  return deepest(path, mounts);
}

/** The last of the longest mount points above `path`: a later mount hides an earlier one at the same point. */
function deepest(path: string, mounts: readonly { point: string; type: string }[]): string | null {
  let best: { point: string; type: string } | null = null;
  for (const mount of mounts) {
    const prefix = mount.point.endsWith('/') ? mount.point : `${mount.point}/`;
    const holds = path === mount.point || path.startsWith(prefix);
    if (holds && (best === null || best.point.length <= mount.point.length)) best = mount;
  }
  return best?.type ?? null;
}

/** mountinfo writes blanks, tabs, line ends and backslashes in octal. */
function unescape(point: string): string {
  return point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

function mountInfo(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

function mountTable(): string {
  try {
    return execFileSync('/sbin/mount', { encoding: 'utf8', timeout: 2_000, windowsHide: true });
  } catch {
    return '';
  }
}

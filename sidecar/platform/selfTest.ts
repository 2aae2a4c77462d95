// Whether this runtime can be a sidecar: Node 22 or newer, and the database's binding loads and works.
//
// better-sqlite3 13 crashes Node 20 without a message, so the version is looked at before the binding is
// touched. Not here: the binding, which only the store may import; it is handed in.

import process from 'node:process';

export const oldestNode = 22;

/** Why this Node is too old, and what to do; null when it will do. */
export function nodeProblem(version: string = process.versions.node): string | null {
  const major = Number.parseInt(version, 10);
  if (oldestNode <= major) return null;
  return (
    `Roost needs Node ${oldestNode} or newer, and ${process.execPath} is Node ${version}. ` +
    'Install a newer Node, or name one with the setting roost.sidecar.node.'
  );
}

/** Tries the database; null when it works. `probe` opens one in memory and closes it again. */
export async function bindingProblem(probe: () => Promise<void>): Promise<string | null> {
  try {
    await probe();
    return null;
  } catch (error) {
    const said = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    return (
      `The database could not be loaded by Node ${process.versions.node} ` +
      `on ${process.platform}-${process.arch}: ${said}. Reinstall Roost for this platform.`
    );
  }
}

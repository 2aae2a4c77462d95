// One at a time for everything that has the same name: a file that is read, changed and written, a repository
// whose worktrees are made. Work for different names goes on side by side; nothing is kept when all is done.

/** A lock that runs the work of each name in the order in which it came. */
export type Locks = <T>(name: string, work: () => Promise<T>) => Promise<T>;

export function createLocks(): Locks {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const before = last.get(name) ?? Promise.resolve();
    const mine = before.then(work, work);
    last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (last.get(name) === mine) last.delete(name);
    }
  };
}

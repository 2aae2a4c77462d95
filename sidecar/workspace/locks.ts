// Who waits for whom. Locks: one at a time for everything that has the same name: a file that is read, changed and written, a repository
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

/** Runs pieces of work, at most some of them at a time, in the order in which they came. */
export type Places = <T>(work: () => Promise<T>) => Promise<T>;

export function createPlaces(most: number): Places {
  const waiting: (() => void)[] = [];
  let used = 0;
  return async (work) => {
    if (most <= used) await new Promise<void>((go) => waiting.push(go));
    else used += 1;
    try {
      return await work();
    } finally {
      // The place goes to the next one, if somebody waits.
      const next = waiting.shift();
      if (next === undefined) used -= 1;
      else next();
    }
  };
}

/**
 * Work whose result all share who ask for it before it begins: who comes while it runs is served by the next run,
 * so nobody hears of a state older than the question.
 */
export function createShared<T>(): (name: string, work: () => Promise<T>) => Promise<T> {
  const locks = createLocks();
  const next = new Map<string, Promise<T>>();
  return (name, work) => {
    const planned = next.get(name);
    if (planned !== undefined) return planned;
    const mine = locks(name, () => {
      next.delete(name);
      return work();
    });
    next.set(name, mine);
    return mine;
  };
}

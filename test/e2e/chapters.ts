// Tests that are the parts of one story: each needs what the ones before it have done.
import { test } from 'node:test';

/**
 * Makes the function that declares them. When one has failed the rest is skipped, because each would wait a minute
 * for what is not there; `picture` is called once then, to show what was on screen.
 */
export function chapters(
  picture: () => Promise<unknown>,
): (name: string, tell: () => Promise<void> | void) => void {
  let broken = false;
  return (name, tell) => {
    test(name, async (context) => {
      if (broken) return context.skip('a chapter before this one failed');
      broken = true;
      try {
        await tell();
        broken = false;
      } finally {
        if (broken) await picture().catch(() => undefined);
      }
    });
  };
}

// Chains: work that goes on for long by posting its next slice. Of several chains of a kind only the newest goes on, so
// whoever has something new to do begins one, and a slice that was dropped stops nothing for good.

import type { Step } from './step.ts';

/** There are branches to walk (walks.ts): one is new, or the process is. */
export function goOnWalking(step: Step): void {
  const { rt } = step;
  step.after(() => {
    rt.chains.walk += 1;
    rt.post({ kind: 'walk', chain: rt.chains.walk });
  });
}

/** There may be rows to remove (purge.ts). */
export function goOnPurging(step: Step): void {
  const { rt } = step;
  step.after(() => {
    rt.chains.purge += 1;
    rt.post({ kind: 'purge', chain: rt.chains.purge, passes: 0 });
  });
}

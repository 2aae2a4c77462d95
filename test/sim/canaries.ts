// Known-bad switches.

import type { Sim } from './sim.ts';

export type Canary = 'judgedBeforeClaim' | 'x';

/** Turns a bad switch on for one run; returns what turns it off. */
export function arm(canary: Canary, sim: Sim): () => void {
  void canary;
  void sim;
  return () => undefined;
}

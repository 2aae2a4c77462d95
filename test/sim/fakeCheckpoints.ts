// The Checkpoints port over the files of the world outside: a checkpoint is a text for each file, drawn from its
// number. Not here: snapshots and what is left as it is, which are the workspace's.

import type { Checkpoints, RestoreEvent, RestoreJob } from '../../sidecar/ports.ts';
import { checkpointId } from '../../sidecar/protocol/ids.ts';
import { hash } from './chance.ts';
import type { Sim } from './sim.ts';
import type { Process } from './world.ts';

const bytes = (text: string | undefined): Uint8Array | null =>
  text === undefined ? null : Buffer.from(text);

export class FakeCheckpoints implements Checkpoints {
  readonly #sim: Sim;
  readonly #process: Process;

  constructor(sim: Sim, process: Process) {
    this.#sim = sim;
    this.#process = process;
  }

  restore({ checkpoint }: RestoreJob, post: (event: RestoreEvent) => void): void {
    const { outside, disk, chance } = this.#sim;
    this.#sim.effect(`restore checkpoint ${checkpoint}`);
    const names = [...outside.files.keys()].sort();
    let written = 0;
    const next = (): void => {
      const path = names.shift();
      if (path === undefined) {
        outside.restores += 1;
        const undo = checkpointId(outside.restores);
        return post({ kind: 'done', result: { written, removed: 0, left: [], undo } });
      }
      const text = hash(checkpoint, path) % 3 === 0 ? undefined : `as in ${checkpoint}`;
      const before = outside.files.get(path);
      if (text === undefined) outside.files.delete(path);
      else outside.files.set(path, text);
      written += 1;
      const isOpen = disk.rows('change').some((row) => row.path === path && row.state === 'open');
      if (isOpen) post({ kind: 'file', path, before: bytes(before), after: bytes(text) });
      this.#later(next);
    };
    const gone: RestoreEvent = { kind: 'failed', code: 'checkpoint/unknown', message: 'There is none.' };
    this.#later(chance.hits(0.1) ? () => post(gone) : next);
  }

  #later(work: () => void): void {
    this.#sim.world.later(this.#sim.chance.around(this.#sim.swarm.toolMs / 4), work, this.#process);
  }
}

// The names of an agent's parents, asked for one after the other from the nearest up, a few and no more.

import type { AgentRow } from '../../sidecar/protocol/agent.ts';
import type { AgentId } from '../../sidecar/protocol/ids.ts';
import type { Bridge } from '../bridge.ts';
import { limits } from '../limits.ts';

export class Lineage {
  readonly #bridge: Pick<Bridge, 'call'>;
  readonly #changed: () => void;
  #parents: readonly (AgentRow | null)[] = [];
  #closed = false;
  /** An answer did not come, such as when the connection was lost. */
  #failed = false;

  constructor(bridge: Pick<Bridge, 'call'>, changed: () => void) {
    this.#bridge = bridge;
    this.#changed = changed;
  }

  /** From the top down; null in front when there are more above. */
  get parents(): readonly (AgentRow | null)[] {
    return this.#parents;
  }

  /** The name of a parent, when it is known. */
  nameOf(agent: AgentId): string | null {
    return this.#parents.find((parent) => parent?.id === agent)?.name ?? null;
  }

  /** Whether it has to be asked for again. */
  get failed(): boolean {
    return this.#failed;
  }

  of(agent: AgentRow): void {
    this.#failed = false;
    this.#parents = agent.parent === null ? [] : [null];
    if (agent.parent !== null) void this.#climb(agent.parent, []);
  }

  close(): void {
    this.#closed = true;
  }

  async #climb(id: AgentId, below: readonly AgentRow[]): Promise<void> {
    const answer = await this.#bridge.call('agent/get', { agent: id });
    if (this.#closed) return;
    if (!answer.ok) {
      this.#failed = true;
      return;
    }
    const parents = [answer.result, ...below];
    const next = answer.result.parent;
    this.#parents = next === null ? parents : [null, ...parents];
    this.#changed();
    if (next !== null && parents.length < limits.ancestors) await this.#climb(next, parents);
  }
}

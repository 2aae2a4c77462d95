// Clients that look: they follow channels of the real hub (rpc/follow.ts) over the real reads, keep replicas with
// the protocol's reducer, read slowly, vanish and come back.
//
// Promises checked: frames of a follow are numbered without a gap (S9); a replica equals what a new client is
// shown once nothing moves any more; a log has each entry once, over every crash and reconnection.

import { isDeepStrictEqual } from 'node:util';
import type { Clock, Publish, Reads } from '../../sidecar/ports.ts';
import type { Channel, Frame, Snapshot } from '../../sidecar/protocol/frame.ts';
import { agentId, entryId, type EntryId } from '../../sidecar/protocol/ids.ts';
import { reduce } from '../../sidecar/protocol/reduce.ts';
import { Follows, type Follower } from '../../sidecar/rpc/follow.ts';
import type { Canary } from './canaries.ts';
import type { Sim } from './sim.ts';
import type { Process } from './world.ts';

interface Replica {
  readonly channel: Channel;
  snapshot: Snapshot;
  seq: number;
}

class Client implements Follower {
  readonly replicas = new Map<number, Replica>();
  unreadBytes = 0;
  /** One client at a time keeps the log, from where the one before it has read. */
  keepsLog = false;
  readonly #followers: Followers;

  constructor(followers: Followers) {
    this.#followers = followers;
  }

  backlogBytes(): number {
    return this.unreadBytes;
  }

  notify(_method: string, params: string): void {
    const { frames } = JSON.parse(params) as { readonly frames: readonly Frame[] };
    for (const frame of frames) if (!this.#followers.loses('frameSkipped')) this.#followers.hear(this, frame);
  }
}

export class Followers {
  /** Where the runtime publishes to. */
  readonly publish: Publish;
  readonly #sim: Sim;
  readonly #hub: Follows;
  readonly #clients: Client[] = [];

  constructor(sim: Sim, process: Process, reads: Reads) {
    this.#sim = sim;
    const clock: Clock = sim.world.clock(process, sim.swarm.loopMs);
    this.#hub = new Follows({
      reads,
      clock,
      said: (agent) => sim.host?.said(agent) ?? null,
      trouble: () => sim.host?.trouble() ?? null,
      failed: (error) => sim.fail('S9', `a follow ended: ${String(error)}`),
    });
    this.publish = this.#hub;
    const clients = sim.chance.int(1, 2);
    for (let n = 0; n < clients; n += 1)
      sim.world.later(sim.chance.around(100), () => this.#come(process), process);
  }

  #come(process: Process): void {
    const { chance, world, disk } = this.#sim;
    const client = new Client(this);
    this.#clients.push(client);
    const agents = disk.table('agent').next - 1;
    const drawn = agents === 0 ? 0 : chance.int(1, agents);
    const someone = disk.row('agent', drawn) === undefined ? null : agentId(drawn);
    const expanded = Array.from({ length: Math.min(agents, 20) }, (_each, index) => agentId(index + 1));
    const order = chance.pick(['created', 'attention'] as const);
    const channels: readonly Channel[] = [
      { kind: 'fleet' },
      { kind: 'requests' },
      {
        kind: 'tree',
        query: { expanded, order, filter: '', top: chance.int(0, 3), height: chance.pick([3, 50]) },
      },
      { kind: 'changes', agent: null },
      ...(someone === null
        ? []
        : [
            { kind: 'agent' as const, agent: someone },
            { kind: 'changes' as const, agent: someone },
          ]),
    ];
    for (const channel of channels) if (chance.hits(0.7)) this.#open(client, channel, undefined);
    client.keepsLog = !this.#clients.some((other) => other.keepsLog);
    if (client.keepsLog) this.#open(client, { kind: 'log', agent: null }, entryId(this.#sim.logCursor));
    if (this.#sim.calm) return;
    world.later(chance.around(2_000), () => this.#stall(client, process), process);
    if (chance.hits(0.3)) world.later(chance.around(5_000), () => this.#leave(client, process), process);
  }

  /** Reads nothing for a while. */
  #stall(client: Client, process: Process): void {
    client.unreadBytes = 10_000_000;
    this.#sim.world.later(
      this.#sim.chance.around(1_000),
      () => {
        client.unreadBytes = 0;
        this.#hub.drained(client);
      },
      process,
    );
  }

  #leave(client: Client, process: Process): void {
    this.#hub.drop(client);
    this.#clients.splice(this.#clients.indexOf(client), 1);
    this.#sim.world.later(this.#sim.chance.around(500), () => this.#come(process), process);
  }

  #open(client: Client, channel: Channel, after: EntryId | undefined): void {
    const { follow, snapshot, seq } = this.#hub.open(client, channel, after);
    client.replicas.set(follow, { channel, snapshot: copy(snapshot), seq });
  }

  /** What rpc/trouble.ts does once a second: tells who follows the fleet that nothing can be committed, or can again. */
  lookForTrouble(): void {
    const trouble = this.#sim.host?.trouble() ?? null;
    if (trouble !== this.#trouble) this.#hub.fleetChanged();
    this.#trouble = trouble;
  }
  #trouble: string | null = null;

  /** Whether a canary lets this be lost. */
  loses(canary: Canary): boolean {
    return this.#sim.canary === canary && this.#sim.chance.hits(0.02);
  }

  hear(client: Client, frame: Frame): void {
    const replica = client.replicas.get(frame.follow);
    if (replica === undefined)
      return this.#sim.fail('S9', `a frame of follow ${frame.follow}, which nobody opened`);
    if (frame.seq !== replica.seq + 1) {
      this.#sim.fail('S9', `${replica.channel.kind}: frame ${frame.seq} came after ${replica.seq}`);
    }
    replica.seq = frame.seq;
    if (frame.reset !== undefined) replica.snapshot = frame.reset;
    for (const action of frame.actions) {
      if (action.kind === 'log/entries') for (const entry of action.entries) this.#log(entry.id);
      replica.snapshot = reduce(replica.snapshot, action);
    }
  }

  /** The log's cursor is kept by the run, so that it goes on over crashes. */
  #log(id: number): void {
    // Entries of agents that were deleted for good meanwhile are not there any more.
    let next = this.#sim.logCursor + 1;
    while (next < id && this.#sim.disk.row('entry', next) === undefined) next += 1;
    if (id !== next) this.#sim.fail('S9', `the log has entry ${id} after ${this.#sim.logCursor}`);
    this.#sim.logCursor = id;
  }

  /** When nothing moves any more, every replica is what a new client is shown. Returns what is not. */
  differs(): string | null {
    const fresh = new Client(this);
    for (const client of this.#clients) {
      for (const { channel, snapshot } of client.replicas.values()) {
        if (channel.kind === 'log') continue;
        if ('agent' in channel && channel.agent !== null && this.#sim.purged.has(channel.agent)) continue;
        const opened = this.#hub.open(fresh, channel, undefined);
        this.#hub.close(fresh, opened.follow);
        const [has, shown] = [JSON.stringify(snapshot), JSON.stringify(opened.snapshot)];
        if (!isDeepStrictEqual(copy(snapshot), copy(opened.snapshot)))
          return `the ${channel.kind} replica is ${has}, a new client is shown ${shown}`;
      }
    }
    const newest = this.#sim.disk.rows('entry').at(-1)?.id ?? 0;
    const complete = !this.#clients.some((client) => client.keepsLog) || newest <= this.#sim.logCursor;
    return complete ? null : `the log ends at ${this.#sim.logCursor}, the store at ${newest}`;
  }
}

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

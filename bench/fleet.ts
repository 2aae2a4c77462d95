// A fleet of agents on the built sidecar, each with a conversation of its own, that ask a provider which reads every
// request and never answers: what `waiting` and `kill5000` share.

import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Wire } from '../sidecar/cli/connect.ts';
import type { FixtureProcess } from './sidecar.ts';
import { wideTokens } from './workload.ts';

/** Starts that wait for their acknowledgement at a time: 8 conversations are under way at most. */
const startsAtOnce = 8;

export interface Fleet {
  readonly agents: number;
  /** Bytes of each agent's conversation. */
  readonly bytes: number;
}

/** Names the fixture as the provider `bench`. */
export async function useFixture(wire: Wire, fixture: FixtureProcess): Promise<void> {
  const { tlsUrl: baseUrl, caFile } = fixture;
  const place = { baseUrl, keyless: true, caFile, contextTokens: wideTokens };
  await wire.call('provider/set', { name: 'bench', dialect: 'anthropic', ...place });
}

/** Starts the agents, each with a text of its own that no compression makes small. */
export async function startFleet(wire: Wire, { agents, bytes }: Fleet): Promise<void> {
  let next = 0;
  const startSome = async (): Promise<void> => {
    while (next < agents) {
      const name = `agent-${next++}`;
      const text = randomBytes(Math.ceil((bytes * 3) / 4))
        .toString('base64')
        .slice(0, bytes);
      await wire.call('agent/start', {
        name,
        text,
        workspace: '/',
        model: 'bench/any',
        key: randomUUID(),
      });
    }
  };
  await Promise.all(Array.from({ length: startsAtOnce }, startSome));
}

/** What the fixture saw when it was asked last. */
export interface Seen {
  readonly inFlight: number;
  readonly requestBytes: number;
}

/**
 * Resolves once all agents of a fleet wait: each request counts when its last byte was read, beyond `before` bytes.
 * After `withinMs` with what there is.
 */
export async function allWaiting(
  fixture: FixtureProcess,
  { agents, bytes }: Fleet,
  { before = 0, withinMs, lookEveryMs }: { before?: number; withinMs: number; lookEveryMs: number },
): Promise<Seen> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const stats = await fixture.stats();
    const seen = { inFlight: stats['inFlight'] ?? 0, requestBytes: (stats['requestBytes'] ?? 0) - before };
    if (agents <= seen.inFlight && agents * bytes <= seen.requestBytes) return seen;
    if (endMs < performance.now()) return seen;
    await sleep(lookEveryMs);
  }
}

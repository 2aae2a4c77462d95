// Storms: many agents that all want to ask at once, against a provider with a real token bucket (cases 165, 166).
// Every turn ends well, few requests are refused, and the limit is used.
//
// Four pools over one host: the limit told in headers or only felt, and the same halved in mid-run. The full ten
// thousand are `npm run bench -- storm`.

import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { test } from 'node:test';
import { createModel } from '../../sidecar/model/model.ts';
import { createClock } from '../../sidecar/platform/clock.ts';
import { createHost, type Host } from '../../sidecar/runtime/host.ts';
import type { Ports } from '../../sidecar/runtime/memory.ts';
import type { ClientEvent } from '../../sidecar/runtime/event.ts';
import { openStore, type OpenStore } from '../../sidecar/store/open.ts';
import { startFixture, type Fixture, type RateLimit } from '../fixtures/provider/server.ts';

const limit: RateLimit = { perSecond: 60, burst: 30, retryAfter: 'none', headers: false };
const told: RateLimit = { ...limit, headers: true, retryAfter: 'seconds' };

interface Pool {
  readonly name: string;
  readonly limit: RateLimit;
  readonly agents: number;
  /** The limit falls to the half when half of the agents are done. */
  readonly isHalved: boolean;
  readonly fixture: Fixture;
  left: number;
  /** The provider's numbers at the moment the last turn ended. */
  end: ReturnType<Fixture['stats']> | null;
}

test('a storm of 2,000 agents ends at the pace of their providers', { timeout: 90_000 }, async (t) => {
  const pools = [
    await startPool('told', told, 400),
    await startPool('felt', limit, 500),
    await startPool('halved', told, 400),
    await startPool('halvedFelt', limit, 700),
  ];
  const open = openStore({ directory: '', durability: 'process', mode: 'memory' });
  const lateness = monitorEventLoopDelay({ resolution: 10 });
  lateness.enable();
  const poolOf = new Map<number, Pool>();
  let ended = (): void => undefined;
  const model = createModel();
  const host = createHost(
    portsOf(open, model, (turns) => {
      for (const turn of turns) {
        const pool = poolOf.get(turn);
        if (pool !== undefined) turnEnded(pool);
      }
      ended();
    }),
    { modelSlots: 100, commandSlots: 4, defaultModel: null },
  );
  t.after(async () => {
    await new Promise<void>((done) => host.drain(done));
    open.close();
    await Promise.all(pools.map(({ fixture }) => fixture.close()));
  });
  for (const { name, fixture } of pools) {
    const { tlsUrl, caFile } = fixture;
    model.setProvider({ name, dialect: 'chat', baseUrl: `${tlsUrl}/v1`, keyless: true, caFile });
  }
  for (const pool of pools) {
    for (let i = 0; i < pool.agents; i++) start(host, pool.name, i, (turn) => poolOf.set(turn, pool));
  }
  await new Promise<void>((resolve) => {
    ended = () => {
      if (pools.every((pool) => pool.end !== null)) resolve();
    };
    ended();
  });
  lateness.disable();
  // On a machine that is busy with something else the loop is late, and what the limit allowed meanwhile is gone.
  const lateMs = lateness.percentile(99) / 1e6;
  const isBusy = 50 < lateMs;
  t.diagnostic(`the loop was late by ${lateMs.toFixed(0)} ms (p99)`);
  const all = { requests: 0, refused: 0 };
  for (const { name, agents, fixture, end } of pools) {
    assert.ok(end);
    const { requests, answered, refused, allowed } = end;
    t.diagnostic(`${name}: ${requests} requests, ${refused} refused, ${Math.round(allowed)} allowed`);
    assert.equal(answered, agents, `${name}: every turn was answered once`);
    all.requests += requests;
    all.refused += refused;
    // What a ramp and a halving overshoot is a number, not a share: 2 % of 10,000, a little more of a few hundred.
    assert.ok(refused <= requests * 0.03, `${name}: ${refused} of ${requests} were refused`);
    assert.ok(
      answered >= allowed * (isBusy ? 0.5 : 0.9),
      `${name}: ${answered} answers of ${allowed} that were allowed`,
    );
    assert.deepEqual(fixture.violations(), []);
  }
  assert.ok(all.refused <= all.requests * 0.02, `${all.refused} of ${all.requests} were refused`);
  const rows = open.reads.agents(0, 0, 500).rows;
  assert.ok(rows.every((row) => row.outcome === 'done'));
});

async function startPool(name: string, limit: RateLimit, agents: number): Promise<Pool> {
  const fixture = await startFixture({ limit, check: false });
  return { name, limit, agents, isHalved: name.startsWith('halved'), fixture, left: agents, end: null };
}

function turnEnded(pool: Pool): void {
  pool.left -= 1;
  if (pool.left === 0) pool.end = pool.fixture.stats();
  const { isHalved, limit, agents } = pool;
  if (isHalved && pool.left === agents / 2)
    pool.fixture.setLimit({ ...limit, perSecond: limit.perSecond / 2 });
}

function start(host: Host, pool: string, index: number, turn: (turn: number) => void): void {
  const name = `${pool}-${index}`;
  const event: ClientEvent = {
    kind: 'agent/start',
    params: { name, text: `@say ${name}`, workspace: '/', model: `${pool}/any`, key: name },
    reply: (answer) => {
      assert.ok(answer.ok);
      turn(answer.value.turn);
    },
  };
  assert.ok(host.post(event));
}

function portsOf(open: OpenStore, model: Ports['model'], hear: (ended: readonly number[]) => void): Ports {
  const none = (): void => undefined;
  return {
    store: open.store,
    model,
    tools: {
      specs: [],
      classOf: () => null,
      prepareNow: () => null,
      prepare: () => none,
      run: () => none,
      recover: () => none,
    },
    review: {
      detail: none,
      plan: none,
      write: none,
      measure: () => ({ added: 0, removed: 0, beforeHash: '', afterHash: '' }),
      rebase: ({ base }) => base,
    },
    clock: createClock(),
    random: { next: Math.random },
    clients: { secret: (_provider, post) => void setImmediate(() => post(null)) },
    publish: { committed: (news) => hear(news.ended), delta: none, streamEnd: none, output: none },
    log: (message, facts) => assert.fail(`${message} ${JSON.stringify(facts)}`),
  };
}

// Storms: many agents that all want to ask at once, against a provider with a real token bucket (cases 165, 166).
// Every turn ends well, and nobody asks again and again.
//
// Four pools over one host: the limit told in headers or only felt, and the same halved in mid-run. The full ten
// thousand are `npm run bench -- storm`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createModel } from '../../sidecar/model/model.ts';
import { createClock } from '../../sidecar/platform/clock.ts';
import { createHost, type Host } from '../../sidecar/runtime/host.ts';
import type { Ports } from '../../sidecar/runtime/memory.ts';
import { noKnowledge } from '../../sidecar/core/knowledge.ts';
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
    await new Promise<void>((done) => host.drain(done, true));
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
  for (const { name, agents, fixture, end } of pools) {
    assert.ok(end);
    const { requests, answered, refused, allowed } = end;
    t.diagnostic(`${name}: ${requests} requests, ${refused} refused, ${Math.round(allowed)} allowed`);
    assert.equal(answered, agents, `${name}: every turn was answered once`);
    // The shares depend on how busy this machine is: test/core/pace.test.ts has them on a virtual clock, and the bench
    // on a real one. Whatever the machine does, agents do not storm: that would be many refusals for each of them.
    assert.ok(refused <= agents, `${name}: ${refused} of ${requests} were refused`);
    assert.deepEqual(fixture.violations(), []);
  }
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
      attend: () => none,
      settled: () => undefined,
      offer: () => undefined,
    },
    trees: { sweep: () => undefined },
    checkpoints: { restore: () => undefined },
    review: {
      detail: none,
      plan: none,
      write: none,
      measure: () => ({ added: 0, removed: 0, ranges: '', beforeHash: '', afterHash: '' }),
      rebase: ({ base }) => base,
    },
    scout: {
      look: (_folder, post) => setImmediate(() => post(noKnowledge)),
      setServerFiles: () => undefined,
    },
    clock: createClock(),
    random: { next: Math.random },
    clients: { secret: (_provider, post) => void setImmediate(() => post(null)) },
    publish: { committed: (news) => hear(news.ended), delta: none, streamEnd: none, output: none },
    log: (message, facts) => assert.fail(`${message} ${JSON.stringify(facts)}`),
  };
}

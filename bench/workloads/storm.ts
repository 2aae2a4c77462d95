// A storm: N agents that all want to ask at once, against a provider with a token bucket, over TLS + HTTP/2. The
// built sidecar is a process of its own, the provider is in this one so that its limit can be changed.
//
// Three variants, one after the other: the limit told in headers; the limit only felt (refusals name no time); only felt,
// and halved when half of the agents are done. What is reported is the worst of them; goodput is the answers over
// what the limit allowed from the first request to the last answer, bursts included. The limit must be below what the
// machine can do (some 600 turns a second on two cores), else that is what is measured.

import { randomUUID } from 'node:crypto';
import { startFixture, type Fixture, type RateLimit } from '../../test/fixtures/provider/server.ts';
import { startSidecarProcess } from '../sidecar.ts';
import type { Wire } from '../../sidecar/cli/connect.ts';
import type { TurnId } from '../../sidecar/protocol/ids.ts';
import { round, wideTokens, type Workload } from '../workload.ts';

const variants = ['told', 'felt', 'halved'] as const;
/** Turns of one `turn/wait`, as many as it takes. */
const turnsAtOnce = 1_000;
const startsAtOnce = 64;

interface Result {
  readonly done: number;
  readonly refused: number;
  readonly goodput: number;
}

export const workload: Workload = {
  title: 'storm: agents that all ask at once, at the pace that their provider allows',
  options: { agents: 10_000, perSecond: 250, burst: 100 },
  run: async ({ agents = 1, perSecond = 1, burst = 1 }, say) => {
    const results: Record<string, number> = {};
    const worst = { done: 1, refused: 0, goodput: 1 };
    for (const name of variants) {
      const tells = name === 'told';
      const limit: RateLimit = { perSecond, burst, headers: tells, retryAfter: tells ? 'seconds' : 'none' };
      const { done, refused, goodput } = await runVariant(name, limit, agents);
      say(
        `${name}: ${round(done * 100, 2)} % done, ${round(refused * 100, 2)} % refused, ${round(goodput * 100)} % used`,
      );
      worst.done = Math.min(worst.done, done);
      worst.refused = Math.max(worst.refused, refused);
      worst.goodput = Math.min(worst.goodput, goodput);
      results[`${name}Refused`] = round(refused, 4);
      results[`${name}Goodput`] = round(goodput, 3);
    }
    return {
      doneRatio: worst.done,
      refusedRatio: round(worst.refused, 4),
      goodputRatio: round(worst.goodput, 3),
      ...results,
    };
  },
};

async function runVariant(name: string, limit: RateLimit, agents: number): Promise<Result> {
  const fixture = await startFixture({ limit, check: false });
  const sidecar = await startSidecarProcess();
  try {
    const { wire } = sidecar;
    const { tlsUrl, caFile } = fixture;
    const place = { baseUrl: `${tlsUrl}/v1`, keyless: true, caFile };
    await wire.call('provider/set', { name: 'bench', dialect: 'chat', ...place, contextTokens: wideTokens });
    const halving = name === 'halved' ? halveLater(fixture, limit, agents) : null;
    const turns = await startAll(wire, agents);
    const done = await countDone(wire, turns);
    if (halving !== null) clearInterval(halving);
    const { requests, answered, refused, allowed } = fixture.stats();
    return { done: done / agents, refused: refused / requests, goodput: answered / allowed };
  } finally {
    await sidecar.close();
    await fixture.close();
  }
}

function halveLater(fixture: Fixture, limit: RateLimit, agents: number): NodeJS.Timeout {
  const timer = setInterval(() => {
    if (fixture.stats().answered < agents / 2) return;
    clearInterval(timer);
    fixture.setLimit({ ...limit, perSecond: limit.perSecond / 2 });
  }, 20);
  return timer;
}

async function startAll(wire: Wire, agents: number): Promise<readonly TurnId[]> {
  const turns: TurnId[] = [];
  let next = 0;
  const startSome = async (): Promise<void> => {
    while (next < agents) {
      const name = `agent-${next++}`;
      const start = { name, text: `@say ${name}`, workspace: '/', model: 'bench/any', key: randomUUID() };
      turns.push((await wire.call('agent/start', start)).turn);
    }
  };
  await Promise.all(Array.from({ length: startsAtOnce }, startSome));
  return turns;
}

async function countDone(wire: Wire, turns: readonly TurnId[]): Promise<number> {
  let done = 0;
  for (let at = 0; at < turns.length; at += turnsAtOnce) {
    const some = turns.slice(at, at + turnsAtOnce);
    const { done: ended } = await wire.call('turn/wait', { turns: some, mode: 'all', timeoutMs: 120_000 });
    done += ended.filter((turn) => turn.outcome === 'done').length;
  }
  return done;
}

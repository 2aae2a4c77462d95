// The process that `parked` measures: so many agents that each wait for a person's answer, after so many events.
// Started with `--expose-gc` and the environment of a sidecar; prints one line of JSON.
//
//   node --expose-gc bench/parkedWorld.ts ROOTS CHILDREN EVENTS
//
// Children ask a question in their first round and are parked. While fewer events than EVENTS have been handled
// their questions are answered, and they ask the next one.

import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Block } from '../sidecar/protocol/entry.ts';
import type { Item, ModelRequest } from '../sidecar/ports.ts';
import { startInProcess, type InProcess } from './inProcess.ts';
import { memoryOf } from './memory.ts';

/** What a parked world came to. */
export interface Parked {
  readonly parked: number;
  readonly events: number;
  readonly privateMB: number;
}

const answersAtOnce = 500;
const [roots = 1, children = 1, events = 0] = process.argv.slice(2).map(Number);

const world = startInProcess({ script: answerTo, modelSlots: 1_000, latencyMs: 1 });
for (let root = 0; root < roots; root++) {
  const name = `root-${root}`;
  await world.call('agent/start', {
    name,
    text: name,
    workspace: '/bench',
    profile: 'planner',
    key: name,
  });
}
await allParked();
while (world.host.loop().events < events) await answerAll();
const handled = world.host.loop().events;
const privateMB = await settled();
const result: Parked = { parked: parked(world), events: handled, privateMB };
process.stdout.write(`${JSON.stringify(result)}\n`);
await world.close();

function answerTo(_request: ModelRequest, items: readonly Item[]): readonly Block[] {
  const first = items[0];
  const isRoot = first?.kind === 'user' && first.text.startsWith('root');
  const round = items.filter((item) => item.kind === 'answer').length;
  if (!isRoot) return [call('ask_user', { question: `What next, after ${round}?` })];
  if (round > 0) return [call('wait_agent', {})];
  const numbers = Array.from({ length: children }, (_, index) => String(index + 1));
  return [call('spawn_agent', { template: 'child {item}', items: numbers })];
}

function call(tool: string, input: unknown): Block {
  return { kind: 'call', key: tool, tool, input: JSON.stringify(input) };
}

/** Agents that wait, the roots for their children included. */
function parked(world: InProcess): number {
  return world.open.reads.agents(0, 0, roots).rows.reduce((sum, row) => sum + row.branch.waiting, 0);
}

async function allParked(): Promise<void> {
  while (parked(world) < roots * (children + 1)) await sleep(20);
}

/** Answers each question once, and resolves when all wait again. */
async function answerAll(): Promise<void> {
  for (let after = 0, more = true; more;) {
    const page = world.open.reads.requests(after, answersAtOnce);
    const requests = page.rows.map((row) => row.id);
    after = requests.at(-1) ?? after;
    more = page.more;
    const key = `answers-${requests[0] ?? 0}`;
    await world.call('request/answerMany', { requests, answer: { kind: 'text', text: 'on' }, key });
  }
  await allParked();
}

/** Private memory once the checkpoint thread has left and two collections in a row find nothing more. */
async function settled(): Promise<number> {
  await sleep(12_000);
  let last = Number.POSITIVE_INFINITY;
  for (;;) {
    globalThis.gc?.();
    await sleep(500);
    const { privateMB } = memoryOf(process.pid);
    if (last - privateMB < 0.05) return privateMB;
    last = privateMB;
  }
}

// The process that `parked` measures: so many agents that each wait for a person's answer, among so many in all.
// Started with `--expose-gc` and the environment of a sidecar; prints one line of JSON.
//
//   node --expose-gc bench/parkedWorld.ts ROOTS CHILDREN ASKING
//
// Of the children of each root the first ASKING ask a question in their first round and are parked; the others answer
// and are done. So two worlds with as many children handle about as many events and hold as many rows.

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

const [roots = 1, children = 1, asking = 1] = process.argv.slice(2).map(Number);

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
const { events } = world.host.loop();
const privateMB = await settled();
const result: Parked = { parked: parked(world), events, privateMB };
process.stdout.write(`${JSON.stringify(result)}\n`);
await world.close();

function answerTo(_request: ModelRequest, items: readonly Item[]): readonly Block[] {
  const first = items[0];
  const task = first?.kind === 'user' ? first.text : '';
  const child = /^child (\d+)/.exec(task)?.[1];
  if (child !== undefined) {
    return Number(child) <= asking
      ? [call('ask_user', { question: 'What next?' })]
      : [{ kind: 'text', text: 'Done.' }];
  }
  if (items.some((item) => item.kind === 'answer')) return [call('wait_agent', { mode: 'all' })];
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
  const rest = (): number =>
    world.open.reads.agents(0, 0, roots).rows.reduce((sum, row) => sum + row.branch.running, 0);
  while (parked(world) < roots * (asking + 1) || rest() > 0) await sleep(20);
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

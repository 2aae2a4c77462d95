// What the tests of the model share: a request over a list of items, an answer as one value, a stream read from
// bytes that are cut anywhere.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Item, ModelOutcome, ToolSpec } from '../../sidecar/core/terms.ts';
import { EventReader } from '../../sidecar/model/sse.ts';
import type { Dialect, Ending, Target } from '../../sidecar/model/dialect.ts';
import type { Cancel, Model, ModelRequest } from '../../sidecar/ports.ts';
import { agentId, attemptId } from '../../sidecar/protocol/ids.ts';

export const tools: readonly ToolSpec[] = [
  {
    name: 'shell',
    description: 'Runs a command.',
    schema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  },
  {
    name: 'read',
    description: 'Reads a file.',
    schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
];

/** A request whose conversation comes in pages of `pageItems`. */
export function requestOf(
  model: string,
  items: readonly Item[],
  more: Partial<ModelRequest> = {},
  pageItems = 2,
): ModelRequest {
  return {
    attempt: attemptId(1),
    agent: agentId(1),
    model,
    system: 'You work on a repository.',
    tools,
    cacheKey: 'profile-1',
    maxOutputTokens: 4_096,
    pages: () => {
      let at = 0;
      return () => {
        if (items.length <= at) return null;
        at += pageItems;
        return items.slice(at - pageItems, at);
      };
    },
    ...more,
  };
}

export const user = (text: string): Item => ({ kind: 'user', text });
export const result = (key: string, text: string, ok = true): Item => ({
  kind: 'result',
  key,
  tool: 'shell',
  ok,
  text,
});
export const answer = (model: string, blocks: Extract<Item, { kind: 'answer' }>['blocks']): Item => ({
  kind: 'answer',
  model,
  blocks,
});

/** The body that a dialect writes, whole. */
export function bodyOf(dialect: Dialect, request: ModelRequest, target: Target): string {
  const next = dialect.encode(request, target);
  let body = '';
  for (let piece = next(); piece !== null; piece = next()) body += piece;
  return body;
}

export interface Heard {
  readonly text: string;
  readonly thinking: string;
  readonly outcome: ModelOutcome;
}

/** Asks and waits for the end. */
export function ask(model: Model, request: ModelRequest, started?: (cancel: Cancel) => void): Promise<Heard> {
  return new Promise((resolve, reject) => {
    let text = '';
    let thinking = '';
    let returned = false;
    const cancel = model.ask(request, (event) => {
      if (!returned) reject(new Error('posted before ask returned'));
      if (event.kind === 'text') text += event.text;
      else if (event.kind === 'thinking') thinking += event.text;
      else if (event.kind === 'end') resolve({ text, thinking, outcome: event.outcome });
    });
    returned = true;
    started?.(cancel);
  });
}

export const messageOf = ({ outcome }: Heard): string => ('message' in outcome ? outcome.message : '');

/** Plays a turn to its end: answers each call with its name, as the runtime would. */
export async function turn(
  model: Model,
  dialect: string,
  text: string,
): Promise<{ items: Item[]; last: Heard }> {
  const items: Item[] = [user(text)];
  for (let round = 0; round < 10; round++) {
    const last = await ask(model, requestOf(`${dialect}/m`, items));
    assert.equal(last.outcome.kind, 'answer', messageOf(last));
    if (last.outcome.kind !== 'answer') break;
    items.push(answer(`${dialect}/m`, last.outcome.blocks));
    const calls = last.outcome.blocks.flatMap((block) => (block.kind === 'call' ? [block] : []));
    if (calls.length === 0) return { items, last };
    for (const call of calls)
      items.push({ kind: 'result', key: call.key, tool: call.tool, ok: true, text: `did ${call.tool}` });
  }
  assert.fail('the turn did not end');
}

/** Three calls in two rounds, two of them side by side, after a thought. */
export const program =
  '@think Two at once.\n@parallel\n@shell echo ä🦉\n@read a.ts\n@end\n@shell echo again\n@stream 7';

export interface Read {
  readonly text: string;
  readonly thinking: string;
  readonly ending: Ending;
}

/** Reads a stream from its bytes, cut after each of `cuts`. */
export function readStream(
  dialect: Dialect,
  target: Target,
  bytes: Buffer,
  cuts: readonly number[] = [],
): Read {
  const reader = new EventReader();
  const decoder = dialect.decoder(target);
  let text = '';
  let thinking = '';
  let ending: Ending | null = null;
  const take = (events: readonly { readonly type: string; readonly data: string }[] | null): void => {
    for (const event of events ?? []) {
      if (ending !== null) return;
      for (const step of decoder.take(event)) {
        if (step.kind === 'text') text += step.text;
        else if (step.kind === 'thinking') thinking += step.text;
        else ending = step.ending;
      }
    }
  };
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    take(reader.read(bytes.subarray(from, cut)));
    from = cut;
  }
  if (ending === null) take(reader.finish());
  return { text, thinking, ending: ending ?? decoder.end() };
}

/** Waits for a condition that real sockets bring about; the test's own time limit ends it otherwise. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(2);
}

// The conductor of a group: what an agent that asks no model does, as a function of what its transcript says. It starts
// the agents of its plan wave by wave and waits for each wave; so a group is durable, stopped and paid for like the
// work of any agent, and a restart goes on where it was (protocol/group.ts).
//
// A plan is one line of JSON behind the first line of its task. Not here: which requests come here (model/conductor.ts).

import type { Isolation } from '../protocol/agent.ts';
import type { Block } from '../protocol/entry.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import type { Item } from './terms.ts';
import { firstLine, head } from './text.ts';
import { isObject } from './verbs.ts';

/** Its models are named `roost/` and the model of those it starts, which they get when nothing else names one. */
export const conductorProvider = 'roost';

/** The model of an agent's children when nothing names one: a conductor has none of its own to give. */
export const modelToGive = (model: string): string =>
  model.startsWith(`${conductorProvider}/`) ? model.slice(conductorProvider.length + 1) : model;

/** Characters of the first line of a task in the title of its group, and of what was told in the conductor's last words. */
const titleChars = 80;
const toldChars = 24_000;

interface Common {
  readonly isolation: Isolation | null;
  readonly schema: JsonObject | null;
}

export interface FanPlan extends Common {
  readonly template: string;
  readonly items: readonly string[];
  readonly profile: string | null;
  readonly model: string | null;
  readonly atOnce: number | null;
}

export interface RacePlan extends Common {
  readonly text: string;
  readonly runners: readonly {
    readonly name: string;
    readonly profile: string | null;
    readonly model: string | null;
  }[];
}

/** The task of a fan-out's conductor. */
export function fanTask({ template, items, profile, model, atOnce, isolation, schema }: FanPlan): string {
  const size = atOnce ?? items.length;
  const waves = Array.from({ length: Math.ceil(items.length / size) }, (_, wave) => [
    {
      template,
      items: items.slice(wave * size, (wave + 1) * size),
      ...given({ profile, model, isolation, schema }),
    },
  ]);
  return taskOf(`Fan-out over ${items.length}: ${template}`, waves);
}

/** The task of a race's conductor. */
export function raceTask({ text, runners, isolation, schema }: RacePlan): string {
  const wave = runners.map(({ name, profile, model }) => ({
    tasks: [{ task: text, name }],
    ...given({ profile, model, isolation, schema }),
  }));
  return taskOf(`Race of ${runners.length}: ${text}`, [wave]);
}

function given(fields: Readonly<Record<string, Json>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

const taskOf = (title: string, waves: readonly (readonly JsonObject[])[]): string =>
  `${firstLine(title, titleChars)}\n\n${JSON.stringify({ roost: 'plan', waves })}`;

/** The inputs of spawn_agent, wave by wave; null: the text is no plan. */
function wavesIn(text: string): readonly (readonly Json[])[] | null {
  const json = /\n\n(\{"roost":"plan",[^\n]*\})/.exec(text)?.[1];
  if (json === undefined) return null;
  try {
    const plan: Json = JSON.parse(json);
    const waves = isObject(plan) ? plan['waves'] : undefined;
    return Array.isArray(waves) ? waves.map((wave) => (Array.isArray(wave) ? wave : [])) : null;
  } catch {
    return null; // a person has written it, and not well
  }
}

/** What the conductor of this conversation does next: calls, or its last words. */
export function conduct(items: readonly Item[]): readonly Block[] {
  const at = items.findLastIndex((item) => item.kind === 'user' && wavesIn(item.text) !== null);
  const start = items[at];
  const waves = start?.kind === 'user' ? wavesIn(start.text) : null;
  if (waves === null) return idle;
  const since = items.slice(at + 1);
  const isOver = since.some((item) => item.kind === 'answer' && !item.blocks.some(isCall));
  return isOver ? idle : next(waves, since);
}

const isCall = (block: Block): boolean => block.kind === 'call';

const say = (text: string): readonly Block[] => [{ kind: 'text', text }];

const idle = say(
  'I start the agents of a group and wait for them, nothing else. Send it to one of them, or start another group.',
);

type Result = Extract<Item, { kind: 'result' }>;

function next(waves: readonly (readonly Json[])[], since: readonly Item[]): readonly Block[] {
  const results = since.filter((item): item is Result => item.kind === 'result');
  const told: string[] = [];
  let read = 0;
  for (const [number, wave] of waves.entries()) {
    const started = results.slice(read, read + wave.length);
    if (started.length < wave.length)
      return wave.map((input, index) => call(`${number}.${index}`, 'spawn_agent', input));
    read += wave.length;
    told.push(...started.filter(({ ok }) => !ok).map(({ text }) => `Not started: ${text}`));
    // None of these was started: those that come after would not be either.
    if (started.every(({ ok }) => !ok)) break;
    const waited = results.slice(read);
    // A wait that a message or a crash has ended early is waited once more.
    const end = waited.findIndex(
      ({ text, tool }) => tool === 'wait_agent' && !/ still at work\.$/.test(text),
    );
    const early = waited.filter(({ tool }) => tool === 'wait_agent').length;
    if (end === -1) return [call(`${number}.wait.${early}`, 'wait_agent', {})];
    told.push(...waited.slice(0, end + 1).map(({ text }) => text.replace(/\n[^\n]* at work[^\n]*$/, '')));
    read += end + 1;
  }
  return say(head(['All have ended.', ...told].join('\n\n'), toldChars));
}

const call = (key: string, tool: string, input: Json): Block => ({
  kind: 'call',
  key: `group.${key}`,
  tool,
  input: JSON.stringify(input),
});

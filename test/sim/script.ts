// What a scripted agent does: a pure function of its task's text, the round and the seed. No arrival order, no id
// and no clock enters, so the final words of every turn are known before it starts.
//
// A task reads "do NAME SIZE": SIZE agents may be started below it. A turn of it ends with "done NAME", or the
// model declines when the script says so. A task that comes with a schema hands in {of: NAME, round: N} before, after
// some that do not fit, or first forgets it. Not here: faults, which the fake model adds.

import type { Item } from '../../sidecar/ports.ts';
import { hash } from './chance.ts';
import type { Habits } from './swarm.ts';

export interface ScriptCall {
  readonly tool: string;
  readonly input: unknown;
}

export type Say =
  | { readonly kind: 'calls'; readonly text: string; readonly calls: readonly ScriptCall[] }
  | { readonly kind: 'final'; readonly text: string }
  | { readonly kind: 'refusal'; readonly text: string };

/** How the script knows that a summary is wanted, and what its summary says: where the conversation stands. */
const wishForm = /^\[roost\] This conversation is about to be replaced by a summary/;
const summaryForm = /^standing (\{.*\})$/m;

export const isWish = (item: Item | undefined): boolean => item?.kind === 'user' && wishForm.test(item.text);

export const summaryOf = (at: Standing): string => `standing ${JSON.stringify(at)}`;

export const taskText = (name: string, size: number): string => `do ${name} ${size}`;

/** The one schema there is, and what fits it, told apart by hand so that it can be held against what was taken. */
export const schema = {
  type: 'object',
  properties: { of: { type: 'string' }, round: { type: 'integer' } },
  required: ['of', 'round'],
  additionalProperties: false,
};

export function fitsSchema(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 2) return false;
  return typeof Reflect.get(value, 'of') === 'string' && Number.isInteger(Reflect.get(value, 'round'));
}

const taskForm = /^do (\w+) (\d+)(\n\n\[roost\] When you are done,.*)?$/s;
const missing = '[roost] You have not handed in your result.';
const superseded = '[roost] The result that you handed in is superseded';

/** Where a conversation stands: its present turn's task, and how many answers it has got in this turn. */
export interface Standing {
  /** Null: a turn that only hears how others ended. */
  readonly task: { readonly name: string; readonly size: number; readonly typed: boolean } | null;
  readonly round: number;
  /** A result of this turn was taken, and nothing has come since that it does not answer. */
  readonly handedIn: boolean;
  /** Results of this turn that were not taken, and times that it was asked for one. */
  readonly wrong: number;
  readonly asked: number;
  /** The turn has got its last answer. */
  readonly over: boolean;
}

export function standing(items: readonly Item[]): Standing {
  const none = { round: 0, handedIn: false, wrong: 0, asked: 0 };
  const at = { task: null as Standing['task'], ...none, over: true };
  const begin = (task: Standing['task']): void => {
    Object.assign(at, { task, ...none, over: false });
  };
  for (const item of items) {
    const summary = item.kind === 'user' ? summaryForm.exec(item.text) : null;
    if (summary !== null) {
      Object.assign(at, JSON.parse(summary[1] ?? '{}'));
    } else if (item.kind === 'user') {
      const match = taskForm.exec(item.text);
      if (match !== null) {
        begin({ name: match[1] ?? '', size: Number(match[2]), typed: match[3] !== undefined });
      } else if (item.text.startsWith(missing)) {
        at.asked += 1;
        at.over = false;
      } else if (at.over) begin(null);
      if (item.text.startsWith(superseded)) at.handedIn = false;
    } else if (item.kind === 'answer') {
      const calls = item.blocks.some((block) => block.kind === 'call');
      const final = item.blocks.some(
        (block) => block.kind === 'text' && /^(done|heard|no) /.test(block.text),
      );
      if (calls) at.round += 1;
      if (final && !calls) at.over = true;
    } else if (item.tool === 'submit_result') {
      if (item.ok) at.handedIn = true;
      else at.wrong += 1;
    }
  }
  return at;
}

/** What the model says at this point. */
export function say(seed: string, habits: Habits, at: Standing): Say {
  const { task, round, handedIn } = at;
  if (task === null) return { kind: 'final', text: `heard ${round}` };
  const draw = (what: string): number => hash(seed, task.name, round, what) / 4294967296;
  const rounds = hash(seed, task.name, 'rounds') % 4;
  const refuses = hash(seed, task.name, 'refuses') / 4294967296 < habits.refuses;
  if (round >= rounds + (task.size > 0 ? 2 : 0)) {
    if (task.typed && !handedIn && !refuses) return handIn(seed, task.name, at);
    return refuses
      ? { kind: 'refusal', text: `no ${task.name}` }
      : { kind: 'final', text: `done ${task.name}` };
  }
  const calls: ScriptCall[] = [];
  if (round === 0 && task.size > 0) calls.push(...spawn(seed, task));
  if (round === 1 && task.size > 0) calls.push(...waits(draw, task.name));
  if (draw('tools') < habits.tools) calls.push(...tools(seed, task.name, round));
  if (draw('verb') < habits.verbs) calls.push(verb(draw, task.name, round));
  if (draw('ask') < habits.asksUser)
    calls.push({ tool: 'ask_user', input: { question: `may ${task.name} ${round}?`, choices: [] } });
  if (draw('broken') < habits.broken) calls.push(brokenCall(draw, task.name));
  if (calls.length === 0) calls.push({ tool: 'list_agents', input: {} });
  return { kind: 'calls', text: draw('words') < 0.5 ? `round ${round} of ${task.name}` : '', calls };
}

/** How often a task's result does not fit before it does, and whether it is forgotten at first. */
export const wrongTimes = (seed: string, name: string): number =>
  [0, 0, 0, 1, 2, 9][hash(seed, name, 'wrong') % 6] ?? 0;

function handIn(seed: string, name: string, { round, wrong, asked }: Standing): Say {
  if (asked === 0 && hash(seed, name, 'forgets') % 4 === 0) return { kind: 'final', text: `done ${name}` };
  const right = { of: name, round };
  const wrongs = [{ of: name }, { of: name, round: 0.5 }, { ...right, more: 1 }, { of: 7, round }, {}];
  const result =
    wrong < wrongTimes(seed, name) ? wrongs[hash(seed, name, wrong, 'how') % wrongs.length] : right;
  return { kind: 'calls', text: '', calls: [{ tool: 'submit_result', input: { result } }] };
}

function spawn(seed: string, task: { name: string; size: number }): ScriptCall[] {
  const tasks: { task: string; name?: string }[] = [];
  let left = task.size;
  // Heavy-tailed: many small branches, now and then one that takes nearly all.
  for (let child = 0; left > 0; child += 1) {
    const share = (hash(seed, task.name, child, 'share') / 4294967296) ** 4;
    const size = Math.min(left - 1, Math.floor(share * left));
    const named = hash(seed, task.name, child, 'named') % 3 === 0;
    tasks.push({ task: taskText(`${task.name}_${child}`, size), ...(named ? { name: `c${child}` } : {}) });
    left -= 1 + size;
  }
  const typed = hash(seed, task.name, 'typed') % 3 === 0 ? { schema } : {};
  if (hash(seed, task.name, 'template') % 8 === 0) {
    const items = tasks.map((each) => each.task.slice(3));
    return [{ tool: 'spawn_agent', input: { template: 'do {item}', items, ...typed } }];
  }
  if (tasks.length > 1 && hash(seed, task.name, 'twice') % 4 === 0) {
    const half = Math.ceil(tasks.length / 2);
    return [tasks.slice(0, half), tasks.slice(half)].map((part) => ({
      tool: 'spawn_agent',
      input: { tasks: part, ...typed },
    }));
  }
  const profile = hash(seed, task.name, 'profile') % 5 === 0 ? { profile: 'custom' } : {};
  return [{ tool: 'spawn_agent', input: { tasks, ...profile, ...typed } }];
}

function waits(draw: (what: string) => number, name: string): ScriptCall[] {
  const kind = draw('wait');
  const timeoutMs = Math.floor(draw('timeout') * 10_000);
  if (kind < 0.35) return [{ tool: 'wait_agent', input: {} }];
  if (kind < 0.5) return [{ tool: 'wait_agent', input: { mode: 'any' } }];
  if (kind < 0.6) return [{ tool: 'wait_agent', input: { timeoutMs } }];
  if (kind < 0.7) return [{ tool: 'wait_agent', input: { agents: ['c0', 'c3'], mode: 'all', timeoutMs } }];
  if (kind < 0.8) return [{ tool: 'wait_agent', input: { agents: ['agent-1', 'agent-2'], mode: 'any' } }];
  if (kind < 0.85) {
    return [
      { tool: 'wait_agent', input: { agents: ['agent-1', 'agent-1'] } },
      { tool: 'wait_agent', input: { mode: 'any', timeoutMs } },
    ];
  }
  return [{ tool: 'list_agents', input: { after: name } }]; // does not wait: a notice will tell
}

function tools(seed: string, name: string, round: number): ScriptCall[] {
  const few = 1 + (hash(seed, name, round, 'count') % 6);
  const count = hash(seed, name, round, 'many') % 30 === 0 ? 25 : few;
  return Array.from({ length: count }, (_each, index) => {
    const kind = hash(seed, name, round, index, 'kind') % 8;
    const path = `f${hash(seed, name, index, 'path') % 4}`;
    if (kind <= 1) return { tool: 'shell', input: { command: `echo ${name} ${round} ${index}` } };
    if (kind === 2) return { tool: 'read', input: { path } };
    if (kind === 3) return { tool: 'search', input: { pattern: name } };
    if (kind === 6) return { tool: 'docs__find', input: { word: name } };
    if (kind === 7) return { tool: 'docs__post', input: { text: `${name} ${round}` } };
    return { tool: 'write', input: { path, text: `${name} ${round}` } };
  });
}

function verb(draw: (what: string) => number, name: string, round: number): ScriptCall {
  const kind = draw('which');
  const child = `agent-${1 + Math.floor(draw('whom') * 3)}`;
  const to = draw('to') < 0.4 ? 'parent' : draw('to') < 0.8 ? child : 'nobody';
  if (kind < 0.5) return { tool: 'send_message', input: { to, text: `msg ${name} ${round}` } };
  if (kind < 0.7) return { tool: 'submit_result', input: { result: { of: name, round } } };
  if (kind < 0.85) {
    const typed = draw('typed') < 0.3 ? { schema } : {};
    return { tool: 'followup_task', input: { to: child, task: taskText(`${name}_f${round}`, 0), ...typed } };
  }
  if (kind < 0.9) return { tool: 'interrupt_agent', input: { agent: child } };
  if (kind < 0.97) {
    const about = [{}, { find: name }, { entry: 1 + Math.floor(draw('entry') * 200) }, { before: 20 }];
    return { tool: 'history', input: about[Math.floor(draw('about') * about.length)] ?? {} };
  }
  return { tool: 'wait_agent', input: { agents: ['nobody'] } };
}

/** Calls as models get them wrong. */
function brokenCall(draw: (what: string) => number, name: string): ScriptCall {
  const twin = { task: taskText(`${name}_t`, 0), name: 'c0' };
  const calls: readonly ScriptCall[] = [
    { tool: 'frobnicate', input: {} },
    { tool: 'spawn_agent', input: { tasks: [] } },
    { tool: 'spawn_agent', input: { tasks: [twin, twin] } },
    { tool: 'shell', input: '{"command": "half' },
    { tool: 'ask_user', input: '[]' },
    { tool: 'wait_agent', input: { timeoutMs: 0.5 } },
    { tool: 'wait_agent', input: '{"timeoutMs": 1e300}' },
    { tool: 'wait_agent', input: '{"timeoutMs": 1e999}' },
    { tool: 'list_agents', input: { after: 7 } },
    { tool: 'list_agents', input: { results: true } },
    { tool: 'spawn_agent', input: { tasks: [twin], schema: { type: 'object', patternProperties: {} } } },
    { tool: 'submit_result', input: { result: 'done' } },
  ];
  return calls[Math.floor(draw('how') * calls.length)] ?? { tool: 'frobnicate', input: {} };
}

// The tools that are decisions of the runtime and not work of an adapter: starting agents, waiting for them,
// telling them, asking a person, handing in a result. Their schemas, and the checks of what a model wrote.
//
// Names are those that hosted multi-agent APIs and other harnesses share (spawn_agent, wait_agent,
// send_message, list_agents), so models know them.

import type { Isolation } from '../protocol/agent.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import { must } from './assert.ts';
import type { ToolSpec } from './terms.ts';
import { isolations } from './values.ts';

export const verbSpecs: readonly ToolSpec[] = [
  {
    name: 'spawn_agent',
    description:
      'Starts one agent for each task and returns their names at once; they work at the same time. Each task must stand on its own: the agent sees nothing of this conversation. Use wait_agent to get their results.',
    schema: {
      type: 'object',
      properties: {
        tasks: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            properties: {
              task: { type: 'string', description: 'What to do, with all that the agent needs to know.' },
              name: {
                type: 'string',
                description: 'A short name, unique among your agents: letters, digits, - and _.',
              },
            },
            required: ['task'],
            additionalProperties: false,
          },
        },
        template: {
          type: 'string',
          description: 'Instead of tasks: one text for all, with {item} where each item goes.',
        },
        items: {
          type: 'array',
          minItems: 1,
          items: { type: 'string' },
          description: 'With template: one agent for each.',
        },
        profile: {
          type: 'string',
          description: 'implementer, planner, explorer, reviewer or verifier. Default: implementer.',
        },
        isolation: {
          type: 'string',
          enum: [...isolations],
          description: 'Where their edits land. Default: the profile decides.',
        },
        model: { type: 'string', description: 'provider/model. Default: yours.' },
        schema: {
          type: 'object',
          description:
            'JSON Schema, "type": "object" at its top, that each of them must hand in a result for with submit_result. Without it they end with text.',
        },
      },
      additionalProperties: false,
    },
  },
  {
    name: 'wait_agent',
    description:
      'Waits until your agents have ended their turns, and says how each ended. Costs nothing while waiting. Ends early when a message for you arrives.',
    schema: {
      type: 'object',
      properties: {
        agents: {
          type: 'array',
          items: { type: 'string' },
          description: 'Names of your agents. Default: all that are still at work.',
        },
        mode: { type: 'string', enum: ['any', 'all'], description: 'Default: all.' },
        timeoutMs: {
          type: 'integer',
          minimum: 0,
          description: 'Give up after this time and say who is still at work.',
        },
      },
      additionalProperties: false,
    },
  },
  {
    name: 'list_agents',
    description: 'Lists your agents, what each does and what it said last. Pages of 50.',
    schema: {
      type: 'object',
      properties: {
        after: { type: 'string', description: 'Name of the last agent of the page before.' },
        results: {
          type: 'boolean',
          description: 'Also the whole of what each handed in or said last, fewer to a page.',
        },
      },
      additionalProperties: false,
    },
  },
  {
    name: 'send_message',
    description:
      'Leaves a message for another agent: a name of one of your agents, of one beside you, or "parent". It is read at that agent\'s next step and does not wake it.',
    schema: {
      type: 'object',
      properties: { to: { type: 'string' }, text: { type: 'string' } },
      required: ['to', 'text'],
      additionalProperties: false,
    },
  },
  {
    name: 'followup_task',
    description:
      'Gives one of your agents another task: at once when it rests, else after what it is doing. It still knows its conversation.',
    schema: {
      type: 'object',
      properties: {
        to: { type: 'string' },
        task: { type: 'string' },
        schema: { type: 'object', description: 'JSON Schema of the result, as of spawn_agent.' },
      },
      required: ['to', 'task'],
      additionalProperties: false,
    },
  },
  {
    name: 'interrupt_agent',
    description: 'Stops one of your agents, and all agents below it. It rests until it gets another task.',
    schema: {
      type: 'object',
      properties: { agent: { type: 'string' } },
      required: ['agent'],
      additionalProperties: false,
    },
  },
  {
    name: 'submit_result',
    description:
      'Hands in your result as JSON. Whoever gave you the task gets exactly this. When the task came with a schema, it must fit that, and your turn is not done without it.',
    schema: {
      type: 'object',
      properties: { result: { type: 'object', description: 'The result.' } },
      required: ['result'],
      additionalProperties: false,
    },
  },
  {
    name: 'ask_user',
    description:
      'Asks the person a question and waits for the answer. Only for what you cannot find out or decide yourself.',
    schema: {
      type: 'object',
      properties: {
        question: { type: 'string' },
        choices: {
          type: 'array',
          items: { type: 'string' },
          description: 'Answers to pick from; leave out for free text.',
        },
      },
      required: ['question'],
      additionalProperties: false,
    },
  },
  {
    name: 'history',
    description:
      'Reads back what is left out of this conversation: results marked as elided, and what a summary stands for. With entry, the text of that entry; without, a list of entries with their numbers, newest last.',
    schema: {
      type: 'object',
      properties: {
        entry: { type: 'integer', minimum: 1, description: 'Number of the entry to read.' },
        offset: { type: 'integer', minimum: 0, description: 'With entry: go on from this character.' },
        whole: {
          type: 'boolean',
          description: 'With entry: all that a command printed, where its result was only a part.',
        },
        before: { type: 'integer', minimum: 1, description: 'List entries older than this one.' },
        find: { type: 'string', description: 'List only entries that contain this text.' },
      },
      additionalProperties: false,
    },
  },
];

const verbNames: ReadonlySet<string> = new Set(verbSpecs.map((spec) => spec.name));

/** Whether a tool is one of the runtime's own. */
export const isVerb = (tool: string): boolean => verbNames.has(tool);

export interface SpawnTask {
  readonly task: string;
  readonly name: string | null;
}

/** The tasks of a batch. Those of a template are written out one by one: 100,000 at once were 60 MB a batch. */
export interface SpawnTasks {
  readonly length: number;
  /** The names that were given, in order. */
  readonly names: readonly string[];
  /** The task at an index from 0 below `length`. */
  at(index: number): SpawnTask;
}

export interface SpawnVerb {
  readonly kind: 'spawn_agent';
  readonly tasks: SpawnTasks;
  readonly profile: string | null;
  readonly isolation: Isolation | null;
  readonly model: string | null;
  readonly schema: JsonObject | null;
}

export interface HistoryVerb {
  readonly kind: 'history';
  /** Null: a list is wanted. */
  readonly entry: number | null;
  readonly offset: number;
  readonly whole: boolean;
  readonly before: number | null;
  readonly find: string | null;
}

export type Verb =
  | SpawnVerb
  | HistoryVerb
  | {
      readonly kind: 'wait_agent';
      readonly agents: readonly string[] | null;
      readonly mode: 'any' | 'all';
      readonly timeoutMs: number | null;
    }
  | { readonly kind: 'list_agents'; readonly after: string | null; readonly results: boolean }
  | { readonly kind: 'send_message'; readonly to: string; readonly text: string }
  | {
      readonly kind: 'followup_task';
      readonly to: string;
      readonly task: string;
      readonly schema: JsonObject | null;
    }
  | { readonly kind: 'interrupt_agent'; readonly agent: string }
  | { readonly kind: 'submit_result'; readonly result: JsonObject }
  | { readonly kind: 'ask_user'; readonly question: string; readonly choices: readonly string[] }
  /** An error that the model can use. */
  | { readonly kind: 'invalid'; readonly message: string };

const isString = (value: Json | undefined): value is string => typeof value === 'string';
const isStrings = (value: Json | undefined): value is readonly string[] =>
  Array.isArray(value) && value.every(isString);
const isCount = (value: Json | undefined): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
/** Whether a JSON value is an object, neither null nor an array. */
export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const invalid = (message: string): Verb => ({ kind: 'invalid', message });

function unknownField(tool: string, input: JsonObject): string | null {
  const spec = verbSpecs.find((each) => each.name === tool);
  const properties = spec?.schema['properties'];
  if (!isObject(properties)) return null;
  const known = Object.keys(properties);
  const extra = Object.keys(input).find((key) => !known.includes(key));
  return extra === undefined ? null : `${tool} has no field "${extra}". Its fields are: ${known.join(', ')}.`;
}

function parseTask(value: Json): SpawnTask | string {
  if (isString(value)) return { task: value, name: null };
  if (!isObject(value) || !isString(value['task']) || value['task'].trim() === '') {
    return 'Each of "tasks" is an object with a "task" text that is not empty.';
  }
  const name = value['name'];
  if (name === undefined || name === null) return { task: value['task'], name: null };
  if (!isString(name) || !/^[\w-]{1,60}$/.test(name)) {
    return `"${String(name)}" cannot be a name: use 1 to 60 letters, digits, - or _.`;
  }
  return { task: value['task'], name };
}

function parseTasks(input: JsonObject): SpawnTasks | string {
  const { tasks: list, template, items } = input;
  if (template !== undefined || items !== undefined) {
    if (!isString(template) || !isStrings(items) || items.length === 0 || list !== undefined) {
      return 'Give either "tasks", or "template" (a text) with "items" (a list of texts that is not empty).';
    }
    return {
      length: items.length,
      names: [],
      at: (index) => ({ task: template.replaceAll('{item}', () => items[index] ?? ''), name: null }),
    };
  }
  if (!Array.isArray(list) || list.length === 0) return '"tasks" is a list with at least one task.';
  const tasks: SpawnTask[] = [];
  for (const each of list) {
    const task = parseTask(each);
    if (typeof task === 'string') return task;
    tasks.push(task);
  }
  return {
    length: tasks.length,
    names: tasks.flatMap(({ name }) => (name === null ? [] : [name])),
    at: (index) => must(tasks[index], 'a task of a batch is asked for by its index', { index }),
  };
}

const noSchema = '"schema" is a JSON Schema: an object, not a text.';

function parseSpawn(input: JsonObject): Verb {
  const tasks = parseTasks(input);
  if (typeof tasks === 'string') return invalid(tasks);
  const { profile, isolation, model } = input;
  const schema = input['schema'] ?? null;
  if (schema !== null && !isObject(schema)) return invalid(noSchema);
  const place = isolations.find((each) => each === isolation);
  if (isolation !== undefined && place === undefined)
    return invalid(`"isolation" is one of ${isolations.join(', ')}.`);
  return {
    kind: 'spawn_agent',
    tasks,
    profile: isString(profile) ? profile : null,
    isolation: place ?? null,
    model: isString(model) ? model : null,
    schema,
  };
}

function parseWait(input: JsonObject): Verb {
  const { agents, mode, timeoutMs } = input;
  if (agents !== undefined && !isStrings(agents)) return invalid('"agents" is a list of names.');
  if (mode !== undefined && mode !== 'any' && mode !== 'all') return invalid('"mode" is "any" or "all".');
  if (timeoutMs !== undefined && (typeof timeoutMs !== 'number' || !(timeoutMs >= 0))) {
    return invalid('"timeoutMs" is a number of milliseconds, at least 0.');
  }
  return {
    kind: 'wait_agent',
    agents: agents === undefined || agents.length === 0 ? null : agents,
    mode: mode ?? 'all',
    timeoutMs: timeoutMs ?? null,
  };
}

function parseAsk(input: JsonObject): Verb {
  const { question, choices } = input;
  if (!isString(question) || question.trim() === '')
    return invalid('"question" is a text that is not empty.');
  if (choices !== undefined && !isStrings(choices)) return invalid('"choices" is a list of texts.');
  return { kind: 'ask_user', question, choices: choices ?? [] };
}

function parseHistory(input: JsonObject): Verb {
  const { entry, offset, whole, before, find } = input;
  const counts = { entry, offset, before };
  for (const [name, value] of Object.entries(counts)) {
    if (value !== undefined && !isCount(value)) return invalid(`"${name}" is a whole number, at least 0.`);
  }
  if (whole !== undefined && typeof whole !== 'boolean') return invalid('"whole" is true or false.');
  if (find !== undefined && (!isString(find) || find === ''))
    return invalid('"find" is a text that is not empty.');
  return {
    kind: 'history',
    entry: isCount(entry) ? entry : null,
    offset: isCount(offset) ? offset : 0,
    whole: whole === true,
    before: isCount(before) ? before : null,
    find: isString(find) ? find : null,
  };
}

/** Checks the arguments of one of the runtime's tools. Never throws: what is wrong is an answer for the model. */
export function parseVerb(tool: string, input: JsonObject): Verb {
  const unknown = unknownField(tool, input);
  if (unknown !== null) return invalid(unknown);
  switch (tool) {
    case 'spawn_agent':
      return parseSpawn(input);
    case 'wait_agent':
      return parseWait(input);
    case 'list_agents': {
      const { after, results } = input;
      return { kind: 'list_agents', after: isString(after) ? after : null, results: results === true };
    }
    case 'send_message': {
      const { to, text } = input;
      if (!isString(to) || !isString(text)) return invalid('send_message needs "to" and "text".');
      return { kind: 'send_message', to, text };
    }
    case 'followup_task': {
      const { to, task } = input;
      if (!isString(to) || !isString(task) || task.trim() === '')
        return invalid('followup_task needs "to" and "task".');
      const schema = input['schema'] ?? null;
      if (schema !== null && !isObject(schema)) return invalid(noSchema);
      return { kind: 'followup_task', to, task, schema };
    }
    case 'interrupt_agent': {
      const { agent } = input;
      return isString(agent)
        ? { kind: 'interrupt_agent', agent }
        : invalid('interrupt_agent needs "agent", a name.');
    }
    case 'submit_result': {
      const { result } = input;
      return isObject(result) ? { kind: 'submit_result', result } : invalid('"result" is a JSON object.');
    }
    case 'ask_user':
      return parseAsk(input);
    case 'history':
      return parseHistory(input);
    default:
      return invalid(`There is no tool "${tool}".`);
  }
}

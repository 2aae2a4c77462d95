// The command line of `roost`, read into one closed union. What is not understood is an error that names it.
//
// Numbers name turns in `wait` and `result`, and agents everywhere else; names name agents. Text comes after the
// options, best behind `--`; a single `-` reads it from standard input. Not here: doing any of it.

import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';

import type { Isolation, Mode, Budget } from '../protocol/agent.ts';
import type { Delivery } from '../protocol/methods.ts';
import type { Dialect, ProviderSpec } from '../protocol/settings.ts';
import { Failure } from './failure.ts';

/** What every command takes. */
export interface Common {
  readonly store: string | null;
  readonly pretty: boolean;
  readonly jsonErrors: boolean;
  readonly providers: readonly ProviderSpec[];
  /** Client key of the command's first change; null: a new one. */
  readonly key: string | null;
}

export interface RunOptions {
  readonly kind: 'run';
  readonly fresh: boolean;
  readonly agent: string | null;
  readonly model: string | null;
  readonly workspace: string | null;
  readonly profile: string | null;
  readonly isolation: Isolation | null;
  readonly mode: Mode | null;
  readonly budget: Partial<Budget> | null;
  readonly parent: string | null;
  readonly delivery: Delivery;
  readonly detach: boolean;
  readonly text: string;
}

export type Command =
  | RunOptions
  | {
      readonly kind: 'send';
      readonly agent: string;
      readonly delivery: Delivery;
      readonly follow: boolean;
      readonly text: string;
    }
  | { readonly kind: 'follow'; readonly agent: string | null; readonly after: number; readonly once: boolean }
  | { readonly kind: 'ls'; readonly agent: string | null; readonly all: boolean }
  | {
      readonly kind: 'wait';
      readonly targets: readonly string[];
      readonly any: boolean;
      readonly timeoutMs: number | null;
    }
  | { readonly kind: 'result'; readonly target: string; readonly whole: boolean }
  | { readonly kind: 'interrupt'; readonly agent: string; readonly branch: boolean }
  | { readonly kind: 'requests' }
  | { readonly kind: 'answer'; readonly requests: readonly number[]; readonly words: readonly string[] }
  | { readonly kind: 'review'; readonly agent: string | null }
  | { readonly kind: 'change'; readonly change: number }
  | {
      readonly kind: 'verdict';
      readonly verdict: 'accept' | 'reject';
      readonly change: number;
      readonly hunks: readonly string[];
    }
  | { readonly kind: 'models' | 'info' | 'doctor' | 'shutdown' }
  | { readonly kind: 'version' }
  | { readonly kind: 'help'; readonly text: string };

export interface Line {
  readonly common: Common;
  readonly command: Command;
}

const commonOptions = {
  store: { type: 'string' },
  pretty: { type: 'boolean' },
  'json-errors': { type: 'boolean' },
  provider: { type: 'string', multiple: true },
  key: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies ParseArgsOptionsConfig;

const deliveryOptions = {
  steer: { type: 'boolean' },
  queue: { type: 'boolean' },
  reject: { type: 'boolean' },
} as const satisfies ParseArgsOptionsConfig;

/** Every option of every command; which command takes which is in `takes`. */
const options = {
  ...commonOptions,
  ...deliveryOptions,
  new: { type: 'boolean' },
  agent: { type: 'string' },
  model: { type: 'string' },
  workspace: { type: 'string' },
  profile: { type: 'string' },
  isolation: { type: 'string' },
  mode: { type: 'string' },
  budget: { type: 'string' },
  parent: { type: 'string' },
  detach: { type: 'boolean' },
  follow: { type: 'boolean' },
  all: { type: 'boolean' },
  after: { type: 'string' },
  once: { type: 'boolean' },
  any: { type: 'boolean' },
  timeout: { type: 'string' },
  whole: { type: 'boolean' },
  branch: { type: 'boolean' },
  list: { type: 'boolean' },
} as const satisfies ParseArgsOptionsConfig;

type Name = keyof typeof options;

interface Spec {
  readonly takes: readonly Name[];
  readonly usage: string;
  readonly about: string;
}

const specs: Readonly<Record<string, Spec>> = {
  run: {
    takes: [
      ...([
        'new',
        'agent',
        'model',
        'workspace',
        'profile',
        'isolation',
        'mode',
        'budget',
        'parent',
      ] as const),
      ...(['detach', 'steer', 'queue', 'reject'] as const),
    ],
    usage:
      'run [--new] [--agent NAME] [--model P/M] [--workspace DIR] [--profile P] [--isolation shared|worktree|readonly]\n' +
      '      [--mode ask|edits|auto] [--budget usd=1,tokens=200000,agents=20,depth=3,minutes=30] [--parent AGENT|none]\n' +
      '      [--steer|--queue|--reject] [--detach] -- TEXT',
    about: 'start an agent or send one a message, and print its turn until it ends',
  },
  send: {
    takes: ['steer', 'queue', 'reject', 'follow'],
    usage: 'send AGENT [--steer|--queue|--reject] [--follow] -- TEXT',
    about: 'send a message',
  },
  follow: {
    takes: ['all', 'after', 'once'],
    usage: 'follow [AGENT | --all] [--after CURSOR] [--once]',
    about: 'print entries from a cursor on, then live',
  },
  ls: { takes: ['all'], usage: 'ls [AGENT] [--all]', about: 'list agents' },
  wait: {
    takes: ['any', 'timeout'],
    usage: 'wait TURN|AGENT… [--any] [--timeout SECONDS]',
    about: 'wait for turns to end',
  },
  result: {
    takes: ['whole'],
    usage: 'result TURN|AGENT [--whole]',
    about: 'print how a turn ended and what it said',
  },
  interrupt: {
    takes: ['branch'],
    usage: 'interrupt AGENT [--branch]',
    about: 'stop a turn, or a whole branch',
  },
  answer: {
    takes: ['list'],
    usage: 'answer --list | answer [REQUEST…] allow | deny [REASON] | TEXT',
    about: 'decide what agents ask',
  },
  review: {
    takes: [],
    usage: 'review [AGENT] | review show CHANGE | review accept|reject CHANGE [HUNK…]',
    about: 'list, show and judge changes',
  },
  models: { takes: [], usage: 'models', about: 'list models' },
  info: { takes: [], usage: 'info', about: 'what the sidecar holds and uses' },
  doctor: { takes: [], usage: 'doctor', about: 'check this machine and the store; changes nothing' },
  shutdown: { takes: [], usage: 'shutdown', about: 'end the sidecar; turns go on when the next one starts' },
};

const helpText = [
  'Usage: roost COMMAND [OPTIONS]',
  '',
  ...Object.values(specs).map(({ usage, about }) => `  ${usage}\n      ${about}`),
  '',
  'Options of all commands:',
  '  --store DIR        another store than $ROOST_STORE or the default one',
  '  --pretty           text for people instead of JSON Lines',
  '  --json-errors      errors on standard error as JSON',
  '  --provider NAME=DIALECT,URL[,keyless][,ca=FILE]   a place where models are (anthropic, chat, responses, scripted)',
  '  --key KEY          names this command: asking twice with one key does it once',
  '',
  'Keys come from NAME_API_KEY and NAME_BASE_URL; $ROOST_MODEL names the model when --model does not.',
  'Exit codes: 0 done, 1 failed or interrupted, 2 usage or unknown thing, 75 the store is run by another process.',
  '',
].join('\n');

/** Reads a command line. Throws a Failure with exit code 2 for what it does not understand. */
export function parseLine(args: readonly string[]): Line {
  const [name = 'help', ...rest] = args;
  if (name === 'help' || name === '--help' || name === '-h') return bare({ kind: 'help', text: helpText });
  if (name === '--version' || name === 'version') return bare({ kind: 'version' });
  const spec = specs[name];
  if (spec === undefined)
    throw new Failure('usage', `There is no command "${name}". "roost help" lists them.`);
  const { values, positionals } = read(name, rest);
  if (values.help === true)
    return bare({ kind: 'help', text: `Usage: roost ${spec.usage}\n  ${spec.about}\n` });
  const allowed: readonly string[] = [...spec.takes, ...Object.keys(commonOptions)];
  const unknown = Object.keys(values).find((option) => !allowed.includes(option));
  if (unknown !== undefined)
    throw new Failure('usage', `"roost ${name}" has no option --${unknown}. Usage: roost ${spec.usage}`);
  const common: Common = {
    store: values.store ?? null,
    pretty: values.pretty === true,
    jsonErrors: values['json-errors'] === true,
    providers: (values.provider ?? []).map(parseProvider),
    key: values.key ?? null,
  };
  return { common, command: parseCommand(name, values, positionals) };
}

type Values = ReturnType<typeof read>['values'];

function read(name: string, args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new Failure('usage', `roost ${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function parseCommand(name: string, values: Values, words: readonly string[]): Command {
  const [first, ...others] = words;
  switch (name) {
    case 'run':
      return parseRun(values, words);
    case 'send':
      return {
        kind: 'send',
        agent: need(first, 'send', 'an agent'),
        delivery: parseDelivery(values),
        follow: values.follow === true,
        text: needText('send', others),
      };
    case 'follow':
      if (first !== undefined && values.all === true)
        throw new Failure('usage', 'roost follow: AGENT or --all, not both.');
      return {
        kind: 'follow',
        agent: first ?? null,
        after: parseCount('--after', values.after ?? '0'),
        once: values.once === true,
      };
    case 'ls':
      return { kind: 'ls', agent: first ?? null, all: values.all === true };
    case 'wait':
      need(first, 'wait', 'a turn or an agent');
      return {
        kind: 'wait',
        targets: words,
        any: values.any === true,
        timeoutMs: parseSeconds(values.timeout),
      };
    case 'result':
      return {
        kind: 'result',
        target: need(first, 'result', 'a turn or an agent'),
        whole: values.whole === true,
      };
    case 'interrupt':
      return {
        kind: 'interrupt',
        agent: need(first, 'interrupt', 'an agent'),
        branch: values.branch === true,
      };
    case 'answer':
      return parseAnswer(values, words);
    case 'review':
      return parseReview(words);
    case 'models':
    case 'info':
    case 'doctor':
    case 'shutdown':
      return { kind: name };
    default:
      throw new Failure('usage', `There is no command "${name}".`);
  }
}

function parseRun(values: Values, words: readonly string[]): RunOptions {
  const fresh = values.new === true;
  const agent = values.agent ?? null;
  if (!fresh && agent === null) {
    throw new Failure('usage', 'roost run: name the agent with --agent NAME, or start a new one with --new.');
  }
  return {
    kind: 'run',
    fresh,
    agent,
    model: values.model ?? null,
    workspace: values.workspace ?? null,
    profile: values.profile ?? null,
    isolation: oneOf('--isolation', values.isolation, ['shared', 'worktree', 'readonly'] as const),
    mode: oneOf('--mode', values.mode, ['ask', 'edits', 'auto'] as const),
    budget: values.budget === undefined ? null : parseBudget(values.budget),
    parent: values.parent ?? null,
    delivery: parseDelivery(values),
    detach: values.detach === true,
    text: needText('run', words),
  };
}

function parseDelivery(values: Values): Delivery {
  const named = (['steer', 'queue', 'reject'] as const).filter((each) => values[each] === true);
  if (1 < named.length) throw new Failure('usage', 'Choose one of --steer, --queue and --reject.');
  return named[0] ?? 'queue';
}

function parseAnswer(values: Values, words: readonly string[]): Command {
  if (values.list === true || words.length === 0) return { kind: 'requests' };
  // Leading numbers name requests, unless nothing but numbers was given: then the last one is the text.
  const numbers = words.findIndex((word) => !/^\d+$/.test(word));
  const end = numbers === -1 ? words.length - 1 : numbers;
  return { kind: 'answer', requests: words.slice(0, end).map(Number), words: words.slice(end) };
}

function parseReview([first, second, ...hunks]: readonly string[]): Command {
  if (first !== 'show' && first !== 'accept' && first !== 'reject')
    return { kind: 'review', agent: first ?? null };
  const change = parseCount(`review ${first}`, need(second, `review ${first}`, 'a change'));
  return first === 'show' ? { kind: 'change', change } : { kind: 'verdict', verdict: first, change, hunks };
}

const dialects = ['anthropic', 'chat', 'responses', 'scripted'] as const satisfies readonly Dialect[];

/** `NAME=DIALECT,URL[,keyless][,ca=FILE]`. A file may not hold a comma. */
export function parseProvider(text: string): ProviderSpec {
  const [, name, dialectName, baseUrl, rest = ''] = /^([^=,]+)=([^,]+),([^,]+)(,.*)?$/.exec(text) ?? [];
  if (name === undefined || dialectName === undefined || baseUrl === undefined) {
    throw new Failure('usage', `--provider ${text}: it must look like NAME=DIALECT,URL[,keyless][,ca=FILE].`);
  }
  const extras = rest.split(',').filter((extra) => extra !== '');
  const unknown = extras.find((extra) => extra !== 'keyless' && !extra.startsWith('ca='));
  if (unknown !== undefined) throw new Failure('usage', `--provider ${name}: "${unknown}" is not known.`);
  const ca = extras.find((extra) => extra.startsWith('ca='))?.slice('ca='.length);
  const dialect = oneOf(`--provider ${name}`, dialectName, dialects);
  if (dialect === null) throw new Failure('usage', `--provider ${name}: name a dialect.`);
  return {
    name,
    dialect,
    baseUrl,
    ...(extras.includes('keyless') ? { keyless: true } : {}),
    ...(ca === undefined ? {} : { caFile: ca }),
  };
}

/** `usd=1.5,tokens=200000,agents=20,depth=3,minutes=30`. */
export function parseBudget(text: string): Partial<Budget> {
  const parts = text.split(',').map((part) => {
    const [name = '', amount = ''] = part.split('=');
    const value = amount === '' ? Number.NaN : Number(amount);
    if (!(0 <= value))
      throw new Failure('usage', `--budget ${part}: it needs a number that is not negative.`);
    switch (name) {
      case 'usd':
        return { microUsd: Math.round(value * 1_000_000) };
      case 'minutes':
        return { wallMs: Math.round(value * 60_000) };
      case 'tokens':
        return { tokens: Math.floor(value) };
      case 'agents':
        return { agents: Math.floor(value) };
      case 'depth':
        return { depth: Math.floor(value) };
      default:
        throw new Failure('usage', `--budget ${part}: known are usd, tokens, agents, depth and minutes.`);
    }
  });
  return Object.assign({}, ...parts);
}

function parseSeconds(text: string | undefined): number | null {
  if (text === undefined) return null;
  const seconds = Number(text);
  if (text !== '' && 0 <= seconds) return Math.round(seconds * 1000);
  throw new Failure('usage', `--timeout ${text}: it needs seconds.`);
}

function parseCount(what: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Failure('usage', `${what}: "${text}" is not a number.`);
}

function oneOf<T extends string>(what: string, text: string | undefined, known: readonly T[]): T | null {
  if (text === undefined) return null;
  const found = known.find((each) => each === text);
  if (found !== undefined) return found;
  throw new Failure('usage', `${what}: "${text}" is none of ${known.join(', ')}.`);
}

function need(word: string | undefined, command: string, what: string): string {
  if (word !== undefined && word !== '') return word;
  throw new Failure('usage', `roost ${command} needs ${what}.`);
}

function needText(command: string, words: readonly string[]): string {
  return need(words.join(' '), command, 'a text, best behind "--"');
}

function bare(command: Command): Line {
  return { common: { store: null, pretty: false, jsonErrors: false, providers: [], key: null }, command };
}

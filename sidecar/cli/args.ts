// The command line of `roost`, read into one closed union. What is not understood is an error that names it.
//
// Numbers name turns in `wait` and `result`, and agents everywhere else; names name agents. Text comes after the
// options, best behind `--`; a single `-` reads it from standard input. Not here: doing any of it.

import { parseArgs } from 'node:util';

import type { Isolation, Mode, Budget } from '../protocol/agent.ts';
import type { Delivery } from '../protocol/methods.ts';
import type { ProviderSpec } from '../protocol/settings.ts';
import { parseBranchFile, type BranchFileCommand } from './branchFileArgs.ts';
import { parseCommands, type CommandsCommand } from './commandArgs.ts';
import { Failure } from './failure.ts';
import { parseGroup, type GroupCommand } from './groupArgs.ts';
import { parseIsolation, parseKnowledge, parseMode, type KnowledgeCommand } from './knowledgeArgs.ts';
import { parseMoney, type MoneyCommand } from './moneyArgs.ts';
import { parseTrash, type TrashCommand } from './trashArgs.ts';
import { commonOptions, helpText, options, specs } from './usage.ts';
import { need, parseBudget, parseCount, parseProvider, parseSeconds } from './values.ts';
import { parseWorkspace, type WorkspaceCommand } from './workspaceArgs.ts';

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
  /** File with the JSON Schema of the result; `-` is standard input. */
  readonly schema: string | null;
  readonly text: string;
}

export type Command =
  | RunOptions
  | {
      readonly kind: 'send';
      readonly agent: string;
      readonly delivery: Delivery;
      readonly follow: boolean;
      readonly schema: string | null;
      readonly text: string;
    }
  | {
      readonly kind: 'follow';
      readonly agent: string | null;
      readonly after: number;
      /** `stored`: what is there already; `rest`: until the agent rests; `ever`: until somebody ends it. */
      readonly until: 'stored' | 'rest' | 'ever';
    }
  | { readonly kind: 'ls'; readonly agent: string | null; readonly all: boolean }
  | {
      readonly kind: 'wait';
      readonly targets: readonly string[];
      readonly any: boolean;
      readonly timeoutMs: number | null;
    }
  | {
      readonly kind: 'result';
      readonly target: string;
      readonly whole: boolean;
      /** Only what submit_result was given. */
      readonly value: boolean;
    }
  | { readonly kind: 'interrupt'; readonly agent: string; readonly branch: boolean }
  | {
      readonly kind: 'fork';
      readonly agent: string;
      readonly turn: number | null;
      readonly name: string | null;
      readonly schema: string | null;
      readonly text: string;
    }
  | { readonly kind: 'close'; readonly agent: string }
  | { readonly kind: 'delete'; readonly agent: string }
  | { readonly kind: 'restore'; readonly agent: string }
  | { readonly kind: 'retry'; readonly agent: string }
  | { readonly kind: 'turns'; readonly agent: string }
  | { readonly kind: 'rewind'; readonly agent: string; readonly turn: number; readonly stop: boolean }
  | {
      readonly kind: 'compact';
      readonly agent: string;
      readonly focus: string | null;
      readonly detach: boolean;
    }
  | { readonly kind: 'budget'; readonly agent: string; readonly budget: Partial<Budget> | null }
  | { readonly kind: 'queue'; readonly agent: string; readonly remove: number | null }
  | { readonly kind: 'requests' }
  | { readonly kind: 'answer'; readonly requests: readonly number[]; readonly words: readonly string[] }
  | { readonly kind: 'review'; readonly agent: string | null }
  | { readonly kind: 'change'; readonly change: number }
  | {
      readonly kind: 'verdict';
      readonly verdict: 'accept' | 'reject';
      /** The person has merged it by hand: nothing is written. */
      readonly merged: boolean;
      readonly change: number;
      readonly hunks: readonly string[];
    }
  | CommandsCommand
  | WorkspaceCommand
  | KnowledgeCommand
  | MoneyCommand
  | GroupCommand
  | { readonly kind: 'info' | 'doctor' | 'shutdown' }
  | { readonly kind: 'lsp' }
  | TrashCommand
  | BranchFileCommand
  | { readonly kind: 'version' }
  | { readonly kind: 'help'; readonly text: string };

export interface Line {
  readonly common: Common;
  readonly command: Command;
}

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
  const [first] = words;
  switch (name) {
    case 'run':
      return parseRun(values, words);
    case 'send':
      return parseSend(values, words);
    case 'fan':
    case 'race':
    case 'compare':
    case 'pick':
      return parseGroup(name, values, words);
    case 'follow':
      return parseFollow(values, first);
    case 'ls':
      return { kind: 'ls', agent: first ?? null, all: values.all === true };
    case 'wait':
      return parseWait(values, words);
    case 'result':
      return parseResult(values, first);
    case 'interrupt':
      return { kind: 'interrupt', agent: need(first, name, 'an agent'), branch: values.branch === true };
    case 'fork':
    case 'close':
    case 'delete':
    case 'restore':
    case 'retry':
    case 'turns':
    case 'rewind':
    case 'compact':
    case 'budget':
    case 'queue':
      return parseLifecycle(name, values, words);
    case 'export':
    case 'import':
      return parseBranchFile(name, values, words);
    case 'trash':
      return parseTrash(words);
    case 'answer':
      return parseAnswer(values, words);
    case 'review':
      return parseReview(words);
    case 'command':
      return parseCommands(values, words);
    case 'worktree':
    case 'checkpoint':
      return parseWorkspace(name, values, words);
    case 'profiles':
    case 'mcp':
    case 'trust':
    case 'configure':
      return parseKnowledge(name, values, words);
    case 'models':
    case 'cost':
      return parseMoney(name, values, words);
    case 'lsp':
      return { kind: 'lsp' };
    case 'info':
    case 'doctor':
    case 'shutdown':
      return { kind: name };
    default:
      throw new Failure('usage', `There is no command "${name}".`);
  }
}

function parseResult(values: Values, target: string | undefined): Command {
  return {
    kind: 'result',
    target: need(target, 'result', 'a turn or an agent'),
    whole: values.whole === true,
    value: values.value === true,
  };
}

function parseWait(values: Values, words: readonly string[]): Command {
  need(words[0], 'wait', 'a turn or an agent');
  return {
    kind: 'wait',
    targets: words,
    any: values.any === true,
    timeoutMs: parseSeconds(values.timeout),
  };
}

function parseSend(values: Values, [agent, ...others]: readonly string[]): Command {
  return {
    kind: 'send',
    agent: need(agent, 'send', 'an agent'),
    delivery: parseDelivery(values),
    follow: values.follow === true,
    schema: values.schema ?? null,
    text: needText('send', others),
  };
}

function parseFollow(values: Values, agent: string | undefined): Command {
  if (agent !== undefined && values.all === true)
    throw new Failure('usage', 'roost follow: AGENT or --all, not both.');
  if (values.once === true && values.stay === true)
    throw new Failure('usage', 'roost follow: --once or --stay, not both.');
  const ever = agent === undefined || values.stay === true;
  return {
    kind: 'follow',
    agent: agent ?? null,
    after: parseCount('--after', values.after ?? '0'),
    until: values.once === true ? 'stored' : ever ? 'ever' : 'rest',
  };
}

type Lifecycle =
  'fork' | 'turns' | 'rewind' | 'close' | 'delete' | 'restore' | 'retry' | 'compact' | 'budget' | 'queue';

function parseLifecycle(name: Lifecycle, values: Values, [first, ...others]: readonly string[]): Command {
  switch (name) {
    case 'fork':
      return {
        kind: 'fork',
        agent: need(first, 'fork', 'an agent'),
        turn: values.turn === undefined ? null : parseCount('--turn', values.turn),
        name: values.agent ?? null,
        schema: values.schema ?? null,
        text: needText('fork', others),
      };
    case 'close':
    case 'delete':
    case 'restore':
    case 'retry':
    case 'turns':
      return { kind: name, agent: need(first, name, 'an agent') };
    case 'rewind':
      return {
        kind: 'rewind',
        agent: need(first, 'rewind', 'an agent'),
        turn: parseCount('rewind', need(others[0], 'rewind', 'a turn; "roost turns" lists them')),
        stop: values.stop === true,
      };
    case 'compact':
      return {
        kind: 'compact',
        agent: need(first, 'compact', 'an agent'),
        focus: others.length === 0 ? null : others.join(' '),
        detach: values.detach === true,
      };
    case 'budget':
      return {
        kind: 'budget',
        agent: need(first, 'budget', 'an agent'),
        budget: values.budget === undefined ? null : parseBudget(values.budget),
      };
    case 'queue':
      return {
        kind: 'queue',
        agent: need(first, 'queue', 'an agent'),
        remove: values.remove === undefined ? null : parseCount('--remove', values.remove),
      };
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
    isolation: parseIsolation(values),
    mode: parseMode(values),
    budget: values.budget === undefined ? null : parseBudget(values.budget),
    parent: values.parent ?? null,
    delivery: parseDelivery(values),
    detach: values.detach === true,
    schema: values.schema ?? null,
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
  if (first !== 'show' && first !== 'accept' && first !== 'reject' && first !== 'merged')
    return { kind: 'review', agent: first ?? null };
  const change = parseCount(`review ${first}`, need(second, `review ${first}`, 'a change'));
  if (first === 'show') return { kind: 'change', change };
  const merged = first === 'merged';
  return { kind: 'verdict', verdict: merged ? 'accept' : first, merged, change, hunks };
}

function needText(command: string, words: readonly string[]): string {
  return need(words.join(' '), command, 'a text, best behind "--"');
}

function bare(command: Command): Line {
  return { common: { store: null, pretty: false, jsonErrors: false, providers: [], key: null }, command };
}

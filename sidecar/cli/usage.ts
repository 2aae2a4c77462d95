// The commands of `roost`, their options, and the help that lists them.

import type { ParseArgsOptionsConfig } from 'node:util';

export const commonOptions = {
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
export const options = {
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
  stay: { type: 'boolean' },
  any: { type: 'boolean' },
  timeout: { type: 'string' },
  whole: { type: 'boolean' },
  stop: { type: 'boolean' },
  value: { type: 'boolean' },
  schema: { type: 'string' },
  branch: { type: 'boolean' },
  list: { type: 'boolean' },
  turn: { type: 'string' },
  remove: { type: 'string' },
  force: { type: 'boolean' },
  done: { type: 'boolean' },
  connect: { type: 'boolean' },
  allow: { type: 'boolean' },
  deny: { type: 'boolean' },
  input: { type: 'string' },
  output: { type: 'string' },
  'cache-read': { type: 'string' },
  'cache-write': { type: 'string' },
  clear: { type: 'boolean' },
  days: { type: 'string' },
  ledger: { type: 'boolean' },
  items: { type: 'string' },
  'at-once': { type: 'string' },
  with: { type: 'string', multiple: true },
} as const satisfies ParseArgsOptionsConfig;

type Name = keyof typeof options;

interface Spec {
  readonly takes: readonly Name[];
  readonly usage: string;
  readonly about: string;
}

const groupTakes = [
  ...(['agent', 'model', 'workspace', 'isolation', 'mode', 'budget', 'parent', 'schema', 'detach'] as const),
] as const;

export const specs: Readonly<Record<string, Spec>> = {
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
      ...(['schema', 'detach', 'steer', 'queue', 'reject'] as const),
    ],
    usage:
      'run [--new] [--agent NAME] [--model P/M] [--workspace DIR] [--profile P] [--isolation shared|worktree|readonly]\n' +
      '      [--mode ask|edits|auto] [--budget usd=1,tokens=200000,agents=20,depth=3,minutes=30] [--parent AGENT|none]\n' +
      '      [--schema FILE] [--steer|--queue|--reject] [--detach] -- TEXT',
    about: 'start an agent or send one a message, and print its turn until it ends',
  },
  send: {
    takes: ['steer', 'queue', 'reject', 'follow', 'schema'],
    usage: 'send AGENT [--schema FILE] [--steer|--queue|--reject] [--follow] -- TEXT',
    about: 'send a message',
  },
  follow: {
    takes: ['all', 'after', 'once', 'stay'],
    usage: 'follow [AGENT | --all] [--after CURSOR] [--once | --stay]',
    about:
      'print entries from a cursor on, then live; of an agent until it rests and all below it, with --stay for ever',
  },
  ls: { takes: ['all'], usage: 'ls [AGENT] [--all]', about: 'list agents' },
  wait: {
    takes: ['any', 'timeout'],
    usage: 'wait TURN|AGENT… [--any] [--timeout SECONDS]',
    about: 'wait for turns to end',
  },
  result: {
    takes: ['whole', 'value'],
    usage: 'result TURN|AGENT [--whole] [--value]',
    about: 'print how a turn ended and what it said; with --value only the result that it handed in, as JSON',
  },
  interrupt: {
    takes: ['branch'],
    usage: 'interrupt AGENT [--branch]',
    about: 'stop a turn, or a whole branch',
  },
  fork: {
    takes: ['turn', 'agent', 'schema'],
    usage: 'fork AGENT [--turn TURN] [--agent NAME] [--schema FILE] -- TEXT',
    about: 'go on from the end of a turn as another agent; nothing is copied',
  },
  turns: { takes: [], usage: 'turns AGENT', about: 'list the turns of an agent, newest first' },
  rewind: {
    takes: ['stop'],
    usage: 'rewind AGENT TURN [--stop]',
    about:
      'go on from the end of an earlier turn; what is left stays readable, and going to a turn that was left undoes it',
  },
  retry: { takes: [], usage: 'retry AGENT', about: 'do a turn that ended badly once more' },
  close: { takes: [], usage: 'close AGENT', about: 'end an agent and all below it for good' },
  delete: {
    takes: [],
    usage: 'delete AGENT',
    about: 'stop an agent and all below it, and move them to the trash',
  },
  restore: { takes: [], usage: 'restore AGENT', about: 'bring a branch back from the trash' },
  fan: {
    takes: [...groupTakes, 'profile', 'items', 'at-once'],
    usage:
      'fan [--items FILE|-] [--at-once N] [--agent NAME] [--profile P] [--model P/M] [--isolation …] [--mode …] [--budget …]\n' +
      '      [--schema FILE] [--workspace DIR] [--parent AGENT|none] [--detach] -- TEMPLATE [ITEM…]',
    about:
      'one agent for each item, a line of FILE each, with {item} of the template in its place; waits for all',
  },
  race: {
    takes: [...groupTakes, 'with'],
    usage:
      'race --with P/M --with PROFILE --with PROFILE=P/M … [--agent NAME] [--model P/M] [--isolation …] [--mode …] [--budget …]\n' +
      '      [--schema FILE] [--workspace DIR] [--parent AGENT|none] [--detach] -- TEXT',
    about:
      'the same task by several, each in a worktree of its own; waits for all and puts them side by side',
  },
  compare: {
    takes: [],
    usage: 'compare GROUP',
    about: 'those of a fan-out or a race side by side: how they ended, what they said, what they changed',
  },
  pick: {
    takes: [],
    usage: 'pick GROUP AGENT',
    about: 'accept all changes of one of a group, and take the others to the trash',
  },
  trash: {
    takes: [],
    usage: 'trash [ls] | trash empty [AGENT…] | trash keep DAYS|ever',
    about: 'list what is in the trash; delete it, or some of it, for good; say how long it is kept (30 days)',
  },
  export: {
    takes: ['force'],
    usage: 'export AGENT [FILE] [--force]',
    about: 'write an agent and all below it to a file, or to standard output',
  },
  import: {
    takes: ['workspace'],
    usage: 'import FILE [--workspace DIR]',
    about: 'bring an exported branch into this store, at rest; it works in DIR, or here',
  },
  compact: {
    takes: ['detach'],
    usage: 'compact AGENT [--detach] [-- WHAT TO STRESS]',
    about: 'have its conversation summarised, so that its requests are short again; nothing of it is lost',
  },
  budget: {
    takes: ['budget'],
    usage: 'budget AGENT [--budget usd=1,tokens=200000,agents=20,depth=3,minutes=30]',
    about: "show or set a branch's budget",
  },
  queue: {
    takes: ['remove'],
    usage: 'queue AGENT [--remove TURN]',
    about: 'list the messages that wait, or take one back',
  },
  answer: {
    takes: ['list'],
    usage: 'answer --list | answer [REQUEST…] allow | deny [REASON] | TEXT',
    about: 'decide what agents ask',
  },
  review: {
    takes: [],
    usage: 'review [AGENT] | review show CHANGE | review accept|reject|merged CHANGE [HUNK…]',
    about: 'list, show and judge changes; merged: you have put what you want of it into your file by hand',
  },
  checkpoint: {
    takes: ['all'],
    usage:
      'checkpoint [ls [AGENT] [--all]] | checkpoint show CHECKPOINT | checkpoint restore CHECKPOINT [PATH…]',
    about:
      'list how this folder was before turns wrote in it (--all: every folder), show what going back would do, go back',
  },
  command: {
    takes: ['follow'],
    usage: 'command [ls [AGENT]] | command output COMMAND [--follow] | command kill COMMAND…',
    about: 'list commands that agents run in the background, print what one says, end them',
  },
  worktree: {
    takes: ['force', 'done'],
    usage: 'worktree [ls [AGENT]] | worktree rm AGENT… [--force] | worktree rm --done',
    about: 'list worktrees of agents, and remove those of which nothing is lost (--force: also the others)',
  },
  profiles: {
    takes: ['workspace'],
    usage: 'profiles [--workspace DIR]',
    about: 'list the profiles that agents of a folder can have, and the files that agents are told',
  },
  mcp: {
    takes: ['workspace', 'connect'],
    usage: 'mcp [--workspace DIR] [--connect] | mcp restart SERVER [--workspace DIR]',
    about:
      'list the servers of tools (MCP) of a folder and what they offer; --connect starts and asks them; restart one',
  },
  trust: {
    takes: ['workspace', 'allow', 'deny'],
    usage: 'trust [--workspace DIR] [--allow | --deny] [FILE…]',
    about: 'decide what of a folder agents are told: all files that wait, or the ones named',
  },
  configure: {
    takes: ['profile', 'model', 'mode', 'isolation'],
    usage:
      'configure AGENT [--profile P] [--model P/M] [--mode ask|edits|auto] [--isolation shared|worktree|readonly]',
    about: "change an agent; its profile changes with the next turn, to what the profile's files say now",
  },
  models: {
    takes: ['input', 'output', 'cache-read', 'cache-write', 'clear'],
    usage:
      'models | models price P/M --input USD --output USD [--cache-read USD] [--cache-write USD] | models price P/M --clear\n' +
      '      | models role PROFILE P/M | models role PROFILE --clear',
    about:
      'list models; say what one costs for a million tokens (0 is a price), or which one agents of a profile get',
  },
  cost: {
    takes: ['days', 'ledger'],
    usage: 'cost [AGENT] [--days N] [--ledger]',
    about: 'what was spent by day and model, of all, of a root, or of an agent; with --ledger each request',
  },
  lsp: {
    takes: [],
    usage: 'lsp',
    about:
      'a language server on standard input and output, for editors that review changes of agents (README.md)',
  },
  info: { takes: [], usage: 'info', about: 'what the sidecar holds and uses' },
  doctor: { takes: [], usage: 'doctor', about: 'check this machine and the store; changes nothing' },
  shutdown: { takes: [], usage: 'shutdown', about: 'end the sidecar; turns go on when the next one starts' },
};

export const helpText = [
  'Usage: roost COMMAND [OPTIONS]',
  '',
  ...Object.values(specs).map(({ usage, about }) => `  ${usage}\n      ${about}`),
  '',
  'Options of all commands:',
  '  --store DIR        another store than $ROOST_STORE or the default one',
  '  --pretty           text for people instead of JSON Lines',
  '  --json-errors      errors on standard error as JSON',
  '  --provider NAME=DIALECT,URL[,keyless][,api-key][,context=TOKENS][,ca=FILE]   a place where models are (anthropic, chat, responses, scripted)',
  '  --key KEY          names this command: asking twice with one key does it once',
  '',
  'Keys come from NAME_API_KEY and NAME_BASE_URL; $ROOST_MODEL names the model when --model does not.',
  'Exit codes: 0 done, 1 failed or interrupted, 2 usage or unknown thing, 75 the store is run by another process,',
  '130 left by Ctrl-C: the turn goes on.',
  '',
].join('\n');

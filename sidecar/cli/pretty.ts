// Lines for people: what `--pretty` prints instead of JSON. Control characters of agents and commands do not
// reach the terminal, where they could hide or fake text.

import type { AgentRow } from '../protocol/agent.ts';
import type { Block, Entry, EntryBody } from '../protocol/entry.ts';
import type { TurnResult, TurnRow } from '../protocol/methods.ts';
import type { RequestRow } from '../protocol/request.ts';
import type { PrintedLine } from './lines.ts';
import { prettyFolder } from './prettyFolder.ts';
import { prettyBranch } from './prettyBranch.ts';
import { prettyGroup } from './prettyGroup.ts';
import { clean, indent } from './prettyText.ts';
import { dollars, isMoney, prettyMoney } from './prettyMoney.ts';

/** Lines of a tool's result that are shown; the rest is counted. */
const shownLines = 20;

export function prettyLine(line: PrintedLine): string {
  if (isMoney(line)) return clean(prettyMoney(line));
  switch (line.type) {
    case 'started':
      return `${line.name} (agent ${line.agent}), turn ${line.turn} ${line.state}\n`;
    case 'entry':
      return clean(prettyEntry(line));
    case 'caughtUp':
      return '';
    case 'request':
      return clean(prettyRequest(line));
    case 'compacting':
    case 'answered':
    case 'result':
    case 'open':
    case 'turn':
    case 'rewound':
    case 'queued':
    case 'removed':
      return clean(prettyTurns(line));
    case 'agent':
      return clean(prettyAgent(line));
    case 'interrupted':
    case 'closed':
    case 'deleted':
    case 'restored':
    case 'trash':
    case 'emptied':
    case 'trashKept':
    case 'exported':
    case 'imported':
      return clean(prettyBranch(line));
    case 'budget':
      return prettyBudget(line);
    case 'change':
    case 'verdict':
      return clean(prettyReview(line));
    case 'command':
    case 'output':
    case 'killed':
      return clean(prettyCommand(line));
    case 'checkpoint':
    case 'checkpointFile':
    case 'checkpointRestored':
    case 'worktree':
    case 'worktreeRemoved':
      return prettyFolder(line);
    case 'member':
    case 'picked':
      return prettyGroup(line);
    case 'profile':
    case 'file':
    case 'server':
    case 'problem':
    case 'trusted':
    case 'configured':
      return prettyKnowledge(line);
    case 'info':
      return prettyInfo(line);
    case 'check':
    case 'finding':
      return clean(prettyCheck(line));
    case 'shutdown':
      return `the sidecar (process ${line.pid}) is ending\n`;
    case 'version':
      return `${line.build}\n`;
    case 'text':
      return line.text.endsWith('\n') ? line.text : `${line.text}\n`;
  }
}

const prettyReview = (line: Extract<PrintedLine, { type: 'change' | 'verdict' }>): string =>
  line.type === 'change'
    ? prettyChange(line)
    : `${line.change.label}: ${line.state}${line.message === '' ? '' : `. ${line.message}`}\n`;

const prettyCheck = (line: Extract<PrintedLine, { type: 'check' | 'finding' }>): string =>
  line.type === 'check'
    ? `${line.ok ? 'ok  ' : 'FAIL'} ${line.name}: ${line.message}\n`
    : `FAIL ${line.invariant}: ${line.message}\n`;

const prettyInfo = (line: Extract<PrintedLine, { type: 'info' }>): string =>
  Object.entries(line)
    .filter(([name]) => name !== 'type')
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : String(value)}\n`)
    .join('');

function prettyCommand(line: Extract<PrintedLine, { type: 'command' | 'output' | 'killed' }>): string {
  switch (line.type) {
    case 'command': {
      const ending = line.stopping ? '  is being ended' : '';
      return `${line.command}  ${line.agentName} (${line.agent})${ending}  ${line.title}\n`;
    }
    case 'output':
      return line.text;
    case 'killed':
      return `command ${line.command} ${line.killed ? 'is being ended' : 'had ended before'}\n`;
  }
}

type TurnLine = Extract<
  PrintedLine,
  { type: 'compacting' | 'answered' | 'result' | 'open' | 'turn' | 'rewound' | 'queued' | 'removed' }
>;

function prettyTurns(line: TurnLine): string {
  switch (line.type) {
    case 'compacting':
      return `${line.name} (agent ${line.agent}): ${compacting[line.state]}\n`;
    case 'answered':
      return `answered ${line.applied}${line.stale === 0 ? '' : `, ${line.stale} had been decided before`}\n`;
    case 'result':
      return prettyResult(line);
    case 'open':
      return `still open: turns ${line.turns.join(', ')}\n`;
    case 'turn':
      return prettyTurn(line);
    case 'rewound':
      return prettyRewound(line);
    case 'queued':
      return `turn ${line.turn}: ${firstLines(line.text)}\n`;
    case 'removed':
      return line.removed ? `turn ${line.turn} is taken back\n` : `turn ${line.turn} has begun already\n`;
  }
}

function prettyResult({ name, turn, outcome, superseded, text, result }: TurnResult): string {
  const late = superseded ? ' (superseded)' : '';
  const value = result === null ? '' : `result: ${JSON.stringify(result)}\n`;
  return `${name}, turn ${turn}: ${outcome ?? 'still open'}${late}\n${indent(text)}${value}`;
}

function prettyRewound({ agent, turn, from, stopped }: Extract<PrintedLine, { type: 'rewound' }>): string {
  const also = stopped === 0 ? '' : `; stopped ${stopped}`;
  const undo = from === null ? '' : `. Back again: roost rewind ${agent} ${from}`;
  return `goes on from the end of turn ${turn}${also}${undo}\n`;
}

function prettyTurn({ turn, state, outcome, left, from, asked, said }: TurnRow): string {
  const who = from === 'person' ? 'you' : `agent ${from}`;
  const gone = left ? ' (left by a rewind)' : '';
  return `turn ${turn}: ${outcome ?? state}${gone}\n    ${who}: ${asked}\n${said === '' ? '' : `    ${said}\n`}`;
}

function prettyEntry({ agent, body }: Entry): string {
  switch (body.kind) {
    case 'user':
      return `[${agent}] ${body.from === 'person' ? 'you' : `agent ${body.from}`}: ${body.text}\n`;
    case 'notice':
      return `[${agent}] notice of ${body.outcomes} ${body.outcomes === 1 ? 'outcome' : 'outcomes'}\n${indent(body.text)}`;
    case 'answer':
      return body.blocks.map((block) => `[${agent}] ${prettyBlock(block)}`).join('');
    case 'result':
      return `[${agent}] ${body.tool}: ${body.status}\n${indent(firstLines(body.text))}`;
    case 'rewind':
      return `[${agent}] goes on from the end of turn ${body.turn}\n`;
    case 'context':
      return prettyContext(agent, body);
    case 'note':
      return `[${agent}] note: ${body.text}\n`;
    case 'end':
      return `[${agent}] ${body.outcome}${body.text === '' ? '' : `: ${firstLines(body.text)}`}\n`;
  }
}

const compacting = {
  started: 'its conversation is being summarised',
  queued: 'its conversation is summarised before its next request',
  nothing: 'there is nothing to summarise',
} as const;

/** What the model is sent less from here on, and by how much. */
function prettyContext(agent: number, body: Extract<EntryBody, { kind: 'context' }>): string {
  const kilobytes = (bytes: number): string => `${Math.max(1, Math.round(bytes / 1024))} KB`;
  const sizes = `${kilobytes(body.bytesBefore)} -> ${kilobytes(body.bytesAfter)}`;
  if (body.how !== 'compacted') return `[${agent}] context ${sizes}: ${body.text}\n`;
  return `[${agent}] summary ${sizes}\n${indent(firstLines(body.text))}`;
}

function prettyBlock(block: Block): string {
  switch (block.kind) {
    case 'text':
      return `${block.text}\n`;
    case 'thinking':
      return `(thinking) ${firstLines(block.text)}\n`;
    case 'call':
      return `→ ${block.tool} ${firstLines(block.input)}\n`;
  }
}

/** In the words of the Agents view: "asking" would be read as asking the person. */
function stateOf(row: AgentRow): string {
  switch (row.phase) {
    case 'waiting':
      return `waiting: ${row.why ?? 'unknown'}`;
    case 'idle':
      return row.outcome ?? 'idle';
    case 'asking':
      return 'thinking';
    case 'calling':
      return 'running tools';
    case 'ready':
      return 'queued';
  }
}

function prettyAgent(row: AgentRow): string {
  const state = stateOf(row);
  const branch = row.branch.agents === 1 ? '' : `, ${row.branch.agents} in its branch`;
  const money = row.branch.microUsd === 0 ? '' : `, $${(row.branch.microUsd / 1_000_000).toFixed(2)}`;
  const commands = row.commands === 0 ? '' : `, ${row.commands} in the background`;
  const trashed = row.trashed ? ', in the trash' : '';
  return `${'  '.repeat(row.depth)}${row.name} (${row.id})  ${state}${commands}${trashed}${branch}${money}  ${row.task}\n`;
}

type KnowledgeLine = Extract<
  PrintedLine,
  { type: 'profile' | 'file' | 'server' | 'problem' | 'trusted' | 'configured' }
>;

function prettyKnowledge(line: KnowledgeLine): string {
  switch (line.type) {
    case 'profile':
      return clean(prettyProfile(line));
    case 'file':
      return clean(`${line.state.padEnd(8)} ${line.label} (${line.kind}, ${line.sizeBytes} bytes)\n`);
    case 'server':
      return clean(prettyServer(line));
    case 'problem':
      return clean(`${line.label}: ${line.message}\n`);
    case 'trusted':
      return `${line.changed} ${line.changed === 1 ? 'file is' : 'files are'} ${line.trusted ? 'trusted' : 'refused'} now\n`;
    case 'configured':
      return line.prefix === 'kept'
        ? 'changed\n'
        : "changed; the next request begins anew, so the provider's prompt cache does not serve it\n";
  }
}

function prettyServer(line: Extract<PrintedLine, { type: 'server' }>): string {
  const trust = line.hidden
    ? 'another of this name goes before it'
    : line.trust === 'trusted'
      ? line.state
      : line.trust;
  const tools =
    line.tools?.map((tool) => (tool.reading ? tool.name : `${tool.name}*`)).join(', ') ?? 'not asked yet';
  const dropped = line.dropped.map(({ name, reason }) => `left out: ${name}: ${reason}`);
  const problem = line.problem === null ? [] : [line.problem];
  const rest = [line.line, ...problem, `tools: ${tools}`, ...dropped];
  return `${line.name} (${line.label}, ${trust})\n${indent(rest.join('\n'))}`;
}

function prettyProfile(line: Extract<PrintedLine, { type: 'profile' }>): string {
  const where = line.source === null ? 'built in' : line.source;
  const state = line.hidden
    ? ', another of this name goes before it'
    : line.state === 'trusted'
      ? ''
      : `, ${line.state}`;
  const tools = line.tools === null ? 'all tools' : line.tools.join(', ');
  return `${line.name} (${where}${state})  ${line.description}\n${indent(`${line.isolation}; ${line.model ?? 'model of whoever starts it'}; ${tools}`)}`;
}

function prettyBudget({ limits, spent }: Extract<PrintedLine, { type: 'budget' }>): string {
  const of = (used: string, limit: string | null): string => (limit === null ? used : `${used} of ${limit}`);
  const money = of(dollars(spent.microUsd), limits.microUsd === null ? null : dollars(limits.microUsd));
  const tokens = of(`${spent.tokens}`, limits.tokens === null ? null : `${limits.tokens}`);
  const agents = of(`${spent.agents}`, limits.agents === null ? null : `${limits.agents}`);
  return `${money}, ${tokens} tokens, ${agents} agents\n`;
}

function prettyRequest(row: RequestRow): string {
  const isPrice = row.cluster?.startsWith('price:') === true;
  const how = row.kind === 'question' ? 'TEXT' : isPrice ? '"3 15"|allow|deny' : 'allow|deny';
  const choices = row.choices.length === 0 ? '' : `\n${indent(row.choices.join('\n'))}`;
  const model = /^price:(.+)/.exec(row.cluster ?? '')?.[1];
  const price = model === undefined ? '' : `    roost models price ${model} --input USD --output USD\n`;
  return `${row.agentName} asks (${row.kind}): ${row.title}${choices}\n${price}    roost answer ${row.id} ${how}\n`;
}

function prettyChange(line: Extract<PrintedLine, { type: 'change' }>): string {
  const head = `${line.id}  ${line.label}  +${line.added} -${line.removed}  ${line.state}  (${line.agentName})\n`;
  if (!('hunks' in line)) return head;
  const hunks = line.hunks.map(
    (hunk) =>
      `@@ ${hunk.id} -${hunk.base.start},${hunk.base.count} +${hunk.after.start},${hunk.after.count}\n` +
      `${hunk.removed.map((text) => `-${text}\n`).join('')}${hunk.added.map((text) => `+${text}\n`).join('')}`,
  );
  return head + hunks.join('');
}

function firstLines(text: string): string {
  const lines = text.split('\n');
  if (lines.length <= shownLines) return text;
  return `${lines.slice(0, shownLines).join('\n')}\n… ${lines.length - shownLines} more lines`;
}

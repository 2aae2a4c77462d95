// What must hold while a run goes on (S1 to S10 of the style's list): asked at each effect and after each commit,
// where it costs a look at the rows that the commit touched; everything else is recounted every few commits.
//
// Not here: what must hold of all rows together (recount.ts), and at the end (atRest.ts).

import { isDeepStrictEqual } from 'node:util';
import type { Item, ModelRequest, News, ServerRef } from '../../sidecar/ports.ts';
import type { LedgerRecord } from '../../sidecar/core/moneyRows.ts';
import type { AgentRecord, ChangeRecord } from '../../sidecar/core/rows.ts';
import { factOf, type Fact } from './facts.ts';
import type { Outside } from './fakeTools.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { marksIn } from './fakeScout.ts';
import { recount } from './recount.ts';
import type { Sim } from './sim.ts';
import type { AnyRow } from './watchedStore.ts';
import type { Call, Said } from './workload.ts';

/** An attempt is numbered within its agent. */
export const nameOf = (request: { readonly agent: number; readonly attempt: number }): string =>
  `${request.agent}.${request.attempt}`;

/** Columns of a change that rows of other agents at the same file tell of. */
const shownToOthers = new Set(['path', 'state', 'ranges', 'baseHash']);

export class Checks {
  readonly #sim: Sim;
  readonly #facts: Fact[] = [];
  #factsHeld = 0;
  /** Attempts in flight in this process, by the agents that asked. */
  readonly #asking = new Map<number, number>();
  /** Calls with a command slot that run in this process. */
  readonly #running = new Set<number>();
  /** Calls whose records were given up. */
  readonly #settledCalls = new Set<number>();
  /** Calls that were run, in any process. */
  readonly #ran = new Set<number>();
  /** Agents as the last news about them left them. */
  readonly #told = new Map<number, Readonly<AgentRecord>>();
  /** Times that the server named with a refusal, by attempt; and the latest that the runtime has heard of. */
  readonly #named = new Map<string, number>();
  #pauseUntilMs = 0;
  /** Starts of others, by root that has a turn in the queue meanwhile. */
  readonly #passedOver = new Map<number, { readonly starts: number; readonly next: number }>();
  /** What each revision began its requests with, over all processes. */
  readonly #prefixes = new Map<number, string>();
  #lends = 0;
  #lastEntry = 0;
  #lastLedger = 0;
  #commitsSinceRecount = 0;

  constructor(sim: Sim) {
    this.#sim = sim;
  }

  // ---------------------------------------------------------------- effects

  asked(request: ModelRequest): void {
    const { disk } = this.#sim;
    const agent = disk.row('agent', request.agent);
    if (agent?.attempts !== request.attempt)
      this.#sim.fail('S1', `attempt ${nameOf(request)} was asked before its agent's row says so`);
    if (agent?.phase !== 'asking')
      this.#sim.fail('S2', `agent ${request.agent} is asked for while it is ${agent?.phase}`);
    if (this.#sim.model?.asked.has(nameOf(request)))
      this.#sim.fail('S4', `attempt ${nameOf(request)} was asked twice`);
    const wallMs = this.#sim.world.wallMs();
    if (wallMs < this.#pauseUntilMs && this.#sim.swarm.jumps === 0) {
      this.#sim.fail(
        'pace',
        `attempt ${nameOf(request)} leaves ${this.#pauseUntilMs - wallMs} ms before the server said`,
      );
    }
    if (agent !== undefined) this.#toldTexts(request, agent);
    if (agent !== undefined) this.#fair(agent);
    const other = this.#asking.get(request.agent);
    if (other !== undefined && !this.#isSettled(request.agent))
      this.#sim.fail('S2', `agent ${request.agent} has two requests in flight: ${other}, ${request.attempt}`);
    this.#asking.set(request.agent, request.attempt);
  }

  /** An agent is told what its revision says, the same bytes for ever, and nothing that a person has not trusted. */
  #toldTexts(request: ModelRequest, agent: Readonly<AgentRecord>): void {
    const { disk } = this.#sim;
    const bytes = JSON.stringify([request.system, request.tools]);
    const before = this.#prefixes.get(agent.profile) ?? bytes;
    this.#prefixes.set(agent.profile, bytes);
    if (before !== bytes) this.#sim.fail('prefix', `revision ${agent.profile} has two texts`);
    const revision = Buffer.from(disk.row('blob', agent.profile)?.bytes ?? []).toString();
    if (revision.includes('"provisional":true'))
      this.#sim.fail('trust', `agent ${agent.id} asks while its files wait for a person`);
    for (const mark of marksIn(request.system + JSON.stringify(request.tools))) {
      // What was trusted when the agent was made stays; the verdict may have been taken back since.
      if (!this.#sim.folder.isOwn(mark) && !this.#sim.workload.trusted.has(mark))
        this.#sim.fail('trust', `agent ${agent.id} is told ${mark}, which nobody has trusted`);
    }
  }

  /**
   * Roots take turns: while a root has a turn in the queue, others of no higher urgency start a few times its fair
   * share at most. A few, because a group of events gives away all slots that it has freed.
   */
  #fair(agent: Readonly<AgentRecord>): void {
    const { disk, swarm } = this.#sim;
    const waiting = new Map<number, { urgency: number; next: number }>();
    for (const row of disk.table('ready').rows.values()) {
      if (row['slot'] !== 'model') continue;
      const [root, urgency] = [Number(row['root']), Number(row['urgency'])];
      const known = waiting.get(root);
      if (known === undefined || urgency < known.urgency) waiting.set(root, { urgency, next: row.id });
    }
    for (const root of this.#passedOver.keys()) if (!waiting.has(root)) this.#passedOver.delete(root);
    this.#passedOver.delete(agent.root);
    const most = 2 * (waiting.size + swarm.modelSlots) + 12;
    for (const [root, { urgency, next }] of waiting) {
      if (root === agent.root || urgency > agent.urgency) continue;
      const passed = this.#passedOver.get(root);
      // A root whose next turn was taken up and could not pay had its turn.
      const starts = passed?.next === next ? passed.starts + 1 : 1;
      this.#passedOver.set(root, { starts, next });
      if (starts > most) this.#sim.fail('fair', `root ${root} waits while ${starts} turns of others started`);
    }
  }

  /** A request was refused, and the server may have named a time. */
  refused(request: ModelRequest, retryAtMs: number | null): void {
    if (retryAtMs !== null) this.#named.set(nameOf(request), retryAtMs);
  }

  /** What a provider demands of a conversation (case 99), and that nothing is told twice. */
  history(request: ModelRequest, items: readonly Item[]): void {
    const open = new Set<string>();
    const who = `the history of attempt ${nameOf(request)}`;
    if (items[0]?.kind !== 'user') this.#sim.fail('S5', `${who} does not start with a message`);
    for (const item of items) {
      if (item.kind === 'result') {
        if (!open.delete(item.key)) this.#sim.fail('S5', `${who} has a result of no open call: ${item.key}`);
        continue;
      }
      if (open.size > 0 && item.kind === 'answer')
        this.#sim.fail('S5', `${who} goes on with calls open: ${[...open].join()}`);
      const text =
        item.kind === 'user'
          ? item.text
          : item.blocks.map((block) => (block.kind === 'call' ? block.input : block.text)).join('');
      if (/\p{Surrogate}/u.test(text)) this.#sim.fail('S5', `${who} has a lone surrogate`);
      if (item.kind !== 'answer') continue;
      for (const block of item.blocks) {
        if (block.kind !== 'call') continue;
        if (open.has(block.key) || block.key === '')
          this.#sim.fail('S5', `${who} has two calls ${block.key}`);
        open.add(block.key);
      }
    }
    if (open.size > 0) this.#sim.fail('S5', `${who} ends with calls open: ${[...open].join()}`);
    if (items.at(-1)?.kind === 'answer' && !isCut(items.at(-1)))
      this.#sim.fail('S5', `${who} ends with an answer`);
  }

  sameBytes(request: ModelRequest, first: readonly Item[], second: readonly Item[]): void {
    if (JSON.stringify(first) === JSON.stringify(second)) return;
    this.#sim.fail('S5', `attempt ${nameOf(request)} sends other bytes when it is sent again`);
  }

  started(call: number): void {
    const row = this.#sim.disk.row('call', call);
    if (row?.state !== 'started' || row.open !== 1)
      this.#sim.fail('S4', `call ${call} runs while its row is ${row?.state}`);
    if (this.#ran.has(call)) this.#sim.fail('S4', `call ${call} was run twice`);
    this.#ran.add(call);
    this.#holds(call);
  }

  /** A server is started, and called, only when a person has trusted it. */
  mayRun(server: ServerRef): void {
    if (!this.#sim.workload.trusted.has(server.hash))
      this.#sim.fail('trust', `the server ${server.hash} is started, which nobody has trusted`);
  }

  recovered(call: number): void {
    const row = this.#sim.disk.row('call', call);
    // An interrupted one is taken up to be ended.
    if (row?.state !== 'started' && row?.state !== 'interrupted')
      this.#sim.fail('S4', `call ${call} is recovered while its row is ${row?.state}`);
    if (this.#settledCalls.has(call))
      this.#sim.fail('S4', `call ${call} is recovered after its record was given up`);
    if (this.#running.has(call)) this.#sim.fail('S4', `call ${call} is recovered while this process runs it`);
    this.#ran.add(call);
    this.#holds(call);
  }

  /** What is kept to judge a call by may go only when its end is committed. */
  settledCall(call: number): void {
    const row = this.#sim.disk.row('call', call);
    // Its agent may have been deleted for good by the commit that ended it.
    const isGone = row === undefined && call < this.#sim.disk.table('call').next;
    if (!isGone && row?.open !== 0)
      this.#sim.fail('S1', `the record of call ${call} is given up while its row is ${row?.state}`);
    this.#settledCalls.add(call);
  }

  #holds(call: number): void {
    const evidence: unknown = JSON.parse(this.#sim.disk.row('call', call)?.evidence ?? '{}');
    if (typeof evidence === 'object' && evidence !== null && Reflect.get(evidence, 'slot') === true)
      this.#running.add(call);
  }

  /** A command acts on the world outside. */
  carriedOut(outside: Outside): void {
    if (outside.effect && outside.runs > 1)
      this.#sim.fail('S4', `call ${outside.call} was carried out ${outside.runs} times`);
    if (outside.told?.text.startsWith('It never started') === true) {
      this.#sim.fail(
        'S4',
        `call ${outside.call} is carried out after the model was told that it never started`,
      );
    }
  }

  // ---------------------------------------------------------------- clients

  answered(call: Call, said: Said): void {
    if (!said.ok) {
      const simulated = said.message.includes('simulated bug');
      if (said.code === 'internal' && !simulated) this.#sim.fail('bug', `${call.kind}: ${said.message}`);
      return;
    }
    const fact = factOf(this.#sim, call, said.value);
    // A part of a file that comes again after the last one is answered with the branch.
    const isPart = call.kind === 'agent/import';
    const others = isPart ? [] : call.said.filter((other) => other.ok && other !== said);
    for (const other of others) {
      if (other.ok && identity(other.value) !== identity(said.value)) {
        this.#sim.fail(
          'S1',
          `${call.kind} ${call.key} was answered ${identity(other.value)}, then ${identity(said.value)}`,
        );
      }
    }
    if (fact === null) return;
    this.#facts.push(fact);
    const wrong = fact();
    if (wrong !== null) this.#sim.fail('S1', wrong);
  }

  /** What clients were told holds for ever, over every crash. */
  factsHold(from = 0): void {
    for (const fact of this.#facts.slice(from)) {
      const wrong = fact();
      if (wrong !== null) return this.#sim.fail('S1', wrong);
    }
  }

  // ---------------------------------------------------------------- commits

  booted(): void {
    // What went in the last commit of a process that died then was told to nobody.
    for (const [id, { parent }] of this.#told)
      if (this.#sim.disk.row('agent', id) === undefined) this.#gone(id, parent);
    this.#asking.clear();
    this.#running.clear();
    this.#lends = 0;
    this.#named.clear();
    this.#passedOver.clear();
    this.#pauseUntilMs = 0;
    this.#lastEntry = this.#sim.disk.table('entry').next - 1;
    this.factsHold(this.#factsHeld);
    this.#factsHeld = this.#facts.length;
  }

  died(): void {
    this.#recount();
  }

  lent(): void {
    this.#lends += 1;
  }

  /** Whether the commit whose effects run now has settled a request of the agent: its news come after its effects. */
  #isSettled(agent: number): boolean {
    const { rows, next } = this.#sim.disk.table('ledger');
    for (let id = this.#lastLedger + 1; id < next; id++) if (rows.get(id)?.['agent'] === agent) return true;
    return false;
  }

  /** Its request is no longer in flight. One that was given up is not listened to any more. */
  #settled(row: Readonly<LedgerRecord> | undefined): void {
    if (row === undefined) return;
    this.#lastLedger = Math.max(this.#lastLedger, row.id);
    const attempt = this.#asking.get(row.agent);
    // The next attempt may have left in the same commit, and is the one in flight then.
    if (attempt === row.attempt) this.#asking.delete(row.agent);
    if (attempt === undefined || row.state !== 'settled') return;
    const namedMs = this.#named.get(nameOf({ agent: row.agent, attempt })) ?? 0;
    this.#pauseUntilMs = Math.max(this.#pauseUntilMs, namedMs);
  }

  /** News must name all that the commit changed, and entries without a gap (S9). */
  published(news: News): void {
    const { disk, store } = this.#sim;
    const missing = (what: string): void =>
      this.#sim.fail('S9', `a commit changed ${what}, and its news do not say so`);
    const touched = store?.takeTouched() ?? [];
    // Deleted and emptied in one commit: the row that goes does not say yet where it is.
    const emptied = touched.some(({ table }) => table === 'trash');
    for (const { table, id, columns, removed } of touched) {
      if (removed !== undefined) this.#removedAgent(id, removed, emptied);
      else if (table === 'agent') this.#touchedAgent(id, news, missing);
      else if (table === 'ledger') this.#settled(disk.row('ledger', id));
      else if (table === 'call') {
        const call = disk.row('call', id);
        if (call?.open === 0) this.#running.delete(id);
        if (call?.state === 'done') this.#shown(id, call.agent);
        // What an adapter found out is nobody's news until the call moves.
        const shown = columns.length !== 1 || columns[0] !== 'evidence';
        if (call !== undefined && shown && !news.calls.has(call.agent)) missing(`call ${id}`);
      } else if (table === 'request') {
        const request = disk.row('request', id);
        if (request !== undefined && !news.requests.has(request.agent)) missing(`request ${id}`);
      } else if (table === 'change') {
        const change = disk.row('change', id);
        if (change !== undefined && !news.changes.has(change.agent)) missing(`change ${id}`);
        const isShown = columns.length === 0 || columns.some((column) => shownToOthers.has(column));
        if (change !== undefined && isShown) this.#touchIndex(change, news, missing);
      } else if (table === 'entry') {
        const entry = disk.row('entry', id);
        if (entry !== undefined && !news.spoke.has(entry.agent))
          missing(`entry ${id} of agent ${entry.agent}`);
        if (entry?.kind === 'context') this.#sim.contexts.written(id);
      }
    }
    if (news.firstEntry === 0) return;
    if (news.firstEntry !== this.#lastEntry + 1) {
      this.#sim.fail(
        'S9',
        `entries are told from ${news.firstEntry} on, the last told was ${this.#lastEntry}`,
      );
    }
    this.#lastEntry = news.lastEntry;
  }

  /** Others with an open change of the file are shown this one beside theirs (case 161). */
  #touchIndex(change: Readonly<ChangeRecord>, news: News, missing: (what: string) => void): void {
    const open = this.#sim.disk
      .rows('change')
      .filter((other) => other.path === change.path && other.state === 'open' && other.trash === 0);
    // Of a file that more are at than anybody looks through, the first are told.
    for (const other of open.slice(0, limits.overlapsLooked)) {
      if (news.changes.has(other.agent)) continue;
      missing(`the overlap of change ${other.id} with ${change.id}`);
    }
  }

  /** What a command has changed is shown for review from the commit on that has its result. */
  #shown(call: number, agent: number): void {
    const { disk, outside } = this.#sim;
    const command = outside.calls.get(call);
    // A write may bring back what was there before; what a command writes in this world was never there.
    if (command?.effect !== true) return;
    const own = disk.rows('change').filter((change) => change.agent === agent);
    for (const { path, after } of command.told?.touched ?? []) {
      // Another command of the same commit may have taken it away again.
      const stands = after !== null && outside.files.get(path) === Buffer.from(after).toString();
      const isThere = !stands || own.some((change) => change.path === path);
      if (!isThere) this.#sim.fail('S11', `call ${call} has changed ${path}, and no change says so`);
    }
  }

  #touchedAgent(id: number, news: News, missing: (what: string) => void): void {
    const agent = this.#sim.disk.row('agent', id);
    if (agent === undefined) return; // and removed in the same commit
    this.#sim.trace('agent', `${id} ${agent.phase} ${agent.why ?? ''} turn ${agent.turn}`);
    // Two changes of one step may cancel each other out: then there is nothing to tell.
    if (!news.agents.has(id) && !isDeepStrictEqual(agent, this.#told.get(id))) missing(`agent ${id}`);
    this.#told.set(id, agent);
    const wrong = oddPhase(agent);
    if (wrong !== null) this.#sim.fail('S2', `agent ${id} ${wrong}`);
  }

  /** Only what a person has deleted, and that was emptied out of the trash, goes. */
  #removedAgent(id: number, last: AnyRow, emptied: boolean): void {
    this.#sim.trace('agent', `${id} removed`);
    if (last['trash'] === 0 && !emptied)
      this.#sim.fail('trash', `agent ${id} was removed and was not in the trash`);
    this.#gone(id, Number(last['parent']));
  }

  #gone(id: number, parent: number): void {
    this.#told.delete(id);
    this.#sim.purged.add(id);
    this.#sim.bereft.add(parent);
  }

  /** After the step that committed: what is in memory agrees with the rows. */
  committed(): void {
    const slots = this.#sim.host?.slots();
    if (slots === undefined) return;
    const { modelUsed, modelLimit, commandUsed, commandLimit } = slots;
    if (modelUsed !== this.#asking.size) {
      this.#sim.fail('S3', `${modelUsed} model slots are in use by ${this.#asking.size} requests`);
    }
    if (modelUsed > modelLimit) this.#sim.fail('S3', `${modelUsed} of ${modelLimit} model slots are in use`);
    const { poolSize } = this.#sim.swarm;
    if (poolSize !== null && modelUsed > poolSize)
      this.#sim.fail('S3', `${modelUsed} requests of a pool that takes ${poolSize}`);
    const running = this.#running.size;
    if (commandUsed > running || commandUsed < running - this.#lends || commandUsed < 0) {
      this.#sim.fail('S3', `${commandUsed} command slots are in use by ${running} commands`);
    }
    if (commandUsed > commandLimit + this.#lends && this.#sim.crashes === 0) {
      this.#sim.fail('S3', `${commandUsed} of ${commandLimit} command slots are in use`);
    }
    const newest = this.#sim.disk.table('entry').next - 1;
    if (newest !== this.#lastEntry)
      this.#sim.fail('S9', `entry ${newest} is committed, told was up to ${this.#lastEntry}`);
    this.#commitsSinceRecount += 1;
    if (this.#commitsSinceRecount >= (this.#sim.options.dearEvery ?? 64)) this.#recount();
  }

  #recount(): void {
    this.#commitsSinceRecount = 0;
    const wrong = recount(this.#sim.disk, this.#sim.workload.lowered);
    if (wrong !== null) this.#sim.fail(wrong.check, wrong.message);
    const { unsound } = this.#sim;
    const blamed = this.#sim.disk.rows('agent').find((agent) => unsound < agent.crashes);
    if (blamed !== undefined)
      this.#sim.fail('S4', `agent ${blamed.id} counts ${blamed.crashes} crashes of ${unsound}`);
  }
}

/** An answer that was cut or paused may be the last item: the model is asked to go on. */
const isCut = (item: Item | undefined): boolean =>
  item?.kind === 'answer' &&
  item.blocks.every((block) => block.kind === 'text' && block.text.startsWith('half'));

function oddPhase(agent: Readonly<AgentRecord>): string | null {
  if ((agent.phase === 'idle') !== (agent.turn === 0)) return `is ${agent.phase} with turn ${agent.turn}`;
  if ((agent.phase === 'waiting') !== (agent.why !== null)) return `is ${agent.phase}, why: ${agent.why}`;
  return null;
}

/** What must be the same in every answer to one key. */
function identity(value: unknown): string {
  if (typeof value !== 'object' || value === null) return '';
  return `${String(Reflect.get(value, 'agent'))}/${String(Reflect.get(value, 'turn'))}`;
}

// The people of a simulated run: they start agents, send, steer, interrupt, answer and give verdicts through the
// events that a connection would post, keep what they were told, and ask again with the same key when they were
// told nothing.
//
// Promises: after the calm each call is repeated until it is answered, and every open request gets an answer.
// Not here: whether what they were told is true (checks.ts).

import type { Answer } from '../../sidecar/protocol/request.ts';
import { agentId, callId, changeId, checkpointId, requestId, turnId } from '../../sidecar/protocol/ids.ts';
import type { Params } from '../../sidecar/protocol/methods.ts';
import type { ClientEvent, RuntimeMethod } from '../../sidecar/runtime/event.ts';
import type { News } from '../../sidecar/ports.ts';
import { conductorProvider, fanTask } from '../../sidecar/core/conductor.ts';
import { schema, taskText } from './script.ts';
import { fileOf } from './files.ts';
import type { Sim } from './sim.ts';
import type { Process } from './world.ts';

export type Said =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** One call of a client, until it is answered. */
export interface Call {
  readonly kind: RuntimeMethod;
  readonly params: Readonly<Record<string, unknown>>;
  readonly key: string;
  /** The process that it was posted to last. */
  at: Process | null;
  tries: number;
  /** Wall time when it was posted last; null: the clock was set meanwhile, or it does not matter any more. */
  askedAtMs: number | null;
  /** Every answer that was given to its key. */
  readonly said: Said[];
  answered: boolean;
}

export class Workload {
  readonly calls: Call[] = [];
  readonly #sim: Sim;
  #serial = 0;
  /** Files that somebody has begun to import. */
  readonly #imports = new Set<number>();
  /** Of each file how many lines are sent at once: as a client does it, always the same. */
  readonly #linesAtOnce = new Map<number, number>();
  /** Agents whose budget was set, maybe below what is spent. */
  readonly lowered = new Set<number>();
  /** Files that somebody has said to trust. */
  readonly trusted = new Set<string>();
  readonly #answering = new Set<number>();

  constructor(sim: Sim) {
    this.#sim = sim;
  }

  /** Plans what people do until the calm. */
  begin(): void {
    const { chance, swarm, world } = this.#sim;
    for (let root = 0; root < swarm.roots; root += 1) {
      world.later(chance.next() * swarm.calmMs * 0.5, () => this.#start(root));
    }
    const soon = (): number => chance.next() * swarm.calmMs;
    for (let n = 0; n < swarm.sends; n += 1) world.later(soon(), () => this.#send());
    for (let n = 0; n < swarm.interrupts; n += 1) world.later(soon(), () => this.#interrupt());
    for (let n = 0; n < swarm.manages; n += 1) world.later(soon(), () => this.#manage());
    for (let n = 0; n < swarm.rewinds; n += 1) world.later(soon(), () => this.#rewind());
    for (let n = 0; n < swarm.edits; n += 1) {
      world.later(soon(), () => (this.#sim.folder.version += 1));
      world.later(soon(), () => this.#decide());
      world.later(soon(), () => this.#offerAnother());
    }
    for (let n = 0; n < swarm.jumps; n += 1) {
      world.later(soon(), () => this.#jump(chance.pick([-3_600_000, -2_000, 500, 60_000, 8 * 3_600_000])));
    }
    for (let n = 0; n < 3; n += 1) world.later(soon(), () => void this.#sim.post({ kind: 'keys' }));
    for (let n = 0; n < 6; n += 1) world.later(soon(), () => this.#lend());
    for (let n = 0; n < 20; n += 1) world.later(soon(), () => this.#tell());
    if (swarm.needsWindow)
      for (let n = 0; n < 8; n += 1) world.later(soon(), () => this.#window(n % 2 === 0));
  }

  /** A window that lends models comes or goes; it may say twice that it is there. */
  #window(open: boolean): void {
    this.#sim.trace('window', open ? 'comes' : 'goes');
    this.#sim.windowOpen = open;
    if (open) this.#sim.post({ kind: 'editors', after: 0 });
  }

  /** A new process takes connections: what was lost is asked again, requests are listed. */
  connected(): void {
    const { chance, world } = this.#sim;
    this.#answering.clear();
    for (const call of this.calls) {
      if (call.answered || call.at === null) continue;
      call.at = null;
      world.later(chance.around(200), () => this.#post(call));
    }
    this.#look();
    if (this.#sim.calm) world.later(1, () => void this.#sim.post({ kind: 'keys' }));
    if (this.#sim.calm) world.later(1, () => this.#window(true));
  }

  disconnected(): void {
    this.#answering.clear();
  }

  calmDown(): void {
    this.#answering.clear();
    this.#look();
    this.#sim.post({ kind: 'keys' });
    this.#window(true);
    // Whoever began to read a file reads it to its end.
    for (const n of this.#imports) this.#sendFile(n, 100);
  }

  /** The runtime has told what a commit changed. */
  heard(news: News): void {
    if (news.requests.size > 0) this.#look();
    if (news.changes.size > 0) this.#judge(news.changes);
  }

  #jump(byMs: number): void {
    this.#sim.trace('jump', `${byMs} ms`);
    this.#sim.world.jump(byMs);
  }

  #start(root: number): void {
    const { chance, swarm, disk } = this.#sim;
    const size = chance.int(0, swarm.size);
    const below = chance.hits(0.1) ? chance.pick([0, ...disk.rows('agent').map((row) => row.id)]) : 0;
    const name = `r${root}`;
    if (chance.hits(0.1)) return this.#startGroup(name, below);
    this.#call('agent/start', {
      text: taskText(name, size),
      workspace: '/place',
      mode: chance.pick(['ask', 'edits', 'auto', 'auto']),
      profile: chance.pick(['implementer', 'planner', 'explorer', 'custom']),
      ...(chance.hits(0.5) ? { name } : {}),
      ...(below === 0 ? {} : { parent: agentId(below) }),
      ...(chance.hits(swarm.budgets) ? { budget: this.#budget() } : {}),
      ...(chance.hits(swarm.typed) ? { schema } : {}),
    });
  }

  /** A fan-out, in waves or all at once. */
  #startGroup(name: string, below: number): void {
    const { chance, swarm } = this.#sim;
    const items = Array.from({ length: chance.int(1, 6) }, (_, index) => `${name}i${index}`);
    const plan = { items, profile: chance.pick([null, 'explorer', 'nobody']), model: null, isolation: null };
    const atOnce = chance.pick([null, 1, 2]);
    const typed = chance.hits(swarm.typed) ? schema : null;
    this.#call('agent/start', {
      text: fanTask({ ...plan, template: 'do {item} 1', atOnce, schema: typed }),
      workspace: '/place',
      model: `${conductorProvider}/sim/model`,
      mode: 'auto',
      ...(below === 0 ? {} : { parent: agentId(below) }),
      ...(chance.hits(swarm.budgets) ? { budget: this.#budget() } : {}),
    });
  }

  #budget() {
    const { chance } = this.#sim;
    const maybe = (values: readonly number[]): number | null =>
      chance.hits(0.4) ? chance.pick(values) : null;
    return {
      microUsd: maybe([0, 50_000, 300_000, 5_000_000]),
      tokens: maybe([0, 20_000, 100_000, 1_000_000]),
      agents: maybe([1, 3, 10, 25]),
      depth: maybe([0, 1, 2]),
      wallMs: maybe([1_000, 60_000]),
    };
  }

  #someone(): number | null {
    const agents = this.#sim.disk.rows('agent');
    return agents.length === 0 ? null : this.#sim.chance.pick(agents).id;
  }

  #send(agent = this.#someone()): void {
    if (agent === null) return;
    const { chance } = this.#sim;
    this.#serial += 1;
    const delivery = chance.pick(['queue', 'steer', 'reject', 'queue'] as const);
    const text =
      delivery === 'steer' && chance.hits(0.7)
        ? `steer s${this.#serial}`
        : taskText(`s${this.#serial}`, chance.int(0, 2));
    const typed = chance.hits(this.#sim.swarm.typed) && text.startsWith('do ') ? { schema } : {};
    this.#call('agent/send', { agent: agentId(agent), text, delivery, ...typed });
    if (chance.hits(0.3)) this.#send();
  }

  /** Somebody decides about a file of the folder without being asked. */
  #decide(): void {
    const { chance, folder } = this.#sim;
    const { instructions, profiles, servers } = folder.knowledge();
    const hashes = [...instructions, ...profiles, ...servers]
      .map((file) => file.hash)
      .filter(() => chance.hits(0.5));
    const trusted = chance.hits(0.7);
    if (trusted) for (const each of hashes) this.trusted.add(each);
    this.#call('trust/set', { workspace: '/place', hashes, trusted });
  }

  /** A server that runs offers other tools from now on, and says so by itself. */
  #offerAnother(): void {
    const { chance, folder } = this.#sim;
    folder.edition += 1;
    for (const { hash } of folder.knowledge().servers) {
      if (!this.trusted.has(hash) || chance.hits(0.5)) continue;
      this.#sim.post({ kind: 'offered', server: hash, answer: { kind: 'offer', offer: folder.offer(hash) } });
    }
  }

  #interrupt(agent = this.#someone()): void {
    if (agent === null) return;
    this.#call('agent/interrupt', { agent: agentId(agent), branch: this.#sim.chance.hits(0.5) });
  }

  /** Fork, rename, configure, close, delete, restore, retry, take back, set a budget. */
  #manage(): void {
    const id = this.#someone();
    if (id === null) return;
    const { chance, disk } = this.#sim;
    const agent = agentId(id);
    const turns = disk.rows('turn').filter((turn) => turn.agent === id);
    const turn = turns.length === 0 ? null : turnId(chance.pick(turns).id);
    const mode = chance.pick(['ask', 'edits', 'auto'] as const);
    const isolation = chance.pick(['shared', 'worktree', 'readonly'] as const);
    this.#serial += 1;
    const deeds = [
      () =>
        this.#call('agent/fork', {
          agent,
          turn: chance.hits(0.5) ? turn : null,
          text: taskText(`f${this.#serial}`, chance.int(0, 2)),
        }),
      () => this.#call('agent/rename', { agent, name: chance.pick(['c0', 'agent-2', 'agent-9', 'best']) }),
      () => this.#call('agent/configure', { agent, mode, ...(chance.hits(0.5) ? { isolation } : {}) }),
      () => this.#call('agent/configure', { agent, profile: chance.pick(['custom', 'explorer', 'planner']) }),
      () => this.#call('turn/retry', { agent }),
      () => this.#call('agent/compact', { agent, ...(chance.hits(0.3) ? { focus: 'names' } : {}) }),
      () => {
        this.lowered.add(id);
        this.#call('budget/set', { agent, budget: this.#budget() });
      },
      () => this.#takeBack(),
      () => this.#call('checkpoint/restore', { checkpoint: checkpointId(chance.int(1, 9)), paths: 'all' }),
      () => this.#price(),
      () => this.#role(),
      () => this.#kill(),
      ...(chance.hits(0.2) ? [() => this.#call('agent/close', { agent })] : []),
      ...(chance.hits(0.5) ? [() => this.#delete(id)] : []),
      ...(chance.hits(0.5) ? [() => this.#restore(id)] : []),
      ...(chance.hits(0.5) ? [() => this.#empty()] : []),
      ...(chance.hits(0.3) ? [() => this.#import()] : []),
    ];
    chance.pick(deeds)();
  }

  /** A whole tree as often as anybody. */
  #delete(someone: number): void {
    const { chance, disk } = this.#sim;
    const root = disk.row('agent', someone)?.root ?? someone;
    this.#call('agent/delete', { agent: agentId(chance.hits(0.5) ? root : someone) });
  }

  /** Somebody from the trash, mostly; now and then one that is not there. */
  #restore(someone: number): void {
    const { chance, disk } = this.#sim;
    const tops = disk.rows('trash').map((row) => row.agent);
    const top = tops.length === 0 || chance.hits(0.1) ? someone : chance.pick(tops);
    // A branch that comes back is as large as it is, whatever its lineage may start.
    for (let at = disk.row('agent', top); at !== undefined; at = disk.row('agent', at.parent))
      this.lowered.add(at.id);
    this.#call('agent/restore', { agent: agentId(top) });
  }

  /** Back to a turn that has ended, or forward to one that was left; now and then to one of somebody else. */
  #rewind(): void {
    const { chance, disk } = this.#sim;
    const ended = disk.rows('turn').filter((turn) => turn.last !== 0);
    if (ended.length === 0) return;
    const turn = chance.pick(ended);
    const agent = chance.hits(0.95) ? turn.agent : this.#someone();
    if (agent === null) return;
    const stop = chance.hits(0.5) ? { stop: true } : {};
    this.#call('agent/rewind', { agent: agentId(agent), turn: turnId(turn.id), ...stop });
    // What a person goes back for is to say something else.
    if (chance.hits(0.7)) this.#send(agent);
  }

  /** All of the trash, a part of it, or from now on what has been there for a time. */
  #empty(): void {
    const { chance, disk } = this.#sim;
    if (chance.hits(0.2)) {
      const keptMs = chance.pick([null, 0, 1_000, 60_000]);
      return this.#call('trash/keep', { keptMs });
    }
    const tops = disk.rows('trash').map((row) => agentId(row.agent));
    const agents = tops.length === 0 || chance.hits(0.5) ? null : [chance.pick(tops)];
    this.#call('trash/empty', { agents });
  }

  /** A person says what the model costs, or that the table knows it better. */
  #price(): void {
    const { chance } = this.#sim;
    const [input, output] = [3_000_000, 9_000_000];
    const dear = { input: input * 10, output: output * 10 };
    const price = chance.pick([null, { input: 0, output: 0 }, { input, output }, dear]);
    this.#call('model/price', { model: 'sim/model', price });
  }

  #role(): void {
    const { chance } = this.#sim;
    const profile = chance.pick(['implementer', 'explorer']);
    this.#call('model/role', { profile, model: chance.pick([null, 'sim/model']) });
  }

  #takeBack(): void {
    const { chance, disk } = this.#sim;
    const queued = disk.rows('turn').filter((turn) => turn.state === 'queued' || chance.hits(0.05));
    if (queued.length > 0) this.#call('queue/remove', { turn: turnId(chance.pick(queued).id) });
  }

  /** Ends a command in the background, mostly one that there is. */
  #kill(): void {
    const { chance, disk } = this.#sim;
    const calls = [...disk.rows('background').map((row) => row.call), chance.int(1, 20)];
    this.#call('command/kill', { command: callId(chance.pick(calls)) });
  }

  /** A command that runs says that it waits inside Roost, and later that it does no more. */
  #lend(): void {
    const { chance, disk, world } = this.#sim;
    const running = disk.rows('call').filter((call) => call.state === 'started' && call.tool === 'shell');
    if (running.length === 0) return;
    const call = chance.pick(running).id as never;
    this.#sim.check.lent();
    this.#sim.post({ kind: 'lend', call, lent: true });
    world.later(
      chance.around(200),
      () => void this.#sim.post({ kind: 'lend', call, lent: false }),
      this.#sim.process,
    );
  }

  /** A command that runs is told how turns ended that its agent's children had, and some that others had. */
  #tell(): void {
    const { chance, disk, process } = this.#sim;
    const running = disk.rows('call').filter((call) => call.state === 'started' && call.tool === 'shell');
    if (running.length === 0) return;
    const call = chance.pick(running);
    const ended = disk.rows('turn').filter((turn) => {
      const own = disk.row('agent', turn.agent)?.parent === call.agent;
      return turn.state === 'ended' && chance.hits(own ? 0.7 : 0.05);
    });
    const reply = (): void => {
      if (process.alive) this.#sim.effect(`told ${call.id}`);
    };
    this.#sim.post({ kind: 'told', call: callId(call.id), turns: ended.map(({ id }) => turnId(id)), reply });
    // A command that is stopped before it ends has told its agent nothing.
    if (ended.length > 0 && chance.hits(0.2)) this.#interrupt(call.agent);
  }

  /** Plans an answer for each open request that nobody is answering. */
  #look(): void {
    const { chance, disk, swarm, world } = this.#sim;
    for (const row of disk.table('request').rows.values()) {
      if (row['state'] !== 'open' || this.#answering.has(row.id)) continue;
      this.#answering.add(row.id);
      const late = this.#sim.calm ? 1 : chance.hits(0.1) ? 20 : 1;
      world.later(chance.around(swarm.personMs) * late, () => this.#answer(row.id));
      if (chance.hits(0.1)) world.later(chance.around(swarm.personMs) * 2, () => this.#answer(row.id)); // twice
    }
  }

  #answer(request: number): void {
    const row = this.#sim.disk.row('request', request);
    if (row === undefined) return;
    const { chance } = this.#sim;
    const deny: Answer = { kind: 'deny', reason: chance.hits(0.5) ? 'no' : '' };
    const allow: Answer =
      row.kind === 'question' && chance.hits(0.8) ? { kind: 'text', text: 'yes, do' } : { kind: 'allow' };
    const hopeless = row.title.startsWith('No price') || (row.title.includes('spent') && chance.hits(0.2));
    const answer = hopeless || chance.hits(0.2) ? deny : allow;
    if (answer.kind === 'deny') this.#sim.excuse(row.agent, 'denied');
    // The question names the files by the first half of their hashes, one after the other.
    else if (row.kind === 'trust')
      for (const [each] of row.cluster?.split(':')[2]?.matchAll(/.{32}/g) ?? []) this.trusted.add(each);
    const many = this.#sim.disk
      .rows('request')
      .filter((each) => each.cluster === row.cluster && each.state === 'open');
    if (row.cluster !== null && row.kind === 'approval' && chance.hits(0.3)) {
      const requests = many.map((each) => requestId(each.id));
      return this.#call('request/answerMany', { requests, answer });
    }
    this.#call('request/answer', { request: requestId(request), answer });
  }

  #judge(agents: ReadonlySet<number>): void {
    const { chance, disk, swarm, world } = this.#sim;
    if (this.#sim.calm) return;
    for (const row of disk.rows('change')) {
      if (!agents.has(row.agent) || row.state !== 'open' || !chance.hits(0.3)) continue;
      world.later(chance.around(swarm.personMs), () => {
        const change = disk.row('change', row.id);
        if (change === undefined) return;
        const verdict = chance.pick(['accept', 'reject'] as const);
        const { baseHash, afterHash } = chance.hits(0.9) ? change : row;
        this.#call('change/verdict', {
          change: changeId(row.id),
          verdict,
          hunks: 'all',
          baseHash,
          afterHash,
        });
      });
    }
  }

  /** A file is read part by part, now and then not to its end; the same file may be read twice, by two at a time. */
  #import(): void {
    const { chance } = this.#sim;
    const n = chance.int(0, 2);
    this.#imports.add(n);
    this.#sendFile(n, chance.hits(0.3) ? chance.int(1, 3) : 100);
  }

  #sendFile(n: number, parts: number): void {
    const { chance, world, process } = this.#sim;
    const lines = fileOf(n);
    const each = this.#linesAtOnce.get(n) ?? chance.int(1, lines.length);
    this.#linesAtOnce.set(n, each);
    for (let part = 0; part < parts && part * each < lines.length; part += 1) {
      const some = lines.slice(part * each, (part + 1) * each);
      const params = {
        workspace: '/place',
        after: part * each,
        lines: some,
        last: lines.length <= (part + 1) * each,
      };
      world.later(part * 20, () => this.#call('agent/import', params, `file${n}`), process);
    }
  }

  #call<M extends RuntimeMethod>(kind: M, params: Omit<Params<M>, 'key'>, fixed?: string): void {
    this.#serial += 1;
    const key = fixed ?? `key${this.#serial}`;
    const call: Call = {
      kind,
      params: { ...params, key },
      key,
      at: null,
      tries: 0,
      askedAtMs: null,
      said: [],
      answered: false,
    };
    this.calls.push(call);
    this.#post(call);
    // A client that has heard nothing for a while connects anew and asks again, also while the first still runs.
    if (!this.#sim.calm && this.#sim.chance.hits(0.1))
      this.#sim.world.later(this.#sim.chance.around(1_000), () => this.#again(call));
  }

  #again(call: Call): void {
    if (!call.answered) this.#post(call);
  }

  #post(call: Call): void {
    const { chance, process, world } = this.#sim;
    call.tries += 1;
    // An answer may be to the first of several times that this process was asked.
    const askedAtMs = call.at === process ? call.askedAtMs : world.wallMs();
    call.askedAtMs = this.#sim.swarm.jumps === 0 ? askedAtMs : null;
    let replies = 0;
    const event = {
      kind: call.kind,
      params: call.params,
      reply: (said: Said) => {
        if (!process.alive) return;
        replies += 1;
        if (replies > 1) this.#sim.fail('reply', `${call.kind} ${call.key} was answered twice`);
        this.#sim.effect(`reply ${call.kind} ${call.key} ${said.ok ? 'ok' : said.code}`);
        this.#replied(call, said);
      },
    } as unknown as ClientEvent;
    this.#sim.trace('client', `${call.kind} ${call.key} ${JSON.stringify(call.params)}`);
    call.at = process;
    // The server looks at the folder before it posts what rests on it.
    if (call.kind === 'agent/start' || call.kind === 'trust/set' || call.params['profile'] !== undefined) {
      const knowledge = this.#sim.folder.knowledge();
      this.#sim.post({ kind: 'looked', workspace: '/place', knowledge, call: 0 });
    }
    if (this.#sim.post(event)) return;
    call.at = null;
    // Nobody is there, or too many wait: later, and later still each time.
    world.later(100 + chance.around(100 * 2 ** Math.min(call.tries, 7)), () => this.#again(call));
  }

  #replied(call: Call, said: Said): void {
    const { chance, odds, world } = this.#sim;
    if (chance.hits(odds.replyLost)) {
      world.later(chance.around(500), () => this.#again(call)); // the connection broke: asked again on a new one
      return;
    }
    call.said.push(said);
    call.answered = true;
    this.#sim.check.answered(call, said);
  }
}

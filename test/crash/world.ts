// A store whose sidecar is killed again and again: the built sidecar as a process of its own, a feeder that keeps agents at
// work, a person who answers, and the watcher that kills.
//
// The feeder keeps what it was acknowledged, and sends again, under the same key, what it was not: so it can say in
// the end which turns must be there, and each once.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Wire } from '../../sidecar/cli/connect.ts';
import { isLost } from '../../sidecar/cli/failure.ts';
import { environmentForSidecar } from '../../sidecar/cli/secrets.ts';
import { sidecarFlags } from '../../sidecar/protocol/discovery.ts';
import type { AgentId, TurnId } from '../../sidecar/protocol/ids.ts';
import type { Result } from '../../sidecar/protocol/methods.ts';
import { Person } from './person.ts';
import { followUps, taskOf, type Traces } from './tasks.ts';
import type { Killed, Order } from './watcher.ts';
import { Watcher } from './watching.ts';

const bundle = path.join(import.meta.dirname, '..', '..', 'dist', 'sidecar.cjs');
const server = path.join(import.meta.dirname, '..', 'fixtures', 'servers', 'odd.ts');
/** Agents at work or parked, children included, below which the feeder starts another one. */
const wanted = 26;

export interface WorldOptions {
  /** Folder for the store and all traces. */
  readonly folder: string;
  /** Base URL of the provider fixture. */
  readonly provider: string;
  /** Serial number of its first task: no two worlds of one provider have the same task. */
  readonly first: number;
}

/** A start that was acknowledged. */
export interface Started {
  readonly serial: number;
  readonly agent: AgentId;
}

export class World {
  readonly store: string;
  readonly workspace: string;
  readonly traces: Traces;
  readonly started: Started[] = [];
  /** Keys of all that was acknowledged. */
  readonly acknowledged: string[] = [];
  /** Turns that were acknowledged, of starts and of messages. */
  readonly turns: TurnId[] = [];
  /** Starts that went out again because their acknowledgement was lost. */
  again = 0;
  private readonly provider: string;
  private readonly person: Person;
  private readonly watcher: Watcher;
  private child: ChildProcess | null = null;
  private wire: Wire | null = null;
  private serial: number;
  private readonly unheard: (() => Promise<void>)[] = [];
  private readonly sending = new Set<string>();
  private feeding = true;
  private crashes = 0;

  constructor({ folder, provider, first }: WorldOptions) {
    this.serial = first;
    this.store = path.join(folder, 'store');
    this.workspace = path.join(folder, 'workspace');
    this.traces = { effects: path.join(folder, 'effects'), notes: path.join(folder, 'notes') };
    this.provider = provider;
    mkdirSync(path.join(this.workspace, 'files'), { recursive: true });
    const odd = { command: process.execPath, args: [server, 'delayed', this.traces.notes] };
    writeFileSync(path.join(this.workspace, '.mcp.json'), JSON.stringify({ mcpServers: { odd } }));
    assert.ok(existsSync(bundle), 'dist/sidecar.cjs is built');
    // Questions are answered in a later life of the sidecar than they were asked in, while there is one.
    const asked = new Map<number, number>();
    this.person = new Person(this.store, (request) => {
      if (request.kind !== 'question' || !this.feeding) return true;
      const since = asked.get(request.id) ?? this.crashes;
      asked.set(request.id, since);
      return since < this.crashes;
    });
    this.watcher = new Watcher(this.store);
  }

  /** Starts the sidecar and begins to feed it, without waiting for its door. */
  boot(): void {
    this.child = spawn(process.execPath, [...sidecarFlags, bundle, '--store', this.store], {
      env: environmentForSidecar(process.env),
      stdio: ['ignore', 'ignore', 'inherit'],
      windowsHide: true,
    });
  }

  /** Connects to the sidecar that runs, and gives it the provider when it is the first. */
  async enter(): Promise<void> {
    const { child } = this;
    assert.ok(child);
    for (;;) {
      assert.equal(child.exitCode, null, 'the sidecar has ended by itself');
      try {
        this.wire = await connect({ store: this.store, start: false, secrets: false, call: null });
        if (this.wire.hello.pid === child.pid) break;
        this.wire.close();
      } catch {
        // Its door is not open yet.
      }
      await sleep(3);
    }
    if (this.crashes === 0) {
      const place = { baseUrl: `${this.provider}/v1`, keyless: true };
      await this.wire.call('provider/set', { name: 'fixture', dialect: 'chat', ...place });
      await this.trust(this.wire);
    }
    const { findings } = await this.wire.call('store/doctor', {});
    assert.deepEqual(findings, [], 'the doctor finds nothing after a crash');
    for (const again of this.unheard.splice(0)) void again();
    void this.feed(this.wire);
  }

  /** Gives the order to kill. Resolves when that is done, with what was cut; null: the moment did not come. */
  async kill(order: Omit<Order, 'pid' | 'acknowledged' | 'sent'>): Promise<Killed | null> {
    assert.ok(this.child?.pid);
    const { acknowledged, sending } = this;
    const keys = { acknowledged, sent: [...sending] };
    const killed = await this.watcher.kill({ ...order, pid: this.child.pid, ...keys });
    if (killed === null || !order.targets.includes('sidecar')) return killed;
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
    this.crashes += 1;
    this.wire?.close();
    this.wire = null;
    return killed;
  }

  /** Messages on their way that nobody has acknowledged. */
  unacknowledged(): number {
    return this.sending.size;
  }

  /** Sends some starts at once and does not wait for them: they are cut with the sidecar. */
  burst(count: number): void {
    for (let i = 0; i < count && this.wire !== null; i++) this.start(this.wire);
  }

  /** Starts nothing more, and resolves when everything has ended. */
  async settle(): Promise<void> {
    this.feeding = false;
    for (;;) {
      assert.ok(this.wire);
      const { running, waiting } = await this.wire.call('store/info', {});
      const behind = await this.wire.call('command/list', { agent: null, after: null, limit: 1 });
      const mine = this.unheard.length + this.sending.size;
      if (running + waiting + mine + behind.rows.length === 0) break;
      await sleep(20);
    }
    for (let at = 0; at < this.turns.length; at += 500) {
      const turns = this.turns.slice(at, at + 500);
      const ended: Result<'turn/wait'> = await this.wire.call('turn/wait', {
        turns,
        mode: 'all',
        timeoutMs: 60_000,
      });
      assert.deepEqual(ended.open, [], 'every turn that was acknowledged has ended');
    }
  }

  /** Ends all processes of this world. */
  async leave(): Promise<void> {
    this.feeding = false;
    await this.person.leave();
    this.wire?.close();
    this.watcher.leave();
    if (this.child !== null && this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill();
      await once(this.child, 'exit');
    }
  }

  /** The person trusts the servers of the folder, as they do once for each content of its file. */
  private async trust(wire: Wire): Promise<void> {
    const { workspace } = this;
    const { files } = await wire.call('profile/list', { workspace });
    const hashes = files.map((file) => file.hash);
    assert.equal(hashes.length, 1, 'the file of the servers is to be trusted');
    await wire.call('trust/set', { workspace, hashes, trusted: true, key: 'trust' });
  }

  private async feed(wire: Wire): Promise<void> {
    while (this.feeding && !wire.lost) {
      try {
        const { running, waiting } = await wire.call('store/info', {});
        if (running + waiting < wanted) this.start(wire);
      } catch {
        return; // killed: the next life is fed anew
      }
      await sleep(10);
    }
  }

  private start(wire: Wire): void {
    const serial = this.serial++;
    const name = `agent-${serial}`;
    const text = taskOf(serial, this.traces);
    const where = { workspace: this.workspace, model: 'fixture/any', mode: 'auto' as const };
    this.send(wire, name, async (to) => {
      const { agent, turn } = await to.call('agent/start', { name, text, ...where, key: name });
      this.started.push({ serial, agent });
      this.turns.push(turn);
      followUps(serial).forEach((more, index) => {
        this.send(to, `${name}-${index}`, async (then) => {
          const message = { agent, text: more, delivery: 'queue' as const, key: `${name}-${index}` };
          this.turns.push((await then.call('agent/send', message)).turn);
        });
      });
    });
  }

  /** Sends until it is acknowledged, over as many sidecars as it takes. */
  private send(wire: Wire, key: string, work: (wire: Wire) => Promise<void>): void {
    const attempt = async (to: Wire): Promise<void> => {
      this.sending.add(key);
      try {
        await work(to);
        this.sending.delete(key);
        this.acknowledged.push(key);
      } catch (error) {
        // The answer is lost a moment before the connection says that it has ended.
        assert.ok(to.lost || isLost(error), String(error));
        this.again += 1;
        this.unheard.push(async () => {
          assert.ok(this.wire);
          await attempt(this.wire);
        });
      }
    };
    void attempt(wire);
  }
}

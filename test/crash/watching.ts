// The other end of watcher.ts: gives orders to kill and hears what was cut.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { Killed, Order } from './watcher.ts';

export class Watcher {
  private readonly child: ChildProcess;
  private readonly answers: AsyncIterator<string>;

  constructor(store: string) {
    const args = [path.join(import.meta.dirname, 'watcher.ts'), store];
    this.child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], windowsHide: true });
    assert.ok(this.child.stdout);
    this.answers = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  /** Resolves when it is done; null: the moment did not come, and nothing was killed. */
  async kill(order: Order): Promise<Killed | null> {
    this.child.stdin?.write(`${JSON.stringify(order)}\n`);
    const { value, done } = await this.answers.next();
    assert.ok(done !== true, 'the watcher has ended by itself');
    const killed: Killed | null = JSON.parse(value);
    return killed;
  }

  leave(): void {
    this.child.stdin?.end();
  }
}

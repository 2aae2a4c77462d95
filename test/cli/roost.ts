// `roost` as a process, on a store of its own, with a model that plays a script.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, type TestContext } from 'node:test';

import { readDiscovery } from '../../sidecar/platform/paths.ts';
import { isRunning } from '../../sidecar/platform/processes.ts';
import { until } from '../rpc/rig.ts';

const main = path.resolve(import.meta.dirname, '../../sidecar/cli/main.ts');

// Stripping types anew for each process costs 0.2 s a process.
const compiled = fs.mkdtempSync(path.join(os.tmpdir(), 'roost-compiled-'));
after(() => fs.rmSync(compiled, { recursive: true, force: true }));

/** A line that a command printed, as a test reads it. */
export type Printed = Readonly<Record<string, unknown>> & { readonly type: string };

export interface Ended {
  readonly code: number;
  readonly lines: readonly Printed[];
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  lines(): readonly Printed[];
  stderr(): string;
  readonly ended: Promise<Ended>;
}

export class Store {
  readonly directory: string;
  readonly workspace: string;
  private readonly script: string;
  private readonly t: TestContext;

  constructor(t: TestContext, rules: readonly unknown[] = []) {
    this.t = t;
    const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'roost-cli-')));
    this.directory = path.join(folder, 'store');
    this.workspace = path.join(folder, 'workspace');
    fs.mkdirSync(this.workspace);
    this.script = path.join(folder, 'script.json');
    this.play(rules);
    t.after(async () => {
      await this.end();
      fs.rmSync(folder, { recursive: true, force: true });
    });
  }

  play(rules: readonly unknown[]): void {
    fs.writeFileSync(this.script, JSON.stringify({ rules: [...rules, { say: [{ text: 'heard {user}' }] }] }));
  }

  /** Options of the commands that start work. */
  get model(): string[] {
    return ['--provider', `play=scripted,${this.script}`, '--model', 'play/x', '--workspace', this.workspace];
  }

  start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
    const { ROOST_AGENT: _agent, ROOST_CALL: _call, ROOST_MODEL: _model, ...own } = process.env;
    const child = spawn(process.execPath, [main, ...args], {
      cwd: this.workspace,
      env: { ...own, NODE_COMPILE_CACHE: compiled, ROOST_STORE: this.directory, ...env },
      windowsHide: true,
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const lines = (): Printed[] =>
      stdout
        .split('\n')
        .slice(0, -1)
        .filter((line) => line.startsWith('{') && line.endsWith('}'))
        .map((line) => JSON.parse(line) as Printed);
    const ended = new Promise<Ended>((resolve) => {
      child.once('close', (code) => resolve({ code: code ?? -1, lines: lines(), stdout, stderr }));
    });
    this.t.after(() => void child.kill('SIGKILL'));
    return { child, lines, stderr: () => stderr, ended };
  }

  /** Runs a command to its end. */
  roost(...args: string[]): Promise<Ended> {
    return this.start(args).ended;
  }

  /** Runs a command that must end with 0, and gives its lines. */
  async lines(...args: string[]): Promise<readonly Printed[]> {
    const { code, lines, stderr } = await this.roost(...args);
    assert.equal(code, 0, `roost ${args.join(' ')}: ${stderr}`);
    return lines;
  }

  get pid(): number {
    const found = readDiscovery(this.directory);
    assert.ok(found !== null, 'a sidecar runs');
    return found.pid;
  }

  /** Kills the sidecar as a power cut would. */
  async kill(): Promise<void> {
    const found = readDiscovery(this.directory);
    assert.ok(found !== null, 'a sidecar runs');
    process.kill(found.pid, 'SIGKILL');
    await until('it is dead', () => !isRunning(found));
  }

  private async end(): Promise<void> {
    const found = readDiscovery(this.directory);
    if (found === null || found.pid === process.pid || !isRunning(found)) return;
    process.kill(found.pid, 'SIGTERM');
    await until('the sidecar has ended', () => !isRunning(found), 10_000);
  }
}

/** The only line of a type. */
export function one(lines: readonly Printed[], type: string): Printed {
  const found = lines.filter((line) => line.type === type);
  assert.equal(found.length, 1, `one line "${type}" in ${JSON.stringify(lines)}`);
  return found[0] as Printed;
}

/** Kinds of the entries printed, in order. */
export function kinds(lines: readonly Printed[]): string[] {
  return lines.filter((line) => line.type === 'entry').map((line) => (line['body'] as { kind: string }).kind);
}

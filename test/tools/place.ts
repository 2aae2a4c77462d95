// A place for tools to work in: a temporary workspace and store, the real tools, and calls as promises.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import type { Cancel, Prepared, ToolJob, ToolOutcome } from '../../sidecar/ports.ts';
import type { Isolation, Mode } from '../../sidecar/protocol/agent.ts';
import { agentId, callId, turnId } from '../../sidecar/protocol/ids.ts';
import type { Json, JsonObject } from '../../sidecar/protocol/json.ts';
import { commandEnvironment } from '../../sidecar/tools/environment.ts';
import { createTools } from '../../sidecar/tools/registry.ts';
import type { ToolsHandle, ToolsOptions } from '../../sidecar/tools/registry.ts';
import { noBuffers } from '../../sidecar/workspace/buffers.ts';
import { createLocks } from '../../sidecar/workspace/locks.ts';
import { createWorktrees } from '../../sidecar/workspace/worktree.ts';
import { createWitness } from '../../sidecar/workspace/witness.ts';

export type Call = { isolation?: Isolation; mode?: Mode; agent?: number; id?: number };

export type Place = {
  readonly store: string;
  readonly workspace: string;
  readonly tools: ToolsHandle;
  readonly options: ToolsOptions;
  /** The job of a call that nobody has made yet. */
  job(tool: string, input: JsonObject, how?: Call): ToolJob;
  prepare(job: ToolJob): Promise<Prepared>;
  /** Prepares and runs; a refusal is an error outcome. */
  call(tool: string, input: JsonObject, how?: Call): Promise<ToolOutcome>;
};

let nextCall = 1;

/** A fresh place; its folder is removed when the tests of the file are done. */
export function createPlace(change: Partial<ToolsOptions> = {}): Place {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'roost-tools-')));
  const store = path.join(root, 'store');
  const workspace = path.join(root, 'workspace');
  mkdirSync(workspace);
  mkdirSync(store);
  const options: ToolsOptions = {
    runDirectory: path.join(store, 'runs'),
    checkpoints: { before: () => Promise.resolve() },
    worktrees: createWorktrees(path.join(store, 'worktrees')),
    environment: () =>
      commandEnvironment({ env: process.env, store, binDirectory: path.join(root, 'bin'), loginPath: null }),
    buffers: noBuffers,
    locks: createLocks(),
    witness: createWitness(path.join(store, 'snapshots')),
    shell: 'bash',
    ...change,
  };
  const tools = createTools(options);
  after(() => {
    tools.close();
    rmSync(root, { recursive: true, force: true });
  });
  const job = (tool: string, input: JsonObject, how: Call = {}): ToolJob => ({
    call: callId(how.id ?? nextCall++),
    agent: agentId(how.agent ?? 1),
    parent: null,
    turn: turnId(1),
    tool,
    input,
    place: { workspace, isolation: how.isolation ?? 'shared', mode: how.mode ?? 'ask' },
  });
  const prepare = (each: ToolJob): Promise<Prepared> =>
    new Promise((resolve) => tools.prepare(each, resolve));
  return {
    store,
    workspace,
    tools,
    options,
    job,
    prepare,
    call: async (tool, input, how) => {
      const each = job(tool, input, how);
      const prepared = await prepare(each);
      if (prepared.kind === 'refuse') return { status: 'error', text: prepared.text };
      return await begin(tools, each, prepared.evidence).outcome;
    },
  };
}

export type Begun = {
  readonly outcome: Promise<ToolOutcome>;
  readonly cancel: Cancel;
  readonly output: string[];
};

/** Runs a prepared call. */
export function begin(
  tools: ToolsHandle,
  job: ToolJob,
  evidence: Json,
  how: 'run' | 'recover' = 'run',
): Begun {
  const output: string[] = [];
  let cancel: Cancel = () => undefined;
  let returned = false;
  // What the tools hold open does not keep a process alive; waiting for them has to.
  const alive = setInterval(() => undefined, 60_000);
  const outcome = new Promise<ToolOutcome>((resolve) => {
    cancel = tools[how](job, evidence, (event) => {
      assert.ok(returned, 'a port posts only after its call has returned');
      if (event.kind === 'output') output.push(event.text);
      else {
        clearInterval(alive);
        resolve(event.outcome);
      }
    });
  });
  returned = true;
  return { outcome, cancel, output };
}

/** The evidence of a call that is not refused. */
export async function evidenceOf(place: Place, job: ToolJob): Promise<Json> {
  const prepared = await place.prepare(job);
  assert.equal(prepared.kind, 'run');
  return prepared.kind === 'run' ? prepared.evidence : null;
}

/** Waits until a condition holds; the test runner's own limit ends it when it never does. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

// A process that works on a disk of its own which is soon full. Started inside a mount namespace (`unshare`) with the
// folder to put the disk on, in which it prints what became of each of its commands, one JSON line each.
//
// The disk has room for records of commands (`limits.spoolFreeBytes`) until the first command fills it.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { limits } from '../../sidecar/runtime/limits.ts';
import { agentId, callId, turnId } from '../../sidecar/protocol/ids.ts';
import type { Json } from '../../sidecar/protocol/json.ts';
import { createTools } from '../../sidecar/tools/registry.ts';
import { noBuffers } from '../../sidecar/workspace/buffers.ts';
import { createLocks } from '../../sidecar/workspace/locks.ts';
import { createWitness } from '../../sidecar/workspace/witness.ts';
import { createWorktrees } from '../../sidecar/workspace/worktree.ts';
import { begin, until } from './place.ts';

const [disk = '', shell = 'bash'] = process.argv.slice(2);
const diskBytes = limits.spoolFreeBytes + 8 * 1024 * 1024;
execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'tmpfs', disk]);
const workspace = path.join(disk, 'workspace');
const runs = path.join(disk, 'runs');
mkdirSync(workspace);
/** Fills the disk, and says so with its code. */
const fill = `head -c ${diskBytes} /dev/zero >big; exit`;

// A command fills the disk after the sidecar that started it is gone.
const commands = [`until [ -e go ]; do sleep 0.02; done; ${fill} 5`];
const program = path.join(import.meta.dirname, 'sidecar.ts');
const first = spawn(process.execPath, [program, runs, disk, workspace, shell, ...commands], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [line] = await once(first.stdout, 'data');
const evidence = JSON.parse(String(line)) as Json;
const claim = path.join(runs, '1', 'claim');
await until(() => existsSync(claim) && readFileSync(claim, 'utf8').endsWith('\n'));
const pid = readFileSync(claim, 'utf8').split(' ')[0];
first.kill('SIGKILL');
await once(first, 'exit');
writeFileSync(path.join(workspace, 'go'), '');
await until(() => !existsSync(`/proc/${pid}`));

const tools = createTools({
  runDirectory: runs,
  checkpoints: { before: () => Promise.resolve() },
  worktrees: createWorktrees(path.join(disk, 'worktrees')),
  environment: () => ({ PATH: process.env['PATH'] ?? '', ROOST_STORE: disk }),
  buffers: noBuffers,
  locks: createLocks(),
  witness: createWitness(path.join(disk, 'snapshots')),
  shell: shell === 'sh' ? 'sh' : 'bash',
});
let calls = 1;
const told = async (command: string): Promise<void> => {
  const place = { workspace, isolation: 'shared', mode: 'ask' } as const;
  const call = callId(++calls);
  const job = {
    call,
    agent: agentId(1),
    parent: null,
    turn: turnId(1),
    tool: 'shell',
    input: { command },
    place,
  };
  const prepared = tools.prepareNow(job);
  assert.ok(prepared?.kind === 'run');
  console.log(JSON.stringify(await begin(tools, job, prepared.evidence).outcome));
};
const place = { workspace, isolation: 'shared', mode: 'ask' } as const;
const left = {
  call: callId(1),
  agent: agentId(1),
  parent: null,
  turn: turnId(1),
  tool: 'shell',
  input: {},
  place,
};
const input = { command: commands[0] ?? '' };
console.log(JSON.stringify(await begin(tools, { ...left, input }, evidence, 'recover').outcome));
await told('echo here; rm big; echo freed');
await told(`echo filling; ${fill} 3`);
await told('rm big; echo freed');
await told('echo as before');
tools.close();

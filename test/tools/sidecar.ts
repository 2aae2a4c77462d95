// A process that stands for a sidecar: it starts the commands that it is given, and is there to be killed.
//
// Arguments: run directory, store, workspace, shell, then one command for each call from 1 on. Prints the evidence
// of each call before it is started, as the store would have committed it. A command that begins with `&` goes into the
// background, and the evidence of that is printed once it is there.
import { agentId, callId, turnId } from '../../sidecar/protocol/ids.ts';
import { createTools } from '../../sidecar/tools/registry.ts';
import { noBuffers } from '../../sidecar/workspace/buffers.ts';
import { createWorktrees } from '../../sidecar/workspace/worktree.ts';
import { createLocks } from '../../sidecar/workspace/locks.ts';
import { createWitness } from '../../sidecar/workspace/witness.ts';

const [runDirectory = '', store = '', workspace = '', shell = '', ...commands] = process.argv.slice(2);
const tools = createTools({
  runDirectory,
  checkpoints: { before: () => Promise.resolve() },
  worktrees: createWorktrees(`${store}/worktrees`),
  environment: () => ({ PATH: process.env['PATH'] ?? '', ROOST_STORE: store }),
  buffers: noBuffers,
  locks: createLocks(),
  witness: createWitness(`${store}/snapshots`),
  shell: shell === 'sh' ? 'sh' : 'bash',
});

for (const [index, command] of commands.entries()) {
  const job = {
    call: callId(index + 1),
    agent: agentId(1),
    parent: null,
    turn: turnId(1),
    tool: 'shell',
    input: command.startsWith('&') ? { command: command.slice(1), background: true } : { command },
    place: { workspace, isolation: 'shared' as const, mode: 'ask' as const },
  };
  tools.prepare(job, (prepared) => {
    if (prepared.kind !== 'run') return;
    process.stdout.write(`${JSON.stringify(prepared.evidence)}\n`);
    tools.run(job, prepared.evidence, (event) => {
      if (event.kind !== 'done' || event.outcome.background === undefined) return;
      process.stdout.write(`${JSON.stringify(event.outcome.background.evidence)}\n`);
    });
  });
}

// It stays until it is killed.
setInterval(() => undefined, 60_000);

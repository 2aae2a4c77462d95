// Files of branches that people of the simulated world import: a few fixed ones, so that the same comes twice.

import type { BranchLine, FileBody } from '../../sidecar/protocol/branchFile.ts';

/** When everything in them happened: no clock of a run is ever there, so rows of an import are known by it. */
export const importedAtMs = 1;

const entry = (body: FileBody, answer = false): BranchLine => ({
  ...{ type: 'entry', atMs: importedAtMs, body },
  ...(answer ? { answer: true } : {}),
});

function agent(id: number, parent: number | null): BranchLine {
  const budget = { microUsd: null, tokens: null, agents: null, depth: null };
  return {
    ...{
      type: 'agent',
      id,
      parent,
      name: `i${id}`,
      task: 'imported',
      model: 'sim/model',
      profile: 'planner',
    },
    ...{ isolation: 'shared', closed: false, createdAtMs: importedAtMs, budget },
  };
}

const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0 };
const model = 'sim/model';

/** A turn that calls a tool and ends; `open`: it was cut off before the call had its result. */
function turn(name: string, from: 'person' | 'parent', open = false): BranchLine[] {
  const call = { kind: 'call', key: `k${name}`, tool: 'read', input: '{}' } as const;
  const asked: BranchLine[] = [
    {
      ...{ type: 'turn', cause: 'message', from, outcome: open ? null : 'done', brief: '', result: null },
      ...{ startedAtMs: importedAtMs, endedAtMs: open ? null : importedAtMs },
    },
    entry({ kind: 'user', from, text: `do ${name}`, delivery: 'turn' }),
    entry({ kind: 'answer', model, blocks: [call], stop: 'calls', usage }),
  ];
  if (open) return asked;
  const said = { kind: 'text', text: `done ${name}` } as const;
  return [
    ...asked,
    entry({ kind: 'result', key: call.key, tool: 'read', status: 'ok', text: 'ok' }),
    entry({ kind: 'answer', model, blocks: [said], stop: 'end', usage }, true),
    entry({ kind: 'end', outcome: 'done', text: '' }),
  ];
}

/** The lines of file `n`. */
export function fileOf(n: number): readonly BranchLine[] {
  const header = { type: 'branch', version: 1, build: 'sim', name: `i${n}`, atMs: importedAtMs } as const;
  const top = [header, agent(1, null), ...turn(`f${n}a`, 'person'), ...turn(`f${n}b`, 'person', n === 2)];
  if (n === 0) return top;
  const kids = [2, 3].flatMap((id) => [agent(id, 1), ...turn(`f${n}k${id}`, 'parent', id === 3)]);
  return n === 1 ? [...top, ...kids] : [...top, ...kids, agent(4, 3), ...turn(`f${n}x`, 'parent')];
}

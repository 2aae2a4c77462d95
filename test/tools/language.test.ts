// The tools that ask the person's language servers: positions that models can name, answers they can use.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Diagnostic, Diagnostics, Position } from '../../sidecar/protocol/language.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { noLanguages } from '../../sidecar/tools/language.ts';
import type { Languages } from '../../sidecar/tools/language.ts';
import { createRepository } from '../workspace/repository.ts';
import { createPlace } from './place.ts';

const range = { start: { line: 1, character: 4 }, end: { line: 1, character: 9 } };

function languages(workspace: () => string, asked: unknown[] = []): Languages {
  const found = (message: string): Diagnostic => {
    return { path: path.join(workspace(), 'a.ts'), range, severity: 1, message, source: 'ts', code: '2322' };
  };
  return {
    ...noLanguages,
    diagnostics: (file, most) => {
      asked.push([file, most]);
      return Promise.resolve({ diagnostics: [found('Type\nis wrong')], more: 2, unseen: false });
    },
    locations: (at) => {
      asked.push(at);
      const inside = { path: path.join(workspace(), 'b', 'c.ts'), range, text: 'count(1);' };
      return Promise.resolve({ locations: [inside, { path: '/lib/d.ts', range, text: null }], more: 0 });
    },
  };
}

test('diagnostics of a file, in lines that name the place, the server and the code', async () => {
  const asked: unknown[] = [];
  const place = createPlace({ languages: languages(() => place.workspace, asked) });
  writeFileSync(path.join(place.workspace, 'a.ts'), 'x');
  const { status, text } = await place.call('diagnostics', { path: 'a.ts' });
  assert.deepEqual([status, text], ['ok', 'a.ts:2:5 error (ts 2322): Type is wrong\n… and 2 more.']);
  await place.call('diagnostics', {});
  assert.deepEqual(asked, [
    [path.join(place.workspace, 'a.ts'), limits.diagnosticsShown],
    [place.workspace, limits.diagnosticsShown],
  ]);
  assert.match((await place.call('diagnostics', { path: '../out.ts' })).text, /outside/);
});

test('that a file is not checked at all is never told as free of errors', async () => {
  let unseen = true;
  const said = (): Promise<Diagnostics> => Promise.resolve({ diagnostics: [], more: 0, unseen });
  const place = createPlace({ languages: { ...noLanguages, diagnostics: said } });
  writeFileSync(path.join(place.workspace, 'a.ts'), 'x');
  assert.match((await place.call('diagnostics', { path: 'a.ts' })).text, /in no tab.*with shell to be sure/);
  unseen = false;
  assert.equal((await place.call('diagnostics', { path: 'a.ts' })).text, 'No errors or warnings in a.ts.');
});

test('a name on a line is found as a whole word; what is not there is said with the line', async () => {
  const asked: { position: Position }[] = [];
  const place = createPlace({ languages: languages(() => place.workspace, asked) });
  mkdirSync(path.join(place.workspace, 'b'));
  writeFileSync(path.join(place.workspace, 'a.ts'), 'one\r\ncounter(count);\r\n');
  const at = { find: 'references', path: 'a.ts', line: 2, symbol: 'count' };
  const { text } = await place.call('symbol', at);
  assert.deepEqual(asked[0]?.position, { line: 1, character: 8 });
  assert.equal(text, 'b/c.ts:2: count(1);\n/lib/d.ts:2');
  assert.match((await place.call('symbol', { ...at, line: 9 })).text, /has no line 9/);
  assert.match((await place.call('symbol', { ...at, line: 1 })).text, /line 1 of a\.ts has no "count": one/);
  assert.match((await place.call('symbol', { ...at, find: 'all' })).text, /definition, references, impl/);
  assert.match((await place.call('symbol', { find: 'definition', path: 'a.ts', symbol: 'x' })).text, /needs/);
});

test('without a window, and in a worktree, the agent is told what to do instead', async () => {
  const place = createPlace();
  createRepository({ 'a.ts': 'a\n' }, place.workspace);
  const alone = await place.call('diagnostics', { path: 'a.ts' });
  assert.equal(alone.status, 'error');
  assert.match(alone.text, /No editor window .* with shell/);
  const how = { isolation: 'worktree', agent: 7 } as const;
  await place.call('write', { path: 'b.ts', text: 'b' }, how);
  assert.match((await place.call('diagnostics', { path: 'b.ts' }, how)).text, /worktree of your own/);
});

test('in a worktree a name is asked for where the person has it, and places are told as the agent has them', async () => {
  const asked: { path: string; position: Position }[] = [];
  const place = createPlace({
    languages: {
      ...noLanguages,
      locations: (at) => {
        asked.push(at);
        const use = (line: number) => {
          const at = { line, character: 0 };
          return {
            path: path.join(place.workspace, 'a.ts'),
            range: { start: at, end: at },
            text: `use ${line}`,
          };
        };
        return Promise.resolve({ locations: [use(0), use(1), use(2)], more: 0 });
      },
    },
  });
  createRepository({ 'a.ts': 'count = 1;\nuse(count);\ncount;\n' }, place.workspace);
  const how = { isolation: 'worktree', agent: 7 } as const;
  await place.call('write', { path: 'a.ts', text: 'mine\ncount = 1;\nuse(count, 2);\ncount;\n' }, how);
  const { text } = await place.call(
    'symbol',
    { find: 'references', path: 'a.ts', line: 2, symbol: 'count' },
    how,
  );
  assert.deepEqual(asked[0]?.position, { line: 0, character: 0 });
  assert.equal(asked[0]?.path, path.join(place.workspace, 'a.ts'));
  assert.match(text, /^a\.ts:2: use 0\na\.ts:2 \(a line .* not\): use 1\na\.ts:4: use 2\nThe servers know/);
  const mine = { find: 'definition', path: 'a.ts', line: 3, symbol: 'count' };
  assert.match((await place.call('symbol', mine, how)).text, /line 3 of a\.ts stands in your worktree only/);
});

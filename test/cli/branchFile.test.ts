// A branch as a file, from end to end: the real command, the real sidecar, a scripted model.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';

import { one, Store } from './roost.ts';

type Line = Readonly<Record<string, unknown>>;

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(os.tmpdir(), 'roost-file-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const linesIn = (file: string): Line[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

/** The text of a file of these lines, with the end that they should have. */
function textOf(lines: readonly Line[]): string {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  return `${text}${JSON.stringify({ type: 'end', lines: lines.length, sha256 })}\n`;
}

/** Lines without what differs from store to store: numbers of agents by their order, the header's time. */
function comparable(file: string): Line[] {
  const numbers = new Map<unknown, number>([[null, 0]]);
  return linesIn(file)
    .slice(0, -1)
    .map((line) => {
      if (line['type'] === 'branch') return { ...line, atMs: 0 };
      if (line['type'] !== 'agent') return line;
      numbers.set(line['id'], numbers.size);
      return { ...line, id: numbers.get(line['id']), parent: numbers.get(line['parent']) };
    });
}

const healthy = async (store: Store): Promise<void> => {
  const found = (await store.lines('doctor')).filter((line) => line['type'] === 'finding');
  assert.deepEqual(found, []);
};

/** A branch with a child, a fork, a long text and a tool that was used. */
async function branch(store: Store): Promise<void> {
  await store.lines('run', '--new', '--agent', 'lead', ...store.model, '--', 'first words');
  await store.lines('send', 'lead', '--follow', '--', 'use the tool');
  await store.lines(
    'run',
    '--new',
    '--agent',
    'kid',
    '--parent',
    'lead',
    ...store.model,
    '--',
    'é '.repeat(9_000),
  );
  await store.lines('run', '--new', '--parent', 'lead', ...store.model, '--', 'Größe ändern, 大きさ');
  await store.lines('fork', 'lead/kid', '--agent', 'heir', '--', 'go on');
  await store.lines('wait', 'lead/heir');
  await store.lines('wait', 'lead');
}

const script = [
  { user: 'use the tool', tool: 'shell', say: [{ text: 'used it' }] },
  { user: 'use the tool', say: [{ call: 'shell', input: { command: `echo ${'word '.repeat(10_000)}` } }] },
];

test('a branch is written to a file and comes back in another store as it was, at rest', async (t) => {
  const [from, to, files] = [new Store(t, script), new Store(t), folder(t)];
  await branch(from);
  const [file, again] = [path.join(files, 'lead.jsonl'), path.join(files, 'again.jsonl')];
  const written = one(await from.lines('export', 'lead', file), 'exported');
  assert.equal(written['bytes'], readFileSync(file).length);
  const [header, ...lines] = linesIn(file);
  assert.deepEqual([header?.['type'], header?.['version'], header?.['name']], ['branch', 1, 'lead']);
  assert.deepEqual(
    lines.filter((line) => line['type'] === 'agent').map((line) => line['name']),
    ['lead', 'kid', 'größe-ändern-大きさ', 'heir'],
  );
  assert.equal(
    (await from.roost('export', 'lead')).stdout.split('\n').length,
    lines.length + 2,
    'to standard output',
  );
  assert.match((await from.roost('export', 'lead', file)).stderr, /There is a file .* already/);

  const here = one(await to.lines('import', file), 'imported');
  assert.deepEqual([here['name'], here['agents']], ['lead', 4]);
  await to.lines('export', 'lead', again);
  assert.deepEqual(comparable(again), comparable(file));
  const rows = await to.lines('ls', '--all');
  assert.deepEqual(
    rows.map(({ name, phase, outcome, mode }) => [name, phase, outcome, mode]),
    ['lead', 'kid', 'größe-ändern-大きさ', 'heir'].map((name) => [name, 'idle', 'done', 'ask']),
  );
  const { spent } = one(await to.lines('budget', 'lead'), 'budget') as { spent?: unknown };
  assert.deepEqual(spent, { microUsd: 0, tokens: 0, agents: 4 });
  await healthy(to);

  // The same file twice is one branch, also when the sidecar was killed between.
  await to.kill();
  const twice = one(await to.lines('import', file), 'imported');
  assert.deepEqual(twice, here);
  assert.equal((await to.lines('ls', '--all')).length, 4);
  const heard = await to.lines('send', 'lead/heir', '--follow', ...to.model.slice(0, 2), '--', 'and on');
  assert.equal(one(heard, 'result')['text'], 'heard and on');
  // What was deleted for good may come again.
  await to.lines('delete', 'lead');
  await to.lines('trash', 'empty');
  const anew = one(await to.lines('import', file), 'imported');
  assert.notEqual(anew['agent'], here['agent']);
  await healthy(to);
});

test('a file that is cut, changed, of another version or made up is refused, and nothing of it stays', async (t) => {
  const [from, to, files] = [new Store(t, script), new Store(t), folder(t)];
  await branch(from);
  const good = path.join(files, 'lead.jsonl');
  await from.lines('export', 'lead', good);
  const bytes = readFileSync(good);
  const lines = linesIn(good).slice(0, -1);
  const at = (type: string): number => lines.findIndex((line) => line['type'] === type);
  const agent = lines[at('agent')] ?? {};
  const kid = lines.findLastIndex((line) => line['type'] === 'agent');
  const replaced = (index: number, line: Line): string => textOf(lines.toSpliced(index, 1, line));
  const cases: readonly (readonly [string | Uint8Array, RegExp])[] = [
    [bytes.subarray(0, bytes.length - 200), /its end is missing, so it was cut|no JSON in UTF-8/],
    [bytes.subarray(0, bytes.lastIndexOf(10, bytes.length - 2) + 1), /its end is missing, so it was cut/],
    [Buffer.concat([bytes, Buffer.from('{}\n')]), /goes on behind its last line/],
    [bytes.toString().replace('first words', 'other words'), /its SHA-256 is another/],
    [Buffer.concat([bytes.subarray(0, 400), Buffer.from([0xff]), bytes.subarray(400)]), /no JSON in UTF-8/],
    [`${'x'.repeat(7 * 1024 * 1024)}\n`, /a line of more than 6291456 bytes/],
    ['', /its end is missing/],
    ['{"type":"package"}\n', /does not begin as "roost export" does/],
    [replaced(0, { ...lines[0], version: 2 }), /is of version 2, and this Roost knows 1/],
    [textOf([...lines.slice(0, 1)]), /no agent is in it/],
    [textOf(lines.toSpliced(at('turn'), 1)), /an entry stands before the first turn/],
    [replaced(kid, { ...lines[kid], parent: 99 }), /stands below none that it could be below/],
    [replaced(kid, { ...lines[kid], id: agent['id'], parent: agent['id'] }), /is below itself/],
    [replaced(kid, { ...lines[kid], parent: null }), /stands below none that it could be below/],
    [replaced(at('agent'), { ...agent, mode: 'auto' }), /unknown field "lines.1.mode"/],
    [replaced(at('agent'), { ...agent, name: '../up' }), /field "lines.1.name" is not valid/],
    [
      textOf(lines.filter((line) => (line['body'] as Line | undefined)?.['kind'] !== 'answer')),
      /a result stands where no call/,
    ],
  ];
  const bad = path.join(files, 'bad.jsonl');
  for (const [content, message] of cases) {
    writeFileSync(bad, content);
    const refused = await to.roost('import', bad);
    assert.notEqual(refused.code, 0, String(message));
    assert.match(refused.stderr, message);
  }
  assert.deepEqual(await to.lines('ls', '--all'), []);
  const deadlineMs = Date.now() + 5_000;
  while ((await to.lines('trash')).length > 0)
    assert.ok(Date.now() < deadlineMs, 'what was there of them goes');
  await healthy(to);
  assert.equal(one(await to.lines('import', good), 'imported')['agents'], 4);
});

// The tools read and search: ranges, bounds, and what is left out.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { limits } from '../../sidecar/runtime/limits.ts';
import { begin, createPlace, evidenceOf } from './place.ts';
import type { Place } from './place.ts';

function put(place: Place, name: string, content: string | Uint8Array): void {
  const file = path.join(place.workspace, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}

test('lines are numbered, a range says where it stands', async () => {
  const place = createPlace();
  put(place, 'a.txt', 'one\r\ntwo\nthree');
  assert.equal((await place.call('read', { path: 'a.txt' })).text, '    1\tone\n    2\ttwo\n    3\tthree');
  const part = await place.call('read', { path: 'a.txt', startLine: 2, lineCount: 1 });
  assert.equal(part.text, '    2\ttwo\n[lines 2 to 2; there are more]');
  const last = await place.call('read', { path: 'a.txt', startLine: 3 });
  assert.equal(last.text, '    3\tthree\n[lines 3 to 3 of 3]');
  assert.match(
    (await place.call('read', { path: 'a.txt', startLine: 4 })).text,
    /has 3 lines; startLine 4 is after its end/,
  );
  put(place, 'empty.txt', '');
  assert.equal((await place.call('read', { path: 'empty.txt' })).text, 'empty.txt is empty.');
});

test('case 185: a huge file costs a bounded result, and any range of it can be read', async () => {
  const place = createPlace();
  put(place, 'huge.txt', Array.from({ length: 400_000 }, (_, i) => `line ${i + 1}\n`).join(''));
  const start = await place.call('read', { path: 'huge.txt', lineCount: 1_000_000 });
  assert.ok(Buffer.byteLength(start.text) <= limits.resultBytes);
  assert.match(start.text, /\[lines 1 to \d+; there are more\]$/);
  const far = await place.call('read', { path: 'huge.txt', startLine: 399_999 });
  assert.equal(far.text, '399999\tline 399999\n400000\tline 400000\n[lines 399999 to 400000 of 400000]');
  put(place, 'wide.txt', `${'x'.repeat(5_000_000)}\nnext\n`);
  const wide = await place.call('read', { path: 'wide.txt' });
  assert.ok(wide.text.length < 3_000);
  assert.match(wide.text, /more bytes\]\n {4}2\tnext/);
});

test('case 85: pictures and other bytes are not read as text', async () => {
  const place = createPlace();
  put(place, 'a.png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a]));
  put(place, 'a.o', Buffer.from([1, 0, 2]));
  assert.match(
    (await place.call('read', { path: 'a.png' })).text,
    /a\.png is not shown: \.png files are not text/,
  );
  assert.match((await place.call('read', { path: 'a.o' })).text, /NUL bytes/);
});

test('directories are listed, things that are not files are not opened', async () => {
  const place = createPlace();
  put(place, 'b/c.txt', 'x');
  put(place, 'a.txt', 'x');
  assert.equal((await place.call('read', { path: '.' })).text, 'a.txt\nb/');
  assert.match((await place.call('read', { path: 'none.txt' })).text, /there is no none\.txt/);
  execFileSync('mkfifo', [path.join(place.workspace, 'pipe')]);
  assert.match((await place.call('read', { path: 'pipe' })).text, /pipe is not a regular file/);
});

for (const ripgrep of [undefined, null]) {
  test(`a search gives places, honours ignore files and follows no link (${ripgrep === null ? 'without ripgrep' : 'ripgrep'})`, async () => {
    const place = createPlace(ripgrep === null ? { ripgrep } : {});
    execFileSync('git', ['init', '-q'], { cwd: place.workspace });
    put(place, 'src/b.ts', 'x\nneedle two\n');
    put(place, 'src/a.ts', 'needle one\n');
    put(place, 'doc.md', 'needle three\n');
    put(place, '.github/x.yml', 'needle hidden\n');
    put(place, '.gitignore', 'built/\n*.log\n');
    put(place, 'built/out.js', 'needle built\n');
    put(place, 'src/x.log', 'needle log\n');
    writeFileSync(path.join(place.store, 'outside.txt'), 'needle outside\n');
    symlinkSync(place.store, path.join(place.workspace, 'link'));
    const lines = async (input: Record<string, string>): Promise<string[]> =>
      (await place.call('search', input)).text
        .split('\n')
        .filter((line) => !line.startsWith('[not all: ripgrep is missing'));
    const all = [
      '.github/x.yml:1:needle hidden',
      'doc.md:1:needle three',
      'src/a.ts:1:needle one',
      'src/b.ts:2:needle two',
    ];
    assert.deepEqual(await lines({ pattern: 'needle' }), all);
    assert.deepEqual(await lines({ pattern: 'needle', glob: '*.ts' }), all.slice(2));
    assert.deepEqual(await lines({ pattern: 'needle', path: 'src/a.ts' }), ['src/a.ts:1:needle one']);
    assert.deepEqual(await lines({ pattern: 'needle', path: 'src' }), all.slice(2));
    assert.match(
      (await place.call('search', { pattern: 'x', path: '../store' })).text,
      /outside the workspace/,
    );
  });
}

test('a search is a regular expression; a wrong one is explained', async () => {
  const place = createPlace();
  put(place, 'a.txt', 'foo(1)\nbar\n');
  assert.equal((await place.call('search', { pattern: 'fo+\\(\\d' })).text, 'a.txt:1:foo(1)');
  assert.match((await place.call('search', { pattern: 'foo(' })).text, /^search: .*regex parse error/);
  assert.equal((await place.call('search', { pattern: 'nowhere' })).text, 'No matches.');
  assert.equal((await place.call('search', { pattern: '--files' })).text, 'No matches.');
});

test('case 55: a search has a budget and ends when it is interrupted', async () => {
  const place = createPlace();
  put(place, 'many.txt', 'match me\n'.repeat(10_000));
  const many = await place.call('search', { pattern: 'match' });
  assert.match(many.text, /\[not all: only 200 matches are shown\. Narrow it/);
  assert.ok(Buffer.byteLength(many.text) <= limits.resultBytes);
  // A ripgrep that never ends.
  const stuck = path.join(place.workspace, 'stuck');
  writeFileSync(stuck, '#!/bin/sh\nexec sleep 100\n', { mode: 0o755 });
  const slow = createPlace({ ripgrep: stuck });
  const job = slow.job('search', { pattern: 'x' });
  const running = begin(slow.tools, job, await evidenceOf(slow, job));
  setTimeout(running.cancel, 20);
  assert.match((await running.outcome).text, /not all: it was interrupted/);
});

test('a ripgrep that is not there gives way to the slow search', async () => {
  const place = createPlace({ ripgrep: '/nowhere/rg' });
  put(place, 'a.txt', 'needle\n');
  assert.match(
    (await place.call('search', { pattern: 'needle' })).text,
    /^a\.txt:1:needle\n\[not all: ripgrep is missing/,
  );
});

// The tools edit and write on real files: byte for byte, through buffers, through crashes, past every fence.
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Buffers, TextEdit } from '../../sidecar/workspace/buffers.ts';
import { hashOfText } from '../../sidecar/workspace/bytes.ts';
import { begin, createPlace, evidenceOf } from './place.ts';
import type { Place } from './place.ts';

const put = (place: Place, name: string, content: string | Uint8Array): string => {
  const file = path.join(place.workspace, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
};

/** An editor with unsaved text of one file. */
function editorOf(file: () => string, text: string): Buffers & { text: string } {
  const editor = {
    text,
    readText: (asked: string) => Promise.resolve(asked === file() ? editor.text : null),
    applyEdit: (asked: string, expect: string, edits: readonly TextEdit[]) => {
      if (asked !== file() || hashOfText(editor.text) !== expect) return Promise.resolve(false);
      for (const edit of edits.toReversed()) {
        editor.text = editor.text.slice(0, edit.start) + edit.text + editor.text.slice(edit.end);
      }
      return Promise.resolve(true);
    },
  };
  return editor;
}

test('an edit changes its place and tells what was there', async () => {
  const place = createPlace();
  const file = put(place, 'src/a.ts', 'one\ntwo\nthree\n');
  const outcome = await place.call('edit', { path: 'src/a.ts', old: 'two', new: 'TWO' });
  assert.equal(readFileSync(file, 'utf8'), 'one\nTWO\nthree\n');
  assert.match(
    outcome.text,
    /^Changed src\/a\.ts:\n--- src\/a\.ts\n\+\+\+ src\/a\.ts\n@@ -1,3 \+1,3 @@\n one\n-two\n\+TWO\n three$/,
  );
  const [touched] = outcome.touched ?? [];
  assert.deepEqual([touched?.path, touched?.written], [file, file]);
  assert.equal(Buffer.from(touched?.before ?? []).toString(), 'one\ntwo\nthree\n');
  assert.equal(Buffer.from(touched?.after ?? []).toString(), 'one\nTWO\nthree\n');
  assert.deepEqual(readdirSync(path.dirname(file)), ['a.ts'], 'no temporary file is left');
});

test('cases 81 and 83: bytes outside the edit stay, whatever they are', async () => {
  const place = createPlace();
  // No zero, which makes a file binary, and no CR at the end, which would make CRLF of the line end behind it.
  const text = (byte: number, at: number, all: Uint8Array): number =>
    byte === 0 || (byte === 13 && at === all.length - 1) ? 1 : byte;
  const bytes = fc.uint8Array({ maxLength: 40 }).map((all) => all.map(text));
  await fc.assert(
    fc.asyncProperty(bytes, bytes, fc.constantFrom('\n', '\r\n'), async (before, behind, end) => {
      const mark = `<<the old text>>${end}`;
      const file = put(place, 'any.txt', Buffer.concat([before, Buffer.from(`${end}${mark}`), behind]));
      const outcome = await place.call('edit', {
        path: 'any.txt',
        old: '<<the old text>>\n',
        new: 'new\nlines\n',
      });
      assert.equal(outcome.status, 'ok', outcome.text);
      const expected = Buffer.concat([before, Buffer.from(`${end}new${end}lines${end}`), behind]);
      assert.deepEqual(readFileSync(file), expected);
    }),
    // A file that starts with the mark of UTF-16 is refused, which another test shows.
    { numRuns: 60, examples: [[new Uint8Array([0xef, 0xbb, 0xbf]), new Uint8Array([0xe9, 0x0a]), '\r\n']] },
  );
});

test('mixed line ends: each place keeps its own', async () => {
  const place = createPlace();
  const file = put(place, 'mixed.txt', 'a\r\nb\nc\r\nd\n');
  await place.call('edit', { path: 'mixed.txt', old: 'a\nb\nc\n', new: 'a\nB\nc\n' });
  assert.equal(readFileSync(file, 'latin1'), 'a\r\nB\nc\r\nd\n');
  await place.call('edit', { path: 'mixed.txt', old: 'a\n', new: 'a\na2\n' });
  assert.equal(readFileSync(file, 'latin1'), 'a\r\na2\r\nB\nc\r\nd\n');
  await place.call('edit', { path: 'mixed.txt', old: 'd', new: 'd\r\ne' });
  assert.equal(readFileSync(file, 'latin1'), 'a\r\na2\r\nB\nc\r\nd\ne\n');
});

test('case 71: an edit that fits twice is refused with the lines, one that fits nowhere with a hint', async () => {
  const place = createPlace();
  const file = put(place, 'a.ts', 'x\n  same\ny\n  same\n');
  const twice = await place.call('edit', { path: 'a.ts', old: 'same', new: 'other' });
  assert.match(twice.text, /stands 2 times in the file, at lines 2, 4\. Add lines/);
  const nowhere = await place.call('edit', { path: 'a.ts', old: '\tsame\nz', new: 'other' });
  assert.match(nowhere.text, /does not stand in the file\. Its first line stands at line 2, 4; white space/);
  assert.match(
    (await place.call('edit', { path: 'a.ts', old: 'gone', new: 'x' })).text,
    /Read the file again/,
  );
  assert.match(
    (await place.call('edit', { path: 'no.ts', old: 'a', new: 'b' })).text,
    /there is no no\.ts\. To make a file use `write`/,
  );
  assert.match((await place.call('edit', { path: 'a.ts', old: 'x', new: 'x' })).text, /the same/);
  assert.match((await place.call('edit', { path: 'a.ts', old: '', new: 'x' })).text, /`old` is empty/);
  assert.equal(readFileSync(file, 'utf8'), 'x\n  same\ny\n  same\n');
});

test('case 70: a file that changed since the look is edited where the text still fits, and not overwritten', async () => {
  const place = createPlace();
  const file = put(place, 'a.ts', 'one\ntwo\n');
  const edit = place.job('edit', { path: 'a.ts', old: 'two', new: 'TWO' });
  const write = place.job('write', { path: 'a.ts', text: 'all new\n' });
  const evidence = { edit: await evidenceOf(place, edit), write: await evidenceOf(place, write) };
  writeFileSync(file, 'zero\none\ntwo\n');
  assert.match(
    (await begin(place.tools, write, evidence.write).outcome).text,
    /has changed since you looked/,
  );
  assert.equal((await begin(place.tools, edit, evidence.edit).outcome).status, 'ok');
  assert.equal(readFileSync(file, 'utf8'), 'zero\none\nTWO\n');
  writeFileSync(file, 'nothing of it\n');
  assert.match((await begin(place.tools, edit, evidence.edit).outcome).text, /does not stand/);
});

test('several edits of one file in one answer all land', async () => {
  const place = createPlace();
  const file = put(place, 'a.ts', '1\n2\n3\n4\n5\n6\n7\n8\n');
  const jobs = ['2', '4', '6', '8'].map((old) => place.job('edit', { path: 'a.ts', old, new: `new ${old}` }));
  const prepared = await Promise.all(jobs.map((job) => evidenceOf(place, job)));
  const outcomes = await Promise.all(
    jobs.map((job, i) => begin(place.tools, job, prepared[i] ?? null).outcome),
  );
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ['ok', 'ok', 'ok', 'ok'],
  );
  assert.equal(readFileSync(file, 'utf8'), '1\nnew 2\n3\nnew 4\n5\nnew 6\n7\nnew 8\n');
});

test('after a crash the file says what happened', async () => {
  const place = createPlace();
  const file = put(place, 'a.ts', 'one\ntwo\nthree\n');
  const job = place.job('edit', { path: 'a.ts', old: 'two', new: 'TWO\nand more' });
  const evidence = await evidenceOf(place, job);
  const recover = () => begin(place.tools, job, evidence, 'recover').outcome;
  assert.equal((await recover()).status, 'ok', 'not written: it is written now');
  const again = await recover();
  assert.equal(again.status, 'ok', 'written: it is done');
  assert.equal(readFileSync(file, 'utf8'), 'one\nTWO\nand more\nthree\n');
  assert.equal(Buffer.from(again.touched?.[0]?.before ?? []).toString(), 'one\ntwo\nthree\n');
  writeFileSync(file, 'somebody else\n');
  const lost = await recover();
  assert.equal(lost.status, 'unknown');
  assert.equal(readFileSync(file, 'utf8'), 'somebody else\n');
});

test('a write that was cut short is recovered with what was there before', async () => {
  const place = createPlace();
  for (const [name, old] of [
    ['new.txt', null],
    ['old.txt', 'before\n'],
  ] as const) {
    if (old !== null) put(place, name, old);
    const job = place.job('write', { path: name, text: 'after\n' });
    const evidence = await evidenceOf(place, job);
    await begin(place.tools, job, evidence).outcome;
    const { touched } = await begin(place.tools, job, evidence, 'recover').outcome;
    const before = touched?.[0]?.before ?? null;
    assert.equal(before === null ? null : Buffer.from(before).toString(), old);
  }
});

test('write makes folders, keeps a mark and uniform line ends, and says when there is nothing to do', async () => {
  const place = createPlace();
  await place.call('write', { path: 'new/deep/a.txt', text: 'x\n' });
  assert.equal(readFileSync(path.join(place.workspace, 'new/deep/a.txt'), 'utf8'), 'x\n');
  const file = put(place, 'dos.txt', '\ufeffa\r\nb\r\n');
  await place.call('write', { path: 'dos.txt', text: 'c\nd\n' });
  assert.equal(readFileSync(file, 'utf8'), '\ufeffc\r\nd\r\n');
  assert.match(
    (await place.call('write', { path: 'dos.txt', text: 'c\nd\n' })).text,
    /has this text already/,
  );
});

test('mode, links to the file and links from it are kept (case 87)', async () => {
  const place = createPlace();
  const file = put(place, 'real.sh', '#!/bin/sh\necho old\n');
  chmodSync(file, 0o755);
  symlinkSync('real.sh', path.join(place.workspace, 'link.sh'));
  const outcome = await place.call('edit', { path: 'link.sh', old: 'old', new: 'new' });
  assert.equal(outcome.touched?.[0]?.path, file);
  assert.equal(readlinkSync(path.join(place.workspace, 'link.sh')), 'real.sh');
  assert.equal(statSync(file).mode & 0o777, 0o755);
  const other = path.join(place.workspace, 'other-name.sh');
  linkSync(file, other);
  await place.call('edit', { path: 'real.sh', old: 'new', new: 'newer' });
  assert.match(readFileSync(other, 'utf8'), /newer/);
  assert.equal(lstatSync(other).nlink, 2);
  symlinkSync('not-yet.txt', path.join(place.workspace, 'dangling'));
  await place.call('write', { path: 'dangling', text: 'x\n' });
  assert.equal(readFileSync(path.join(place.workspace, 'not-yet.txt'), 'utf8'), 'x\n');
});

test('cases 82, 86 and 89: what is not text is not written as text', async () => {
  const place = createPlace();
  const refused = async (name: string, content: string | Uint8Array, reason: RegExp): Promise<void> => {
    const file = put(place, name, content);
    const before = readFileSync(file);
    for (const tool of ['edit', 'write']) {
      const input = tool === 'edit' ? { path: name, old: 'a', new: 'é' } : { path: name, text: 'é' };
      assert.match((await place.call(tool, input)).text, reason);
    }
    assert.deepEqual(readFileSync(file), before);
  };
  await refused('a.docx', 'PK a', /\.docx files are not text/);
  await refused('a.bin', Buffer.from([97, 0, 98]), /NUL bytes/);
  await refused('a.txt', Buffer.from('\ufeffa', 'utf16le'), /UTF-16/);
  await refused('a.ipynb', '{"a": 1}', /notebook/);
  await refused('latin.txt', Buffer.from('a\xe9\n', 'latin1'), /not UTF-8/);
  assert.match((await place.call('write', { path: 'new.png', text: 'x' })).text, /\.png files are not text/);
  assert.match(
    (await place.call('write', { path: 'big.txt', text: 'x'.repeat(3_000_000) })).text,
    /3000000 bytes, the limit/,
  );
});

test('case 59: unsaved text wins; the buffer is edited and the disk is not', async () => {
  let file = '';
  const editor = editorOf(() => file, 'unsaved\none\ntwo\n');
  const place = createPlace({ buffers: editor });
  file = put(place, 'a.ts', 'one\ntwo\n');
  const outcome = await place.call('edit', { path: 'a.ts', old: 'two', new: 'TWO' });
  assert.equal(outcome.status, 'ok', outcome.text);
  assert.equal(editor.text, 'unsaved\none\nTWO\n');
  assert.equal(readFileSync(file, 'utf8'), 'one\ntwo\n');
  assert.match((await place.call('read', { path: 'a.ts' })).text, /unsaved changes[^]*unsaved\n/);
});

test('case 59: a person who types between the look and the edit is not overwritten', async () => {
  let file = '';
  const editor = editorOf(() => file, 'one\ntwo\n');
  const place = createPlace({
    buffers: { ...editor, applyEdit: () => Promise.resolve(false) },
  });
  file = put(place, 'a.ts', 'one\ntwo\n');
  const outcome = await place.call('edit', { path: 'a.ts', old: 'two', new: 'TWO' });
  assert.match(outcome.text, /The person is editing a\.ts right now/);
});

test('I10, cases 214 and 217: paths that leave the workspace are refused after links are resolved', async () => {
  const place = createPlace();
  const outside = path.join(place.store, 'secret.txt');
  writeFileSync(outside, 'secret\n');
  symlinkSync(place.store, path.join(place.workspace, 'away'));
  symlinkSync(outside, path.join(place.workspace, 'innocent.txt'));
  symlinkSync(path.join(place.store, 'made.txt'), path.join(place.workspace, 'dangling'));
  symlinkSync('loop', path.join(place.workspace, 'loop'));
  const paths = [
    '../store/secret.txt',
    outside,
    'away/secret.txt',
    'innocent.txt',
    'dangling',
    'a/../../store/secret.txt',
    'loop',
    'file:///etc/passwd',
    '',
  ];
  for (const given of paths) {
    for (const [tool, input] of [
      ['read', {}],
      ['edit', { old: 'secret', new: 'x' }],
      ['write', { text: 'x' }],
    ] as const) {
      const outcome = await place.call(tool, { path: given, ...input });
      assert.equal(outcome.status, 'error', `${tool} ${given}`);
      assert.match(outcome.text, /outside the workspace|cannot be resolved|is an address|not a path/);
    }
  }
  assert.equal(readFileSync(outside, 'utf8'), 'secret\n');
  assert.equal(existsSync(path.join(place.store, 'made.txt')), false);
  assert.equal((await place.call('read', { path: path.join(place.workspace, 'away/..') })).status, 'ok');
});

test('case 215: what grants power asks in every mode and stands alone', async () => {
  const place = createPlace();
  const paths = [
    'bare/HEAD',
    '.vscode/settings.json',
    '.VSCODE/tasks.json',
    '.git/hooks/pre-commit',
    '.roost/rules.json',
    'sub/.claude/settings.json',
    '.github/agents/x.md',
    '.mcp.json',
    'mcp.json',
    'a.code-workspace',
    '.envrc',
  ];
  symlinkSync('.vscode', path.join(place.workspace, 'harmless'));
  mkdirSync(path.join(place.workspace, '.vscode'));
  for (const given of [...paths, 'harmless/settings.json']) {
    const prepared = await place.prepare(place.job('write', { path: given, text: '{}' }));
    assert.ok(prepared.kind === 'run' && prepared.ask !== null, given);
    assert.equal(prepared.ask.always, true, given);
    assert.equal(prepared.ask.cluster, null, given);
  }
  const plain = await place.prepare(place.job('write', { path: 'src/vscode.ts', text: 'x' }));
  assert.ok(plain.kind === 'run' && plain.ask?.always === false && plain.ask.cluster === 'edit:src');
});

test('an agent that may only read cannot edit', async () => {
  const place = createPlace();
  put(place, 'a.ts', 'x\n');
  assert.match(
    (await place.call('edit', { path: 'a.ts', old: 'x', new: 'y' }, { isolation: 'readonly' })).text,
    /may only read/,
  );
  const shell = await place.prepare(
    place.job('shell', { command: 'make' }, { isolation: 'readonly', mode: 'auto' }),
  );
  assert.ok(shell.kind === 'run' && shell.ask?.always === true);
});

test('arguments that are wrong are named, with what would be right', async () => {
  const place = createPlace();
  const said = async (
    tool: string,
    input: Record<string, string | number | null | boolean>,
  ): Promise<string> => (await place.call(tool, input)).text;
  assert.equal(await said('edit', { path: 'a', old: 'b' }), 'edit: `new` is missing.');
  assert.equal(await said('edit', { file: 'a', old: 'b', new: 'c' }), 'edit: `path` is missing.');
  assert.equal(
    await said('edit', { path: 'a', old: 'b', new: 'c', all: true }),
    'edit: there is no field `all`. The fields are `path`, `old`, `new`.',
  );
  assert.equal(await said('read', { path: 1 }), 'read: `path` must be a string, it is 1.');
  assert.match(
    await said('read', { path: 'a', startLine: '3' }),
    /`startLine` must be a whole number from 1 to \d+, it is the string "3"\./,
  );
  assert.equal(await said('shell', { command: ' ' }), 'shell: `command` is empty.');
  assert.match(await said('shell', { command: 'x'.repeat(100_000) }), /longer than 98304 bytes/);
  assert.match(await said('shell', { command: 'a\0b' }), /NUL/);
  assert.match(
    await said('shell', { command: 'ls', timeoutMs: 0 }),
    /`timeoutMs` must be a whole number from 1/,
  );
  assert.equal(await said('browse', {}), 'There is no tool "browse".');
});

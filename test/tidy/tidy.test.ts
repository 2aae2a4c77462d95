// Runs the checks of checks.ts over the tree, and each of them over something wrong that it must notice.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../support/tool.ts';
import {
  fixturesUsed,
  headers,
  leftovers,
  limitsUsed,
  lineCount,
  longest,
  marksClaimed,
  names,
  placed,
  sizes,
  words,
} from './checks.ts';
import type { Exceptions, TreeFile } from './checks.ts';

const limitsPath = 'sidecar/runtime/limits.ts';
const contextLimitsPath = 'sidecar/runtime/contextLimits.ts';
const tree = readTree();
const places = readPlaces();
const exceptions = JSON.parse(
  readFileSync(path.join(root, 'test/tidy/exceptions.json'), 'utf8'),
) as Exceptions;

test('the tree was read', () => {
  assert.ok(tree.some((file) => file.path === 'package.json'));
  assert.ok(10 <= places.length);
});

test('every source file opens with a comment', () => clean(headers(tree)));
test('every product file has a boundary rule', () => clean(placed(tree, places)));
test('no name that says nothing', () => clean(names(tree)));
test('no leftover reminder, no banned word', () => clean(words(tree)));
test('no machine path, no registry host', () => clean(leftovers(tree)));
test('every limit is used', () =>
  clean([limitsPath, contextLimitsPath].flatMap((each) => limitsUsed(tree, each))));
test('every mark is claimed once', () => clean(marksClaimed(tree)));
test('every fixture is used', () => clean(fixturesUsed(tree)));

test('no file is too long', (t) => {
  const long = tree.filter(
    (file) => /^(sidecar|extension|webview)\/.*\.ts$/.test(file.path) && 300 < lineCount(file.text),
  );
  t.diagnostic(`files above the target of 300 lines: ${long.map((file) => file.path).join(', ') || 'none'}`);
  clean(sizes(tree, exceptions));
});

test('the checks notice what they are for', () => {
  const file = (text: string, name = 'sidecar/core/a.ts'): TreeFile[] => [{ path: name, text }];
  const long = (lines: number): string => 'x\n'.repeat(lines);
  const none: Exceptions = { lines: {} };
  const allow = (atMost: number): Exceptions => ({
    lines: { 'sidecar/core/a.ts': { atMost, reason: 'one table that is read as a whole' } },
  });

  found(headers(file("import x from 'y';\n")));
  found(headers(file('// Short.\nconst a = 1;\n')));
  clean(headers(file('#!/usr/bin/env node\n// What it owns and what it promises.\n')));

  found(placed(file('', 'sidecar/new/a.ts'), places));
  clean(placed(file('', 'sidecar/core/a.ts'), places));
  found(names(file('', 'sidecar/core/utils.ts')));
  found(names(file('', 'sidecar/helpers/a.ts')));

  found(sizes(file(long(longest.product + 1)), none));
  clean(sizes(file(long(longest.product)), none));
  clean(sizes(file(long(longest.product + 1)), allow(longest.product + 10)));
  found(sizes(file(long(longest.product + 1)), allow(longest.product + 200)));
  found(sizes(file(long(10)), allow(longest.product + 10)));
  found(sizes([], allow(longest.product + 10)));

  found(words(file(`// ${'TO'}DO: later\n`)));
  found(words(file(`// enough ${'for'} now\n`)));
  clean(words(file('// a todo list of the user\n')));
  found(leftovers(file(`"/${'work'}/main"`)));
  found(leftovers(file(`"https://registry.${'example'}.org/x"`)));
  found(leftovers(file(`  "${'resolved'}": "x"`, 'package-lock.json')));

  const limits: TreeFile = { path: limitsPath, text: '  framesPerClient: 256,\n' };
  found(limitsUsed([limits, ...file('')], limitsPath));
  clean(limitsUsed([limits, ...file('limits.framesPerClient')], limitsPath));

  found(marksClaimed(file("mark('a: b');")));
  found(marksClaimed(file("covering('a: c')", 'test/core/a.test.ts')));
  clean(marksClaimed([...file("mark('a: b');"), ...file("covering('a: b')", 'test/core/a.test.ts')]));
  found(fixturesUsed(file('', 'test/fixtures/repo/a.ts')));
});

function clean(problems: string[]): void {
  assert.equal(problems.length, 0, `\n${problems.join('\n')}\n`);
}

function found(problems: string[]): void {
  assert.equal(problems.length, 1, `expected one problem, found: ${JSON.stringify(problems)}`);
}

/** What git knows plus what is new and not ignored, as text. */
function readTree(): TreeFile[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    windowsHide: true,
  });
  return listed
    .split('\0')
    .filter(
      (file) => file !== '' && !/\.(png|node|wasm|vsix)$/.test(file) && existsSync(path.join(root, file)),
    )
    .map((file) => ({ path: file, text: readFileSync(path.join(root, file), 'utf8') }));
}

function readPlaces(): RegExp[] {
  const boundaries = createRequire(import.meta.url)('./boundaries.cjs') as {
    forbidden: { name: string; from: { path?: string } }[];
  };
  return boundaries.forbidden
    .filter((rule) => rule.name.endsWith('-only-knows-its-own'))
    .map((rule) => new RegExp(rule.from.path ?? '$^'));
}

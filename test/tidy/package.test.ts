// The list of files in the VSIX equals package.files.txt. A file that appears there by accident is junk on every
// user's disk; one that goes missing is an extension that does not start.
//
//   UPDATE=1 npm test -- tidy/package     writes the list anew; the diff is what a reviewer reads
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root, runTool } from '../support/tool.ts';

const listFile = path.join(root, 'test/tidy/package.files.txt');

test('the package holds the files of package.files.txt', async () => {
  const { code, output } = await runTool('@vscode/vsce', ['ls', '--no-dependencies']);
  assert.equal(code, 0, output);
  const found = output
    .split(/\r?\n/)
    .map((line) => line.trim().replaceAll('\\', '/'))
    .filter((line) => line !== '' && !/^(WARNING|INFO|DONE)/.test(line))
    .map(withoutPlatform)
    .sort();
  const list = `${[...new Set(found)].join('\n')}\n`;
  if (process.env['UPDATE'] === '1') writeFileSync(listFile, list);
  assert.equal(list, readFileSync(listFile, 'utf8'));
});

/** The same list serves every platform. */
function withoutPlatform(file: string): string {
  return file
    .replace(/^prebuilds\/.*\.node$/, 'prebuilds/<platform>.node')
    .replace(/^dist\/bin\/rg(\.exe)?$/, 'dist/bin/rg');
}

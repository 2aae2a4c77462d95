// Commands that nobody is asked about: they look, at nothing outside, and write nothing (cases 210, 211, 213).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge } from '../../sidecar/tools/commandLine.ts';
import { loadParser } from '../../sidecar/tools/commandParse.ts';

await loadParser();

const looks = [
  'git ls-files',
  'git status --short',
  'git log --oneline -5 src',
  'ls -la src',
  'git ls-files | head -20 | wc -l',
  'pwd && git diff HEAD',
  'git diff --stat HEAD -- src/*.ts 2>&1 | tail',
  'date +%Y-%m-%d',
  'ls *.ts',
  'git log --format=%h:%s',
];

const acts = [
  'git show HEAD > file',
  'git diff --output=file',
  'git log --ext-diff',
  'git -c core.pager=x log',
  'git push',
  'cat README.md',
  'ls /etc',
  'ls ~',
  'ls ../other',
  'git show HEAD:../x',
  'ls; rm -rf src',
  'ls $(rm -rf src)',
  'ls `id`',
  'FOO=1 ls',
  'env ls',
  'find . -exec rm {} ;',
  'git ls-files | sort -o file',
  'git ls-files | tee file',
  'git ls-files | xargs rm',
  // A digit after >& is only a descriptor when the word ends there.
  'echo x >&1file',
  'echo x >&2/../file',
  // A file may be named like an option.
  'git log *output=x',
  'git log -*x',
  'git diff ??output=x',
  'git diff --no-index --outp=x a b',
  'git log --format=%G?',
  // These print the lines of a file that they cannot understand.
  'date --file=/etc/passwd',
  'date -f notes',
  'date -s tomorrow',
  'git blame --contents=/etc/passwd a',
  'git blame --ignore-revs-file secrets a',
  'git diff --no-index link/secret a',
  'ls --x=~/y',
  'ls -I/etc',
  'ls |& sh',
  'ls |\nsh',
];

for (const command of looks)
  test(`${command}: only looks`, () => assert.equal(judge(command, '/w').harmless, true));
for (const command of acts)
  test(`${command}: asks`, () => assert.equal(judge(command, '/w').harmless, false));

// A small project to try Roost on: a real git repository with a few source files, one of them with a bug, and
// tests that run on plain Node without anything to install.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const files: Record<string, string> = {
  'README.md':
    '# Sample\n\nA few functions and their tests. Run them with `node --test`. Some have bugs: press F1 and choose\n' +
    '**Roost: Ask a Swarm** to have them found.\n',
  'AGENTS.md': 'Keep functions small. Run `node --test` before you say that you are done.\n',
  'package.json':
    '{ "name": "sample", "private": true, "type": "module", "scripts": { "test": "node --test" } }\n',
  '.gitignore': 'node_modules/\n',
  'src/greeting.ts': 'export function greeting(name: string): string {\n  return `Hello, ${name}!`;\n}\n',
  'src/mean.js':
    '/** The mean of the values; of none it is 0. */\nexport function mean(values) {\n  let sum = 0;\n' +
    '  for (let i = 1; i < values.length; i += 1) sum += values[i];\n  return sum / values.length;\n}\n',
  'src/words.js':
    'export function countWords(text) {\n  return text.split(" ").length;\n}\n\n' +
    'export function longestWord(text) {\n  return text.split(" ").sort((a, b) => b.length - a.length)[0];\n}\n',
  'test/mean.test.js':
    "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\nimport { mean } from '../src/mean.js';\n\n" +
    "test('mean of three', () => assert.equal(mean([1, 2, 3]), 2));\ntest('mean of none', () => assert.equal(mean([]), 0));\n",
};

export function makeSample(folder: string): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  const git = (...args: string[]): void => {
    execFileSync('git', args, { cwd: folder, stdio: 'ignore', windowsHide: true });
  };
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Sample');
  git('config', 'user.email', 'sample@example.invalid');
  git('add', '.');
  git('-c', 'commit.gpgsign=false', 'commit', '-q', '-m', 'A few functions and their tests');
}

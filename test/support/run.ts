// Runs every test of the project in one go of node's own runner, which ends with its summary.
//
// `node --test` with a glob would do, but for the order: it sorts the files by name. The end-to-end files are
// by far the longest and spend their time waiting for a browser, so they start first and keep one of the two
// places, while all others pass through the second one. End to end they never run side by side: a file that
// starts a VS Code takes its turn through a lock (test/e2e/harness.ts).
//
//   npm test                     everything
//   npm test -- tidy core/turn   the files whose path contains one of the words
import { globSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const root = path.resolve(import.meta.dirname, '../..');
const words = process.argv.slice(2);

const files = globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/e2e/node_modules/**'] })
  .map((file) => file.replaceAll(path.sep, '/'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort(byPlace);

if (files.length === 0) {
  console.error(`No test file has one of these in its path: ${words.join(', ')}`);
  process.exit(1);
}

// Whoever started this may be killed, and npm does not hand that on: then the tests end too, and each ends the
// VS Code that it has started.
const parent = process.ppid;
const orphaned = new AbortController();
const watch = setInterval(() => {
  if (process.ppid !== parent) orphaned.abort();
}, 500);
watch.unref();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => orphaned.abort());

const stream = run({ files, cwd: root, concurrency: 2, signal: orphaned.signal });
stream.on('test:fail', (data) => {
  // A failure that is marked as expected does not end the run badly.
  if (data.todo === undefined || data.todo === false) process.exitCode = 1;
});
stream.compose(spec).pipe(process.stdout);

function byPlace(a: string, b: string): number {
  return place(a) - place(b) || (a < b ? -1 : 1);
}

/** End to end first, then the checks that load a compiler, then the many small ones. */
function place(file: string): number {
  if (file.startsWith('test/e2e/')) return 0;
  if (file.startsWith('test/tidy/')) return 1;
  return 2;
}

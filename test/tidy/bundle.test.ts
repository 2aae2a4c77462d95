// What the bundles weigh, against bench/budgets.json, and that each holds what it must and nothing from the
// wrong side. Reads esbuild's own account of the build (dist/meta); `npm test` builds first.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../support/tool.ts';

type Metafile = {
  outputs: Record<
    string,
    { bytes: number; entryPoint?: string; inputs: Record<string, { bytesInOutput: number }> }
  >;
};

const budgets = (
  JSON.parse(readFileSync(path.join(root, 'bench/budgets.json'), 'utf8')) as {
    bundleKilobytes: Record<string, number>;
  }
).bundleKilobytes;

for (const [name, kilobytes] of Object.entries(budgets)) {
  test(`bundle ${name}: at most ${kilobytes} KB`, (t) => {
    const outputs = Object.values(metafile(name).outputs);
    const bytes = outputs.reduce((sum, output) => sum + output.bytes, 0);
    t.diagnostic(`${(bytes / 1024).toFixed(1)} KB`);
    assert.ok(
      bytes <= kilobytes * 1024,
      `${(bytes / 1024).toFixed(1)} KB; largest inputs:\n${largest(outputs)}`,
    );
  });
}

test('no bundle holds code of the wrong side', () => {
  const wrong: Record<string, RegExp> = {
    extension: /^(webview|test|bench)\/|^sidecar\/(?!protocol\/)|better-sqlite3|undici/,
    sidecar: /^(webview|extension|test|bench)\//,
    cli: /^(webview|extension|test|bench)\/|better-sqlite3|undici/,
    webview: /^(extension|test|bench)\/|^sidecar\/(?!protocol\/)/,
  };
  for (const [name, pattern] of Object.entries(wrong)) {
    const inputs = Object.values(metafile(name).outputs).flatMap((output) => Object.keys(output.inputs));
    assert.deepEqual(
      inputs.filter((input) => pattern.test(input)),
      [],
      `dist/meta/${name}.json`,
    );
  }
});

function metafile(name: string): Metafile {
  const file = path.join(root, `dist/meta/${name}.json`);
  assert.ok(existsSync(file), `${file} is not there: npm run build`);
  return JSON.parse(readFileSync(file, 'utf8')) as Metafile;
}

function largest(outputs: Metafile['outputs'][string][]): string {
  return outputs
    .flatMap((output) => Object.entries(output.inputs))
    .sort(([, a], [, b]) => b.bytesInOutput - a.bytesInOutput)
    .slice(0, 15)
    .map(([input, { bytesInOutput }]) => `${(bytesInOutput / 1024).toFixed(1).padStart(8)} KB  ${input}`)
    .join('\n');
}

// The checks that a tool of its own makes, each a test with the tool's output as its message: types, lint,
// boundaries, format, dead code. That lint and boundaries would notice is shown by samples in which every rule is broken.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ESLint } from 'eslint';
import { root, runTool } from '../support/tool.ts';
import { brokenBoundaries, brokenLint } from './samples.ts';

const boundaries = path.join(root, 'test/tidy/boundaries.cjs');

test('types: tsc -b', async () => {
  await passes('typescript/tsc', ['-b', '--pretty', 'false']);
});

test('lint: eslint', async () => {
  await passes('eslint', ['.', '--max-warnings', '0']);
});

test('boundaries: dependency-cruiser', async () => {
  await passes('dependency-cruiser/depcruise', cruise(['sidecar', 'extension', 'webview', 'test', 'bench']));
});

test('format: prettier', async () => {
  await passes('prettier', ['--check', '.', '--log-level', 'warn']);
});

test('nothing is left over: knip', async () => {
  // Types are left out: a union that only its own file names is still worth a name.
  const what = 'files,dependencies,unlisted,exports';
  await passes('knip', ['--config', 'test/tidy/knip.json', '--include', what, '--no-progress']);
});

test('lint notices each rule that it promises', async () => {
  await inSampleTree(brokenLint, async (folder) => {
    const { default: config } = (await import(path.join(root, 'eslint.config.mjs'))) as {
      default: ESLint.Options['baseConfig'];
    };
    const eslint = new ESLint({ cwd: folder, overrideConfigFile: true, baseConfig: config ?? null });
    const results = await eslint.lintFiles(['.']);
    const seen = results.flatMap((result) =>
      result.messages.map(
        (message) => `${relative(folder, result.filePath)}:${message.line} ${message.ruleId}`,
      ),
    );
    assert.deepEqual(seen.sort(), expected(brokenLint));
  });
});

test('boundaries notice each edge that is forbidden', async () => {
  await inSampleTree(brokenBoundaries, async (folder) => {
    const { output } = await runTool(
      'dependency-cruiser/depcruise',
      ['--output-type', 'json', ...cruise(['sidecar', 'extension', 'webview', 'test'])],
      folder,
    );
    const { summary } = JSON.parse(output) as {
      summary: { violations: { from: string; rule: { name: string } }[] };
    };
    const seen = summary.violations.map((violation) => `${violation.from} ${violation.rule.name}`);
    assert.deepEqual([...new Set(seen)].sort(), expected(brokenBoundaries));
  });
});

async function passes(tool: string, args: string[]): Promise<void> {
  const { code, output } = await runTool(tool, args);
  assert.equal(code, 0, `${tool} ${args.join(' ')}\n${output.slice(0, 20_000)}`);
}

function cruise(folders: string[]): string[] {
  return ['--config', boundaries, ...folders];
}

/** A comment `// ! rule` in a sample names what must be reported there; a leading `:` adds the line. */
function expected(sample: Record<string, string>): string[] {
  return Object.entries(sample)
    .flatMap(([file, text]) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          [...line.matchAll(/\/\/ !(:?) (.+)/g)].flatMap(([, withLine, rules]) =>
            (rules ?? '')
              .split(', ')
              .map((rule) => `${file}${withLine === ':' ? `:${index + 1}` : ''} ${rule.trim()}`),
          ),
        ),
    )
    .sort();
}

async function inSampleTree(
  sample: Record<string, string>,
  check: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'roost-tidy-'));
  try {
    for (const [file, text] of Object.entries(sample)) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    }
    for (const project of ['tsconfig.base.json', 'sidecar/tsconfig.json', 'sidecar/core/tsconfig.json']) {
      cpSync(path.join(root, project), path.join(folder, project), { recursive: true });
    }
    writeFileSync(path.join(folder, 'package.json'), readFileSync(path.join(root, 'package.json')));
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'), 'junction');
    await check(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function relative(folder: string, file: string): string {
  return path.relative(folder, file).replaceAll(path.sep, '/');
}

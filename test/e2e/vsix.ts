// Packs what was built into a VSIX for this platform, once for all tests that start a VS Code: made again only
// when a bundle is newer than it.
import { existsSync, globSync, statSync } from 'node:fs';
import path from 'node:path';
import { root, runTool } from '../support/tool.ts';
import { withLock } from './lock.ts';

const file = path.join(root, 'dist/roost.vsix');

export async function makeVsix(): Promise<string> {
  return withLock('vsix', async () => {
    if (existsSync(file) && newest() <= statSync(file).mtimeMs) return file;
    const target = `${process.platform}-${process.arch}`;
    const { code, output } = await runTool('@vscode/vsce', [
      'package',
      '--no-dependencies',
      // The picture of the README is in the package; there is no address to make its link absolute with.
      '--no-rewrite-relative-links',
      '--target',
      target,
      '--out',
      file,
    ]);
    if (code !== 0) throw new Error(`vsce package:\n${output}`);
    return file;
  });
}

function newest(): number {
  const parts = globSync(
    ['package.json', 'package.nls*.json', '.vscodeignore', 'media/*', 'dist/*.{cjs,js,css}'],
    { cwd: root },
  );
  return Math.max(...parts.map((part) => statSync(path.join(root, part)).mtimeMs));
}

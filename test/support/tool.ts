// Runs one of the project's tools (tsc, eslint, prettier, ...) on this very Node and hands back what it said.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');

export type ToolResult = { code: number | null; output: string };

/** `name` is a package, or `package/bin` where its command has another name than the package. */
export function runTool(name: string, args: string[], cwd: string = root): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [commandFile(name), ...args], {
      cwd,
      // The runner marks the processes of its tests, and some tools print differently for it.
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, NO_COLOR: '1', FORCE_COLOR: undefined },
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    });
    let output = '';
    const add = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

/** The file behind a command, so that no shell and no `.cmd` comes between. */
function commandFile(name: string): string {
  const parts = name.split('/');
  const scoped = name.startsWith('@');
  const packageName = parts.slice(0, scoped ? 2 : 1).join('/');
  const command = parts[scoped ? 2 : 1] ?? packageName.split('/').at(-1) ?? packageName;
  const folder = path.join(root, 'node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>;
  };
  const file = typeof bin === 'string' ? bin : bin[command];
  if (file === undefined) throw new Error(`${packageName} has no command ${command}`);
  return path.join(folder, file);
}

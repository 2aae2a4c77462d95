// Makes sure that there is a VS Code to test against: code-server, which is VS Code as a server, from npm.
//
// It lives in a package of its own (test/e2e/package.json) because it weighs 600 MB, and is installed when a
// test first needs it. Its own install script stays off. That script wants npm itself to run on Node 24,
// compiles seven addons (100 s) and ends at one that needs a system library; everything the tests use works
// without any of them, because the terminal, the file watcher and ripgrep carry their binaries in the package.
// What is left of the script is to install VS Code's own packages, from the shrinkwrap that comes with it.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { withLock } from './lock.ts';

const here = import.meta.dirname;
const codeServer = path.join(here, 'node_modules/code-server');
const vscode = path.join(codeServer, 'lib/vscode');
const stamp = path.join(vscode, 'node_modules/.roost-ready');

/** The file that Node runs to start VS Code as a server. */
export const codeServerEntry = path.join(codeServer, 'out/node/entry.js');

/** Installs it if it is missing or another version; the second caller waits for the first. */
export async function ensureCodeServer(): Promise<void> {
  await withLock('code-server', async () => {
    const wanted = lockedVersion();
    if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
    await npm(here, ['ci']);
    // The shrinkwrap leaves out a peer dependency (tslib), which plain `npm ci` takes for an error.
    const locked = ['ci', '--omit=dev', '--legacy-peer-deps'];
    await npm(vscode, locked);
    // TypeScript alone: without it files in TypeScript and JavaScript have no language service.
    await npm(path.join(vscode, 'extensions'), locked);
    writeFileSync(stamp, wanted);
  });
}

function lockedVersion(): string {
  const lock = JSON.parse(readFileSync(path.join(here, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string }>;
  };
  return lock.packages['node_modules/code-server']?.version ?? '';
}

/** What the outer npm left in the environment (prefix, lifecycle, script) must not steer the inner one. */
function npm(cwd: string, args: string[]): Promise<void> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || name === 'npm_config_cache'),
  );
  delete env['NODE_TEST_CONTEXT'];
  return new Promise((resolve, reject) => {
    const child = spawn('npm', [...args, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
      windowsHide: true,
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve();
      else
        reject(new Error(`npm ${args.join(' ')} in ${path.relative(here, cwd) || 'test/e2e'}:\n${output}`));
    });
  });
}

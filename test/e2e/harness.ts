// A real VS Code for a test: its server with throwaway state, a browser on it, and the few gestures that
// stories are told with. Everything is gone after `stop`: processes by their group, the sidecar
// (which outlives its window on purpose) by the folder that it names, files with the folder.
//
//   const vscode = await startVSCode({ vsix, workspace });
//   const workbench = await openWorkbench(vscode);
//   await workbench.command('Roost: New Agent');
//   await workbench.agents.getByRole('treeitem').first().click();
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeServerEntry, ensureCodeServer } from './codeServer.ts';
import { takeLock } from './lock.ts';
import { endProcessesOf, signalAll } from './processes.ts';

export type VSCode = {
  /** The throwaway folder that holds all of this VS Code's state. */
  root: string;
  /** The copy of the workspace that is open. */
  workspace: string;
  port: number;
  /** The page that shows the workbench with the workspace open. */
  pageUrl: string;
  process: ChildProcess;
  /** What the server has written so far. */
  log: () => string;
  /** Writes the person's settings; code-server reads them when a window is opened. */
  change: (settings: Record<string, unknown>) => void;
  stop: () => Promise<void>;
};

export type Options = {
  /** Packages to install before the start. */
  vsix?: string[];
  /** A folder to copy, or a function that fills an empty one. */
  workspace?: string | ((folder: string) => void);
  /** Or a function of the throwaway folder, for settings that name files in it. */
  settings?: Record<string, unknown> | ((root: string) => Record<string, unknown>);
  env?: Record<string, string>;
  /** Leave workspace trust on, as people have it; off it asks nothing. */
  trust?: boolean;
  port?: number;
  /** Take turns with other tests that start a VS Code; `npm start` does not. */
  alone?: boolean;
};

/** A quiet workbench: no welcome, no look-ups, no other assistant's views. */
export const quietSettings = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.colorTheme': 'Default Dark Modern',
  'chat.disableAIFeatures': true,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'git.openRepositoryInParentFolders': 'never',
  'window.menuBarVisibility': 'hidden',
} as const;

export async function startVSCode(options: Options = {}): Promise<VSCode> {
  await ensureCodeServer();
  const release = options.alone === false ? () => undefined : await takeLock('vscode');
  try {
    return await startServer(options, release);
  } catch (error) {
    release();
    throw error;
  }
}

async function startServer(options: Options, release: () => void): Promise<VSCode> {
  // The folder holds unix sockets, whose paths may have 107 bytes: keep its name short.
  const root = mkdtempSync(path.join(os.tmpdir(), 'rst-'));
  const places = layOut(root, options);
  const env = { ...serverEnvironment(root), ...options.env };
  const common = [
    '--config',
    path.join(root, 'config.yaml'),
    '--user-data-dir',
    places.data,
    '--extensions-dir',
    places.extensions,
  ];
  for (const vsix of options.vsix ?? []) {
    execFileSync(process.execPath, [codeServerEntry, ...common, '--install-extension', vsix], {
      env,
      // It complains at length about a logger that was left unbuilt; an error carries the text anyway.
      stdio: 'pipe',
      windowsHide: true,
    });
  }
  const port = options.port ?? (await freePort());
  const logFile = path.join(root, 'server.log');
  const sink = openSync(logFile, 'w');
  const child = spawn(
    process.execPath,
    [codeServerEntry, ...common, ...serverArguments(port, options.trust ?? false)],
    {
      env,
      cwd: root,
      stdio: ['ignore', sink, sink],
      // A process group of its own, so that one signal ends the hosts and terminals too.
      detached: process.platform !== 'win32',
      windowsHide: true,
    },
  );
  closeSync(sink);
  const lastResort = (): void => {
    endGroup(child, 'SIGKILL');
    signalAll(root, 'SIGKILL');
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', lastResort);
  // A signal ends a process without its exit handlers; the runner ends test files by one.
  const leave = (): never => process.exit(1);
  if (options.alone !== false) process.once('SIGTERM', leave);
  const log = (): string => readFileSync(logFile, 'utf8');
  const change = (settings: Record<string, unknown>): void => {
    const file = path.join(places.data, 'User/settings.json');
    const now: Record<string, unknown> = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...now, ...settings }, null, 2));
  };
  const stop = async (): Promise<void> => {
    await endServer(child);
    await endProcessesOf(root);
    process.removeListener('exit', lastResort);
    process.removeListener('SIGTERM', leave);
    release();
    if (process.env['KEEP'] === undefined) rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await untilHealthy(child, port, log);
  } catch (error) {
    await stop();
    throw error;
  }
  const pageUrl = `http://127.0.0.1:${port}/?folder=${encodeURIComponent(places.workspace)}`;
  return { root, workspace: places.workspace, port, pageUrl, process: child, log, change, stop };
}

function layOut(root: string, options: Options): { data: string; extensions: string; workspace: string } {
  const data = path.join(root, 'ud');
  const extensions = path.join(root, 'ext');
  const workspace = path.join(root, 'sample');
  for (const folder of [
    path.join(data, 'User'),
    extensions,
    workspace,
    path.join(root, 'tmp'),
    path.join(root, 'home'),
  ]) {
    mkdirSync(folder, { recursive: true });
  }
  if (typeof options.workspace === 'string') cpSync(options.workspace, workspace, { recursive: true });
  else options.workspace?.(workspace);
  const trust = { 'security.workspace.trust.enabled': options.trust ?? false };
  const given = typeof options.settings === 'function' ? options.settings(root) : options.settings;
  const settings = { ...quietSettings, ...trust, ...given };
  writeFileSync(path.join(data, 'User/settings.json'), JSON.stringify(settings, null, 2));
  writeFileSync(path.join(root, 'config.yaml'), 'auth: none\ncert: false\n');
  return { data, extensions, workspace };
}

/**
 * The test's environment without what would steer npm, VS Code, code-server, Roost or node's runner, and
 * without the keys of whoever runs it: no test may spend money.
 */
function serverEnvironment(root: string): NodeJS.ProcessEnv {
  const steering =
    /^(npm_|VSCODE_|CODE_SERVER_|CS_|ROOST_|NODE_TEST_|NODE_OPTIONS$|ELECTRON_|ANTHROPIC_|OPENAI_|PORT$|PASSWORD$|HASHED_PASSWORD$)/i;
  const kept = Object.entries(process.env).filter(([name]) => !steering.test(name));
  const home = path.join(root, 'home');
  const noGallery = {
    serviceUrl: '',
    itemUrl: '',
    resourceUrlTemplate: '',
    controlUrl: '',
    recommendationsUrl: '',
  };
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, '.config'),
    XDG_DATA_HOME: path.join(home, '.local/share'),
    XDG_STATE_HOME: path.join(home, '.local/state'),
    XDG_CACHE_HOME: path.join(home, '.cache'),
    XDG_RUNTIME_DIR: path.join(root, 'tmp'),
    TMPDIR: path.join(root, 'tmp'),
    EXTENSIONS_GALLERY: JSON.stringify(noGallery),
    LANG: 'C.UTF-8',
    TZ: 'UTC',
  };
}

function serverArguments(port: number, trust: boolean): string[] {
  const quiet = [
    '--disable-telemetry',
    '--disable-update-check',
    '--disable-getting-started-override',
    '--disable-proxy',
  ];
  const address = [
    '--auth',
    'none',
    '--bind-addr',
    `127.0.0.1:${port}`,
    '--locale',
    'en',
    '--ignore-last-opened',
  ];
  return [...address, ...quiet, ...(trust ? [] : ['--disable-workspace-trust'])];
}

async function untilHealthy(child: ChildProcess, port: number, log: () => string): Promise<void> {
  // 300 looks of 100 ms: a server takes one second here, and a busy CI machine may need ten.
  for (let look = 0; look < 300; look += 1) {
    if (child.exitCode !== null) throw new Error(`code-server ended with ${child.exitCode}:\n${log()}`);
    try {
      if ((await fetch(`http://127.0.0.1:${port}/healthz`)).ok) return;
    } catch {
      // Not listening yet.
    }
    await sleep(100);
  }
  throw new Error(`code-server did not answer within 30 s:\n${log()}`);
}

async function endServer(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    endGroup(child, 'SIGTERM');
    const harder = setTimeout(() => endGroup(child, 'SIGKILL'), 5000);
    await gone;
    clearTimeout(harder);
  }
  endGroup(child, 'SIGKILL');
}

function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // The group is gone already, which is what was wanted.
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

/** Where pictures go: test/e2e/shots, or the folder that ROOST_SHOTS names. */
export function shotsFolder(): string {
  const folder = process.env['ROOST_SHOTS'] ?? path.join(import.meta.dirname, 'shots');
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true });
  return folder;
}

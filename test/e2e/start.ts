// `npm start`: Roost as a person gets it, on a sample project, with nothing of theirs touched.
//
// It packs what was just built and opens it in the person's own VS Code if there is one and a screen to show it
// on, with a profile of its own, and else in VS Code as a server, for any browser. The model is theirs when a
// key is in the environment, else a script answers (demo.ts) and every view says so. At Ctrl-C everything that was
// started ends, the sidecar too, and the folder with the project, profile and store goes.
//
//   npm start                   npm start -- --server            VS Code as a server even if there is `code`
//                               npm start -- --port 8080         at that port
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { onPath } from './browser.ts';
import { codeServerEntry } from './codeServer.ts';
import { demoScript } from './demo.ts';
import { quietSettings, startVSCode } from './harness.ts';
import { endProcessesOf } from './processes.ts';
import { makeSample } from './sample.ts';
import { makeVsix } from './vsix.ts';

type Running = { where: string[]; workspace: string; ended: Promise<unknown>; stop: () => Promise<void> };
type Model = {
  label: string;
  env: Record<string, string>;
  settings: (root: string) => Record<string, unknown>;
};

const { values: flags } = parseArgs({
  options: { server: { type: 'boolean', default: false }, port: { type: 'string' } },
});

/** The project's page is what opens first. */
const common = { 'workbench.startupEditor': 'readme' };

await main();

async function main(): Promise<void> {
  const vsix = await makeVsix();
  const model = chooseModel();
  const code = flags.server || flags.port !== undefined ? undefined : desktopCode();
  if (code === undefined)
    console.log(
      `Starting VS Code as a server${existsSync(codeServerEntry) ? '' : ', which is installed first (600 MB)'} ...`,
    );
  const running = code === undefined ? await startServer(vsix, model) : await startDesktop(code, vsix, model);
  console.log(
    [
      '',
      ...running.where,
      `  Model    ${model.label}`,
      `  Project  ${running.workspace}`,
      '  Try      F1, "Roost: Ask a Swarm", any task; then the Roost icon at the side',
      '  Stop     Ctrl-C ends all of it and removes the project, the profile and the store',
      '',
    ].join('\n'),
  );
  await Promise.race([running.ended, stopWished()]);
  console.log('Stopping ...');
  await running.stop();
  process.exit(0);
}

function chooseModel(): Model {
  for (const [variable, provider] of [
    ['ANTHROPIC_API_KEY', 'anthropic'],
    ['OPENAI_API_KEY', 'openai'],
  ] as const) {
    const key = process.env[variable];
    if (key === undefined || key === '') continue;
    // A key is sent to the address that it came with (case 54).
    const address = variable.replace('_API_KEY', '_BASE_URL');
    const baseUrl = process.env[address];
    const env = { [variable]: key, ...(baseUrl === undefined ? {} : { [address]: baseUrl }) };
    return { label: `${provider}, with the key in ${variable}`, env, settings: () => common };
  }
  return {
    label: 'scripted, no AI: a script answers. For a model set ANTHROPIC_API_KEY or OPENAI_API_KEY.',
    env: {},
    settings: (root) => {
      const script = path.join(root, 'demo.json');
      writeFileSync(script, demoScript());
      const provider = { name: 'scripted', dialect: 'scripted', baseUrl: script };
      return { ...common, 'roost.providers': [provider], 'roost.model': 'scripted/demo' };
    },
  };
}

async function startServer(vsix: string, model: Model): Promise<Running> {
  const vscode = await startVSCode({
    vsix: [vsix],
    workspace: makeSample,
    settings: model.settings,
    env: model.env,
    alone: false,
    ...(flags.port === undefined ? {} : { port: Number(flags.port) }),
  });
  openInBrowser(vscode.pageUrl);
  return {
    where: ['Roost runs in VS Code as a server.', '', `  Open     ${vscode.pageUrl}`],
    workspace: vscode.workspace,
    ended: new Promise((resolve) => vscode.process.once('exit', resolve)),
    stop: vscode.stop,
  };
}

async function startDesktop(code: string, vsix: string, model: Model): Promise<Running> {
  const root = mkdtempSync(path.join(os.tmpdir(), 'rst-'));
  const workspace = path.join(root, 'sample');
  const data = path.join(root, 'ud');
  const profile = ['--user-data-dir', data, '--extensions-dir', path.join(root, 'ext')];
  // The sidecar gets it too, so that all that belongs to this start can be found by the folder's name.
  const env = { ...process.env, ...model.env, ROOST_SAMPLE: root };
  const shell = process.platform === 'win32';
  for (const folder of [workspace, path.join(data, 'User')]) mkdirSync(folder, { recursive: true });
  makeSample(workspace);
  const settings = {
    ...quietSettings,
    'security.workspace.trust.enabled': false,
    // Here the home is the person's, and their store with it. The server has a home of its own; this setting of
    // a machine would be read there at first and dropped soon after, and another store shown after a restart.
    'roost.store': path.join(root, 'store'),
    ...model.settings(root),
  };
  writeFileSync(path.join(data, 'User/settings.json'), JSON.stringify(settings, null, 2));
  execFileSync(code, [...profile, '--install-extension', vsix], {
    env,
    shell,
    stdio: 'ignore',
    windowsHide: true,
  });
  // With --wait the command lasts as long as the window.
  const window = spawn(code, [...profile, '--new-window', '--wait', workspace], {
    env,
    shell,
    stdio: 'ignore',
    windowsHide: true,
  });
  return {
    where: ['Roost runs in a new VS Code window, with a profile of its own.', ''],
    workspace,
    ended: new Promise((resolve) => window.once('exit', resolve)),
    stop: async () => {
      await endProcessesOf(root);
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The person's `code`, if it can open a window here: not without a screen, as root, or inside a remote terminal. */
function desktopCode(): string | undefined {
  if (!hasScreen() || process.getuid?.() === 0 || process.env['VSCODE_IPC_HOOK_CLI'] !== undefined)
    return undefined;
  return onPath('code') ?? onPath('codium');
}

function hasScreen(): boolean {
  if (process.env['CI'] !== undefined) return false;
  if (process.platform !== 'linux') return true;
  return process.env['DISPLAY'] !== undefined || process.env['WAYLAND_DISPLAY'] !== undefined;
}

function openInBrowser(url: string): void {
  if (!hasScreen()) return;
  const opener = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open';
  const child = spawn(opener, [url], { stdio: 'ignore', detached: true, windowsHide: true });
  // No browser is no reason to stop: the address is on the screen.
  child.on('error', () => undefined);
  child.unref();
}

/** Ctrl-C, a signal, or the end of the `npm` that started this, which a killed npm does not pass on. */
function stopWished(): Promise<void> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
    setInterval(() => {
      if (process.ppid !== parent) resolve();
    }, 500);
  });
}

// The whole product in a real VS Code: the packaged extension, a real repository, the real sidecar, a model
// provider over TLS and HTTP/2, and a person who asks for a swarm, decides, reviews, and loses nothing when the
// window is reloaded and the sidecar is killed in the middle of it. One story in chapters; each needs the ones
// before it. The pictures in test/e2e/shots are what the person saw.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before } from 'node:test';
import { limits } from '../../sidecar/runtime/limits.ts';
import { startFixture } from '../fixtures/provider/server.ts';
import type { Fixture } from '../fixtures/provider/server.ts';
import { root } from '../support/tool.ts';
import { chapters } from './chapters.ts';
import { startVSCode } from './harness.ts';
import type { VSCode } from './harness.ts';
import { afterVerdicts, modules } from './modules.ts';
import { asker, makeRepository, question, storyteller, streamer, task } from './story.ts';
import { makeVsix } from './vsix.ts';
import { openWorkbench, until } from './workbench.ts';
import type { Workbench } from './workbench.ts';

const outside = mkdtempSync(path.join(os.tmpdir(), 'rst-out-'));
const places = { calls: path.join(outside, 'calls'), gate: path.join(outside, 'gate') };
// 90 pieces: more than a minute, in which the window is reloaded and the sidecar killed.
const pace = { betweenMs: 800 };
const commands = modules.filter((module) => module.name !== streamer);

let fixture: Fixture;
let vscode: VSCode;
let workbench: Workbench;
const chapter = chapters(() => workbench.shot('failed-swarm'));

before(async () => {
  fixture = await startFixture({ answer: storyteller(pace) });
  const { tlsUrl, caFile } = fixture;
  vscode = await startVSCode({
    vsix: [await makeVsix()],
    workspace: (folder) => makeRepository(folder, places),
    settings: {
      'roost.providers': [
        { name: 'fixture', dialect: 'chat', baseUrl: `${tlsUrl}/v1`, keyless: true, caFile },
      ],
      'roost.model': 'fixture/any',
      // As on the desktop; code-server saves by itself.
      'files.autoSave': 'off',
    },
  });
  workbench = await openWorkbench(vscode);
});

after(async () => {
  await workbench?.close();
  await vscode?.stop();
  await fixture?.close();
  rmSync(outside, { recursive: true, force: true });
});

chapter('the views say what they are for before there is an agent', async () => {
  await workbench.activityBar('Roost').click();
  await workbench.agents.getByText('No agents yet.').waitFor();
  await workbench.page.getByText('What agents ask you').waitFor();
  await workbench.shot('01-welcome');
});

chapter('palette → Ask a Swarm → a lead that starts twelve agents', async () => {
  await workbench.command('Roost: Ask a Swarm');
  await workbench.page.locator('.quick-input-title', { hasText: 'fixture/any' }).waitFor();
  await workbench.shot('02-ask');
  await workbench.answer(task);
  await workbench.choose('12 agents');
  // The project brings instructions: nothing is asked of a model before somebody has looked at them.
  await workbench.attention(/Needs you\s*1/);
  assert.equal(fixture.stats().requests, 0);
  await workbench.shot('02-trust');
  await workbench.press(/Trust 1 file of this project: AGENTS.md/, 'Allow');
  await workbench.panel.getByText(`There are ${modules.length} modules.`).waitFor();
  await workbench.attention(/Needs you\s*12/);
});

chapter('the tree shows them, by keyboard alone', async () => {
  await workbench.command('Roost: Focus on Agents View');
  const row = (name: string | RegExp) => workbench.agents.getByRole('treeitem', { name });
  await row(/12 decisions for you/).waitFor();
  // The editor hands the focus over in its own time.
  await workbench.agents.locator('[role=tree]:focus').waitFor();
  await workbench.page.keyboard.press('ArrowRight');
  for (const { name } of modules) {
    await row(new RegExp(`^${name}, needs ${name === asker ? 'an answer' : 'approval'}`)).waitFor();
  }
  await workbench.shot('03-swarm');
  await workbench.page.keyboard.type(streamer);
  await until('the filter leaves one row', async () => (await row(/needs/).count()) === 1);
  // From the filter to the list, and from the list to the agent.
  await workbench.page.keyboard.press('Enter');
  await workbench.agents.locator('[role=treeitem][aria-selected=true]').waitFor();
  await workbench.page.keyboard.press('Enter');
  await workbench.panel.getByText(`Edit web/${streamer}.js`, { exact: true }).waitFor();
  await workbench.shot('04-approval');
  await workbench.page.keyboard.press('Escape');
});

chapter('a cluster of approvals is answered with one action, a question with a choice', async () => {
  await workbench.press(/10 alike: Edit src/, 'Allow');
  await workbench.attention(/10 alike: .\/check src/);
  await workbench.attention(/Ready to review\s*10/);
  await workbench.press(question, 'Answer');
  await workbench.page.locator('.quick-input-list .monaco-list-row', { hasText: 'No, never' }).waitFor();
  await workbench.shot('05-question');
  await workbench.choose('No, never');
  await workbench.press(`Edit src/${asker}.js`, 'Allow');
  await workbench.press(/11 alike: .\/check src/, 'Allow');
  // As many as there are slots for commands; the others are rows until one is free.
  const slots = Math.min(commands.length, limits.commandSlotsPerCore * os.availableParallelism());
  await until(`${slots} commands run`, () => callsDone().length === slots);
});

chapter('one is answered in the agent panel, and its answer is seen coming', async () => {
  await workbench.panel.getByRole('button', { name: 'Allow', exact: true }).click();
  await workbench.panel.getByText('the wrong kind of timer').waitFor();
  await workbench.shot('06-streaming');
});

chapter('the window is reloaded in the middle of it', async () => {
  await workbench.open(vscode.pageUrl);
  await workbench.activityBar('Roost').click();
  await workbench.agents.getByRole('treeitem', { name: new RegExp(`^${streamer}, thinking`) }).waitFor();
  // From its first word, though this window has heard only the last ones.
  await workbench.panel.getByText(`Report on ${streamer}: the wrong kind of timer`).waitFor();
  await workbench.shot('07-reloaded');
});

chapter('the sidecar is killed in the middle of it, and all agents complete', async () => {
  assert.equal(fixture.stats().inFlight, 1, 'an answer is on its way');
  const killed = sidecarPid();
  pace.betweenMs = 5;
  process.kill(killed, 'SIGKILL');
  await until('another sidecar listens', () => sidecarPid() !== killed);
  writeFileSync(places.gate, '');
  await workbench.agents.getByRole('treeitem', { name: /^find-and-fix, done/ }).waitFor();
  for (const { name } of modules)
    await workbench.agents.getByRole('treeitem', { name: new RegExp(`^${name}, done`) }).waitFor();
  await workbench.agents.getByRole('treeitem', { name: /^find-and-fix, done/ }).click();
  await workbench.panel.getByText('All 12 agents are done.').waitFor();
  assert.equal(await workbench.panel.getByText('no report').count(), 0);
  await workbench.shot('08-done');
});

chapter('no call was done twice, and no history was bent', () => {
  const ids = callsDone().map((line) => line.split(' ')[0]);
  assert.equal(new Set(ids).size, ids.length, `a call ran twice:\n${callsDone().join('\n')}`);
  assert.equal(ids.length, commands.length);
  assert.deepEqual(fixture.violations(), []);
  // The page of what must hold in the store, read by a program of its own.
  const doctor = execFileSync(process.execPath, [
    path.join(root, 'dist/cli.cjs'),
    'doctor',
    '--store',
    store(),
  ]);
  assert.doesNotMatch(doctor.toString(), /"ok":false/);
  assert.match(doctor.toString(), /"name":"invariants","ok":true/);
});

chapter('hunks are decided in a diff editor, by the verbs above them', async () => {
  await (await workbench.attention('src/slug.js')).click();
  await until('each hunk has its verbs', async () => (await workbench.lens('Accept').count()) === 2);
  await workbench.shot('09-diff');
  await workbench.lens('Accept').first().click();
  await until('one is left', async () => (await workbench.lens('Accept').count()) === 1);
  await workbench.lens('Reject').click();
  await untilDecided('slug', true, false);
});

chapter('hunks are decided in the file, by commands; a rejection can be undone', async () => {
  await workbench.openFile('chunk.js');
  await until('each hunk has its verbs', async () => (await workbench.lens('Accept').count()) === 2);
  await workbench.shot('10-inline');
  for (const [theme, look] of [
    ['Dark High Contrast', 'hc-black'],
    ['Light Modern', 'vs'],
    ['Dark Modern', 'vs-dark'],
  ] as const) {
    await workbench.command('Preferences: Color Theme');
    await workbench.answer(theme);
    await workbench.page.locator(`.monaco-workbench.${look}`).waitFor();
    if (look !== 'vs-dark') await workbench.shot(`10-inline-${look}`);
  }
  await workbench.page.keyboard.press('Control+End');
  await workbench.command('Roost: Previous Hunk');
  await workbench.command('Roost: Reject Hunk');
  await untilDecided('chunk', true, false);
  await workbench.page.keyboard.press('Control+Z');
  await line('return groups;').waitFor();
  await workbench.page.keyboard.press('Control+Y');
  await line('return group;').waitFor();
  await workbench.command('File: Save');
  await workbench.command('Roost: Next Hunk');
  await workbench.command('Roost: Accept Hunk');
  await until('no verb is left', async () => (await workbench.lens('Accept').count()) === 0);
  await untilDecided('chunk', true, false);
});

chapter('hunks are decided by keys, in a file with a byte order mark and other line ends', async () => {
  await workbench.openFile('clamp.js');
  await until('each hunk has its verbs', async () => (await workbench.lens('Accept').count()) === 2);
  const chord = async (key: string): Promise<void> => {
    await workbench.page.keyboard.press('Control+K');
    await workbench.page.keyboard.press(key);
  };
  await chord('Alt+ArrowDown');
  await chord('Alt+Backspace');
  await until('one is left', async () => (await workbench.lens('Accept').count()) === 1);
  await chord('Alt+ArrowDown');
  await chord('Alt+Enter');
  await untilDecided('clamp', false, true);
});

chapter('hunks are decided in the agent panel', async () => {
  await workbench.agents.getByRole('treeitem', { name: /^mean, done/ }).click();
  const { panel } = workbench;
  await panel.getByRole('button', { name: /^Changes/ }).click();
  await panel.getByRole('button', { name: 'Show the changes of src/mean.js' }).click();
  await panel.getByText('let i = 0').waitFor();
  await workbench.shot('11-panel-changes');
  await panel.getByRole('button', { name: 'Accept', exact: true }).first().click();
  await until(
    'one is left',
    async () => (await panel.getByRole('button', { name: 'Reject', exact: true }).count()) === 1,
  );
  await panel.getByRole('button', { name: 'Reject', exact: true }).click();
  await untilDecided('mean', true, false);
});

chapter('whole files are decided from the Attention view', async () => {
  await workbench.press('src/unique.js', 'Reject All');
  await untilDecided('unique', false, false);
  const rest = modules.filter(({ name }) => !['slug', 'chunk', 'clamp', 'mean', 'unique'].includes(name));
  for (const { path: file } of rest) await workbench.press(file, 'Accept All');
  await workbench.attention(/Done\s*13/);
  await until('nothing is left to review', async () => {
    return (await workbench.page.locator('.customview-tree', { hasText: 'Ready to review' }).count()) === 0;
  });
});

chapter('what is on disk is what was decided, byte for byte', () => {
  const decided: Record<string, readonly [boolean, boolean]> = {
    slug: [true, false],
    chunk: [true, false],
    clamp: [false, true],
    mean: [true, false],
    unique: [false, false],
  };
  for (const module of modules) {
    const [first, second] = decided[module.name] ?? [true, true];
    assert.equal(onDisk(module.path), afterVerdicts(module, first, second), module.path);
  }
  const changed = git('status', '--porcelain').split('\n').filter(Boolean);
  assert.deepEqual(
    changed.map((entry) => entry.slice(3)).sort(),
    modules.flatMap(({ name, path: file }) => (name === 'unique' ? [] : [file])).sort(),
    'nothing else in the repository has moved',
  );
  assert.deepEqual(workbench.outside, []);
});

const onDisk = (file: string): string => readFileSync(path.join(vscode.workspace, file), 'utf8');

/** The lines that the commands have appended so far: call, process, file. */
function callsDone(): string[] {
  try {
    return readFileSync(places.calls, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

const store = (): string => path.join(vscode.root, 'home/.local/share/roost');

/** Of the sidecar that listens; 0 while none does. */
function sidecarPid(): number {
  try {
    const found: { pid: number } = JSON.parse(readFileSync(path.join(store(), 'sidecar.json'), 'utf8'));
    return found.pid;
  } catch {
    return 0;
  }
}

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: vscode.workspace, encoding: 'utf8', windowsHide: true });

const line = (text: string) =>
  workbench.page.locator('.editor-group-container.active .view-line', { hasText: text });

async function untilDecided(name: string, first: boolean, second: boolean): Promise<void> {
  const module = modules.find((each) => each.name === name);
  assert.ok(module);
  const wanted = afterVerdicts(module, first, second);
  await until(`${module.path} is as decided`, () => onDisk(module.path) === wanted);
}

// What agents do with the editor's help, and what a person sees of it: a rename by the window's own language server.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { after, before } from 'node:test';
import { root } from '../support/tool.ts';
import { chapters } from './chapters.ts';
import { startVSCode } from './harness.ts';
import type { VSCode } from './harness.ts';
import { makeSample } from './sample.ts';
import { makeVsix } from './vsix.ts';
import { openWorkbench, until } from './workbench.ts';
import type { Workbench } from './workbench.ts';

let vscode: VSCode;
let workbench: Workbench;
const chapter = chapters(() => workbench.shot('failed-hands'));

const uses =
  "import { greeting } from './greeting';\n\n// 🐟 greeting is a word here\nexport const both = [greeting('a'), greeting('b')];\n";

before(async () => {
  vscode = await startVSCode({
    vsix: [await makeVsix()],
    workspace: (folder) => {
      makeSample(folder);
      // Nothing to trust first.
      rmSync(path.join(folder, 'AGENTS.md'));
      writeFileSync(path.join(folder, 'src/uses.ts'), uses);
      // Without it the server knows of files in tabs alone.
      writeFileSync(path.join(folder, 'tsconfig.json'), '{ "include": ["src"] }\n');
      writeFileSync(path.join(folder, '../script.json'), '{"rules":[]}');
    },
  });
  vscode.change({
    'roost.model': 'scripted/demo',
    'roost.providers': [{ name: 'scripted', dialect: 'scripted', baseUrl: script() }],
    'files.autoSave': 'off',
  });
  workbench = await openWorkbench(vscode);
  await workbench.activityBar('Roost').click();
});

after(async () => {
  await workbench?.close();
  await vscode?.stop();
});

const script = (): string => path.join(vscode.workspace, '../script.json');
const inFolder = (file: string): string => path.join(vscode.workspace, file);
const onDisk = (file: string): string => readFileSync(inFolder(file), 'utf8');

/** The model says these, one after another, to the agent with this task. */
function play(task: string, steps: readonly unknown[]): void {
  const rules = steps.map((say, index) => ({ task, round: index + 1, say: [say] }));
  writeFileSync(script(), JSON.stringify({ rules }));
}

/** Starts an agent from the palette. */
async function start(task: string): Promise<void> {
  await workbench.command('Roost: New Agent');
  await workbench.answer(task);
}

chapter(
  'a rename goes through the language server of the window, and is one thing to allow and review',
  async () => {
    const rename = (line: number, symbol: string): unknown => {
      return { call: 'rename', input: { path: 'src/greeting.ts', line, symbol, to: 'welcome' } };
    };
    play('Rename greeting', [
      rename(1, 'export'),
      { call: 'rename', input: { path: 'README.md', line: 3, symbol: 'functions', to: 'x' } },
      { call: 'rename', input: { path: 'src/greeting.ts', line: 2, symbol: 'return', to: 'x' } },
      rename(1, 'greeting'),
      { text: 'It is called welcome now.' },
    ]);
    await start('Rename greeting');
    await workbench.attention(/Rename greeting to welcome in 2 files/);
    await workbench.panel.getByText('Rename greeting to welcome in 2 files').waitFor();
    await workbench.shot('40-rename-asked');
    assert.equal(onDisk('src/uses.ts'), uses, 'the editor changed nothing by itself');
    await workbench.press(/Rename greeting to welcome in 2 files/, 'Allow');
    await workbench.panel.getByText('It is called welcome now.').waitFor();
    assert.match(onDisk('src/greeting.ts'), /^export function welcome\(name/);
    const renamed = uses.replaceAll('greeting', 'welcome').replace('./welcome', './greeting');
    assert.equal(onDisk('src/uses.ts'), renamed.replace('🐟 welcome', '🐟 greeting'));
    const said = resultsOf('rename-greeting');
    assert.match(said[0] ?? '', /at export the language server would rename greeting/);
    assert.match(said[1] ?? '', /^rename: .*(refuses|no language server)/);
    assert.match(said[2] ?? '', /refuses: You cannot rename this element/);
    assert.match(said[3] ?? '', /^Renamed greeting to welcome: 4 places in 2 files/);
    await workbench.attention(/Ready to review\s*2/);
  },
);

chapter(
  'an agent in a worktree renames there by the same server, also in what it has changed itself',
  async () => {
    const old = 'return `Hello, ${name}!`;';
    play('Salute', [
      { call: 'edit', input: { path: 'src/greeting.ts', old, new: `// in its own version\n  ${old}` } },
      {
        call: 'symbol',
        input: { find: 'references', path: 'src/greeting.ts', line: 1, symbol: 'welcome' },
      },
      { call: 'rename', input: { path: 'src/greeting.ts', line: 1, symbol: 'welcome', to: 'salute' } },
      { text: 'It is a salute.' },
    ]);
    const before = [onDisk('src/greeting.ts'), onDisk('src/uses.ts')];
    roost(
      ...['run', '--new', '--agent', 'saluter', '--isolation', 'worktree', '--mode', 'edits'],
      ...['--model', 'scripted/demo', '--workspace', vscode.workspace, '--', 'Salute'],
    );
    assert.match(resultsOf('saluter')[1] ?? '', /src\/greeting\.ts:1.*\n(.*\n)*.*src\/uses\.ts:4/);
    assert.match(resultsOf('saluter')[2] ?? '', /^Renamed welcome to salute: 4 places in 2 files/);
    assert.deepEqual([onDisk('src/greeting.ts'), onDisk('src/uses.ts')], before, 'the person’s files stay');
    roost('delete', 'saluter');
  },
);

chapter(
  'an accepted change that does not fit opens the merge editor, and what is saved there is what counts',
  async () => {
    const input = {
      path: 'src/words.js',
      old: '  return text.split(" ").length;\n}\n',
      new: '  return text.split(/\\s+/).length;\n}\n',
    };
    const other = {
      path: 'src/words.js',
      old: 'export function longestWord',
      new: '// The longest.\nexport function longestWord',
    };
    play('Split by space', [
      { call: 'edit', input },
      { call: 'edit', input: other },
      { text: 'It splits well.' },
    ]);
    roost(
      ...['run', '--new', '--agent', 'splitter', '--isolation', 'worktree', '--mode', 'edits'],
      ...['--model', 'scripted/demo', '--workspace', vscode.workspace, '--', 'Split by space'],
    );
    const mine = onDisk('src/words.js').replace('split(" ").length', 'trim().split(" ").length');
    writeFileSync(inFolder('src/words.js'), mine);
    const row = await workbench.attention(/words\.js/);
    await row.hover();
    await row.getByRole('button', { name: /^Accept/ }).click();
    const editor = workbench.page.locator('.merge-editor');
    await editor.waitFor();
    // The editor has merged what does not collide.
    await editor.locator('.result').getByText('// The longest.').waitFor();
    await editor.getByText('1 Conflict Remaining').waitFor();
    await workbench.shot('41-merge');
    assert.equal(onDisk('src/words.js'), mine, 'nothing is saved that the person has not saved');
    await workbench.attention(/Conflicts\s*1/);
    await editor.getByText('Accept Combination').first().click();
    await editor.getByText('0 Conflicts Remaining').waitFor();
    await workbench.shot('42-merged');
    await workbench.page.getByRole('button', { name: "Complete the Merge of an Agent's Change" }).click();
    await editor.waitFor({ state: 'detached' });
    await until('the change is decided', () => roost('review', 'splitter').includes('"state":"accepted"'));
    assert.equal(await workbench.notification(/Has it what you want/).count(), 0, 'nothing is asked twice');
    const merged = onDisk('src/words.js');
    assert.match(merged, /trim\(\)\.split/);
    assert.match(merged, /\/\/ The longest\.\nexport function longestWord/);
  },
);

chapter(
  'the panel lists what an agent runs in the background, shows what it prints, and kills it',
  async () => {
    const command = 'echo ready on port 4321; exec sleep 600';
    play('Serve', [{ call: 'shell', input: { command, background: true } }, { text: 'It is served.' }]);
    await start('Serve');
    await workbench.press(/echo ready/, 'Allow');
    const { panel } = workbench;
    await panel.getByText('It is served.').waitFor();
    await panel.getByText('Runs 1 command in the background').waitFor();
    await panel.locator('.commandhead .foldline').click();
    await panel.locator('.commandout', { hasText: 'ready on port 4321' }).waitFor();
    await workbench.shot('43-background');
    await panel.getByRole('button', { name: 'Kill' }).click();
    await panel.getByText('Runs 1 command in the background').waitFor({ state: 'hidden' });
    assert.doesNotMatch(roost('command', 'ls'), /sleep 600/);
  },
);

chapter('a conversation is compacted, and what it has cost is shown day by day', async () => {
  await workbench.command('Roost: Compact Conversation');
  await choose('serve');
  await workbench.page.locator('.quick-input-title', { hasText: 'Compact serve' }).waitFor();
  await workbench.answer('');
  await workbench.notification(/The conversation of serve is too short to be worth a summary/).waitFor();
  await workbench.command('Notifications: Clear All Notifications');
  await workbench.command('Roost: Show Cost');
  await choose('An Agent and Its Branch');
  await choose('splitter');
  const shown = markdown();
  await shown.getByRole('heading', { name: 'Cost of splitter' }).waitFor();
  await shown.getByRole('cell', { name: 'scripted/demo' }).waitFor();
  await workbench.shot('44-cost');
});

chapter(
  'a branch goes into a file and comes back from it, and the trash keeps as long as is said',
  async () => {
    const file = inFolder('serve.jsonl');
    await workbench.command('Roost: Export Branch…');
    await choose('serve');
    await fileDialog('Export serve');
    await workbench.page.keyboard.press('Enter');
    await workbench.notification(/serve is exported to serve\.jsonl/).waitFor();
    assert.match(readFileSync(file, 'utf8'), /"type":"end"/);
    await workbench.shot('45-exported');
    await workbench.command('Notifications: Clear All Notifications');
    await workbench.command('Roost: Import Branch…');
    await fileDialog('Import a Branch');
    await workbench.choose('serve.jsonl');
    await workbench.notification(/is imported\. It is at rest/).waitFor();
    await workbench.panel.getByText('It is served.').waitFor();
    writeFileSync(file, readFileSync(file, 'utf8').slice(0, -40));
    await workbench.command('Roost: Import Branch…');
    await fileDialog('Import a Branch');
    await workbench.choose('serve.jsonl');
    await workbench.notification(/cannot be imported/).waitFor();
    await workbench.command('Notifications: Clear All Notifications');
    await workbench.command('Roost: Set How Long the Trash Keeps…');
    await choose('7 days');
    await workbench.notification(/stays in the trash for 7 days/).waitFor();
    await workbench.shot('46-trash');
  },
);

chapter('those of a race stand side by side', async () => {
  play('Greet well', [{ text: 'Good day, because it fits | any hour.\nAlways.' }]);
  roost(
    ...['race', '--agent', 'greeters', '--with', 'scripted/demo', '--with', 'implementer'],
    ...['--model', 'scripted/demo', '--workspace', vscode.workspace, '--', 'Greet well'],
  );
  await workbench.command('Roost: Compare Those of a Group');
  await choose('greeters');
  await markdown().getByRole('heading', { name: 'Those of greeters' }).waitFor();
  const cells = markdown().getByRole('cell', { name: /because it fits \| any hour\./ });
  await until('both say it', async () => (await cells.count()) === 2);
  await workbench.shot('47-race');
  assert.deepEqual(workbench.outside, []);
});

/** The inside of the editor's preview of Markdown in front. */
function markdown() {
  return workbench.page
    .locator('iframe.webview.ready:not([src*="roost.roost"])')
    .last()
    .contentFrame()
    .frameLocator('iframe#active-frame');
}

/** The box of the editor's own dialog for files, once it has looked at the workspace. */
async function fileDialog(title: string): Promise<void> {
  await workbench.page.locator('.quick-input-title', { hasText: title }).waitFor();
  const input = workbench.page.locator('.quick-input-widget input.input');
  await until('the dialog is in the workspace', async () =>
    (await input.inputValue()).startsWith(vscode.workspace),
  );
}

/** Chooses a line of a quick pick by keys, once it is there. */
async function choose(label: string): Promise<void> {
  const rows = workbench.page.locator('.quick-input-list .monaco-list-row', { hasText: label });
  await rows.first().waitFor();
  await workbench.page.locator('.quick-input-widget input.input').fill(label);
  await workbench.page.locator('.quick-input-list .monaco-list-row.focused', { hasText: label }).waitFor();
  await workbench.page.keyboard.press('Enter');
}

/** What a command of `roost` prints, on the window's store. */
function roost(...args: string[]): string {
  const cli = path.join(root, 'dist', 'cli.cjs');
  const env = { ...process.env, ROOST_STORE: path.join(vscode.root, 'home/.local/share/roost') };
  return execFileSync(process.execPath, [cli, ...args], { env, encoding: 'utf8', windowsHide: true });
}

/** What the tools of an agent have said, in order. */
function resultsOf(agent: string): string[] {
  return roost('follow', agent, '--once')
    .split('\n')
    .filter(Boolean)
    .map((each): { body?: { kind: string; text: string } } => JSON.parse(each))
    .flatMap(({ body }) => (body?.kind === 'result' ? [body.text] : []));
}

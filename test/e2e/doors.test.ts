// What a person meets on the way to a first agent: a workspace that is not trusted, no model, a model that is a
// script. Each says what is the matter and what to do, nothing runs before it may, and no script passes for an AI.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { after, before } from 'node:test';
import { startFixture } from '../fixtures/provider/server.ts';
import type { Fixture } from '../fixtures/provider/server.ts';
import { root } from '../support/tool.ts';
import { chapters } from './chapters.ts';
import { demoScript } from './demo.ts';
import { startVSCode } from './harness.ts';
import type { VSCode } from './harness.ts';
import { makeSample } from './sample.ts';
import { makeVsix } from './vsix.ts';
import { openWorkbench, until } from './workbench.ts';
import type { Workbench } from './workbench.ts';

const key = 'the-right-key';

let fixture: Fixture;
let vscode: VSCode;
let workbench: Workbench;
const chapter = chapters(() => workbench.shot('failed-doors'));

before(async () => {
  fixture = await startFixture({ key });
  vscode = await startVSCode({ vsix: [await makeVsix()], workspace: makeSample, trust: true });
  workbench = await openWorkbench(vscode);
});

after(async () => {
  await workbench?.close();
  await vscode?.stop();
  await fixture?.close();
});

const store = (): string => path.join(vscode.root, 'home/.local/share/roost');
const script = (): string => path.join(vscode.root, 'demo.json');
const onDisk = (file: string): string => readFileSync(path.join(vscode.workspace, file), 'utf8');

chapter('in a workspace that is not trusted nothing runs, and the view says why', async () => {
  await workbench.activityBar('Roost').click();
  await workbench.page.getByText('starts nothing in a workspace that you do not trust').waitFor();
  await workbench.agents.getByText('Agents run only in a workspace that you trust.').waitFor();
  await workbench.shot('12-restricted');
  assert.ok(!(await workbench.offers('Roost: Ask a Swarm')), 'the palette does not offer what may not run');
  assert.ok(!existsSync(store()), 'no sidecar was started');
});

chapter('trust is given, and Roost says that it has no model to ask', async () => {
  await workbench.command('Workspaces: Manage Workspace Trust');
  await workbench.page.getByRole('button', { name: 'Trust', exact: true }).click();
  await workbench.page.getByText('You trust this folder').waitFor();
  await workbench.command('View: Close All Editors');
  await workbench.page.getByText('You trust this folder').waitFor({ state: 'detached' });
  await workbench.page.getByText('Roost has no model to ask yet.').first().waitFor();
  await workbench.command('Roost: Ask a Swarm');
  const told = workbench.notification('Roost has no model to ask yet.');
  await told.getByRole('button', { name: 'Set API Key' }).waitFor();
  await told.getByRole('button', { name: 'Open Settings' }).waitFor();
  await workbench.shot('13-no-model');
});

chapter('a model without a key is not asked: the key is, and what was typed is kept', async () => {
  const { tlsUrl, caFile } = fixture;
  vscode.change({
    'roost.providers': [{ name: 'fixture', dialect: 'chat', baseUrl: `${tlsUrl}/v1`, caFile }],
    'roost.model': 'fixture/any',
  });
  await workbench.open(vscode.pageUrl);
  await workbench.activityBar('Roost').click();
  await workbench.page.getByText('What agents ask you').waitFor();
  await workbench.command('Roost: New Agent');
  await workbench.answer('Say hello');
  await workbench
    .notification('There is no key for fixture.')
    .getByRole('button', { name: 'Set API Key' })
    .click();
  await workbench.page.locator('.quick-input-title', { hasText: 'API key of fixture' }).waitFor();
  assert.equal(fixture.stats().requests, 0, 'nothing was asked without a key');
  await workbench.answer('wrong-key');
  await workbench.press(/Trust 1 file/, 'Allow');
  await workbench.panel.getByText('refused the key').waitFor();
  assert.equal(
    await workbench.panel.getByText('wrong-key').count(),
    0,
    'a key is not repeated, though the server does',
  );
  await workbench.shot('14-wrong-key');
  await workbench.command('Roost: Set API Key');
  await workbench.choose('fixture');
  await workbench.answer(key);
  await workbench.notification('The key of fixture is kept.').first().waitFor();
  await workbench.panel.getByRole('textbox').fill('Say hello again');
  await workbench.page.keyboard.press('Enter');
  await workbench.panel.getByText('You said: Say hello again').waitFor();
});

chapter('a scripted model is labelled wherever it shows', async () => {
  writeFileSync(script(), demoScript());
  vscode.change({
    'roost.providers': [{ name: 'scripted', dialect: 'scripted', baseUrl: script() }],
    'roost.model': 'scripted/demo',
  });
  await workbench.open(vscode.pageUrl);
  await workbench.activityBar('Roost').click();
  await workbench.attention(/Done\s*1/);
  await workbench.command('Roost: Ask a Swarm');
  await workbench.page.locator('.quick-input-title', { hasText: 'no real AI' }).waitFor();
  await workbench.answer('Have a look at this project');
  await workbench.choose('As many as it takes');
  await workbench.panel.getByText('This is a scripted demonstration').waitFor();
  await workbench.panel.getByText('Scripted model, no real AI').first().waitFor();
  await workbench.agents.getByText('no real AI').first().waitFor();
  await workbench.page.locator('.statusbar-item', { hasText: 'no real AI' }).waitFor();
});

chapter('its agents ask, and do what was allowed', async () => {
  await workbench.attention(/Needs you\s*4/);
  await workbench.shot('15-scripted');
  await workbench.press('How should people be greeted?', 'Answer');
  await workbench.choose('Welcome');
  await workbench.press('Make test/words.test.js', 'Allow');
  // The answer is what the third of them puts into its file.
  await workbench.press(/3 alike: Edit src/, 'Allow');
  for (const name of ['mean', 'words']) await workbench.press(new RegExp(`node --test\\s*${name}`), 'Allow');
  await workbench.attention(/Ready to review\s*4/);
  await workbench.attention(/Done\s*6/);
  assert.match(onDisk('src/greeting.ts'), /Welcome, \$\{name\}/);
  assert.match(onDisk('src/mean.js'), /values\.length === 0 \? 0/);
  assert.match(onDisk('src/words.js'), /split\(\/\\s\+\/\)/);
  assert.ok(existsSync(path.join(vscode.workspace, 'test/words.test.js')));
  await until('each file says that it is to be reviewed', async () => {
    return (await workbench.page.locator('.customview-tree .monaco-list-row', { hasText: '+' }).count()) >= 4;
  });
  await workbench.shot('16-scripted-review');
});

chapter('files go back to how they were before the first agent wrote, and forth again', async () => {
  const files = ['src/greeting.ts', 'src/mean.js', 'src/words.js', 'test/words.test.js'];
  const written = files.map(onDisk);
  await workbench.command('Roost: Bring Files Back to a Checkpoint…');
  const rows = workbench.page.locator('.quick-input-list .monaco-list-row');
  await rows.filter({ hasText: 'before' }).first().waitFor();
  // The newest stands first, and the list goes round: up from there is the oldest.
  await workbench.page.keyboard.press('ArrowUp');
  await workbench.page.keyboard.press('Enter');
  const dialog = workbench.page.locator('.monaco-dialog-box', { hasText: /Bring 4 files back/ });
  await dialog.waitFor();
  await workbench.shot('17-files-back');
  await dialog.getByRole('button', { name: 'Restore' }).click();
  await until(
    'the files are as they were',
    () => !existsSync(path.join(vscode.workspace, 'test/words.test.js')),
  );
  assert.doesNotMatch(onDisk('src/greeting.ts'), /Welcome/);
  const said = workbench.notification(/4 files are as they were/);
  await said.getByRole('button', { name: 'Undo' }).click();
  await until('the files are as they had been', () =>
    existsSync(path.join(vscode.workspace, 'test/words.test.js')),
  );
  await until('all of them', () => files.every((file, index) => onDisk(file) === written[index]));
});

chapter('agents ask the language servers of the window', async () => {
  const file = 'src/wrong.ts';
  writeFileSync(
    path.join(vscode.workspace, file),
    "import { greeting } from './greeting';\n\nexport const count: number = greeting('you');\n",
  );
  const symbol = { find: 'references', path: 'src/greeting.ts', line: 1, symbol: 'greeting' };
  const steps = [
    [{ call: 'diagnostics', input: { path: file } }],
    [{ call: 'symbol', input: symbol }],
    [{ text: 'That is what the editor says.' }],
  ];
  const rules = steps.map((say, index) => ({ task: 'Ask the editor', round: index + 1, say }));
  writeFileSync(script(), JSON.stringify({ rules }));
  await workbench.openFile(file);
  await workbench.command('Roost: New Agent');
  await workbench.answer('Ask the editor');
  await workbench.panel.getByText('That is what the editor says.').waitFor();
  const results = resultsOf('ask-the-editor');
  assert.match(
    results.at(-2) ?? '',
    /src\/wrong\.ts:3:14 error \(ts 2322\): Type 'string' is not assignable/,
  );
  assert.match(results.at(-1) ?? '', /src\/greeting\.ts:1.*\n(.*\n)*.*src\/wrong\.ts:3/);
  assert.deepEqual(workbench.outside, []);
});

/** What the tools of an agent have said, in order. */
function resultsOf(agent: string): string[] {
  const cli = path.join(root, 'dist', 'cli.cjs');
  const env = { ...process.env, ROOST_STORE: store() };
  const lines = execFileSync(process.execPath, [cli, 'follow', agent, '--once'], {
    env,
    encoding: 'utf8',
    windowsHide: true,
  });
  return lines
    .split('\n')
    .filter(Boolean)
    .map((each): { body?: { kind: string; text: string } } => JSON.parse(each))
    .flatMap(({ body }) => (body?.kind === 'result' ? [body.text] : []));
}

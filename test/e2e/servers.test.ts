// What the editor shows of servers of tools and of profiles: nothing is started before it is trusted, then it runs, is
// restarted, and an agent is started with another profile than the usual one.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
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

const memory = path.join(root, 'node_modules/@modelcontextprotocol/server-memory/dist/index.js');
const profile = '---\ndescription: Knows the notes by heart\nisolation: readonly\n---\nYou look things up.\n';

let vscode: VSCode;
let workbench: Workbench;
const chapter = chapters(() => workbench.shot('failed-servers'));

before(async () => {
  vscode = await startVSCode({
    vsix: [await makeVsix()],
    workspace: (folder) => {
      makeSample(folder);
      mkdirSync(path.join(folder, '.roost/agents'), { recursive: true });
      writeFileSync(path.join(folder, '.roost/agents/librarian.md'), profile);
      const servers = {
        notes: {
          command: process.execPath,
          args: [memory],
          env: { MEMORY_FILE_PATH: '${workspaceFolder}/n.json' },
        },
        ghost: { command: 'no-such-program' },
      };
      writeFileSync(path.join(folder, '.mcp.json'), JSON.stringify({ mcpServers: servers }));
      writeFileSync(
        path.join(folder, '../script.json'),
        JSON.stringify({ rules: [{ say: [{ text: 'I have looked it up.' }] }] }),
      );
    },
    settings: { 'roost.model': 'scripted/demo' },
  });
  vscode.change({
    'roost.model': 'scripted/demo',
    'roost.providers': [
      { name: 'scripted', dialect: 'scripted', baseUrl: path.join(vscode.workspace, '../script.json') },
    ],
  });
  workbench = await openWorkbench(vscode);
  await workbench.activityBar('Roost').click();
});

after(async () => {
  await workbench?.close();
  await vscode?.stop();
});

const rows = () => workbench.page.locator('.quick-input-list .monaco-list-row');
const title = (text: string) => workbench.page.locator('.quick-input-title', { hasText: text });

/** Chooses a line by keys: rows move under the mouse while a list is filled. */
async function pick(label: string): Promise<void> {
  await rows().filter({ hasText: label }).first().waitFor();
  await workbench.page.locator('.quick-input-widget input.input').fill(label);
  const focused = workbench.page.locator('.quick-input-list .monaco-list-row.focused', { hasText: label });
  await focused.waitFor();
  await workbench.page.keyboard.press('Enter');
}

interface Server {
  readonly name: string;
  readonly trust: string;
  readonly pid: number | null;
}

/** As a program of its own sees them. */
function server(name: string): Server | undefined {
  const cli = path.join(root, 'dist/cli.cjs');
  const env = { ...process.env, ROOST_STORE: path.join(vscode.root, 'home/.local/share/roost') };
  const args = [cli, 'mcp', '--workspace', vscode.workspace];
  return execFileSync(process.execPath, args, { env, encoding: 'utf8', windowsHide: true })
    .split('\n')
    .filter(Boolean)
    .map((line): Server => JSON.parse(line))
    .find((each) => each.name === name);
}

chapter('servers of the folder are listed, and none is started before it is trusted', async () => {
  await workbench.command('Roost: MCP Servers…');
  await rows().filter({ hasText: 'notes' }).filter({ hasText: 'not decided' }).waitFor();
  await workbench.shot('20-servers');
  await pick('notes');
  await rows().filter({ hasText: 'Open Its Definition' }).waitFor();
  assert.equal(await rows().filter({ hasText: 'Start' }).count(), 0);
  await pick('Trust');
  await until('it is trusted', () => server('notes')?.trust === 'trusted');
  assert.equal(server('notes')?.pid, null);
});

chapter('one that is trusted is started, shows its tools, and is another one after a restart', async () => {
  await workbench.command('Roost: MCP Servers…');
  await pick('notes');
  await pick('Start');
  await workbench.notification(/notes runs and offers \d+ tools/).waitFor();
  const first = server('notes')?.pid ?? null;
  assert.notEqual(first, null);
  await workbench.command('Roost: MCP Servers…');
  await rows().filter({ hasText: 'notes' }).filter({ hasText: 'running' }).waitFor();
  await workbench.shot('21-server-runs');
  await pick('notes');
  await pick('Restart');
  await until('another one runs', () => ![null, undefined, first].includes(server('notes')?.pid));
  await workbench.command('Roost: MCP Servers…');
  await pick('notes');
  await pick('Show Tools');
  await rows().filter({ hasText: 'create_entities' }).waitFor();
  await workbench.page.keyboard.press('Escape');
});

chapter('an agent is started with another profile than the usual one', async () => {
  await workbench.command('Roost: New Agent');
  await title('implementer').waitFor();
  await workbench.page.getByRole('button', { name: /Profile: implementer/ }).click();
  await rows().filter({ hasText: 'librarian' }).filter({ hasText: 'asks you before it is used' }).waitFor();
  await workbench.shot('22-profiles');
  await pick('explorer');
  await title('explorer').waitFor();
  await workbench.answer('Look it up');
  await workbench.agents.getByRole('treeitem', { name: /^look-it-up/ }).waitFor();
});

chapter('a fan-out over files of a pattern, started after its count was shown', async () => {
  await workbench.command('Roost: Fan Out…');
  await workbench.answer('Look at {item}');
  await pick('Files…');
  await workbench.answer('src/*.js');
  const dialog = workbench.page.locator('.monaco-dialog-box', { hasText: /Start 2 agents, one for each/ });
  await dialog.waitFor();
  await workbench.shot('24-fan-out');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await workbench.agents.getByRole('treeitem', { name: /^fan-out-over/ }).waitFor();
});

chapter('what agents of the folder are told is listed, and decided on', async () => {
  await workbench.command('Roost: Profiles and Instructions…');
  await rows().filter({ hasText: 'librarian' }).first().waitFor();
  await workbench.shot('23-profiles');
  await pick('.roost/agents/librarian.md');
  await pick('Trust');
  await workbench.command('Roost: Profiles and Instructions…');
  await rows().filter({ hasText: 'librarian.md' }).filter({ hasText: 'profile · trusted' }).waitFor();
  await workbench.page.keyboard.press('Escape');
  assert.deepEqual(workbench.outside, []);
});

// The packaged extension in a real VS Code: it installs, the workbench opens with its icon, nothing leaves the
// machine. Stories about what people do with it are in the files beside this one.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { root } from '../support/tool.ts';
import { startVSCode } from './harness.ts';
import type { VSCode } from './harness.ts';
import { makeSample } from './sample.ts';
import { makeVsix } from './vsix.ts';
import { openWorkbench } from './workbench.ts';
import type { Workbench } from './workbench.ts';

const packaged = existsSync(path.join(root, 'extension/main.ts'));
let vscode: VSCode;
let workbench: Workbench;

before(async () => {
  vscode = await startVSCode({ vsix: packaged ? [await makeVsix()] : [], workspace: makeSample });
  workbench = await openWorkbench(vscode);
});

after(async () => {
  await workbench?.close();
  await vscode?.stop();
});

test('the workbench opens on the sample project', async () => {
  await workbench.openFile('greeting.ts');
  await workbench.page.locator('.view-line', { hasText: 'greeting' }).first().waitFor();
  if (packaged) await workbench.activityBar('Roost').waitFor({ timeout: 60_000 });
  await workbench.shot('smoke');
});

test('nothing is asked of another machine', () => {
  assert.deepEqual(workbench.outside, []);
});

// Makes the picture of the README, media/screenshot.png, from the product itself: the story of swarm.test.ts, held
// where there is something of everything to see. Run it when the views have changed:
//
//   npm run build && node test/e2e/picture.ts
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startFixture } from '../fixtures/provider/server.ts';
import { root } from '../support/tool.ts';
import { shotsFolder, startVSCode } from './harness.ts';
import { asker, makeRepository, question, storyteller, streamer, task } from './story.ts';
import { makeVsix } from './vsix.ts';
import { openWorkbench } from './workbench.ts';

const outside = mkdtempSync(path.join(os.tmpdir(), 'rst-out-'));
const places = { calls: path.join(outside, 'calls'), gate: path.join(outside, 'gate') };
const fixture = await startFixture({ answer: storyteller({ betweenMs: 5 }) });
const { tlsUrl, caFile } = fixture;
const vscode = await startVSCode({
  vsix: [await makeVsix()],
  workspace: (folder) => makeRepository(folder, places),
  settings: {
    'roost.providers': [{ name: 'fixture', dialect: 'chat', baseUrl: `${tlsUrl}/v1`, keyless: true, caFile }],
    'roost.model': 'fixture/any',
    'files.autoSave': 'off',
    'editor.minimap.enabled': false,
    'editor.fontSize': 12,
    'breadcrumbs.enabled': false,
    'window.commandCenter': false,
  },
});
const workbench = await openWorkbench(vscode);
try {
  await workbench.activityBar('Roost').click();
  await workbench.command('Roost: Ask a Swarm');
  await workbench.answer(task);
  await workbench.choose('12 agents');
  await workbench.press(/Trust 1 file/, 'Allow');
  await workbench.attention(/Needs you\s*12/);
  const row = (name: string | RegExp) => workbench.agents.getByRole('treeitem', { name });
  await row(/12 decisions for you/).click();
  await workbench.page.keyboard.press('ArrowRight');
  await workbench.press(/10 alike: Edit src/, 'Allow');
  await workbench.press(question, 'Answer');
  await workbench.choose('No, never');
  await workbench.press(`Edit src/${asker}.js`, 'Allow');
  await workbench.press(/11 alike: .\/check src/, 'Allow');
  await workbench.openFile('retry.js');
  await workbench.lens('Accept').nth(1).waitFor();
  await row(new RegExp(`^${streamer}`)).click();
  await workbench.panel.getByText(`Edit web/${streamer}.js`, { exact: true }).waitFor();
  await workbench.command('View: Move Editor into Right Group');
  await workbench.page.locator('.split-view-view.visible .editor-group-container').nth(1).waitFor();
  await workbench.panel.getByText(`Edit web/${streamer}.js`, { exact: true }).waitFor();
  await row(new RegExp(`^${asker}, running`)).waitFor();
  await workbench.attention(/Needs you/);
  // The language service says what it does in the status bar, for a while.
  await workbench.page.locator('.statusbar .codicon-loading').first().waitFor({ state: 'detached' });
  // Where nothing shows a tooltip.
  await workbench.page.mouse.move(600, 700);
  await workbench.shot('overview');
  copyFileSync(path.join(shotsFolder(), 'overview.png'), path.join(root, 'media/screenshot.png'));
  console.log('media/screenshot.png is made.');
} finally {
  await workbench.close();
  await vscode.stop();
  await fixture.close();
  rmSync(outside, { recursive: true, force: true });
}

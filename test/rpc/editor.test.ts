// What the sidecar asks of clients: the right window first, none that hangs, nonsense counts as no answer.

import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { Editors } from '../../sidecar/rpc/editor.ts';
import { Rig, until, type TestClient } from './rig.ts';

async function window(
  rig: Rig,
  workspace: string,
  text: string | null,
): Promise<{ client: TestClient; asked: string[] }> {
  const client = await rig.stranger();
  const asked: string[] = [];
  client.answers('editor/readText', ({ path: file }) => {
    asked.push(file);
    return { text };
  });
  await client.hello({ can: ['buffers'], workspaces: [workspace] });
  return { client, asked };
}

test('a path goes to the windows that hold it, the one used last first; without one the disk counts', async (t) => {
  const rig = await Rig.open(t);
  const other = await window(rig, '/elsewhere', 'wrong');
  const first = await window(rig, '/w', 'first');
  await window(rig, '/w/sub', 'second');
  assert.equal(await rig.server.buffers.readText('/w/sub/a.ts'), 'second');
  await first.client.call('ping', {});
  assert.equal(await rig.server.buffers.readText('/w/sub/a.ts'), 'first');
  assert.equal(await rig.server.buffers.readText('/w/b.ts'), 'first');
  assert.equal(await rig.server.buffers.readText('/w2/b.ts'), null);
  assert.equal(await rig.server.buffers.readText('/nowhere/b.ts'), null);
  assert.deepEqual(other.asked, []);
  first.client.close();
  await until('the window is gone', () => rig.server.clientCount() === 2);
  assert.equal(await rig.server.buffers.readText('/w/b.ts'), null);
});

test('a window that has the file saved passes the question on', async (t) => {
  const rig = await Rig.open(t);
  await window(rig, '/w', 'unsaved');
  const saved = await window(rig, '/w', null);
  assert.equal(await rig.server.buffers.readText('/w/a.ts'), 'unsaved');
  assert.deepEqual(saved.asked, ['/w/a.ts']);
});

test('a workspace that was opened through a link holds the real path too', async (t) => {
  const rig = await Rig.open(t);
  const real = path.join(realpathSync(rig.directory), 'real');
  mkdirSync(real);
  symlinkSync(real, path.join(rig.directory, 'link'));
  await window(rig, path.join(rig.directory, 'link'), 'buffer');
  assert.equal(await rig.server.buffers.readText(path.join(real, 'a')), 'buffer');
});

test('a window that hangs or answers nonsense counts as not there', async (t) => {
  const rig = await Rig.open(t);
  const editors = new Editors({
    warn: (message) => void rig.warnings.push(message),
    learned: () => undefined,
    editorMs: 20,
    secretMs: 20,
  });
  const asker = (answer: unknown): never =>
    ({
      hello: { can: ['buffers', 'secrets'], workspaces: ['/w'] },
      usedMs: 0,
      id: 1,
      ask: (_: string, __: unknown, post: (answered: unknown) => void) => {
        if (answer !== 'hangs') setImmediate(() => post(answer));
      },
    }) as never;
  editors.add(asker('hangs'));
  assert.equal(await editors.readText('/w/a'), null);
  assert.equal(await editors.applyEdit('/w/a', 'hash', []), false);
  assert.deepEqual(rig.warnings.length, 2);
  const key = await new Promise((resolve) => editors.secret('anthropic', resolve));
  assert.equal(key, null);
  const bad = await rig.stranger();
  bad.rpc.onRequest('editor/readText', () => ({ text: 5 }));
  await bad.hello({ can: ['buffers'], workspaces: ['/w'] });
  assert.equal(await rig.server.buffers.readText('/w/a'), null);
});

test('an edit is applied by one window, with what it must find', async (t) => {
  const rig = await Rig.open(t);
  const client = await rig.stranger();
  const asked: unknown[] = [];
  client.answers('editor/applyEdit', (params) => {
    asked.push(params);
    return { applied: params.expect === 'good' };
  });
  await client.hello({ can: ['buffers'], workspaces: ['/w'] });
  const edits = [{ start: 0, end: 1, text: 'x' }];
  assert.equal(await rig.server.buffers.applyEdit('/w/a', 'good', edits), true);
  assert.equal(await rig.server.buffers.applyEdit('/w/a', 'moved', edits), false);
  assert.deepEqual(asked[0], { path: '/w/a', expect: 'good', edits });
});

test('a key is asked of everybody who offers secrets; the first that has it wins, none is none', async (t) => {
  const rig = await Rig.open(t);
  const secret = (provider: string): Promise<unknown> =>
    new Promise((resolve) => rig.server.clients.secret(provider, resolve));
  assert.equal(await secret('anthropic'), null);
  const offer = async (key: string | null, can: 'secrets' | 'reveal'): Promise<void> => {
    const client = await rig.stranger();
    client.answers('editor/secret', () => (key === null ? { key } : { key, baseUrl: 'https://x' }));
    await client.hello({ can: [can] });
  };
  await offer(null, 'secrets');
  await offer('not offered', 'reveal');
  assert.equal(await secret('anthropic'), null);
  await offer('k1', 'secrets');
  assert.deepEqual(await secret('anthropic'), { key: 'k1', baseUrl: 'https://x' });
  assert.deepEqual(rig.hidden, ['k1'], 'the log is told to hide it');
  assert.equal(
    rig.events.filter((event) => event.kind === 'keys').length,
    2,
    'each who offers wakes those who wait',
  );
});

test('language servers are asked in the window that holds the file; nonsense, or no such window, is no answer', async (t) => {
  const rig = await Rig.open(t);
  const { languages } = rig.server;
  assert.equal(await languages.diagnostics('/w/a.ts', 5), null);
  const client = await rig.stranger();
  const range = { start: { line: 0, character: 1 }, end: { line: 0, character: 2 } };
  const wrong = {
    path: '/w/a.ts',
    range,
    severity: 1,
    message: 'wrong',
    source: 'ts',
    code: '2322',
  } as const;
  const asked: unknown[] = [];
  client.answers('editor/diagnostics', (params) => {
    asked.push(params);
    return { diagnostics: [wrong], more: 3, unseen: true };
  });
  client.answers('editor/locations', (params) => {
    asked.push(params);
    return { locations: [{ path: '/w/b.ts', range, text: null }], more: 0 };
  });
  await client.hello({ can: ['languages'], workspaces: ['/w'] });
  assert.deepEqual(await languages.diagnostics('/w/a.ts', 5), {
    diagnostics: [wrong],
    more: 3,
    unseen: true,
  });
  const at = { path: '/w/a.ts', position: range.start, find: 'references', most: 5 } as const;
  assert.deepEqual((await languages.locations(at))?.locations[0]?.path, '/w/b.ts');
  assert.deepEqual(asked, [{ path: '/w/a.ts', most: 5 }, at]);
  assert.equal(await languages.diagnostics('/elsewhere/a.ts', 5), null);
  client.rpc.onRequest('editor/diagnostics', () => ({
    diagnostics: [{ ...wrong, severity: 9 }],
    more: 0,
    unseen: false,
  }));
  assert.equal(await languages.diagnostics('/w/a.ts', 5), null);
});

// A newer `roost` meets an older sidecar: it takes over when no turn runs, and not before.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as net from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';

import { createMessageConnection, SocketMessageReader, SocketMessageWriter } from 'vscode-jsonrpc/node';

import { connect } from '../../sidecar/cli/connect.ts';
import { removeDiscovery, writeDiscovery } from '../../sidecar/platform/paths.ts';
import { thisProcess } from '../../sidecar/platform/processes.ts';
import { build, protocolVersion } from '../../sidecar/protocol/version.ts';
import { Store } from './roost.ts';

const old = '2001.01.01.1';

/** Something that answers as a sidecar of another build does. Returns what it was asked. */
async function pretend(
  t: TestContext,
  store: Store,
  its: { build: string; running: number },
): Promise<string[]> {
  const asked: string[] = [];
  fs.mkdirSync(store.directory, { recursive: true });
  const socket = path.join(store.workspace, 's');
  const card = { ...thisProcess(), nonce: 'n', build: its.build, socket, store: store.directory };
  const open: net.Socket[] = [];
  const server = net.createServer((client) => {
    open.push(client);
    const rpc = createMessageConnection(new SocketMessageReader(client), new SocketMessageWriter(client));
    rpc.onRequest((method) => {
      asked.push(method);
      if (method === 'hello')
        return { protocol: protocolVersion, build: its.build, pid: 1, store: store.directory };
      if (method === 'store/info') return { running: its.running };
      removeDiscovery(card);
      setImmediate(() => client.end());
      return {};
    });
    rpc.onClose(() => rpc.dispose());
    rpc.listen();
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  writeDiscovery(card);
  t.after(() => {
    for (const client of open) client.destroy();
    server.close();
    removeDiscovery(card);
  });
  return asked;
}

const wanted = (store: Store) => ({ store: store.directory, start: true, secrets: false, call: null });

test('an older sidecar without a running turn gives way', async (t) => {
  const store = new Store(t);
  const asked = await pretend(t, store, { build: old, running: 0 });
  const wire = await connect(wanted(store));
  t.after(() => wire.close());
  assert.deepEqual(asked, ['hello', 'store/info', 'shutdown']);
  assert.equal(wire.hello.build, build);
});

test('an older sidecar with a running turn is used as it is', async (t) => {
  const store = new Store(t);
  const asked = await pretend(t, store, { build: old, running: 1 });
  const wire = await connect(wanted(store));
  assert.equal(wire.hello.build, old);
  wire.close();
  assert.deepEqual(asked, ['hello', 'store/info']);
});

test('a newer sidecar is never replaced by an older client', async (t) => {
  const store = new Store(t);
  const asked = await pretend(t, store, { build: '9999.01.01.1', running: 0 });
  const wire = await connect(wanted(store));
  wire.close();
  assert.deepEqual(asked, ['hello']);
});

// Networks as they are: servers that die without a word, proxies, authorities of a company, machines that sleep.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import * as http from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { proxyFor } from '../../sidecar/model/dial.ts';
import { createModel } from '../../sidecar/model/model.ts';
import type { Model } from '../../sidecar/ports.ts';
import { startFixture, type Fixture } from '../fixtures/provider/server.ts';
import { ask, requestOf, until, user } from './conversation.ts';

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** A line to the fixture that can be cut off without either end being told, as by a dead machine. */
async function startLine(port: number): Promise<{ port: number; freeze(): void; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let frozen = false;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes: Buffer) => {
        if (!frozen) to.write(bytes);
      });
      from.on('error', () => from.destroy());
      from.on('close', () => {
        sockets.delete(from);
        if (!frozen) to.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: portOf(server),
    freeze: () => void (frozen = true),
    close: async () => {
      sockets.forEach((socket) => socket.destroy());
      server.close();
      await once(server, 'close');
    },
  };
}

function modelAt(fixture: Fixture, baseUrl: string, patience: object): Model {
  const model = createModel({ tickMs: 20, patience });
  model.setProvider({
    name: 'chat',
    dialect: 'chat',
    baseUrl: `${baseUrl}/v1`,
    caFile: fixture.caFile,
    keyless: true,
  });
  return model;
}

const say = (text: string) => requestOf('chat/m', [user(text)]);

test('a server that dies without a word is found out by its silence, long before the first-byte limit', async (context) => {
  const fixture = await startFixture();
  context.after(() => fixture.close());
  const line = await startLine(Number(new URL(fixture.tlsUrl).port));
  context.after(() => line.close());
  const model = modelAt(fixture, `https://localhost:${line.port}`, { pingEveryMs: 60, pingAnswerMs: 60 });
  const asked = [1, 2, 3].map((n) => ask(model, say(`@fail silent\n@say ${n}`)));
  await until(() => fixture.stats().inFlight === 3);
  line.freeze();
  const heard = await Promise.all(asked);
  for (const { outcome } of heard) {
    assert.ok(
      outcome.kind === 'cut' && /could not be reached \(ETIMEDOUT\)/.test(outcome.message),
      JSON.stringify(outcome),
    );
  }
});

test('a server that answers its pings may think for as long as it likes', async (context) => {
  const fixture = await startFixture({ firstByteMs: 400 });
  context.after(() => fixture.close());
  const model = modelAt(fixture, fixture.tlsUrl, { pingEveryMs: 40, pingAnswerMs: 40 });
  assert.equal((await ask(model, say('@say thought for long'))).text, 'thought for long');
});

describe('proxies (case 179)', () => {
  test('are named by the environment as other programs understand it', () => {
    const url = new URL('https://api.example.com');
    const at = (environment: Record<string, string>): string | undefined => proxyFor(url, environment)?.href;
    assert.equal(at({}), undefined);
    assert.equal(at({ HTTPS_PROXY: 'http://proxy:3128' }), 'http://proxy:3128/');
    assert.equal(at({ https_proxy: 'proxy:3128', HTTPS_PROXY: 'http://other' }), 'http://proxy:3128/');
    assert.equal(at({ ALL_PROXY: 'http://me:pass@proxy' }), 'http://me:pass@proxy/');
    for (const exception of [
      '*',
      'example.com',
      '.example.com',
      '*.example.com',
      'a, api.example.com',
      'api.example.com:443',
    ]) {
      assert.equal(at({ HTTPS_PROXY: 'http://proxy', NO_PROXY: exception }), undefined, exception);
    }
    for (const other of ['ample.com', 'api.example.com:8443', '', ' ']) {
      assert.ok(at({ HTTPS_PROXY: 'http://proxy', NO_PROXY: other }) !== undefined, other);
    }
  });

  test('carry both kinds of TLS connection, with a log-in; a proxy that refuses is named', async () => {
    const fixture = await startFixture();
    const targets: string[] = [];
    const proxy = http.createServer().listen(0, '127.0.0.1');
    proxy.on('connect', (request, socket: Socket) => {
      targets.push(`${request.url ?? ''} ${request.headers['proxy-authorization'] ?? ''}`);
      if (request.headers['proxy-authorization'] === undefined) {
        socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n');
        return;
      }
      const far = connect(Number(request.url?.split(':')[1]), '127.0.0.1', () =>
        socket.write('HTTP/1.1 200 OK\r\n\r\n'),
      );
      far.pipe(socket).pipe(far);
      for (const each of [far, socket]) each.on('error', () => each.destroy());
    });
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    try {
      process.env['HTTPS_PROXY'] = `http://me:p%40ss@127.0.0.1:${port}`;
      for (const origin of [fixture.tlsUrl, fixture.h1TlsUrl]) {
        const heard = await ask(modelAt(fixture, origin, {}), say(`@say through to ${origin}`));
        assert.equal(heard.text, `through to ${origin}`);
      }
      const login = `Basic ${Buffer.from('me:p@ss').toString('base64')}`;
      // The HTTP/1.1 server is dialled twice: to find out what it speaks, and to speak it.
      assert.deepEqual(
        targets,
        [fixture.tlsUrl, fixture.h1TlsUrl, fixture.h1TlsUrl].map(
          (origin) => `${new URL(origin).host} ${login}`,
        ),
      );
      process.env['HTTPS_PROXY'] = `http://127.0.0.1:${port}`;
      const { outcome } = await ask(modelAt(fixture, fixture.tlsUrl, {}), say('refused'));
      assert.ok(
        outcome.kind === 'cut' && outcome.message.includes(`the proxy 127.0.0.1:${port} answered 407`),
      );
    } finally {
      delete process.env['HTTPS_PROXY'];
      proxy.closeAllConnections();
      proxy.close();
      await fixture.close();
    }
  });
});

test('an authority that only the system’s store knows is found there (case 179)', async (context) => {
  const fixture = await startFixture();
  context.after(() => fixture.close());
  const module = path.resolve(import.meta.dirname, 'conversation.ts');
  const program = `
    const { createModel } = await import(${JSON.stringify(path.resolve(import.meta.dirname, '../../sidecar/model/model.ts'))});
    const { ask, requestOf, user } = await import(${JSON.stringify(module)});
    const model = createModel();
    model.setProvider({ name: 'chat', dialect: 'chat', baseUrl: '${fixture.tlsUrl}/v1', keyless: true });
    console.log((await ask(model, requestOf('chat/m', [user('@say trusted')]))).text);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...process.env, SSL_CERT_FILE: fixture.caFile },
    windowsHide: true,
  });
  assert.equal(stdout, 'trusted\n');
});

test('a conversation that cannot be written ends its request, and the next one goes through', async (context) => {
  const fixture = await startFixture();
  context.after(() => fixture.close());
  const model = modelAt(fixture, fixture.url, {});
  const pages = (): never => {
    throw new RangeError('Maximum call stack size exceeded');
  };
  const outcome = await ask(model, requestOf('chat/m', [], { pages: () => pages }));
  assert.equal(outcome.outcome.kind, 'rejected');
  assert.match(JSON.stringify(outcome), /could not write this conversation for chat/);
  assert.equal((await ask(model, say('hello'))).outcome.kind, 'answer');
});

// The list of models, from the provider fixture over TLS and plain HTTP, and what is left out of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelInfo } from '../../sidecar/protocol/settings.ts';
import { createModel } from '../../sidecar/model/model.ts';
import { startFixture } from '../fixtures/provider/server.ts';

test('models of providers with a key or without need of one are listed; a dead one is left out', async (t) => {
  const fixture = await startFixture({ key: 'right' });
  t.after(() => fixture.close());
  const model = createModel();
  model.setProvider({
    name: 'tls',
    dialect: 'chat',
    baseUrl: `${fixture.tlsUrl}/v1`,
    caFile: fixture.caFile,
  });
  model.setProvider({ name: 'plain', dialect: 'chat', baseUrl: `${fixture.url}/v1` });
  model.setProvider({ name: 'keyless', dialect: 'chat', baseUrl: 'http://127.0.0.1:9/v1', keyless: true });
  model.setProvider({ name: 'nokey', dialect: 'chat', baseUrl: `${fixture.url}/v1` });
  const listed = (): Promise<readonly ModelInfo[]> => new Promise((resolve) => model.list(resolve));
  const providers = async (): Promise<string[]> => [
    ...new Set((await listed()).map((each) => each.id.slice(0, each.id.indexOf('/')))),
  ];
  assert.deepEqual(await providers(), []);
  model.setKey('tls', 'right');
  model.setKey('plain', 'right');
  assert.deepEqual(await providers(), ['tls', 'plain']);
});

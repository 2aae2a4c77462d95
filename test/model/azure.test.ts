// Azure OpenAI: where requests go and which header carries the key, as its official client does it; whole turns over
// both dialects in the v1 form and the dated one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AzureOpenAI } from 'openai';
import { azureBase, deploymentPath, keyHeaders } from '../../sidecar/model/azure.ts';
import { habitsOf } from '../../sidecar/model/hosts.ts';
import { createModel } from '../../sidecar/model/model.ts';
import { pathBelow } from '../../sidecar/model/providers.ts';
import { responses } from '../../sidecar/model/responses.ts';
import { startFixture } from '../fixtures/provider/server.ts';
import { answer, bodyOf, program, requestOf, turn, user } from './conversation.ts';

const host = 'res.openai.azure.com';

function urlOf(baseUrl: string, path: string, model: string): string {
  const base = azureBase(new URL(baseUrl));
  return base.origin + pathBelow(base, deploymentPath(base, path, model));
}

test('a resource without a path, the v1 API, the dated API, and what is no Azure', () => {
  const at = `https://${host}`;
  assert.equal(urlOf(at, '/responses', 'd'), `${at}/openai/v1/responses`);
  assert.equal(urlOf(`${at}/`, '/chat/completions', 'd'), `${at}/openai/v1/chat/completions`);
  assert.equal(urlOf(`${at}/openai/v1/`, '/responses', 'd'), `${at}/openai/v1/responses`);
  const dated = '?api-version=2025-04-01-preview';
  assert.equal(urlOf(`${at}/openai${dated}`, '/responses', 'd'), `${at}/openai/responses${dated}`);
  assert.equal(urlOf(at + dated, '/responses', 'd'), `${at}/openai/responses${dated}`);
  const whole = `${at}/openai/deployments/my%20gpt/chat/completions${dated}`;
  assert.equal(urlOf(`${at}/openai${dated}`, '/chat/completions', 'my gpt'), whole);
  const named = `${at}/openai/deployments/d${dated}`;
  assert.equal(urlOf(named, '/chat/completions', 'x'), `${at}/openai/deployments/d/chat/completions${dated}`);
  assert.equal(urlOf('https://gate.example/', '/responses', 'd'), 'https://gate.example/responses');
});

test('the official client asks at the same addresses with the same key', async () => {
  const seen: { url: string; key: string | null; bearer: string | null }[] = [];
  const client = (more: object): AzureOpenAI =>
    new AzureOpenAI({
      endpoint: `https://${host}`,
      apiVersion: '2025-04-01-preview',
      maxRetries: 0,
      ...more,
      fetch: (url, init) => {
        const headers = new Headers(init?.headers);
        const address = typeof url === 'string' ? url : url instanceof URL ? url.href : url.url;
        seen.push({ url: address, key: headers.get('api-key'), bearer: headers.get('authorization') });
        return Promise.resolve(new Response('{}', { headers: { 'content-type': 'application/json' } }));
      },
    });
  const token = 'eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJ4In0.c2ln';
  await client({ apiKey: 'k' }).responses.create({ model: 'd', input: 'x' });
  await client({ azureADTokenProvider: () => Promise.resolve(token) }).chat.completions.create({
    model: 'd',
    messages: [],
  });
  const base = `https://${host}/openai?api-version=2025-04-01-preview`;
  const place = { host, header: null };
  assert.deepEqual(
    seen.map(({ url }) => url),
    [urlOf(base, '/responses', 'd'), urlOf(base, '/chat/completions', 'd')],
  );
  assert.deepEqual({ 'api-key': seen[0]?.key }, keyHeaders('k', place));
  assert.deepEqual({ authorization: seen[1]?.bearer }, keyHeaders(token, place));
  assert.deepEqual(keyHeaders('k', { host: 'api.openai.com', header: null }), { authorization: 'Bearer k' });
  assert.deepEqual(keyHeaders('k', { host: 'gate.example', header: 'api-key' }), { 'api-key': 'k' });
  assert.deepEqual(keyHeaders(null, place), {});
});

test('deployments with a model’s name in theirs reason; gpt-35 does not; the new field bounds answers', () => {
  const body = (model: string): string =>
    bodyOf(responses, requestOf(`azure/${model}`, [user('x')]), { provider: 'azure', model, host });
  for (const model of ['team-gpt-5', 'o3-mini', 'eu.gpt-5.1-codex', 'gpt-5'])
    assert.match(body(model), /encrypted/);
  for (const model of ['gpt-35-turbo', 'gpt-4o', 'our-model', 'gpt-5-chat'])
    assert.doesNotMatch(body(model), /encrypted/, model);
  assert.equal(habitsOf(host).outputField, 'max_completion_tokens');
});

test('reasoning that the server has not signed does not go back: it names what is stored nowhere', () => {
  const model = 'our-model';
  const item = (more: object) => ({ type: 'reasoning', id: 'rs_1', summary: [], ...more });
  const thought = (more: object) => ({
    kind: 'thinking' as const,
    text: '',
    provider: 'azure',
    opaque: { item: item(more) },
  });
  const body = (more: object): string => {
    const said = answer(`azure/${model}`, [thought(more), { kind: 'text', text: 'Yes.' }]);
    const request = requestOf(`azure/${model}`, [user('x'), said, user('y')]);
    return bodyOf(responses, request, { provider: 'azure', model, host });
  };
  assert.doesNotMatch(body({}), /rs_1/);
  assert.match(body({ encrypted_content: 'E' }), /rs_1/);
});

for (const [name, spec] of Object.entries({
  'responses, v1': { dialect: 'responses', below: '/openai/v1' },
  'chat, v1': { dialect: 'chat', below: '/openai/v1' },
  'responses, dated': { dialect: 'responses', below: '/openai?api-version=2025-04-01-preview' },
  'chat, dated, below its deployment': { dialect: 'chat', below: '/openai?api-version=2025-04-01-preview' },
} as const)) {
  test(`a whole turn with parallel calls: ${name}`, async (t) => {
    const fixture = await startFixture({ key: 'right-key' });
    t.after(() => fixture.close());
    const model = createModel();
    const { dialect, below } = spec;
    const baseUrl = fixture.tlsUrl + below;
    model.setProvider({ name: 'azure', dialect, baseUrl, keyHeader: 'api-key', caFile: fixture.caFile });
    model.setKey('azure', 'right-key');
    const { last } = await turn(model, 'azure', program);
    assert.match(last.text, /^Finished 3 calls\./);
    assert.equal(fixture.stats().h2Sessions, 1);
    assert.deepEqual(fixture.violations(), []);
  });
}

test('prices are those of Azure’s section, by the name of the provider or by its address', () => {
  const model = createModel();
  model.setProvider({ name: 'azure', dialect: 'responses', baseUrl: `https://${host}/openai/v1` });
  model.setProvider({ name: 'work', dialect: 'responses', baseUrl: `https://${host}/openai/v1` });
  assert.ok((model.price('azure/gpt-5')?.output ?? 0) > 0);
  assert.deepEqual(model.price('work/gpt-5'), model.price('azure/gpt-5'));
});

// The whole way over real sockets and real TLS: shared sessions, servers that refuse, fall silent, die, send odd
// things or only speak HTTP/1.1; bodies that are streamed; every class of failure.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Item } from '../../sidecar/core/terms.ts';
import { createModel, type ModelOptions } from '../../sidecar/model/model.ts';
import type { Cancel, Model, ModelRequest } from '../../sidecar/ports.ts';
import { startFixture, type Fixture, type FixtureOptions } from '../fixtures/provider/server.ts';
import {
  answer,
  ask,
  messageOf,
  program,
  requestOf,
  result,
  turn,
  until,
  user,
  type Heard,
} from './conversation.ts';

const dialects = ['anthropic', 'chat', 'responses'] as const;

/** A model whose providers `anthropic`, `chat` and `responses` are the fixture, over HTTP/2 unless said otherwise. */
function modelFor(fixture: Fixture, options: ModelOptions = {}, origin = fixture.tlsUrl): Model {
  const model = createModel({ tickMs: 20, ...options });
  for (const dialect of dialects) {
    const baseUrl = dialect === 'anthropic' ? origin : `${origin}/v1`;
    model.setProvider({ name: dialect, dialect, baseUrl, caFile: fixture.caFile });
    model.setKey(dialect, 'right-key');
  }
  return model;
}

async function withFixture(
  options: FixtureOptions,
  work: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  const fixture = await startFixture({ key: 'right-key', ...options });
  try {
    await work(fixture);
    assert.deepEqual(fixture.violations(), []);
  } finally {
    await fixture.close();
  }
}

const say = (dialect: string, text: string, more: Partial<ModelRequest> = {}): ModelRequest =>
  requestOf(`${dialect}/m`, [user(text)], more);

const kindOf = ({ outcome }: Heard): string => (outcome.kind === 'rejected' ? outcome.code : outcome.kind);

describe('whole turns with parallel calls', () => {
  for (const dialect of dialects) {
    for (const kind of ['tlsUrl', 'h1TlsUrl', 'url'] as const) {
      test(`${dialect} over ${kind}`, () =>
        withFixture({}, async (fixture) => {
          const { last } = await turn(modelFor(fixture, {}, fixture[kind]), dialect, program);
          assert.equal(
            last.text,
            'Finished 3 calls.\n1 shell ok: did shell\n2 read ok: did read\n3 shell ok: did shell',
          );
          assert.equal(fixture.stats().h2Sessions, kind === 'tlsUrl' ? 1 : 0);
        }));
    }

    test(`${dialect} in pieces of one byte`, () =>
      withFixture({ cutBytes: 1 }, async (fixture) => {
        const { last } = await turn(modelFor(fixture), dialect, program);
        assert.match(last.text, /^Finished 3 calls/);
      }));
  }

  test('a conversation goes on with another provider; signed reasoning stays behind', () =>
    withFixture({}, async (fixture) => {
      const model = modelFor(fixture);
      const { items } = await turn(model, 'anthropic', program);
      items.push(user('@say Hello from chat'));
      const heard = await ask(model, requestOf('chat/m', items));
      assert.equal(heard.text, 'Hello from chat');
    }));
});

describe('sessions', () => {
  test('300 requests at once share few connections, at most 64 streams each', () =>
    withFixture({ firstByteMs: 150 }, async (fixture) => {
      const model = modelFor(fixture);
      const asked = Array.from({ length: 300 }, (_, n) => ask(model, say('anthropic', `@say ${n}`)));
      const heard = await Promise.all(asked);
      assert.deepEqual(
        heard.map((each) => each.text),
        Array.from({ length: 300 }, (_, n) => String(n)),
      );
      const stats = fixture.stats();
      assert.equal(stats.maxInFlight, 300);
      assert.ok(stats.maxStreamsOfASession <= 64);
      assert.equal(stats.maxH2Sessions, 5);
    }));

  test('a server that allows fewer streams gets fewer', () =>
    withFixture({ firstByteMs: 50, maxStreams: 5 }, async (fixture) => {
      const model = modelFor(fixture);
      await ask(model, say('chat', '@say first'));
      await Promise.all(Array.from({ length: 30 }, (_, n) => ask(model, say('chat', `@say ${n}`))));
      assert.ok(fixture.stats().maxStreamsOfASession <= 5);
    }));

  test('another key never shares a connection', () =>
    withFixture({}, async (fixture) => {
      const model = modelFor(fixture);
      await ask(model, say('chat', '@say a'));
      await ask(model, say('responses', '@say b'));
      assert.equal(fixture.stats().h2Sessions, 1);
      model.setKey('responses', 'other-key');
      assert.equal(kindOf(await ask(model, say('responses', '@say b'))), 'wrongKey');
      assert.equal(fixture.stats().maxH2Sessions, 2);
    }));

  test('REFUSED_STREAM is asked again by itself; a server that goes on refusing is not asked for ever', () =>
    withFixture({}, async (fixture) => {
      const model = modelFor(fixture);
      await ask(model, say('anthropic', '@say warm'));
      fixture.refuse(2, 7);
      assert.equal((await ask(model, say('anthropic', '@say through'))).text, 'through');
      fixture.refuse(100, 7);
      const heard = await ask(model, say('anthropic', '@say never'));
      assert.equal(kindOf(heard), 'cut');
      fixture.refuse(0, 7);
    }));

  test('GOAWAY: streams that were not looked at move, those under way end, the next go elsewhere', () =>
    withFixture({ firstByteMs: 60 }, async (fixture) => {
      const model = modelFor(fixture);
      const under = Array.from({ length: 20 }, (_, n) => ask(model, say('anthropic', `@say under ${n}`)));
      await until(() => fixture.stats().inFlight === 20);
      fixture.goaway(0);
      const next = ask(model, say('anthropic', '@say next'));
      const heard = await Promise.all([...under, next]);
      assert.deepEqual(
        heard.map(kindOf),
        Array.from({ length: 21 }, () => 'answer'),
      );
      assert.equal(heard[20]?.text, 'next');
    }));

  test('GOAWAY with an error: what it had not looked at is asked again', () =>
    withFixture({ firstByteMs: 200 }, async (fixture) => {
      const model = modelFor(fixture);
      const asked = ['@say first', '@say second'].map((text) => ask(model, say('anthropic', text)));
      await until(() => fixture.stats().inFlight === 2);
      // Streams 1 and 3 carry them; the server says that it did not look past the first.
      fixture.goaway(2, 1);
      const [first, second] = await Promise.all(asked);
      assert.equal(first === undefined ? '' : kindOf(first), 'cut');
      assert.equal(second?.text, 'second');
      assert.equal(fixture.stats().requests, 3);
    }));

  test('a server that dies cuts each of its requests once, and the next request finds the new connection', () =>
    withFixture({}, async (fixture) => {
      const model = modelFor(fixture);
      const asked = Array.from({ length: 80 }, (_, n) => ask(model, say('chat', `@fail silent\n@say ${n}`)));
      await until(() => fixture.stats().inFlight === 80);
      fixture.drop();
      const heard = await Promise.all(asked);
      assert.deepEqual(new Set(heard.map(kindOf)), new Set(['cut']));
      assert.equal((await ask(model, say('chat', '@say back'))).text, 'back');
    }));
});

describe('deadlines', () => {
  test('a silent server: connected, sent, never answered (case 169)', () =>
    withFixture({ silent: true }, async (fixture) => {
      for (const origin of [fixture.tlsUrl, fixture.url]) {
        const model = modelFor(fixture, { patience: { firstByteMs: 150 } }, origin);
        const heard = await ask(model, say('anthropic', '@say a'));
        assert.match(messageOf(heard), /silent for 150 ms after the request/);
        assert.equal(kindOf(heard), 'cut');
      }
      await until(() => fixture.stats().inFlight === 0);
    }));

  test('a stall inside an answer has a limit of its own; slow deltas do not reach it', () =>
    withFixture({}, async (fixture) => {
      const model = modelFor(fixture, { patience: { firstByteMs: 5_000, betweenBytesMs: 100 } });
      assert.match(
        messageOf(await ask(model, say('chat', '@fail stall\n@say abc'))),
        /fell silent for 100 ms inside its answer/,
      );
      const slow = await ask(model, say('chat', '@between 20\n@stream 12\n@say slow but steady'));
      assert.equal(slow.text, 'slow but steady');
    }));

  test('a port where nobody listens, a name that does not exist, an address that never answers', async () => {
    const model = createModel({ tickMs: 20, patience: { connectMs: 80 } });
    const at = async (baseUrl: string): Promise<string> => {
      model.setProvider({ name: 'far', dialect: 'chat', baseUrl, keyless: true });
      const heard = await ask(model, say('far', 'hello'));
      assert.equal(kindOf(heard), 'cut');
      return messageOf(heard);
    };
    assert.match(await at('http://127.0.0.1:9/v1'), /Nothing listens at 127\.0\.0\.1:9 \(ECONNREFUSED\)/);
    assert.match(await at('https://127.0.0.1:9/v1'), /Nothing listens at 127\.0\.0\.1:9 \(ECONNREFUSED\)/);
    assert.match(await at('https://nowhere.invalid/v1'), /nowhere\.invalid/);
  });

  test('a TLS handshake that never comes is given up after its time', () =>
    withFixture({}, async (fixture) => {
      // The plain port reads what TLS says and waits for the rest of an HTTP request.
      const { createServer } = await import('node:net');
      const deaf = createServer((socket) => socket.on('error', () => socket.destroy())).listen(
        0,
        '127.0.0.1',
      );
      await until(() => deaf.listening);
      const address = deaf.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      const model = modelFor(fixture, { patience: { connectMs: 60 } }, `https://127.0.0.1:${port}`);
      assert.match(
        messageOf(await ask(model, say('anthropic', 'hello'))),
        /could not be reached \(ETIMEDOUT\)/,
      );
      deaf.close();
    }));
});

describe('what goes wrong inside an answer', () => {
  const table: readonly [string, string][] = [
    ['cut', 'cut'],
    ['drop', 'cut'],
    ['malformed', 'cut'],
    ['500', 'cut'],
    ['529', 'refused'],
    ['wrongKey', 'wrongKey'],
    ['noCredit', 'noCredit'],
    ['contextTooLong', 'contextTooLong'],
    ['413', 'contextTooLong'],
    ['modelUnknown', 'modelUnknown'],
    ['json', 'answer'],
    ['page', 'badRequest'],
  ];
  let fixture: Fixture;
  before(async () => {
    fixture = await startFixture({ key: 'right-key' });
  });
  after(() => fixture.close());
  for (const dialect of dialects) {
    test(`${dialect}: each failure is what it is, and the next try succeeds`, async () => {
      for (const origin of [fixture.tlsUrl, fixture.url]) {
        const model = modelFor(fixture, {}, origin);
        for (const [fault, expected] of table) {
          const text = `${origin} ${dialect}\n@fail ${fault}\n@say all of it, in several pieces`;
          assert.equal(kindOf(await ask(model, say(dialect, text))), expected, `${fault} over ${origin}`);
          assert.equal((await ask(model, say(dialect, text))).text, 'all of it, in several pieces');
        }
      }
      assert.deepEqual(fixture.violations(), []);
    });
  }

  test('an error event in mid-stream', async () => {
    const model = modelFor(fixture);
    const kinds = [];
    for (const dialect of dialects)
      kinds.push(kindOf(await ask(model, say(dialect, `${dialect}\n@fail streamError\n@say abcdef`))));
    // Overloaded, a gateway's 502, server_error.
    assert.deepEqual(kinds, ['refused', 'cut', 'cut']);
  });

  test('retry-after arrives in every form', async () => {
    const model = modelFor(fixture);
    for (const form of ['seconds', 'ms', 'date', 'reset', 'text']) {
      const before = Date.now();
      const { outcome } = await ask(model, say('chat', `${form}\n@fail 429 1 ${form}\n@say a`));
      assert.ok(outcome.kind === 'refused' && outcome.retryAtMs !== null, form);
      const waitMs = outcome.kind === 'refused' ? (outcome.retryAtMs ?? 0) - before : 0;
      assert.ok(500 <= waitMs && waitMs <= 5_000, `${form}: ${waitMs}`);
    }
    const { outcome } = await ask(model, say('chat', 'no time\n@fail 429 1 none\n@say a'));
    assert.deepEqual(outcome.kind === 'refused' && outcome.retryAtMs, null);
  });
});

test('a limit that is really kept refuses, and lets through what comes later', () =>
  withFixture({ limit: { perSecond: 50, burst: 3, retryAfter: 'ms', headers: true } }, async (fixture) => {
    const model = modelFor(fixture);
    const first = await Promise.all(
      Array.from({ length: 10 }, (_, n) => ask(model, say('chat', `@say ${n}`))),
    );
    const refused = first.flatMap(({ outcome }) =>
      outcome.kind === 'refused' ? [outcome.retryAtMs ?? 0] : [],
    );
    assert.ok(refused.length >= 5);
    await until(() => Date.now() >= Math.max(...refused));
    assert.equal(kindOf(await ask(model, say('chat', '@say later'))), 'answer');
  }));

describe('bodies', () => {
  test('are read from the store only as fast as the server takes them, and not kept (I6)', () =>
    withFixture({ silent: true, check: false }, async (fixture) => {
      const model = modelFor(fixture);
      const page: Item[] = [user('x'.repeat(60_000))];
      let served = 0;
      const pages = 200;
      const request = requestOf('chat/m', [], {
        pages: () => {
          let left = pages;
          return () => {
            if (left-- === 0) return null;
            served++;
            return page;
          };
        },
      });
      let most = 0;
      const cancel: Cancel = model.ask(request, () => assert.fail('nobody answers'));
      const sentBytes = (): number => fixture.stats().requestBytes;
      while (sentBytes() < pages * 60_000) {
        most = Math.max(most, served * 60_000 - sentBytes());
        await until(() => true);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal(served, pages);
      assert.ok(most < 2 * 1024 * 1024, `${most} bytes were ahead of the server`);
      cancel();
    }));

  test('an answer that comes before the body was read ends the sending', () =>
    withFixture({ key: 'another-key' }, async (fixture) => {
      for (const origin of [fixture.tlsUrl, fixture.url]) {
        const heard = await ask(modelFor(fixture, {}, origin), say('chat', 'x'.repeat(900_000)));
        assert.equal(kindOf(heard), 'wrongKey');
        assert.ok(!messageOf(heard).includes('right-key'), 'the key is not in the message');
      }
    }));
});

describe('giving up', () => {
  test('a cancelled request posts nothing more and frees its stream, in each phase', () =>
    withFixture({ silent: true }, async (fixture) => {
      const model = modelFor(fixture);
      for (const phase of ['before it starts', 'while it connects', 'while the model thinks']) {
        const cancel = model.ask(say('anthropic', phase), () => assert.fail('posted after cancel'));
        if (phase === 'while it connects') await new Promise((resolve) => setImmediate(resolve));
        if (phase === 'while the model thinks') await until(() => fixture.stats().inFlight === 1);
        cancel();
        cancel();
      }
      await until(() => fixture.stats().inFlight === 0);
    }));

  test('inside an answer', () =>
    withFixture({}, async (fixture) => {
      const model = modelFor(fixture);
      let deltas = 0;
      const cancel = model.ask(
        say('chat', '@between 10\n@stream 50\n@say one two three four five six seven'),
        () => {
          deltas++;
          cancel();
        },
      );
      await until(() => fixture.stats().abandoned === 1);
      assert.equal(deltas, 1);
    }));
});

describe('keys and places', () => {
  test('without a key nothing is sent; with a wrong one the server says so; with the right one it works', () =>
    withFixture({}, async (fixture) => {
      const model = modelFor(fixture);
      model.setKey('chat', null);
      assert.equal(model.lacks('chat/m'), 'key');
      assert.equal(kindOf(await ask(model, say('chat', '@say a'))), 'noKey');
      assert.equal(fixture.stats().requests, 0);
      model.setKey('chat', 'wrong-key');
      const heard = await ask(model, say('chat', '@say a'));
      assert.equal(kindOf(heard), 'wrongKey');
      assert.match(messageOf(heard), /HTTP 401: Incorrect API key provided: \[key\]/);
      model.setKey('chat', ' right-key\n');
      assert.equal(model.lacks('chat/m'), null);
      assert.equal(kindOf(await ask(model, say('chat', '@say a'))), 'answer');
      model.setKey('chat', 'two words');
      assert.equal(kindOf(await ask(model, say('chat', '@say a'))), 'wrongKey');
    }));

  test('the base URL moves with the key (case 54)', () =>
    withFixture({}, async (fixture) => {
      const model = createModel();
      model.setProvider({
        name: 'chat',
        dialect: 'chat',
        baseUrl: 'https://127.0.0.1:9/v1',
        caFile: fixture.caFile,
      });
      model.setKey('chat', 'right-key', `${fixture.tlsUrl}/v1`);
      assert.equal((await ask(model, say('chat', '@say moved'))).text, 'moved');
    }));

  test('a certificate that nobody vouches for is called that, not a missing key (case 179)', () =>
    withFixture({}, async (fixture) => {
      const model = createModel();
      model.setProvider({ name: 'chat', dialect: 'chat', baseUrl: `${fixture.tlsUrl}/v1`, keyless: true });
      const heard = await ask(model, say('chat', 'hello'));
      assert.equal(kindOf(heard), 'cut');
      assert.match(messageOf(heard), /certificate of localhost:\d+ is not trusted/);
    }));

  test('an authority file that cannot be read is named', () =>
    withFixture({}, async (fixture) => {
      const model = createModel();
      for (const baseUrl of [`${fixture.tlsUrl}/v1`]) {
        model.setProvider({
          name: 'chat',
          dialect: 'chat',
          baseUrl,
          keyless: true,
          caFile: '/nowhere/ca.pem',
        });
        assert.match(messageOf(await ask(model, say('chat', 'hello'))), /ca\.pem/);
      }
    }));

  test('what cannot be a model, a provider or an address is refused in words', async () => {
    const model = createModel();
    assert.equal(kindOf(await ask(model, requestOf('nobody/m', [user('hello')]))), 'modelUnknown');
    assert.equal(kindOf(await ask(model, requestOf('plain', [user('hello')]))), 'modelUnknown');
    model.setProvider({ name: 'odd', dialect: 'chat', baseUrl: 'localhost:8080', keyless: true });
    assert.match(messageOf(await ask(model, say('odd', 'hello'))), /"localhost:8080" is no base URL/);
  });

  test('a keyless server behind another path', () =>
    withFixture({}, async (fixture) => {
      fixture.setKey(null);
      const model = createModel();
      model.setProvider({
        name: 'local',
        dialect: 'anthropic',
        baseUrl: `${fixture.url}/v1/`,
        keyless: true,
      });
      assert.equal(model.lacks('local/m'), null);
      assert.equal((await ask(model, say('local', '@say hello'))).text, 'hello');
    }));
});

test('results of failed calls arrive as such in every dialect', () =>
  withFixture({}, async (fixture) => {
    const model = modelFor(fixture);
    for (const dialect of dialects) {
      const name = `${dialect}/m`;
      const items: Item[] = [user(`${dialect}\n@shell false`)];
      const first = await ask(model, requestOf(name, items));
      assert.ok(first.outcome.kind === 'answer');
      if (first.outcome.kind !== 'answer') return;
      const call = first.outcome.blocks.find((block) => block.kind === 'call');
      items.push(answer(name, first.outcome.blocks), result(call?.key ?? '', 'exit 1', false));
      assert.equal(
        (await ask(model, requestOf(name, items))).text,
        'Finished 1 calls.\n1 shell error: exit 1',
      );
    }
  }));

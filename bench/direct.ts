// The provider asked directly, without Roost: what it takes on its own is taken off what is measured through Roost.

import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import type { FixtureProcess } from './sidecar.ts';

/** A warm HTTP/2 session with the provider. */
export function openDirect(fixture: FixtureProcess): http2.ClientHttp2Session {
  return http2.connect(fixture.tlsUrl, { ca: readFileSync(fixture.caFile) });
}

/** One request with a one-word answer; milliseconds until its stream has ended. */
export async function askDirectly(session: http2.ClientHttp2Session): Promise<number> {
  const messages = [{ role: 'user', content: '@say hello' }];
  const body = JSON.stringify({ model: 'any', stream: true, messages });
  const beginMs = performance.now();
  await new Promise<void>((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/v1/chat/completions',
      'content-type': 'application/json',
    });
    stream.on('error', reject);
    stream.on('end', resolve);
    stream.resume();
    stream.end(body);
  });
  return performance.now() - beginMs;
}

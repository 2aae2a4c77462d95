// What has come of one answer: a stream of events, or a body that is read whole because it is no stream (an
// error, a JSON answer to a request for a stream, a web page). Bounded either way.

import type { Json } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';
import { isObject, type Decoder, type Step } from './dialect.ts';
import type { Headers } from './retryAfter.ts';
import { EventReader } from './sse.ts';

export class Answer {
  readonly status: number;
  readonly headers: Headers;
  private readonly decoder: Decoder;
  private reader: EventReader | null = null;
  private body: Buffer[] | null = null;
  private bodyBytes = 0;

  constructor(status: number, headers: Headers, decoder: Decoder) {
    this.status = status;
    this.headers = headers;
    this.decoder = decoder;
    if (this.isError) this.body = [];
  }

  get isError(): boolean {
    return this.status < 200 || 300 <= this.status;
  }

  /** HTML: a log-in page of a network, or something that is no model's server. */
  get isPage(): boolean {
    return this.body?.[0] !== undefined && this.body[0].toString('latin1').trimStart().startsWith('<');
  }

  read(bytes: Buffer): readonly Step[] {
    if (this.reader === null && this.body === null) this.begin(bytes);
    if (this.reader === null) {
      this.keep(bytes);
      return [];
    }
    const events = this.reader.read(bytes);
    if (events === null) return [brokenStep('An event of the stream is longer than 8 MB.')];
    return this.decode(events);
  }

  finish(): readonly Step[] {
    if (this.reader !== null) {
      const steps = this.decode(this.reader.finish());
      return steps.some((step) => step.kind === 'end')
        ? steps
        : [...steps, { kind: 'end', ending: this.decoder.end() }];
    }
    const body = bodyOf(Buffer.concat(this.body ?? []).toString('utf8'));
    if (this.isError) return [{ kind: 'end', ending: { kind: 'error', error: body } }];
    if (!isObject(body)) return [brokenStep('The server ended its answer without saying anything.')];
    return [{ kind: 'end', ending: this.decoder.whole(body) }];
  }

  /** The first byte tells a JSON body or a page from a stream, whatever the content type says (case 171). */
  private begin(bytes: Buffer): void {
    const first = bytes.toString('latin1', 0, 64).trimStart()[0];
    if (first === undefined) return;
    if (first === '{' || first === '[' || first === '<') this.body = [];
    else this.reader = new EventReader();
  }

  private keep(bytes: Buffer): void {
    const most = this.isError ? limits.errorBodyBytes : limits.streamEventBytes;
    if (this.body === null || this.bodyBytes > most) return;
    this.body.push(bytes);
    this.bodyBytes += bytes.length;
  }

  private decode(events: Iterable<{ readonly type: string; readonly data: string }>): readonly Step[] {
    const steps: Step[] = [];
    for (const event of events) {
      steps.push(...this.decoder.take(event));
      if (steps.at(-1)?.kind === 'end') break;
    }
    return steps;
  }
}

const brokenStep = (message: string): Step => ({ kind: 'end', ending: { kind: 'broken', message } });

function bodyOf(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return text;
  }
}

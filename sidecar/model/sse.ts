// Bytes of a stream to events. Any split of the bytes gives the same events, inside characters too; an event
// longer than its bound ends the stream with a message instead of growing.

import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import type { StreamEvent } from './dialect.ts';
import { limits } from '../runtime/limits.ts';

export class EventReader {
  private readonly utf8 = new StringDecoder('utf8');
  private readonly events: StreamEvent[] = [];
  private tooLong = false;
  private readonly parser = createParser({
    maxBufferSize: limits.streamEventBytes,
    onEvent: (event) => this.events.push({ type: event.event ?? '', data: event.data }),
    onError: (error) => {
      // Unknown fields and odd retry values are no matter of ours; the HTML standard says to skip them.
      if (error.type === 'max-buffer-size-exceeded') this.tooLong = true;
    },
  });

  /** Events completed by these bytes, in order; null when an event is longer than `limits.streamEventBytes`. */
  read(bytes: Buffer): readonly StreamEvent[] | null {
    if (this.tooLong) return null;
    this.events.length = 0;
    this.parser.feed(this.utf8.write(bytes));
    return this.tooLong ? null : this.events;
  }

  /** The event whose closing blank line never came, if it is otherwise complete: some servers leave it out. */
  finish(): readonly StreamEvent[] {
    if (this.tooLong) return [];
    this.events.length = 0;
    this.parser.feed(`${this.utf8.end()}\n\n`);
    return this.events;
  }
}

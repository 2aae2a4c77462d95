// What a command prints: one JSON object a line for programs, or text for people. Waits while the reader is slow,
// so that a long log does not pile up here, and ends quietly when the reader has gone (`roost follow | head`).

import { once } from 'node:events';
import process from 'node:process';

import type { Json } from '../protocol/json.ts';
import type { Failure } from './failure.ts';
import type { PrintedLine } from './lines.ts';
import { prettyLine } from './pretty.ts';

export class Printer {
  readonly #pretty: boolean;
  readonly #jsonErrors: boolean;

  constructor({ pretty, jsonErrors }: { readonly pretty: boolean; readonly jsonErrors: boolean }) {
    this.#pretty = pretty;
    this.#jsonErrors = jsonErrors;
    // EPIPE: whoever read this has what it wanted. The turn goes on.
    process.stdout.on('error', () => process.exit(0));
  }

  async print(line: PrintedLine): Promise<void> {
    const text = this.#pretty ? prettyLine(line) : `${JSON.stringify(line)}\n`;
    if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain');
  }

  /** A bare value: the only thing that a command prints. */
  json(value: Json): void {
    process.stdout.write(`${JSON.stringify(value, null, this.#pretty ? 2 : undefined)}\n`);
  }

  /** For a person who watches; programs do not read it. */
  note(text: string): void {
    process.stderr.write(`roost: ${text}\n`);
  }

  fail({ code, message }: Pick<Failure, 'code' | 'message'>): void {
    process.stderr.write(
      this.#jsonErrors ? `${JSON.stringify({ error: { code, message } })}\n` : `roost: ${message}\n`,
    );
  }
}

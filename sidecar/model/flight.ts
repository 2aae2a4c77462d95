// One request from `ask` to its outcome: its phases and their deadlines, the decoding of what comes, the one
// judgement at the end. While the model thinks, this object, a stream and an entry in one Set are all that a
// waiting agent has in memory; the decoder is made when the first byte comes.
//
//   opening ──► asked ──► answering ──► over
//     connection  first byte  between bytes  (after the answer: until the connection has ended)

import type { ModelEvent, ModelRequest } from '../ports.ts';
import type { ModelOutcome } from '../core/terms.ts';
import type { Block } from '../protocol/entry.ts';
import { limits } from '../runtime/limits.ts';
import { Answer } from './answer.ts';
import type { Deadlines, Due } from './deadlines.ts';
import type { Dialect, Ending, Pieces, Step, Target } from './dialect.ts';
import { limitsIn } from './rateLimits.ts';
import { judgeFailure } from './refusal.ts';
import type { Headers } from './retryAfter.ts';
import { Letter, type Ear, type Patience, type Wire } from './transport.ts';

/** What all requests to one provider share. */
export interface Line {
  readonly provider: string;
  readonly host: string;
  readonly dialect: Dialect;
  /** Of a request to a model. */
  readonly path: (model: string) => string;
  readonly headers: Readonly<Record<string, string>>;
  readonly key: string | null;
  readonly wire: Wire;
  readonly deadlines: Deadlines;
  readonly patience: Patience;
}

type Post = (event: ModelEvent) => void;

export class Flight implements Ear, Due {
  dueMs = Number.POSITIVE_INFINITY;
  private readonly line: Line;
  private readonly model: string;
  private readonly post: Post;
  /** Kept until the server answers: what was surely not looked at is asked again, from the same rows. */
  private request: ModelRequest | null;
  private phase: 'opening' | 'asked' | 'answering' | 'over' = 'opening';
  private reasks = 0;
  private sentChars = 0;
  private receivedBytes = 0;
  private giveUp: (() => void) | null = null;
  private answer: Answer | null = null;

  constructor(line: Line, request: ModelRequest, post: Post) {
    this.line = line;
    this.request = request;
    this.post = post;
    this.model = request.model.slice(request.model.indexOf('/') + 1);
  }

  /** Sends the request. Call it in a later turn of the loop than `ask`. */
  start(): void {
    const { request, line } = this;
    if (this.phase === 'over' || request === null) return;
    this.dueMs = line.deadlines.nowMs() + openingMs(line.patience);
    line.deadlines.add(this);
    this.sentChars = 0;
    const pieces = line.dialect.encode(request, this.target());
    this.giveUp = line.wire.open(new Letter(line.path(this.model), line.headers, this.counted(pieces)), this);
  }

  /** Nothing is posted after it. */
  cancel(): void {
    const { giveUp } = this;
    this.giveUp = null;
    this.leave();
    giveUp?.();
  }

  connected(): void {
    this.phase = 'asked';
    this.dueMs = this.line.deadlines.nowMs() + this.line.patience.firstByteMs;
  }

  head(status: number, headers: Headers): void {
    this.request = null;
    if (this.phase === 'over') return;
    this.tellLimits(headers);
    this.phase = 'answering';
    this.answer = new Answer(status, headers, this.line.dialect.decoder(this.target()));
    this.dueMs = this.line.deadlines.nowMs() + this.line.patience.betweenBytesMs;
  }

  private tellLimits(headers: Headers): void {
    const limits = limitsIn(headers, Date.now());
    if (limits.length === 0) return;
    const { deadlines, patience } = this.line;
    const askedMs = this.dueMs - patience.firstByteMs;
    const sinceMs = this.phase === 'asked' ? Math.max(0, deadlines.nowMs() - askedMs) : 0;
    this.post({ kind: 'limits', limits, sinceMs });
  }

  data(bytes: Buffer): void {
    this.receivedBytes += bytes.length;
    if (this.phase === 'over' || this.answer === null) return;
    this.dueMs = this.line.deadlines.nowMs() + this.line.patience.betweenBytesMs;
    if (this.receivedBytes > limits.answerStreamBytes) return this.breakOff('The answer grew past 64 MB.');
    this.play(this.answer.read(bytes));
  }

  done(): void {
    this.giveUp = null;
    this.line.deadlines.remove(this);
    if (this.phase !== 'over' && this.answer !== null) this.play(this.answer.finish());
  }

  lost(loss: { readonly message: string; readonly safe: boolean }): void {
    this.giveUp = null;
    this.line.deadlines.remove(this);
    if (this.phase === 'over') return;
    if (this.answer !== null && this.answer.isError) return this.play(this.answer.finish());
    if (loss.safe && this.request !== null && this.reasks < limits.safeReasks) {
      this.reasks++;
      this.phase = 'opening';
      setImmediate(() => this.start());
      return;
    }
    this.end({ kind: 'cut', receivedBytes: this.receivedBytes, message: loss.message });
  }

  expire(): void {
    const { firstByteMs, betweenBytesMs } = this.line.patience;
    switch (this.phase) {
      case 'opening':
        return this.breakOff(
          `There was no connection to ${this.line.host} in ${seconds(openingMs(this.line.patience))}.`,
        );
      case 'asked':
        return this.breakOff(`${this.line.host} was silent for ${seconds(firstByteMs)} after the request.`);
      case 'answering':
        return this.breakOff(
          `${this.line.host} fell silent for ${seconds(betweenBytesMs)} inside its answer.`,
        );
      case 'over':
        // The answer is told already; a server that keeps its stream open must not keep ours.
        this.line.deadlines.remove(this);
        return this.giveUp?.();
    }
  }

  private target(): Target {
    return { provider: this.line.provider, model: this.model, host: this.line.host };
  }

  /** A conversation that cannot be written ends its request: nobody above hears what is thrown while a body is sent. */
  private counted(pieces: Pieces): Pieces {
    return () => {
      try {
        const piece = pieces();
        this.sentChars += piece?.length ?? 0;
        return piece;
      } catch (error) {
        setImmediate(() => this.unwritable(error instanceof Error ? error.message : String(error)));
        return null;
      }
    };
  }

  private unwritable(why: string): void {
    if (this.phase === 'over') return;
    this.breakOff({
      kind: 'rejected',
      code: 'badRequest',
      message: `Roost could not write this conversation for ${this.line.provider} (${why}). Fork it before its last answer, or start anew.`,
    });
  }

  private play(steps: readonly Step[]): void {
    for (const step of steps) {
      if (this.phase === 'over') return;
      if (step.kind === 'end') this.end(this.judge(step.ending));
      else this.post(step);
    }
  }

  private judge(ending: Ending): ModelOutcome {
    switch (ending.kind) {
      case 'answer': {
        const { blocks, stop } = ending;
        if (blocks.length > limits.answerBlocks) return this.cut(`The answer has ${blocks.length} blocks.`);
        return { kind: 'answer', blocks, stop, usage: ending.usage ?? this.estimate(blocks) };
      }
      case 'broken':
        return this.answer?.isPage === true ? pageOutcome : this.cut(ending.message);
      case 'error':
        return judgeFailure({
          status: this.answer?.status ?? 200,
          headers: this.answer?.headers ?? {},
          body: ending.error,
          receivedBytes: this.receivedBytes,
          nowMs: Date.now(),
        });
    }
  }

  /** A server that never told its usage still used something (case 177): about four characters a token. */
  private estimate(blocks: readonly Block[]) {
    const chars = blocks.reduce(
      (sum, block) => sum + (block.kind === 'call' ? block.input : block.text).length,
      0,
    );
    return {
      input: Math.ceil(this.sentChars / 4),
      output: Math.ceil(chars / 4),
      cacheRead: 0,
      cacheWrite: 0,
    };
  }

  private cut(message: string): ModelOutcome {
    return { kind: 'cut', receivedBytes: this.receivedBytes, message };
  }

  private breakOff(why: string | ModelOutcome): void {
    const { giveUp } = this;
    this.giveUp = null;
    this.line.deadlines.remove(this);
    giveUp?.();
    this.end(typeof why === 'string' ? this.cut(why) : why);
  }

  private end(outcome: ModelOutcome): void {
    this.leave();
    this.post({ kind: 'end', outcome: this.withoutKey(outcome) });
  }

  /** Lets go of everything but the connection, which gets a moment to end by itself so that it can be used again. */
  private leave(): void {
    this.phase = 'over';
    this.request = null;
    this.answer = null;
    if (this.giveUp === null) this.line.deadlines.remove(this);
    else this.dueMs = this.line.deadlines.nowMs() + limits.afterAnswerMs;
  }

  /** Servers repeat a wrong key in what they say about it, and messages are stored. */
  private withoutKey(outcome: ModelOutcome): ModelOutcome {
    const { key } = this.line;
    if (outcome.kind === 'answer' || key === null) return outcome;
    return { ...outcome, message: outcome.message.replaceAll(key, '[key]') };
  }
}

const pageOutcome: ModelOutcome = {
  kind: 'rejected',
  code: 'badRequest',
  message:
    "A web page came instead of an answer. Check the provider's base URL, and whether the network asks for a log-in.",
};

/** Connections have deadlines of their own; this one is for requests that none of them would serve. */
const openingMs = (patience: Patience): number => patience.connectMs + patience.firstByteMs;

const seconds = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${Math.round(ms / 1_000)} s`);

// A connection to one server, as the pool uses it. Implemented by client.ts, which is loaded with the first server.

import type { Json, JsonObject } from '../../protocol/json.ts';

export interface Connection {
  /** Of the server's process; null for one that is reached by an address. */
  readonly pid: number | null;
  /** What the server calls itself. */
  readonly title: string;
  /** All tools, as the server lists them: not judged yet. */
  list(): Promise<readonly Json[]>;
  call(tool: string, input: JsonObject, how: CallOptions): Promise<JsonObject>;
  /** Ends the server, or leaves it. Safe to call twice. */
  close(): Promise<void>;
}

export interface CallOptions {
  /** Aborted when the call is given up; the server is told. */
  readonly signal: AbortSignal;
  /** The server says how far it is, in its words. */
  readonly progress: (text: string) => void;
}

export interface ConnectionEvents {
  /** The server is gone, and why as far as it is known; what was in flight is lost. Told once. */
  closed(why: string): void;
  /** The server offers other tools now. */
  listChanged(): void;
}

/** How a call went wrong. */
export type ProblemKind =
  /** The server has answered that it cannot. */
  | 'answered'
  /** It surely never began: asking again is safe. */
  | 'notSent'
  /** It was sent, and nobody knows what became of it. */
  | 'lost';

/**
 * A server's problem, whichever bundle has made it: the client is one of its own, with a class of its own. Null: the
 * error is none.
 */
export function problemOf(error: unknown): ServerProblem | null {
  if (error instanceof ServerProblem) return error;
  if (!(error instanceof Error) || error.name !== 'ServerProblem') return null;
  const kind: unknown = Reflect.get(error, 'kind');
  return new ServerProblem(kind === 'answered' || kind === 'notSent' ? kind : 'lost', error.message);
}

export class ServerProblem extends Error {
  readonly kind: ProblemKind;

  constructor(kind: ProblemKind, message: string) {
    super(message);
    this.name = 'ServerProblem';
    this.kind = kind;
  }
}

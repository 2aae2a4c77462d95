// How a command ends badly: a stable code, a sentence for the person, an exit code for the script.

import { ownedExitCode } from '../protocol/discovery.ts';

/** Wire codes of things that are not there: the caller named something wrong, as with wrong usage. */
const unknownThing = /^(usage|request\/invalid|request\/unknownMethod|[a-z]+\/unknown|turn\/none)$/;

export class Failure extends Error {
  /** A code of protocol/errors.ts, or `usage`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'Failure';
    this.code = code;
  }

  get exitCode(): number {
    if (this.code === 'store/owned') return ownedExitCode;
    return unknownThing.test(this.code) ? 2 : 1;
  }
}

/** The connection ended before the answer came. What was asked with a key can be asked again. */
export const isLost = (error: unknown): boolean => error instanceof Failure && error.code === 'sidecar/lost';

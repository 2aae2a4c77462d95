// Standard output and error of the sidecar. No frame ever travels on them, so whatever a dependency prints can
// at worst become a line of the log; and a reader that went away cannot end the process (case 186).
//
// Must be called before anything but this file is imported. Not here: the log itself.

import process from 'node:process';

export interface Output {
  /** Writes to the real standard output: for `--version` and `--self-test`, which are asked by people and programs. */
  print(text: string): void;
  /** From now on, what is printed by others goes here. Until then it goes to standard error. */
  collect(sink: (text: string) => void): void;
}

/** Takes standard output away from everybody else in this process. */
export function guardOutput(): Output {
  const print = process.stdout.write.bind(process.stdout);
  let sink = (text: string): void => void process.stderr.write(text);
  process.stdout.write = (chunk: string | Uint8Array, second?: unknown, third?: unknown): boolean => {
    sink(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8'));
    const done = typeof second === 'function' ? second : third;
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };
  // The client that started this process may be gone, and its pipe with it: EPIPE is nobody's business then.
  process.stdout.on('error', ignore);
  process.stderr.on('error', ignore);
  return {
    print: (text) => void print(text),
    collect: (next) => {
      sink = next;
    },
  };
}

function ignore(): void {
  // Nobody reads: nothing to do, and nowhere to say so.
}

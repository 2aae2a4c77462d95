// What the agents of the crash test do, in the language of the provider fixture, and what each of them leaves behind
// that can be counted from outside: a line for each command that ran, a file that was edited once.

/** Where the traces of a world are. */
export interface Traces {
  /** A file to which each command appends its call and its process. */
  readonly effects: string;
  /** A file to which the server appends the text of each call that acts: the serial number of its task. */
  readonly notes: string;
}

/** How a command ends: with a code that follows from its call. */
export const codeText = 'exit $((ROOST_CALL % 5))';

/** A command that notes itself, works for a while, and ends with a code that follows from its call. */
function command({ effects }: Traces, seconds: number): string {
  return `echo "$ROOST_CALL $$" >>${effects}; sleep ${seconds}; ${codeText}`;
}

/** The same in the background: one that ends within a second is none, and its result is there before it has ended. */
const backgroundCommand = ({ effects }: Traces, seconds: number): string =>
  `echo "$ROOST_CALL $$" >>${effects}; sleep ${seconds}`;

/** The exit code of a call's command. */
export const codeOf = (call: number): number => call % 5;

/** The file of an agent with hands, and what it must be in the end. */
export const fileName = (serial: number): string => `files/${serial}.txt`;
export const fileText = 'one\ntwo\nend\n';

const kinds = [
  'hands',
  'parent',
  'hands',
  'asker',
  'timed',
  'queued',
  'hands',
  'slow',
  'sleeper',
  'served',
  'behind',
] as const;
export type Kind = (typeof kinds)[number];

export const kindOf = (serial: number): Kind => kinds[serial % kinds.length] ?? 'hands';

/** The first message of an agent. */
export function taskOf(serial: number, traces: Traces): string {
  const title = `Task ${serial}.`;
  const brief = 0.15 * (serial % 4);
  const hands = handsOf(serial, traces, brief);
  switch (kindOf(serial)) {
    case 'hands':
      return lines(title, ...hands);
    case 'parent':
      return lines(title, `@spawn ${JSON.stringify(childrenOf(serial, traces))}`, '@wait', `@say ${serial}`);
    case 'asker':
      return lines(title, '@ask Which way?|left|right', `@shell ${command(traces, brief)}`, `@say ${serial}`);
    case 'timed':
      return lines(title, '@fail 500', `@shell ${command(traces, brief)}`, `@say ${serial}`);
    case 'queued':
      return lines(title, '@slow 150', `@shell ${command(traces, brief)}`, `@say ${serial}`);
    case 'slow':
      return lines(title, '@slow 2500', `@say ${serial}`);
    case 'served':
      return lines(title, `@call odd__note {"text":"${serial}"}`, '@call odd__peek {}', `@say ${serial}`);
    case 'behind':
      return lines(title, `@background ${backgroundCommand(traces, 2)}`, '@slow 400', `@say ${serial}`);
    case 'sleeper':
      return lines(title, `@shell ${command(traces, 3)}`, `@say ${serial}`);
  }
}

/** What is sent after the first message, to wait in the queue. */
export const followUps = (serial: number): readonly string[] =>
  kindOf(serial) === 'queued' ? [`@say ${serial} again`, `@say ${serial} and again`] : [];

function handsOf(serial: number, traces: Traces, seconds: number): readonly string[] {
  const name = fileName(serial);
  return [
    `@write ${name}|||one\\nend\\n`,
    `@shell ${command(traces, seconds)}`,
    `@edit ${name}|||end|||two\\nend`,
    '@parallel',
    `@read ${name}`,
    '@search end files',
    `@shell ${command(traces, seconds)}`,
    '@end',
    `@say ${serial}`,
  ];
}

function childrenOf(serial: number, traces: Traces): readonly string[] {
  return [0.05, 0.2, 0.6].map((seconds, index) =>
    lines(`Part ${index} of ${serial}.`, `@shell ${command(traces, seconds)}`, `@say ${serial}.${index}`),
  );
}

const lines = (...parts: readonly string[]): string => parts.join('\n');

// Commands that run in the background, as this process knows them: their end, their output, and who may look.
//
// The store says which there are; here is what is needed to look after them. One that has ended is kept a while, so
// that its output can still be read.

import type { AgentId } from '../../protocol/ids.ts';
import type { CommandOutput } from '../../protocol/command.ts';
import { limits } from '../../runtime/limits.ts';
import type { Commands } from './commands.ts';
import type { OutputPart } from './runs.ts';
import type { CommandEnd } from './watched.ts';

export interface Background {
  readonly call: number;
  readonly agent: AgentId;
  readonly title: string;
  /** Name of its record. */
  readonly record: string;
  readonly startedAtMs: number;
  /** How long it may run. */
  readonly runMs: number;
  /** How it ended; null: it runs. */
  readonly ended: CommandEnd | null;
  readonly end: Promise<CommandEnd>;
  /** Where the last read of its agent ended. */
  readTo: number;
  /** Ends it and what it has started. */
  stop(): void;
}

export type NewBackground = Omit<Background, 'ended' | 'readTo'>;

export interface Backgrounds {
  /** Why no more may be started for an agent, in words for it; null: one may. */
  full(agent: AgentId): string | null;
  keep(background: NewBackground): Background;
  find(call: number): Background | undefined;
  /** Those of an agent, oldest first, with those that have ended a short time ago. */
  of(agent: AgentId): readonly Background[];
  /** What one has printed after a place, at most the newest `bytes` of it. */
  output(background: Background, after: number, bytes: number): OutputPart;
  /** The same for people; null: there is none with this number. */
  shown(call: number, after: number): CommandOutput | null;
}

/** An empty list of commands, whose records `commands` has. */
export function createBackgrounds(commands: Commands | null): Backgrounds {
  const kept = new Map<number, Background>();
  const running = (): Background[] => [...kept.values()].filter((each) => each.ended === null);
  const output: Backgrounds['output'] = ({ record }, after, bytes) =>
    commands?.outputAfter(record, after, bytes) ?? { bytes: Buffer.alloc(0), skippedBytes: 0, next: after };
  return {
    full: (agent) => {
      const all = running();
      const own = all.filter((each) => each.agent === agent);
      if (own.length < limits.backgroundOfAgent && all.length < limits.backgroundCommands) return null;
      const names = own.map(({ call, title }) => `${call} (${title})`).join(', ');
      return own.length < limits.backgroundOfAgent
        ? `${all.length} commands of all agents run in the background already, the most that may. Run it in the foreground, or try again later.`
        : `${own.length} of your commands run in the background already, the most that may: ${names}. End one with the tool \`command\`.`;
    },
    keep: (background) => {
      let ended: CommandEnd | null = null;
      const entry: Background = {
        ...background,
        readTo: 0,
        get ended() {
          return ended;
        },
      };
      void background.end.then((end) => (ended = end));
      kept.set(background.call, entry);
      // The oldest that have ended make room.
      for (const [call, each] of kept) {
        if (kept.size <= 2 * limits.backgroundCommands) break;
        if (each.ended !== null) kept.delete(call);
      }
      return entry;
    },
    find: (call) => kept.get(call),
    of: (agent) =>
      [...kept.values()].filter(
        (each) => each.agent === agent && (each.ended === null || commands?.knows(each.record) === true),
      ),
    output,
    shown: (call, after) => {
      const background = kept.get(call);
      if (background === undefined) return null;
      const { bytes, skippedBytes, next } = output(background, after, limits.commandOutputBytes);
      return { text: bytes.toString('utf8'), skippedBytes, next, running: background.ended === null };
    },
  };
}

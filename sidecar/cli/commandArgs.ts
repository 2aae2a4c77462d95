// Command lines about commands that agents run in the background.

import { Failure } from './failure.ts';
import { need } from './values.ts';

export type CommandsCommand =
  | { readonly kind: 'commands'; readonly agent: string | null }
  | { readonly kind: 'commandOutput'; readonly command: number; readonly follow: boolean }
  | { readonly kind: 'commandKill'; readonly commands: readonly number[] };

export function parseCommands(
  values: { readonly follow?: boolean | undefined },
  [first, ...others]: readonly string[],
): CommandsCommand {
  if (first === undefined || first === 'ls') return { kind: 'commands', agent: others[0] ?? null };
  if (first === 'output') {
    return { kind: 'commandOutput', command: numberOf(others[0], 'output'), follow: values.follow === true };
  }
  if (first !== 'kill')
    throw new Failure('usage', `roost command: "${first}" is not known. Use ls, output or kill.`);
  need(others[0], 'command kill', 'the number of a command');
  return { kind: 'commandKill', commands: others.map((each) => numberOf(each, 'kill')) };
}

function numberOf(word: string | undefined, deed: string): number {
  const number = need(word, `command ${deed}`, 'the number of a command');
  if (/^\d{1,15}$/.test(number)) return Number(number);
  throw new Failure('usage', `roost command ${deed}: "${number}" is no number of a command.`);
}

// Command lines about what agents are told and how they are: profiles, trust, configure.

import type { Isolation, Mode } from '../protocol/agent.ts';
import { Failure } from './failure.ts';
import { need, oneOf } from './values.ts';

export type KnowledgeCommand =
  | {
      readonly kind: 'mcp';
      readonly workspace: string | null;
      readonly connect: boolean;
      /** Name of the server to end and start again; null: none. */
      readonly restart: string | null;
    }
  | { readonly kind: 'profiles'; readonly workspace: string | null }
  | {
      readonly kind: 'trust';
      readonly workspace: string | null;
      /** Null: list only. */
      readonly trusted: boolean | null;
      /** Labels or paths; empty: all that wait. */
      readonly files: readonly string[];
    }
  | {
      readonly kind: 'configure';
      readonly agent: string;
      readonly profile: string | null;
      readonly model: string | null;
      readonly mode: Mode | null;
      readonly isolation: Isolation | null;
    };

interface Values {
  readonly workspace?: string | undefined;
  readonly connect?: boolean | undefined;
  readonly allow?: boolean | undefined;
  readonly deny?: boolean | undefined;
  readonly profile?: string | undefined;
  readonly model?: string | undefined;
  readonly mode?: string | undefined;
  readonly isolation?: string | undefined;
}

/** Reads what follows one of these commands. */
export function parseKnowledge(
  name: 'profiles' | 'mcp' | 'trust' | 'configure',
  values: Values,
  words: readonly string[],
): KnowledgeCommand {
  switch (name) {
    case 'profiles':
      return { kind: 'profiles', workspace: values.workspace ?? null };
    case 'mcp':
      return parseServers(values, words);
    case 'trust':
      return parseTrust(values, words);
    case 'configure':
      return parseConfigure(values, words);
  }
}

function parseServers(values: Values, [deed, name]: readonly string[]): KnowledgeCommand {
  const common = {
    kind: 'mcp',
    workspace: values.workspace ?? null,
    connect: values.connect === true,
  } as const;
  if (deed === undefined) return { ...common, restart: null };
  if (deed === 'restart') return { ...common, restart: need(name, 'mcp restart', 'a server') };
  throw new Failure('usage', `roost mcp: "${deed}" is not known. Use restart, or nothing to list them.`);
}

function parseTrust(values: Values, files: readonly string[]): KnowledgeCommand {
  const { allow, deny } = values;
  if (allow === true && deny === true)
    throw new Failure('usage', 'roost trust: --allow or --deny, not both.');
  const trusted = allow === true ? true : deny === true ? false : null;
  if (trusted === null && files.length > 0)
    throw new Failure('usage', 'roost trust: say --allow or --deny for the files that you name.');
  return { kind: 'trust', workspace: values.workspace ?? null, trusted, files };
}

function parseConfigure(values: Values, [agent]: readonly string[]): KnowledgeCommand {
  const { profile, model } = values;
  const isolation = parseIsolation(values);
  const mode = parseMode(values);
  if (profile === undefined && model === undefined && isolation === null && mode === null) {
    throw new Failure(
      'usage',
      'roost configure: name what to change: --profile, --model, --mode, --isolation.',
    );
  }
  return {
    kind: 'configure',
    agent: need(agent, 'configure', 'an agent'),
    profile: profile ?? null,
    model: model ?? null,
    mode,
    isolation,
  };
}

export const parseIsolation = ({ isolation }: Values): Isolation | null =>
  oneOf('--isolation', isolation, ['shared', 'worktree', 'readonly'] as const);
export const parseMode = ({ mode }: Values): Mode | null =>
  oneOf('--mode', mode, ['ask', 'edits', 'auto'] as const);

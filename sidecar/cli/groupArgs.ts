// Command lines about groups: one text for each of a list, the same task by several, putting them side by side, picking.

import type { Budget, Isolation, Mode } from '../protocol/agent.ts';
import type { Runner } from '../protocol/group.ts';
import { Failure } from './failure.ts';
import { parseIsolation, parseMode } from './knowledgeArgs.ts';
import { need, parseBudget, parseCount } from './values.ts';

/** What starting a fan-out and starting a race have in common; null: not said. */
export interface GroupOptions {
  readonly agent: string | null;
  readonly model: string | null;
  readonly workspace: string | null;
  readonly isolation: Isolation | null;
  readonly mode: Mode | null;
  readonly budget: Partial<Budget> | null;
  readonly parent: string | null;
  readonly schema: string | null;
  readonly detach: boolean;
}

export type GroupCommand =
  | (GroupOptions & {
      readonly kind: 'fan';
      readonly template: string;
      readonly items: readonly string[];
      /** File with an item a line, besides those; `-` is standard input. */
      readonly from: string | null;
      readonly profile: string | null;
      readonly atOnce: number | null;
    })
  | (GroupOptions & { readonly kind: 'race'; readonly text: string; readonly runners: readonly Runner[] })
  | { readonly kind: 'compare'; readonly agent: string }
  | { readonly kind: 'pick'; readonly agent: string; readonly winner: string };

type Text = string | undefined;

interface Values {
  readonly agent?: Text;
  readonly model?: Text;
  readonly workspace?: Text;
  readonly isolation?: Text;
  readonly mode?: Text;
  readonly budget?: Text;
  readonly parent?: Text;
  readonly schema?: Text;
  readonly profile?: Text;
  readonly items?: Text;
  readonly 'at-once'?: Text;
  readonly detach?: boolean | undefined;
  readonly with?: readonly string[] | undefined;
}

/** Reads what follows one of these commands. */
export function parseGroup(
  name: 'fan' | 'race' | 'compare' | 'pick',
  values: Values,
  [first, ...others]: readonly string[],
): GroupCommand {
  switch (name) {
    case 'fan':
      return {
        kind: 'fan',
        ...groupOptions(values),
        template: need(first, 'fan', 'a template with {item}'),
        items: others,
        from: values.items ?? null,
        profile: values.profile ?? null,
        atOnce: values['at-once'] === undefined ? null : parseCount('--at-once', values['at-once']),
      };
    case 'race': {
      const text = [need(first, 'race', 'a text'), ...others].join(' ');
      return { kind: 'race', ...groupOptions(values), text, runners: (values.with ?? []).map(parseRunner) };
    }
    case 'compare':
      return { kind: 'compare', agent: need(first, 'compare', 'a group') };
    case 'pick':
      return {
        kind: 'pick',
        agent: need(first, 'pick', 'a group'),
        winner: need(others[0], 'pick', 'the one to keep'),
      };
  }
}

function groupOptions(values: Values): GroupOptions {
  return {
    agent: values.agent ?? null,
    model: values.model ?? null,
    workspace: values.workspace ?? null,
    isolation: parseIsolation(values),
    mode: parseMode(values),
    budget: values.budget === undefined ? null : parseBudget(values.budget),
    parent: values.parent ?? null,
    schema: values.schema ?? null,
    detach: values.detach === true,
  };
}

/** `PROVIDER/MODEL`, `PROFILE`, or both as `PROFILE=PROVIDER/MODEL`. */
function parseRunner(text: string): Runner {
  const both = /^([\w.-]+)=(\S+\/\S+)$/.exec(text);
  if (both !== null) return { profile: both[1] ?? '', model: both[2] ?? '' };
  if (text.trim() === '' || text.includes('=')) {
    throw new Failure(
      'usage',
      `roost race --with ${text}: write PROVIDER/MODEL, PROFILE, or PROFILE=PROVIDER/MODEL.`,
    );
  }
  return text.includes('/') ? { model: text } : { profile: text };
}

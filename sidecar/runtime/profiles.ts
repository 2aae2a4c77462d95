// Profiles as agents are pinned to them: a revision is a shared blob, and one object in memory for all agents that
// are pinned to it, so that their requests start with the same bytes and cost their text once.

import { must } from '../core/assert.ts';
import {
  compose,
  findProfile,
  isolationBelow,
  pendingOf,
  profileNames as namesIn,
  unknownYet,
  wantedServers,
  type Choices,
  type Ground,
  type Pending,
  type Revision,
  type Server,
} from '../core/knowledge.ts';
import { usualProfile } from '../core/profile.ts';
import type { AgentRecord } from '../core/rows.ts';
import { utf8Bytes } from '../core/text.ts';
import { verbSpecs } from '../core/verbs.ts';
import type { Isolation } from '../protocol/agent.ts';
import type { ToolSpec } from '../ports.ts';
import { knowledgeOf, trustingIn } from './knowledge.ts';
import { limits } from './limits.ts';
import { offersIn } from './offers.ts';
import { remember, type Pin, type PinnedProfile } from './memory.ts';
import { sharedBlob } from './shared.ts';
import type { Step } from './step.ts';

/** What is asked of a pin: a profile in a folder. */
export interface PinWish {
  /** Row of `place`; 0: a folder that nobody has looked at. */
  readonly place: number;
  /** Null: the usual one. */
  readonly name: string | null;
  /** What whoever starts the agent has chosen; kept when the profile itself still waits for a person. */
  readonly choices?: Choices;
}

/**
 * The blob of a profile's present revision in a folder, written when it is new; null: there is no profile of this
 * name. A provisional one may be given to an agent, but no request is made with it (trust.ts).
 */
export function pinProfile(step: Step, { place, name, choices = {} }: PinWish): Pin | null {
  const wanted = name ?? usualProfile;
  const key = `${place}/${wanted}/${JSON.stringify(choices)}`;
  const known = step.pins.get(key);
  if (known !== undefined) return known;
  const ground = groundOf(step, place);
  const found = findProfile(ground.knowledge, ground.trusting, wanted);
  if (found.kind === 'none') return null;
  const revision =
    found.kind === 'found' ? compose(found.profile, ground, limits) : unknownYet(wanted, choices);
  const pin = { blob: sharedBlob(step, JSON.stringify(revision)), revision };
  step.pins.set(key, pin);
  return pin;
}

const groundOf = (step: Step, place: number): Ground => ({
  knowledge: knowledgeOf(step, place),
  trusting: trustingIn(step),
  offers: offersIn(step),
});

export interface Lack {
  /** What a person has to decide. */
  readonly pending: Pending;
  /** Servers that were never asked what they offer. */
  readonly unasked: readonly Server[];
}

/** What a revision of this profile is provisional for. */
export function lackOf(step: Step, place: number, name: string): Lack {
  const ground = groundOf(step, place);
  const found = findProfile(ground.knowledge, ground.trusting, name);
  const profile = found.kind === 'found' ? found.profile : null;
  const unasked =
    profile === null
      ? []
      : wantedServers(profile, ground).filter((server) => ground.offers(server) === undefined);
  return { pending: pendingOf(profile, ground.knowledge, ground.trusting), unasked };
}

/** Names of the profiles there are in a folder, for messages. */
export const profileNames = (step: Step, place: number): string =>
  namesIn(knowledgeOf(step, place), trustingIn(step)).join(', ');

/** Where the edits of an agent of this revision land, when nobody has said. */
export function landing(
  step: Step,
  parent: AgentRecord | null,
  { place, revision }: { readonly place: number; readonly revision: Revision },
): Isolation {
  const above = parent === null ? null : pinnedProfile(step, parent.profile).revision;
  return isolationBelow(above, revision, knowledgeOf(step, place));
}

/** The profile that an agent is pinned to. */
export function pinnedProfile(step: Step, blob: number): PinnedProfile {
  const known = step.rt.profiles.get(blob) ?? step.profiles.get(blob);
  if (known !== undefined) return known;
  const revision = readRevision(
    must(step.store.blobText(blob), 'a pinned profile is in the store', { blob }),
  );
  const own = [...step.rt.tools.specs, ...verbSpecs].filter((tool) => isOffered(revision, tool));
  // Those of servers last, so that agents with and without them share the beginning.
  const remote = revision.remotes.map(({ name, description, schema }) => ({ name, description, schema }));
  const tools = [...own, ...remote];
  const { system } = revision;
  const bytes = utf8Bytes(system) + utf8Bytes(JSON.stringify(tools));
  const pinned: PinnedProfile = { revision, system, tools, bytes };
  // In memory once it is committed: the blob of a step that is rolled back is given to another text.
  step.profiles.set(blob, pinned);
  step.after(() => remember(step.rt.profiles, blob, pinned, limits.profileRevisions));
  return pinned;
}

function isOffered({ tools, skills }: Revision, { name }: ToolSpec): boolean {
  if (name === 'skill') return skills.length > 0;
  // What is left out of a conversation can be read back by every agent: the text in its place says so.
  if (name === 'history') return true;
  // Whoever may start commands may look after those in the background.
  const needed = name === 'command' ? 'shell' : name;
  return tools === null || tools.includes(needed);
}

/** A stored revision; of an older build, which had neither skills nor a text put together beforehand. */
function readRevision(json: string): Revision {
  const stored: Partial<Revision> & { readonly name: string; readonly instructions?: string } =
    JSON.parse(json);
  return {
    name: stored.name,
    description: stored.description ?? '',
    system: stored.system ?? stored.instructions ?? '',
    tools: stored.tools ?? null,
    isolation: stored.isolation ?? 'shared',
    model: stored.model ?? null,
    mode: stored.mode ?? null,
    apart: stored.apart ?? false,
    skills: stored.skills ?? [],
    remotes: stored.remotes ?? [],
    servers: stored.servers ?? [],
    provisional: stored.provisional ?? false,
    ...(stored.choices === undefined ? {} : { choices: stored.choices }),
  };
}

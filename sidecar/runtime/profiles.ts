// Profiles in use: one object for all agents that are pinned to the same revision, so that their requests start
// with the same bytes and cost their text once.

import { must } from '../core/assert.ts';
import { hashText } from '../core/hash.ts';
import { builtInProfile, builtInProfiles, type Profile } from '../core/profile.ts';
import { utf8Bytes } from '../core/text.ts';
import { verbSpecs } from '../core/verbs.ts';
import type { PinnedProfile } from './memory.ts';
import type { Step } from './step.ts';

/** The blob of a profile's present revision, written when it is new; null: there is no profile of this name. */
export function pinProfile(
  step: Step,
  name: string,
): { readonly blob: number; readonly profile: Profile } | null {
  const profile = builtInProfile(name);
  if (profile === undefined) return null;
  const json = JSON.stringify(profile);
  const hash = hashText(json);
  const known = step.store.range('shared.hash', [hash], { limit: 1 })[0];
  if (known !== undefined) return { blob: known.blob, profile };
  const blob = step.store.putBlob(json);
  step.store.insert('shared', { hash, blob });
  return { blob, profile };
}

/** Names of the profiles there are, for messages. */
export const profileNames = (): string => builtInProfiles.map((profile) => profile.name).join(', ');

/** The profile that an agent is pinned to. */
export function pinnedProfile(step: Step, blob: number): PinnedProfile {
  const known = step.rt.profiles.get(blob);
  if (known !== undefined) return known;
  const profile = readProfile(must(step.store.blobText(blob), 'a pinned profile is in the store', { blob }));
  const offered = [...step.rt.tools.specs, ...verbSpecs];
  const { tools: names } = profile;
  const tools = names === null ? offered : offered.filter((tool) => names.includes(tool.name));
  const bytes = utf8Bytes(profile.instructions) + utf8Bytes(JSON.stringify(tools));
  const pinned: PinnedProfile = { profile, system: profile.instructions, tools, bytes };
  step.rt.profiles.set(blob, pinned);
  return pinned;
}

/** A stored profile. It was written by `pinProfile`, so its form is known; fields of a newer build are kept out. */
function readProfile(json: string): Profile {
  const stored: Profile = JSON.parse(json);
  const { name, description, instructions, tools, isolation, model } = stored;
  return { name, description, instructions, tools, isolation, model };
}

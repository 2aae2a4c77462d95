// Profiles and files of a folder for clients, and what has to be looked at before something is posted that rests on
// them: an agent is made with what its folder says now.

import { filesOf, findProfile, type KnownFile, type Knowledge, type Trusting } from '../core/knowledge.ts';
import { builtInProfiles, type Profile } from '../core/profile.ts';
import type { KnownFileRow, ProfileList, ProfileRow } from '../protocol/profile.ts';
import type { Reads } from '../ports.ts';

/** What `profile/list` gives of a folder that was just looked at. */
export function profileList(
  reads: Pick<Reads, 'trust'>,
  workspace: string,
  knowledge: Knowledge,
): ProfileList {
  const trusting: Trusting = ({ hash, own }) => (own ? 'trusted' : (reads.trust(hash) ?? 'pending'));
  const chosen = (name: string): Profile | null => {
    const found = findProfile(knowledge, trusting, name);
    return found.kind === 'found' ? found.profile : found.kind === 'pending' ? found.file.profile : null;
  };
  const fromFiles = knowledge.profiles.map((file) =>
    rowOf(file.profile, {
      source: file.label,
      state: trusting(file),
      hidden: chosen(file.profile.name) !== file.profile,
    }),
  );
  const builtIn = builtInProfiles.map((profile) =>
    rowOf(profile, { source: null, state: 'trusted', hidden: chosen(profile.name) !== profile }),
  );
  return {
    workspace,
    profiles: [...fromFiles, ...builtIn],
    files: filesOf(knowledge).map((file) => fileRow(file, trusting)),
    problems: knowledge.problems,
  };
}

function rowOf(profile: Profile, at: Pick<ProfileRow, 'source' | 'state' | 'hidden'>): ProfileRow {
  const { name, description, isolation, mode, model, tools } = profile;
  return { name, description, ...at, isolation, mode, model, tools };
}

function fileRow(file: KnownFile, trusting: Trusting): KnownFileRow {
  const { kind, label, path, hash, sizeBytes } = file;
  return { kind, label, path, hash, sizeBytes, state: trusting(file) };
}

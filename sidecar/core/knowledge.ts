// What a folder tells the agents that work in it: instructions, skills and profiles that its people keep as files,
// and what an agent is pinned to of all this when it is made.
//
// A file counts once a person has trusted exactly its bytes; what is personal (in the home of whoever runs Roost)
// is theirs already. The same profile, knowledge and verdicts give the same text byte for byte, so all agents of a
// profile send the same first bytes and a prompt cache serves them all. Not here: reading files, asking a person.

import type { Isolation, Mode } from '../protocol/agent.ts';
import type { KnownFileRow, TrustState } from '../protocol/profile.ts';
import {
  remoteTools,
  wantsServer,
  type Offer,
  type OfferLimits,
  type PinnedServer,
  type RemoteTool,
} from './offers.ts';
import { builtInProfiles, talkingTools, type Profile } from './profile.ts';
import { wellFormed } from './text.ts';

export type FileKind = KnownFileRow['kind'];

export interface KnownFile {
  readonly kind: FileKind;
  /** As people name it: relative to the top of the repository, or to the home directory with `~/`. */
  readonly label: string;
  /** Absolute. */
  readonly path: string;
  /** SHA-256, hex, of its kind and its bytes: what a person trusts. */
  readonly hash: string;
  readonly sizeBytes: number;
  /** It lies in the person's home: nobody is asked about it. */
  readonly own: boolean;
}

export interface Instructions extends KnownFile {
  readonly kind: 'instructions';
  readonly text: string;
}

/** Only its name and description are in the prompt; the rest is read when an agent asks for it. */
export interface Skill extends KnownFile {
  readonly kind: 'skill';
  readonly name: string;
  readonly description: string;
}

export interface ProfileFile extends KnownFile {
  readonly kind: 'profile';
  readonly profile: Profile;
}

/** A server whose tools agents may call (MCP), as a file defines it: without what may be secret in it. */
export interface Server extends KnownFile {
  readonly kind: 'server';
  readonly name: string;
  readonly transport: 'stdio' | 'http';
  /** The command that starts it, or its address. */
  readonly line: string;
  /** Names of the variables or headers that it is given. */
  readonly given: readonly string[];
}

/** A file that cannot be used, or only in part. */
export interface FileProblem {
  readonly label: string;
  /** What is wrong and what was done about it. */
  readonly message: string;
}

/** A folder at one moment. Lists are in order of precedence: of two things with one name the first counts. */
export interface Knowledge {
  /** Whether agents can have worktrees: the folder is in a repository. */
  readonly worktrees: boolean;
  readonly instructions: readonly Instructions[];
  readonly skills: readonly Skill[];
  readonly profiles: readonly ProfileFile[];
  readonly servers: readonly Server[];
  readonly problems: readonly FileProblem[];
}

/** A folder that says nothing. */
export const noKnowledge: Knowledge = {
  worktrees: false,
  instructions: [],
  skills: [],
  profiles: [],
  servers: [],
  problems: [],
};

/** What a person has said about a file. */
export type Trusting = (file: KnownFile) => TrustState;

/** What a person decides about. */
export type Trustable = Instructions | Skill | ProfileFile | Server;

/** All of a folder, in the order in which a person is shown them. */
export const filesOf = (knowledge: Knowledge): readonly Trustable[] => [
  ...knowledge.instructions,
  ...knowledge.profiles,
  ...knowledge.skills,
  ...knowledge.servers,
];

/** What an agent of this profile would be told or offered, and nobody has decided on: texts, and programs that are run. */
export interface Pending {
  readonly texts: readonly Trustable[];
  readonly servers: readonly Trustable[];
}

/** `profile` null: one whose own file is not decided on, so it is not known which servers it wants. */
export function pendingOf(
  profile: Pick<Profile, 'servers'> | null,
  knowledge: Knowledge,
  trusting: Trusting,
): Pending {
  const pending = filesOf(knowledge).filter((file) => trusting(file) === 'pending');
  return {
    texts: pending.filter((file) => file.kind !== 'server'),
    servers: pending.filter(
      (file) => file.kind === 'server' && profile !== null && wantsServer(profile.servers, file.name),
    ),
  };
}

export type ProfileFound =
  | { readonly kind: 'found'; readonly profile: Profile }
  /** A file defines it that nobody has decided on. */
  | { readonly kind: 'pending'; readonly file: ProfileFile }
  | { readonly kind: 'none' };

/** The profile of a name: the first file that has it and was not refused, else the built-in one. */
export function findProfile(knowledge: Knowledge, trusting: Trusting, name: string): ProfileFound {
  for (const file of knowledge.profiles) {
    if (file.profile.name !== name) continue;
    const state = trusting(file);
    if (state === 'trusted') return { kind: 'found', profile: file.profile };
    if (state === 'pending') return { kind: 'pending', file };
  }
  const profile = builtInProfiles.find((each) => each.name === name);
  return profile === undefined ? { kind: 'none' } : { kind: 'found', profile };
}

/** Names that a profile may be asked for by, built-in ones last. */
export function profileNames(knowledge: Knowledge, trusting: Trusting): readonly string[] {
  const usable = knowledge.profiles.filter((file) => trusting(file) !== 'denied');
  return [
    ...new Set([...usable.map((file) => file.profile.name), ...builtInProfiles.map(({ name }) => name)]),
  ];
}

/** How an agent is to be, as far as whoever starts it has said so. */
export interface Choices {
  readonly isolation?: Isolation;
  readonly model?: string;
  readonly mode?: Mode;
}

/** What a server offered when it was asked last; undefined: it was never asked, or not since its definition changed. */
export type Offers = (server: Server) => Offer | undefined;

export interface PinnedSkill {
  readonly name: string;
  readonly path: string;
  /** The bytes that were trusted; a file that is another by now is not read. */
  readonly hash: string;
}

/** What an agent is pinned to: all that decides the first bytes of its requests, and how it is made. */
export interface Revision {
  readonly name: string;
  readonly description: string;
  readonly system: string;
  readonly tools: readonly string[] | null;
  readonly isolation: Isolation;
  readonly model: string | null;
  readonly mode: Mode | null;
  readonly apart: boolean;
  readonly skills: readonly PinnedSkill[];
  /** Tools of servers, as they were offered when the agent was made; and the servers that they are of. */
  readonly remotes: readonly RemoteTool[];
  readonly servers: readonly PinnedServer[];
  /** A person has not decided on all files yet, or a server was never asked what it offers: no request is made with it. */
  readonly provisional: boolean;
  /** Its very profile waits for a person; then the agent becomes what that says, but for these. */
  readonly choices?: Choices;
}

/** A folder as agents are made in it: what is there, what a person has decided, what servers have offered. */
export interface Ground {
  readonly knowledge: Knowledge;
  readonly trusting: Trusting;
  readonly offers: Offers;
}

/** The trusted servers that a profile wants. */
export const wantedServers = (
  profile: Pick<Profile, 'servers'>,
  { knowledge, trusting }: Ground,
): readonly Server[] =>
  firstByName(knowledge.servers.filter((server) => trusting(server) === 'trusted')).filter((server) =>
    wantsServer(profile.servers, server.name),
  );

/** What a profile becomes in a folder. */
export function compose(profile: Profile, ground: Ground, limits: OfferLimits): Revision {
  const { knowledge, trusting, offers } = ground;
  const trusted = (file: KnownFile): boolean => trusting(file) === 'trusted';
  const skills = firstByName(knowledge.skills.filter(trusted));
  const wanted = wantedServers(profile, ground);
  const offered = wanted.flatMap((server) => {
    const offer = offers(server);
    return offer === undefined ? [] : [{ server: pinnedServer(server), offer }];
  });
  const remotes = remoteTools(offered, profile.servers, limits).tools;
  const pending = pendingOf(profile, knowledge, trusting);
  const { name, description, isolation, model, mode, apart } = profile;
  const parts = [
    profile.instructions,
    instructionsPart(knowledge.instructions.filter(trusted)),
    skillsPart(skills),
    mayStart(profile) ? profilesPart(knowledge.profiles.filter(trusted)) : '',
  ];
  return {
    name,
    description,
    system: wellFormed(parts.filter((part) => part !== '').join('\n\n')),
    tools: profile.tools === null ? null : [...new Set([...profile.tools, ...talkingTools])],
    isolation,
    model,
    mode,
    apart,
    skills: skills.map(({ name: skill, path, hash }) => ({ name: skill, path, hash })),
    remotes,
    servers: offered
      .map(({ server }) => server)
      .filter(({ hash }) => remotes.some((tool) => tool.server === hash)),
    provisional: pending.texts.length > 0 || pending.servers.length > 0 || offered.length < wanted.length,
  };
}

/** What an agent is pinned to whose very profile waits for a person. */
export const unknownYet = (name: string, choices: Choices): Revision => ({
  name,
  description: '',
  system: '',
  tools: [],
  isolation: 'readonly',
  model: null,
  mode: null,
  apart: false,
  skills: [],
  remotes: [],
  servers: [],
  provisional: true,
  choices,
});

const mayStart = ({ tools }: Profile): boolean => tools === null || tools.includes('spawn_agent');

const pinnedServer = ({ name, hash, path }: Server): PinnedServer => ({ name, hash, path });

function firstByName<T extends { readonly name: string }>(all: readonly T[]): readonly T[] {
  const first = new Map<string, T>();
  for (const each of all) if (!first.has(each.name)) first.set(each.name, each);
  return [...first.values()];
}

function instructionsPart(files: readonly Instructions[]): string {
  if (files.length === 0) return '';
  const texts = files.map(({ label, text }) => `## ${label}\n\n${text.trim()}`);
  return `# Instructions of this project\n\nIts people wrote these for everybody who works here. What a task says goes before them.\n\n${texts.join('\n\n')}`;
}

function skillsPart(skills: readonly Skill[]): string {
  if (skills.length === 0) return '';
  const lines = skills.map(({ name, description }) => `- ${name}: ${description}`);
  return `# Skills\n\nBefore you do what one of these is about, read it with the tool \`skill\`.\n\n${lines.join('\n')}`;
}

function profilesPart(files: readonly ProfileFile[]): string {
  if (files.length === 0) return '';
  const lines = files.map(({ profile }) => `- ${profile.name}: ${profile.description}`);
  return `# Profiles of this project\n\nBesides the usual ones, spawn_agent takes these.\n\n${lines.join('\n')}`;
}

const modes: readonly Mode[] = ['ask', 'edits', 'auto'];

/**
 * Where the edits of an agent land when nobody has said: as its profile says; and in a worktree of its own when
 * whoever starts it wants its agents to work apart, and there can be one.
 */
export function isolationBelow(
  parent: Pick<Revision, 'apart'> | null,
  { isolation }: Pick<Revision, 'isolation'>,
  { worktrees }: Pick<Knowledge, 'worktrees'>,
): Isolation {
  return isolation === 'shared' && parent?.apart === true && worktrees ? 'worktree' : isolation;
}

/** The mode of an agent that another starts: what its profile says, but never more than its parent may. */
export function modeBelow(parent: Mode, profile: Mode | null): Mode {
  if (profile === null) return parent;
  return modes.indexOf(profile) < modes.indexOf(parent) ? profile : parent;
}

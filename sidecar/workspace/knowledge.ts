// Reads what a folder tells agents: AGENTS.md and its like from the top of the repository down to the folder,
// skills, and profiles of Roost, Claude Code and GitHub Copilot; and what the person keeps in their home.
//
// Promises: nothing is run and nothing is written; every file is read whole, within bounds, through the fence (a
// link that leads out of the repository is not followed); the same files give the same result, in the same order.
// Not here: whether a person trusts them (the runtime's rows), what an agent is told of it (core/knowledge.ts).

import { createHash } from 'node:crypto';
import { readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import type {
  FileKind,
  FileProblem,
  Instructions,
  KnownFile,
  Knowledge,
  ProfileFile,
  Server,
  Skill,
} from '../core/knowledge.ts';
import { noKnowledge } from '../core/knowledge.ts';
import { firstLine } from '../core/text.ts';
import { limits } from '../runtime/limits.ts';
import { headInBytes, shownText } from './bytes.ts';
import { messageOf, readWhole } from './files.ts';
import { readFrontmatter } from './frontmatter.ts';
import { within } from './paths.ts';
import { readProfile } from './profileFile.ts';
import { repositoryTop } from './repository.ts';
import { definitionProblem, folderOf, serverHash, serversIn, summaryOf } from './serverFile.ts';

export interface KnowledgeOptions {
  /** The person's home directory; null: there is none to look into. */
  readonly home: string | null;
  /** Names of the tools that a profile may list. */
  readonly tools: () => readonly string[];
  /** Files of servers that the person has named, absolute. */
  readonly serverFiles: () => readonly string[];
}

/**
 * Looks at a folder (absolute, links resolved). Never older than the call: many calls at once share one look that
 * begins after the last of them.
 */
export type Look = (workspace: string) => Promise<Knowledge>;

export function createLook(options: KnowledgeOptions): Look {
  /** The look that runs, by folder, and the one that begins when it has ended, for who asks meanwhile. */
  const running = new Map<string, { next: Promise<Knowledge> | null; readonly done: Promise<unknown> }>();
  const begin = (workspace: string): Promise<Knowledge> => {
    const knowledge = look(workspace, options).catch(notSeen);
    const done = knowledge.then(() => void running.delete(workspace));
    running.set(workspace, { next: null, done });
    return knowledge;
  };
  return (workspace) => {
    const now = running.get(workspace);
    if (now === undefined) return begin(workspace);
    now.next ??= now.done.then(() => begin(workspace));
    return now.next;
  };
}

/** A look that failed as a whole says so, like a file that cannot be read: agents are made all the same. */
const notSeen = (error: unknown): Knowledge => ({
  ...noKnowledge,
  problems: [{ label: '.', message: `the folder could not be looked at: ${messageOf(error)}` }],
});

/** What a person trusts: these bytes, as a file of this kind. */
export const trustHash = (kind: FileKind, bytes: Uint8Array): string =>
  createHash('sha256').update(`${kind}\0`).update(bytes).digest('hex');

/** A folder in which files are looked for. */
interface Ground {
  readonly folder: string;
  /** Files must lie in it, links resolved; labels are relative to it. */
  readonly fence: string;
  readonly own: boolean;
}

/** A look while it is made: what was found, and the room that is left. */
class Looking {
  readonly problems: FileProblem[] = [];
  /** Bytes of instructions that may still be told. */
  instructionsLeft: number = limits.instructionsTotalBytes;
  profilesLeft: number = limits.profilesTotalBytes;

  problem(label: string, message: string): void {
    if (this.problems.length < limits.knowledgeProblems) this.problems.push({ label, message });
  }

  /** A file's bytes through the fence; null when there is none, or it may not be read, which is then a problem. */
  async read(
    ground: Ground,
    relative: string,
    kind: FileKind,
  ): Promise<(KnownFile & { text: string }) | null> {
    const file = path.join(ground.folder, relative);
    const label = labelOf(ground, file);
    const real = await realpath(file).catch(() => null);
    if (real === null) return null;
    if (within(ground.fence, real) === null) {
      this.problem(label, `it is a link to ${real}, outside the repository, and is left out`);
      return null;
    }
    const found = await readWhole(real, limits.knowledgeFileBytes);
    if (found.kind === 'missing') return null;
    if (found.kind === 'refused') {
      this.problem(label, `it is left out: ${found.text}`);
      return null;
    }
    const hash = trustHash(kind, found.bytes);
    const { own } = ground;
    return {
      kind,
      label,
      path: real,
      hash,
      sizeBytes: found.bytes.length,
      own,
      text: shownText(found.bytes),
    };
  }
}

function labelOf(ground: Ground, file: string): string {
  const relative = path.relative(ground.fence, file).split(path.sep).join('/');
  return ground.own ? `~/${relative}` : relative;
}

async function look(workspace: string, options: KnowledgeOptions): Promise<Knowledge> {
  const top = await repositoryTop(workspace);
  const fence = top ?? workspace;
  const home: Ground[] =
    options.home === null ? [] : [{ folder: options.home, fence: options.home, own: true }];
  const line = foldersBetween(fence, workspace).map((folder) => ({ folder, fence, own: false }));
  // Nearest first: what a folder says itself goes before what lies above it, and all of that before the home.
  const grounds: Ground[] = [...line.toReversed(), ...home];
  const looking = new Looking();
  const instructions = await instructionsIn(looking, [...home, ...line]);
  return {
    worktrees: top !== null,
    instructions,
    skills: await skillsIn(looking, grounds),
    profiles: await profilesIn(looking, grounds, options.tools()),
    servers: await serversOf(looking, { grounds, workspace, files: options.serverFiles() }),
    problems: looking.problems,
  };
}

/** The folders from `top` down to `folder`, both included. */
function foldersBetween(top: string, folder: string): string[] {
  const parts = (within(top, folder) ?? '.').split('/').filter((part) => part !== '.');
  return [top, ...parts.map((_part, index) => path.join(top, ...parts.slice(0, index + 1)))];
}

async function instructionsIn(looking: Looking, grounds: readonly Ground[]): Promise<Instructions[]> {
  const found: Instructions[] = [];
  for (const ground of grounds) {
    const names = ground.own
      ? ['.roost/AGENTS.md']
      : ground.folder === ground.fence
        ? ['AGENTS.md', '.github/copilot-instructions.md', 'CLAUDE.md']
        : ['AGENTS.md', 'CLAUDE.md'];
    for (const name of names) {
      const file = await looking.read(ground, name, 'instructions');
      if (file === null || file.text.trim() === '' || isImport(file.text)) continue;
      // CLAUDE.md is often a copy of AGENTS.md or a link to it.
      if (found.some((other) => other.text.trim() === file.text.trim())) continue;
      const text = cut(looking, file);
      if (text !== '') found.push({ ...file, kind: 'instructions', text });
    }
  }
  return found;
}

/** CLAUDE.md of a project that keeps AGENTS.md: it says to read that one, and it has been read. */
const isImport = (text: string): boolean => /^\s*@(\.\/)?AGENTS\.md\s*$/.test(text);

/** What of a file's text is told: prompts are paid for with each request. */
function cut(looking: Looking, file: KnownFile & { text: string }): string {
  const room = Math.min(limits.instructionsBytes, looking.instructionsLeft);
  const sizeBytes = Buffer.byteLength(file.text);
  looking.instructionsLeft -= Math.min(sizeBytes, room);
  if (sizeBytes <= room) return file.text;
  looking.problem(file.label, `it has ${sizeBytes} bytes, and the first ${room} of them are told to agents`);
  const head = headInBytes(file.text, room);
  return head === '' ? '' : `${head}\n[roost: the rest of ${file.label} is left out here; read the file]`;
}

/** Where files of a kind lie below a ground, and how they are named there. */
interface Shelf {
  readonly kind: FileKind;
  readonly folders: readonly string[];
  /** The file that a name in such a folder stands for; null: none. */
  readonly file: (name: string) => string | null;
}

const skillShelf: Shelf = {
  kind: 'skill',
  folders: ['.roost/skills', '.claude/skills', '.github/skills', '.agents/skills'],
  file: (name) => path.join(name, 'SKILL.md'),
};

const profileShelf: Shelf = {
  kind: 'profile',
  folders: ['.roost/agents', '.claude/agents', '.github/agents'],
  file: (name) => (name.endsWith('.md') ? name : null),
};

interface Shelved {
  readonly name: string;
  readonly file: KnownFile & { text: string };
}

/** The files of a shelf, those of the first ground first. */
async function* filesOn(looking: Looking, grounds: readonly Ground[], shelf: Shelf): AsyncGenerator<Shelved> {
  for (const ground of grounds) {
    for (const folder of shelf.folders) {
      for (const name of await namesIn(path.join(ground.folder, folder))) {
        const relative = shelf.file(name);
        if (relative === null) continue;
        const file = await looking.read(ground, path.join(folder, relative), shelf.kind);
        if (file !== null) yield { name, file };
      }
    }
  }
}

async function skillsIn(looking: Looking, grounds: readonly Ground[]): Promise<Skill[]> {
  const skills: Skill[] = [];
  for await (const { name, file } of filesOn(looking, grounds, skillShelf)) {
    if (limits.skills <= skills.length) {
      looking.problem(file.label, `there are more than ${limits.skills} skills, it is left out`);
      break;
    }
    const skill = await skillOf(file, name);
    if (typeof skill === 'string') looking.problem(file.label, `it is left out: ${skill}`);
    else skills.push(skill);
  }
  return skills;
}

async function skillOf(file: KnownFile & { text: string }, folder: string): Promise<Skill | string> {
  const read = await readFrontmatter(file.text);
  if (typeof read === 'string') return read;
  const { name = folder, description } = read.fields;
  if (typeof name !== 'string' || !/^[\w.-]{1,64}$/.test(name)) {
    return 'its name must be 1 to 64 letters, digits, dots, - or _';
  }
  if (typeof description !== 'string' || description.trim() === '') {
    return 'without a description nobody knows when to use it';
  }
  const { text: _body, ...known } = file;
  const line = description.replaceAll(/\s+/g, ' ');
  return { ...known, kind: 'skill', name, description: firstLine(line, limits.descriptionChars) };
}

async function profilesIn(
  looking: Looking,
  grounds: readonly Ground[],
  offered: readonly string[],
): Promise<ProfileFile[]> {
  const profiles: ProfileFile[] = [];
  for await (const { name, file } of filesOn(looking, grounds, profileShelf)) {
    const room = looking.profilesLeft - file.sizeBytes;
    if (room < 0 || limits.profiles <= profiles.length) {
      looking.problem(file.label, 'there are too many profiles, or they are too long; it is left out');
      continue;
    }
    const { text, ...known } = file;
    const read = await readProfile({ stem: name.replace(/(\.agent)?\.md$/, ''), text, offered });
    if (typeof read === 'string') {
      looking.problem(file.label, `it is left out: ${read}`);
      continue;
    }
    for (const note of read.notes) looking.problem(file.label, note);
    looking.profilesLeft = room;
    profiles.push({ ...known, kind: 'profile', profile: read.profile });
  }
  return profiles;
}

interface ServerGrounds {
  readonly grounds: readonly Ground[];
  readonly workspace: string;
  readonly files: readonly string[];
}

async function serversOf(looking: Looking, { grounds, workspace, files }: ServerGrounds): Promise<Server[]> {
  const servers: Server[] = [];
  for await (const file of serverFiles(looking, grounds, files)) {
    const entries = serversIn(file.text);
    if (typeof entries === 'string') {
      looking.problem(file.label, `it is left out: ${entries}`);
      continue;
    }
    for (const entry of entries) {
      const problem =
        definitionProblem(entry) ??
        (limits.servers <= servers.length ? `there are more than ${limits.servers}` : null);
      const label = `${file.label}: ${entry.name}`;
      if (problem !== null) looking.problem(label, `the server is left out: ${problem}`);
      else {
        const hash = serverHash(entry, folderOf(entry, workspace, file.own));
        const { path: where, own } = file;
        const sizeBytes = Buffer.byteLength(JSON.stringify(entry.definition));
        servers.push({
          kind: 'server',
          label,
          path: where,
          hash,
          sizeBytes,
          own,
          name: entry.name,
          ...summaryOf(entry),
        });
      }
    }
  }
  return servers;
}

async function* serverFiles(
  looking: Looking,
  grounds: readonly Ground[],
  files: readonly string[],
): AsyncGenerator<KnownFile & { text: string }> {
  for (const ground of grounds) {
    const names = ground.own ? ['.roost/mcp.json'] : ['.roost/mcp.json', '.mcp.json', '.vscode/mcp.json'];
    for (const name of names) {
      const file = await looking.read(ground, name, 'server');
      if (file !== null) yield file;
    }
  }
  for (const named of files) {
    const folder = path.dirname(named);
    const file = await looking.read({ folder, fence: folder, own: true }, path.basename(named), 'server');
    if (file !== null) yield { ...file, label: named };
  }
}

/** Names in a folder, sorted so that the order never hangs on the file system; none when there is no folder. */
async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => !name.startsWith('.'))
    .sort()
    .slice(0, limits.knowledgeNames);
}

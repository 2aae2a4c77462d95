// A profile from a file of Roost, Claude Code or GitHub Copilot: fields before, instructions behind.
//
// Names of tools of the others become those that do the same here; what has no counterpart is left out and said.
// A field can only narrow what the person allows: none of them lets an agent act unasked that would have to ask.

import { delegatingTools, type Profile } from '../core/profile.ts';
import { firstLine, head } from '../core/text.ts';
import type { Isolation, Mode } from '../protocol/agent.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';
import { readFrontmatter } from './frontmatter.ts';

export interface ReadProfile {
  readonly profile: Profile;
  /** What was left out or changed. */
  readonly notes: readonly string[];
}

export interface ProfileText {
  /** Name of the file without its endings. */
  readonly stem: string;
  readonly text: string;
  /** Names of the tools there are. */
  readonly offered: readonly string[];
}

/** Reads a profile file. A text says why it is none. */
export async function readProfile({ stem, text, offered }: ProfileText): Promise<ReadProfile | string> {
  const read = await readFrontmatter(text);
  if (typeof read === 'string') return read;
  const { fields } = read;
  const notes: string[] = [];
  const name = textIn(fields, 'name') ?? stem;
  if (!/^[\w.-]{1,60}$/.test(name)) {
    return `"${head(name, 80)}" cannot be a name: use 1 to 60 letters, digits, dots, - or _`;
  }
  const instructions = read.body.trim();
  if (instructions === '') return 'it has no instructions behind its fields';
  const { tools, servers } = toolsOf(fields, offered, notes);
  const profile: Profile = {
    name,
    description: firstLine(textIn(fields, 'description') ?? instructions, limits.descriptionChars),
    instructions,
    tools,
    servers,
    isolation: isolationOf(fields, tools, notes),
    model: modelOf(fields, notes),
    mode: modeOf(fields, notes),
    apart: fields['apart'] === true,
  };
  return { profile, notes };
}

const textIn = (fields: JsonObject, name: string): string | null => {
  const value = fields[name];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
};

/** A list, or one text with commas as Claude Code writes it; null when the field is not there. */
function listIn(value: Json | undefined): readonly string[] | null {
  if (value === undefined || value === null) return null;
  const parts = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [];
  return parts.flatMap((part) => (typeof part === 'string' && part.trim() !== '' ? [part.trim()] : []));
}

/** Names that others give their tools, folded to small letters, and what does the same here. */
const counterparts: Readonly<Record<string, readonly string[]>> = {
  bash: ['shell'],
  execute: ['shell'],
  powershell: ['shell'],
  runcommands: ['shell'],
  runinterminal: ['shell'],
  runtasks: ['shell'],
  runtests: ['shell'],
  notebookread: ['read'],
  readfile: ['read'],
  view: ['read'],
  ls: ['read'],
  listdirectory: ['read'],
  multiedit: ['edit'],
  notebookedit: ['edit'],
  editfiles: ['edit', 'write'],
  createfile: ['write'],
  grep: ['search'],
  glob: ['search'],
  codebase: ['search'],
  filesearch: ['search'],
  textsearch: ['search'],
  problems: ['diagnostics'],
  usages: ['symbol'],
  lsp: ['diagnostics', 'symbol'],
  renamesymbol: ['rename'],
  task: delegatingTools,
  agent: delegatingTools,
  'custom-agent': delegatingTools,
  runsubagent: delegatingTools,
  askuserquestion: ['ask_user'],
  askquestions: ['ask_user'],
  sendmessage: ['send_message'],
  // Lists of things to do are kept in the conversation here.
  todo: [],
  todos: [],
  todowrite: [],
  todoread: [],
};

function toolsOf(
  fields: JsonObject,
  offered: readonly string[],
  notes: string[],
): Pick<Profile, 'tools' | 'servers'> {
  const listed = listIn(fields['tools']);
  const servers = listed === null || listed.includes('*') ? 'all' : listed.flatMap(remoteWish);
  const named = listed?.filter((tool) => remoteWish(tool).length === 0) ?? null;
  const known = (tool: string): readonly string[] => knownTools(tool, offered, notes);
  const refused = new Set((listIn(fields['disallowedTools']) ?? []).flatMap(known));
  if (named === null && refused.size === 0) return { tools: null, servers };
  const allowed = named === null || named.includes('*') ? offered : named.flatMap(known);
  // In GitHub's files `edit` stands for writing whole files too, and who may edit a file can write it anyway.
  const written = allowed.includes('edit') ? [...allowed, 'write'] : allowed;
  return { tools: [...new Set(written)].filter((tool) => !refused.has(tool)), servers };
}

/** `server/tool` and `server/*` as GitHub writes them, `mcp__server__tool` and `mcp__server` as Claude Code does. */
function remoteWish(tool: string): readonly string[] {
  const [, server = '', name = '*'] = /^mcp__(.+?)(?:__(.+))?$/.exec(tool) ?? [];
  if (server !== '') return [`${server}/${name}`];
  return /^[\w. -]+\/(\*|[^\s/]+)$/.test(tool) ? [tool] : [];
}

function knownTools(tool: string, offered: readonly string[], notes: string[]): readonly string[] {
  // `Bash(git diff:*)`: what of a command may run is decided by the person's rules, not by a file.
  const bare = tool.replace(/\(.*\)$/s, '');
  const folded = bare.toLowerCase();
  if (offered.includes(folded)) return [folded];
  const found = counterparts[folded];
  if (found !== undefined) return found;
  notes.push(`there is no tool "${head(bare, 60)}" here, it is left out`);
  return [];
}

const isolations = ['shared', 'worktree', 'readonly'] as const satisfies readonly Isolation[];
const modes = ['ask', 'edits', 'auto'] as const satisfies readonly Mode[];

/** A profile without any tool that changes something can do no harm to files, so it needs no place for its own. */
function isolationOf(fields: JsonObject, tools: readonly string[] | null, notes: string[]): Isolation {
  const named = textIn(fields, 'isolation');
  const found = isolations.find((each) => each === named);
  if (found !== undefined) return found;
  if (named !== null) notes.push(`isolation "${head(named, 40)}" is not one of ${isolations.join(', ')}`);
  if (textIn(fields, 'permissionMode') === 'plan') return 'readonly';
  return tools?.some((tool) => ['shell', 'edit', 'write', 'rename'].includes(tool)) === false
    ? 'readonly'
    : 'shared';
}

function modelOf(fields: JsonObject, notes: string[]): string | null {
  const named = listIn(fields['model'])?.[0] ?? null;
  if (named === null || named === 'inherit') return null;
  if (/^[^\s/]+\/\S+$/.test(named)) return named;
  notes.push(`model "${head(named, 60)}" is not provider/model, so the model of whoever starts it is used`);
  return null;
}

function modeOf(fields: JsonObject, notes: string[]): Mode | null {
  const named = textIn(fields, 'mode');
  const found = modes.find((each) => each === named);
  if (found !== undefined) return found;
  // In files of VS Code "mode" may be a kind of chat.
  const theirs = textIn(fields, 'permissionMode');
  if (theirs === 'acceptEdits') return 'edits';
  if (theirs === 'bypassPermissions' || theirs === 'dontAsk')
    notes.push(`permissionMode "${theirs}" is not taken from a file; start the agent with a mode`);
  return null;
}

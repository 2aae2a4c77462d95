// The tools `diagnostics` and `symbol`: what the person's own language servers say, asked through the editor window
// that has the folder open. Nothing is started for it; without a window the agent is told what else to do.
// Not here: what they would change (rename.ts).

import path from 'node:path';
import type { Prepared, ToolJob, ToolOutcome } from '../ports.ts';
import type { EditorMethods } from '../protocol/editorMethods.ts';
import type {
  CodeLocation,
  Diagnostic,
  Diagnostics,
  Locations,
  Renaming,
  Seek,
  Severity,
} from '../protocol/language.ts';
import { limits } from '../runtime/limits.ts';
import type { Buffers } from '../workspace/buffers.ts';
import type { Worktrees } from '../workspace/worktree.ts';
import { fieldsOf } from './fields.ts';
import { locate } from './locate.ts';
import type { Located } from './locate.ts';
import { failure, refuse, schemaOf } from './tool.ts';
import type { Tool } from './tool.ts';
import { editorPlace, ownLines } from './versions.ts';

/** The language servers of the editor windows; null: no window with this file answers. */
export interface Languages {
  /** Of a file, or of all files below a folder that the servers have spoken of. */
  diagnostics(file: string, most: number): Promise<Diagnostics | null>;
  locations(at: EditorMethods['editor/locations']['params']): Promise<Locations | null>;
  /** What a rename would change; nothing is changed (rename.ts). */
  rename(at: EditorMethods['editor/rename']['params']): Promise<Renaming | null>;
}

/** For a process without editors. */
export const noLanguages: Languages = {
  diagnostics: () => Promise.resolve(null),
  locations: () => Promise.resolve(null),
  rename: () => Promise.resolve(null),
};

export interface LanguageOptions {
  readonly languages: Languages;
  /** Lines are counted as `read` shows them: in the unsaved text where there is one. */
  readonly buffers: Buffers;
  readonly worktrees: Worktrees;
}

const noWindow =
  'No editor window with this folder answers, so its language servers cannot be asked. Run the project’s own checks with shell, or search for the name.';
const inWorktree =
  'The editor’s language servers know the person’s folder, and you have a worktree of your own. Run the project’s own checks there with shell, or search for the name.';

const notYours =
  'The servers know the person’s folder: what only your worktree has is not among these. search finds it.';

const diagnosticsSpec = {
  name: 'diagnostics',
  description:
    'Errors and warnings of the language servers in the person’s editor, for a file or for all below a folder. ' +
    'Quicker than a build after an edit; a folder shows only files that the editor has looked at.',
  schema: schemaOf(
    { path: { type: 'string', description: 'File or folder; the workspace when not given.' } },
    [],
  ),
};

const seeks: readonly Seek[] = ['definition', 'references', 'implementation'];

const symbolSpec = {
  name: 'symbol',
  description:
    'Finds by meaning, with the language servers in the person’s editor, where a name is defined, used or implemented.',
  schema: schemaOf(
    {
      find: { type: 'string', enum: [...seeks] },
      path: { type: 'string', description: 'A file in which the name stands.' },
      line: { type: 'integer', minimum: 1, description: 'The line it stands on, from 1.' },
      symbol: { type: 'string', description: 'The name, as it is written there.' },
    },
    ['find', 'path', 'line', 'symbol'],
  ),
};

/** The two tools. Pure: they are done again after a crash. */
export function createLanguageTools(options: LanguageOptions): readonly Tool[] {
  return [
    toolOf(diagnosticsSpec, (job) => diagnostics(options, job), diagnosticsInput),
    toolOf(symbolSpec, (job) => symbol(options, job), symbolInput),
  ];
}

function toolOf(
  spec: Tool['spec'],
  run: (job: ToolJob) => Promise<ToolOutcome>,
  inputOf: (job: ToolJob) => object | string,
): Tool {
  const prepare = (job: ToolJob): Prepared => {
    const input = inputOf(job);
    if (typeof input === 'string') return refuse(input);
    return { kind: 'run', evidence: null, ask: null, usesCommandSlot: false };
  };
  return {
    spec,
    callClass: 'pure',
    prepare: (job) => Promise.resolve(prepare(job)),
    run,
    recover: run,
  };
}

function diagnosticsInput(job: ToolJob): { readonly path: string } | string {
  const fields = fieldsOf('diagnostics', job.input);
  const given = fields.optionalWord('path');
  return fields.problem() ?? { path: given ?? '.' };
}

interface Symbol {
  readonly find: Seek;
  readonly path: string;
  readonly line: number;
  readonly symbol: string;
}

function symbolInput(job: ToolJob): Symbol | string {
  const fields = fieldsOf('symbol', job.input);
  const named = fields.word('find');
  const [file, name] = [fields.word('path'), fields.word('symbol')];
  const line = fields.optionalCount('line', { atLeast: 1, atMost: Number.MAX_SAFE_INTEGER });
  const problem = fields.problem();
  if (problem !== null) return problem;
  const find = seeks.find((each) => each === named);
  if (find === undefined) return `symbol: "find" is one of ${seeks.join(', ')}.`;
  if (line === null) return 'symbol needs "line", the line on which the name stands, from 1.';
  return name === '' ? 'symbol: "symbol" is empty.' : { find, path: file, line, symbol: name };
}

async function diagnostics({ languages, worktrees }: LanguageOptions, job: ToolJob): Promise<ToolOutcome> {
  const input = diagnosticsInput(job);
  if (typeof input === 'string') return failure(input);
  const located = await locate(worktrees, job, input.path);
  if (located.kind === 'refused') return failure(`diagnostics: ${located.text}`);
  if (located.isolated) return failure(`diagnostics: ${inWorktree}`);
  const said = await languages.diagnostics(located.read, limits.diagnosticsShown);
  if (said === null) return failure(`diagnostics: ${noWindow}`);
  if (said.diagnostics.length === 0) return { status: 'ok', text: noneIn(located, said) };
  const lines = said.diagnostics.map((each) => diagnosticLine(job, each));
  return { status: 'ok', text: [...lines, ...moreLine(said.more)].join('\n') };
}

function noneIn({ label }: Located, { unseen }: Diagnostics): string {
  if (!unseen) return `No errors or warnings in ${label}.`;
  return `No errors or warnings are known in ${label}. The person has it in no tab, and some language servers (TypeScript’s among them) check only files that are: run the project’s own check with shell to be sure.`;
}

async function symbol(options: LanguageOptions, job: ToolJob): Promise<ToolOutcome> {
  const { languages, buffers, worktrees } = options;
  const input = symbolInput(job);
  if (typeof input === 'string') return failure(input);
  const located = await locate(worktrees, job, input.path);
  if (located.kind === 'refused') return failure(`symbol: ${located.text}`);
  const { label, isolated } = located;
  const place = await editorPlace(buffers, located, { label, line: input.line, symbol: input.symbol });
  if (typeof place === 'string') return failure(`symbol: ${place}`);
  const { position } = place;
  const said = await languages.locations({
    path: located.person,
    position,
    find: input.find,
    most: limits.locationsShown,
  });
  if (said === null) return failure(`symbol: ${noWindow}`);
  if (said.locations.length === 0) {
    const text = `The language servers name no ${input.find} of ${input.symbol}. They may still be loading, or not know this language; search finds it by its text.`;
    return { status: 'ok', text };
  }
  const lines = isolated
    ? [...(await ownLocations(options, job, said.locations)), notYours]
    : said.locations.map((each) => locationLine(job, each));
  return { status: 'ok', text: [...lines, ...moreLine(said.more)].join('\n') };
}

/** The places as the agent has them: the servers speak of the person's versions of files. */
async function ownLocations(
  { buffers, worktrees }: LanguageOptions,
  job: ToolJob,
  found: readonly CodeLocation[],
): Promise<string[]> {
  const maps = new Map<string, (line: number) => number | null>();
  const lines: string[] = [];
  for (const each of found) {
    const located = await locate(worktrees, job, each.path);
    if (located.kind === 'refused') {
      lines.push(locationLine(job, each));
      continue;
    }
    const map = maps.get(located.person) ?? (await ownLines(buffers, located));
    maps.set(located.person, map);
    const line = map(each.range.start.line);
    const note = line === null ? ' (a line of the person’s version that yours has not)' : '';
    const at = (line ?? each.range.start.line) + 1;
    lines.push(`${located.label}:${at}${note}${each.text === null ? '' : `: ${each.text}`}`);
  }
  return lines;
}

const severities: Readonly<Record<Severity, string>> = { 1: 'error', 2: 'warning', 3: 'info', 4: 'hint' };

function diagnosticLine(
  job: ToolJob,
  { path: file, range, severity, message, source, code }: Diagnostic,
): string {
  const who = [source, code].filter((each) => each !== null).join(' ');
  const where = `${labelOf(job, file)}:${range.start.line + 1}:${range.start.character + 1}`;
  return `${where} ${severities[severity]}${who === '' ? '' : ` (${who})`}: ${message.replaceAll('\n', ' ')}`;
}

function locationLine(job: ToolJob, { path: file, range, text }: CodeLocation): string {
  return `${labelOf(job, file)}:${range.start.line + 1}${text === null ? '' : `: ${text}`}`;
}

/** Relative inside of the workspace, else as it is: a definition may lie in a library. */
function labelOf(job: ToolJob, file: string): string {
  const relative = path.relative(job.place.workspace, file);
  return relative.startsWith('..') || path.isAbsolute(relative) ? file : relative.replaceAll('\\', '/');
}

const moreLine = (more: number): string[] => (more === 0 ? [] : [`… and ${more} more.`]);

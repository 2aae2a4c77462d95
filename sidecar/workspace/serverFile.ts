// Files that define servers of tools (MCP): `.mcp.json` as Claude Code has it, `.vscode/mcp.json` of the editor,
// `.roost/mcp.json`. A definition often holds secrets, so what is kept and shown of it is its name, what it starts or
// where it is, and the names of its variables; the values are read from the file when the server is started, and only
// if the definition is the one that a person has trusted (case 219).

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse, printParseErrorCode, type ParseError } from 'jsonc-parser';
import type { Json, JsonObject } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';
import { readWhole } from './files.ts';
import { shownText } from './bytes.ts';

export interface ServerEntry {
  readonly name: string;
  readonly definition: JsonObject;
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The servers that a file defines, in its order; a text says what is wrong with the file. */
export function serversIn(text: string): readonly ServerEntry[] | string {
  const errors: ParseError[] = [];
  // Comments and trailing commas, as the editor allows them in its own files.
  const value: Json = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split('\n').length;
    return `it is not JSON: ${printParseErrorCode(error.error)} in line ${line}`;
  }
  if (!isObject(value)) return 'it is not a JSON object';
  const servers = value['mcpServers'] ?? value['servers'];
  if (!isObject(servers)) return 'it has neither "mcpServers" nor "servers"';
  return Object.entries(servers).flatMap(([name, definition]) =>
    isObject(definition) ? [{ name, definition }] : [],
  );
}

/** What is wrong with a definition; null: nothing. */
export function definitionProblem({ name, definition }: ServerEntry): string | null {
  if (!/^[\w. -]{1,60}$/.test(name)) return 'its name must be 1 to 60 letters, digits, blanks, dots, - or _';
  const { command, url, args, env, headers } = definition;
  if (definition['disabled'] === true) return 'it is disabled';
  if (typeof command !== 'string' && typeof url !== 'string') return 'it has neither a "command" nor a "url"';
  if (typeof command !== 'string' && !/^https?:\/\//.test(String(url)))
    return 'its "url" must begin with https:// or http://';
  if (args !== undefined && !(Array.isArray(args) && args.every((each) => typeof each === 'string')))
    return 'its "args" are not a list of texts';
  if (env !== undefined && !isObject(env)) return 'its "env" is not an object';
  if (headers !== undefined && !isObject(headers)) return 'its "headers" are not an object';
  return null;
}

/**
 * What a person trusts: this definition under this name, in this folder; '' for one of the person's own that is the
 * same everywhere.
 */
export function serverHash({ name, definition }: ServerEntry, folder: string): string {
  return createHash('sha256')
    .update(`server\0${folder}\0${name}\0${canonical(definition)}`)
    .digest('hex');
}

/** The folder that a server belongs to: a person's own is shared by all of them, unless it names the folder. */
export function folderOf({ definition }: ServerEntry, workspace: string, own: boolean): string {
  return own && !canonical(definition).includes('${workspace') ? '' : workspace;
}

/** JSON whose keys are in order, so that moving lines about is no change. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value).sort();
  return `{${fields.map((name) => `${JSON.stringify(name)}:${canonical(value[name] ?? null)}`).join(',')}}`;
}

export interface ServerSummary {
  readonly transport: 'stdio' | 'http';
  /** The command line or the address, without what looks like a secret. */
  readonly line: string;
  /** Names of the variables and headers that it is given. */
  readonly given: readonly string[];
}

/** What is shown of a definition. */
export function summaryOf({ definition }: ServerEntry): ServerSummary {
  const { command, args, env, url, headers } = definition;
  const names = (value: Json | undefined): string[] => (isObject(value) ? Object.keys(value) : []);
  if (typeof command === 'string') {
    const words = [command, ...texts(args)];
    return { transport: 'stdio', line: withoutSecrets(words).join(' '), given: names(env) };
  }
  return { transport: 'http', line: shownUrl(String(url)), given: names(headers) };
}

const texts = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.flatMap((each) => (typeof each === 'string' ? [each] : [])) : [];

const secretName = /(key|token|secret|passw|credential|auth)/i;

/** `--api-key X` and `--token=X`: the value goes. A variable is not a secret, its value is. */
function withoutSecrets(words: readonly string[]): string[] {
  return words.map((word, index) => {
    const before = words[index - 1] ?? '';
    if (/^\$\{/.test(word)) return word;
    if (/^-/.test(before) && secretName.test(before) && !before.includes('=') && !word.startsWith('-'))
      return '***';
    const [name = '', value] = word.split(/=(.*)/s);
    return value !== undefined && secretName.test(name) && !value.startsWith('${') ? `${name}=***` : word;
  });
}

function shownUrl(text: string): string {
  try {
    const url = new URL(text);
    url.username = '';
    url.password = '';
    for (const name of [...url.searchParams.keys()]) url.searchParams.set(name, '***');
    return url.href;
  } catch {
    return text;
  }
}

/** A server as it is started or reached, its variables filled in. Never stored, never logged. */
export type ServerStart =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly directory: string;
    }
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** The older transport with a stream of its own (type `sse`). */
      readonly legacy: boolean;
    };

export interface ServerWish {
  readonly name: string;
  readonly hash: string;
  readonly path: string;
  /** The folder of the agent that wants it, absolute. */
  readonly workspace: string;
}

export interface Surroundings {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What a person gave for `${input:ID}`; null: nobody has. */
  readonly input: (id: string) => Promise<string | null>;
}

export interface ReadStart {
  readonly start: ServerStart;
  /** The folder that it belongs to; null: it is shared by all folders of the person. */
  readonly folder: string | null;
}

/** Reads how a server is started, from the file that defines it. A text says why it cannot be. */
export async function readStart(wish: ServerWish, surroundings: Surroundings): Promise<ReadStart | string> {
  const file = await readWhole(wish.path, limits.knowledgeFileBytes);
  if (file.kind !== 'file')
    return `${wish.path}, which defines it, ${file.kind === 'missing' ? 'is gone' : 'cannot be read'}.`;
  const entries = serversIn(shownText(file.bytes));
  if (typeof entries === 'string') return `${wish.path}: ${entries}.`;
  const entry = entries.find((each) => each.name === wish.name);
  if (entry === undefined) return `${wish.path} does not define it any more.`;
  const folder = ['', wish.workspace].find((each) => serverHash(entry, each) === wish.hash);
  if (folder === undefined) {
    return `Its definition in ${wish.path} has changed, and the person has not been asked about the new one. Agents that are started from now on will be.`;
  }
  const start = await startOf(entry.definition, folder === '' ? surroundings.home : folder, surroundings);
  return typeof start === 'string' ? start : { start, folder: folder === '' ? null : folder };
}

async function startOf(
  definition: JsonObject,
  folder: string,
  surroundings: Surroundings,
): Promise<ServerStart | string> {
  const fill = new Filling(folder, surroundings);
  const { command, args, env, envFile, cwd, url, headers, type } = definition;
  const start: ServerStart =
    typeof command === 'string'
      ? {
          kind: 'stdio',
          command: await fill.text(command),
          args: await fill.list(texts(args)),
          env: { ...(await fromFile(envFile, fill)), ...(await fill.record(env)) },
          directory: path.resolve(folder, typeof cwd === 'string' ? await fill.text(cwd) : '.'),
        }
      : {
          kind: 'http',
          url: await fill.text(String(url)),
          headers: await fill.record(headers),
          legacy: type === 'sse',
        };
  if (fill.missing.size === 0) return start;
  return `It needs ${[...fill.missing].join(', and ')}.`;
}

/** `NAME=value` lines of a file of variables (the editor's `envFile`). */
async function fromFile(named: Json | undefined, fill: Filling): Promise<Record<string, string>> {
  if (typeof named !== 'string') return {};
  const text = await readFile(await fill.text(named), 'utf8').catch(() => '');
  const lines = text.matchAll(/^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/gm);
  return Object.fromEntries(
    [...lines].map(([, name = '', value = '']) => [name, value.replace(/^(["'])(.*)\1$/, '$2')]),
  );
}

/** Fills in variables: those of the editor's files and those of Claude Code's. */
class Filling {
  readonly missing = new Set<string>();
  readonly #folder: string;
  readonly #surroundings: Surroundings;

  constructor(folder: string, surroundings: Surroundings) {
    this.#folder = folder;
    this.#surroundings = surroundings;
  }

  async text(template: string): Promise<string> {
    const parts = template.split(/\$\{([^{}]*)\}/);
    const filled = parts.map((part, index) => (index % 2 === 0 ? part : this.#value(part)));
    return (await Promise.all(filled)).join('');
  }

  list(templates: readonly string[]): Promise<string[]> {
    return Promise.all(templates.map((each) => this.text(each)));
  }

  async record(value: Json | undefined): Promise<Record<string, string>> {
    const entries = Object.entries(isObject(value) ? value : {});
    const filled = entries
      .filter(([, each]) => each !== null)
      .map(
        async ([name, each]) =>
          [name, await this.text(typeof each === 'string' ? each : JSON.stringify(each))] as const,
      );
    return Object.fromEntries(await Promise.all(filled));
  }

  async #value(name: string): Promise<string> {
    const { env, home, input } = this.#surroundings;
    if (name === 'workspaceFolder' || name === 'workspaceRoot') return this.#folder;
    if (name === 'workspaceFolderBasename') return path.basename(this.#folder);
    if (name === 'userHome') return home;
    if (name === 'pathSeparator' || name === '/') return path.sep;
    const [kind = '', rest] = name.split(/:(.*)/s);
    if (kind === 'input') return (await input(rest ?? '')) ?? this.#lacks(inputWords(rest ?? ''));
    // `${env:NAME}` is the editor's, `${NAME}` and `${NAME:-otherwise}` are Claude Code's.
    const variable = kind === 'env' ? (rest ?? '') : kind;
    const otherwise = kind !== 'env' && rest?.startsWith('-') === true ? rest.slice(1) : undefined;
    return env[variable] ?? otherwise ?? this.#lacks(`the variable ${variable} in the environment of Roost`);
  }

  #lacks(what: string): string {
    this.missing.add(what);
    return '';
  }
}

/** The editor would ask for it; here it is a key like those of models, in memory only. */
const inputWords = (id: string): string =>
  `a key named "input:${id}" ("Roost: Set API Key" in VS Code, or INPUT_${id.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_API_KEY for the command)`;

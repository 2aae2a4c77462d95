// What servers offer (MCP): tools as a server lists them, made into tools that models can be offered.
//
// A list is not ours: each tool is judged by itself, and one that cannot be used is dropped with its reason while the
// others stay. Names are made so that every provider takes them and no two are alike; the same lists give the same
// names in the same order, because they stand at the head of every request. Not here: asking servers.

import type { Json, JsonObject } from '../protocol/json.ts';
import { hashText } from './hash.ts';
import type { ToolSpec } from './terms.ts';
import { head, utf8Bytes, wellFormed } from './text.ts';
import { isObject } from './verbs.ts';

export interface OfferLimits {
  readonly offeredTools: number;
  readonly offeredSchemaBytes: number;
  readonly offeredDescriptionChars: number;
  readonly offerDropped: number;
  readonly remoteTools: number;
  readonly remoteBytes: number;
  readonly toolNameChars: number;
}

/** A tool as its server names it. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  /** The server says that it changes nothing (annotation `readOnlyHint`). */
  readonly reading: boolean;
}

/** What a server offered when it was asked last. */
export interface Offer {
  readonly tools: readonly OfferedTool[];
  /** Tools that cannot be used, and why. */
  readonly dropped: readonly { readonly name: string; readonly reason: string }[];
}

/** Judges a list as it came from a server. */
export function judgeOffer(listed: readonly Json[], limits: OfferLimits): Offer {
  const tools: OfferedTool[] = [];
  const dropped: { name: string; reason: string }[] = [];
  const names = new Set<string>();
  for (const [index, each] of listed.entries()) {
    const judged = judgeTool(each, index, limits);
    const reason =
      'reason' in judged
        ? judged.reason
        : names.has(judged.name)
          ? 'another tool has this name'
          : limits.offeredTools <= tools.length
            ? `a server may offer ${limits.offeredTools} tools`
            : null;
    if (reason !== null) {
      if (dropped.length < limits.offerDropped) dropped.push({ name: judged.name, reason });
    } else if (!('reason' in judged)) {
      names.add(judged.name);
      tools.push(judged);
    }
  }
  // By name: servers may list in any order, and a prompt must not change with it.
  return { tools: tools.sort((a, b) => (a.name < b.name ? -1 : 1)), dropped };
}

type Judged = OfferedTool | { readonly name: string; readonly reason: string };

function judgeTool(listed: Json, index: number, limits: OfferLimits): Judged {
  if (!isObject(listed)) return { name: `tool ${index + 1}`, reason: 'it is not an object' };
  const { name, description, inputSchema, annotations, execution } = listed;
  if (typeof name !== 'string' || name.trim() === '' || 256 < name.length)
    return { name: `tool ${index + 1}`, reason: 'it has no name that can be used' };
  const schema = inputSchema === undefined ? { type: 'object' } : inputSchema;
  if (!isObject(schema) || schema['type'] !== 'object')
    return { name, reason: 'its inputSchema is not the schema of an object' };
  const problem = schemaProblem(schema, limits);
  if (problem !== null) return { name, reason: problem };
  if (isObject(execution) && execution['taskSupport'] === 'required')
    return { name, reason: 'it only runs as a task, which Roost does not know yet' };
  const words = typeof description === 'string' ? description : '';
  return {
    name,
    description: head(wellFormed(words.trim()), limits.offeredDescriptionChars),
    schema,
    reading: isObject(annotations) && annotations['readOnlyHint'] === true,
  };
}

function schemaProblem(schema: JsonObject, limits: OfferLimits): string | null {
  const bytes = utf8Bytes(JSON.stringify(schema));
  if (limits.offeredSchemaBytes < bytes)
    return `its schema has ${bytes} bytes, the limit is ${limits.offeredSchemaBytes}`;
  const { properties, required } = schema;
  if (properties !== undefined && !isObject(properties))
    return 'the properties of its schema are not an object';
  if (
    required !== undefined &&
    !(Array.isArray(required) && required.every((each) => typeof each === 'string'))
  )
    return 'the required fields of its schema are not a list of names';
  return null;
}

/** A server as agents are pinned to it. */
export interface PinnedServer {
  readonly name: string;
  /** What a person has trusted: its definition, and the folder that it is of. */
  readonly hash: string;
  /** The file that defines it. */
  readonly path: string;
}

/** A server (MCP) as somebody in a folder means it. */
export interface ServerRef extends PinnedServer {
  /** Absolute. */
  readonly workspace: string;
}

export interface RemoteCall {
  readonly server: ServerRef;
  /** The tool's name at the server. */
  readonly tool: string;
  /** The server says that it changes nothing: it may be run again after a crash. */
  readonly reading: boolean;
}

export type OfferAnswer =
  | { readonly kind: 'offer'; readonly offer: Offer }
  /** What is wrong and what to do, in words for a person. */
  | { readonly kind: 'failed'; readonly message: string };

/** A tool of a server as an agent is offered it. */
export interface RemoteTool extends ToolSpec {
  /** Hash of the server, and the tool's name there. */
  readonly server: string;
  readonly tool: string;
  readonly reading: boolean;
}

export interface OfferedBy {
  readonly server: PinnedServer;
  readonly offer: Offer;
}

/** Which tools of servers a profile wants: all, those that change nothing, or the ones named `server/tool` or `server/*`. */
export type RemoteWish = 'all' | 'reading' | readonly string[];

/** A name as tools' names have it: other characters than letters, digits, _ and - are not taken by all providers. */
const plainName = (name: string): string => name.replaceAll(/[^\w-]/g, '_');

/** Whether a profile wants anything of a server. */
export const wantsServer = (wish: RemoteWish, server: string): boolean =>
  typeof wish === 'string' || wish.some((each) => plainName(each.split('/')[0] ?? '') === plainName(server));

function wants(wish: RemoteWish, server: string, tool: OfferedTool): boolean {
  if (wish === 'all') return true;
  if (wish === 'reading') return tool.reading;
  return wish.some((each) => {
    const [of = '', name = '*'] = each.split('/');
    return plainName(of) === plainName(server) && (name === '*' || plainName(name) === plainName(tool.name));
  });
}

/** The tools that an agent is offered of the servers of its folder, and how many there was no room for. */
export function remoteTools(
  offers: readonly OfferedBy[],
  wish: RemoteWish,
  limits: OfferLimits,
): { readonly tools: readonly RemoteTool[]; readonly left: number } {
  const tools: RemoteTool[] = [];
  const taken = new Set<string>();
  let room = limits.remoteBytes;
  let left = 0;
  for (const { server, offer } of offers) {
    for (const tool of offer.tools) {
      if (!wants(wish, server.name, tool)) continue;
      const bytes = utf8Bytes(JSON.stringify(tool.schema)) + utf8Bytes(tool.description);
      if (limits.remoteTools <= tools.length || room < bytes) {
        left += 1;
        continue;
      }
      room -= bytes;
      const name = freeName(taken, `${server.name}__${tool.name}`, limits.toolNameChars);
      taken.add(name);
      const description = tool.description === '' ? `${tool.name} of ${server.name}` : tool.description;
      const { schema, reading } = tool;
      tools.push({ name, description, schema, server: server.hash, tool: tool.name, reading });
    }
  }
  return { tools, left };
}

/** A name of letters, digits, _ and - that nobody has: the wanted one, cut where it is too long, with its hash behind. */
function freeName(taken: ReadonlySet<string>, wanted: string, chars: number): string {
  const plain = plainName(wanted);
  if (plain.length <= chars && !taken.has(plain)) return plain;
  return `${plain.slice(0, chars - 9)}_${hashText(wanted).slice(0, 8)}`;
}

// A result as a server gives it, in words for a model: texts as they are, cut in the middle where they are long; images,
// sounds and binary resources as files, whose paths a command can use, since no model is shown bytes.

import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ToolOutcome } from '../../ports.ts';
import type { Json, JsonObject } from '../../protocol/json.ts';
import { limits } from '../../runtime/limits.ts';
import { isObject } from '../tool.ts';

/** Keeps bytes of results; resolves with the path, or with why there is none. */
export type Received = (base64: string, mimeType: string) => Promise<{ readonly path: string } | string>;

/** Files of results in a directory of the store; the oldest goes when there are limits.receivedFiles. */
export function receivedIn(directory: string): Received {
  return async (base64, mimeType) => {
    const sizeBytes = Buffer.byteLength(base64, 'base64');
    if (limits.receivedBytes < sizeBytes) return `larger than ${limits.receivedBytes} bytes`;
    const bytes = Buffer.from(base64, 'base64');
    const extension = /^[a-z]+\/([a-z0-9]{1,8})\b/i.exec(mimeType)?.[1] ?? 'bin';
    const name = `${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}.${extension}`;
    const file = path.join(directory, name);
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await makeRoom(directory, name);
      await writeFile(file, bytes, { mode: 0o600 });
    } catch (error) {
      return `it could not be kept: ${error instanceof Error ? error.message : String(error)}`;
    }
    return { path: file };
  };
}

async function makeRoom(directory: string, name: string): Promise<void> {
  const names = await readdir(directory);
  if (names.length < limits.receivedFiles || names.includes(name)) return;
  const aged = await Promise.all(
    names.map(async (each) => ({ each, atMs: (await stat(path.join(directory, each))).mtimeMs })),
  );
  aged.sort((a, b) => a.atMs - b.atMs);
  const going = aged.slice(0, names.length - limits.receivedFiles + 1);
  await Promise.all(going.map(({ each }) => rm(path.join(directory, each), { force: true })));
}

/** What the model is told, at most limits.resultBytes; the whole beside it. */
export async function outcomeOf(result: JsonObject, received: Received): Promise<ToolOutcome> {
  const { content, contents, structuredContent, isError } = result;
  // A resource that was read is a list of its parts.
  const items = Array.isArray(content)
    ? content
    : Array.isArray(contents)
      ? contents.map((resource) => ({ type: 'resource', resource }))
      : [];
  const parts: string[] = [];
  for (const item of items.slice(0, limits.resultItems)) parts.push(await partOf(item, received));
  if (items.length > limits.resultItems) parts.push(`[${items.length - limits.resultItems} more items]`);
  if (parts.length === 0 && isObject(structuredContent))
    parts.push(JSON.stringify(structuredContent, null, 2));
  const text = parts.join('\n');
  return { status: isError === true ? 'error' : 'ok', ...bounded(text === '' ? '[no output]' : text) };
}

async function partOf(item: Json, received: Received): Promise<string> {
  if (!isObject(item)) return `[${JSON.stringify(item)}]`;
  const { type, text, data, mimeType, resource, uri, name } = item;
  if (type === 'text' && typeof text === 'string') return text;
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return await binary(type, { data, mimeType }, received);
  if (type === 'resource' && isObject(resource)) return await resourceOf(resource, received);
  if (type === 'resource_link') return `[resource ${String(name ?? '')}: ${String(uri ?? '')}]`;
  return `[${String(type)}: not shown]`;
}

async function resourceOf({ uri, text, blob, mimeType }: JsonObject, received: Received): Promise<string> {
  const named = `resource ${String(uri ?? '')}`;
  if (typeof text === 'string') return `[${named}]\n${text}`;
  return typeof blob === 'string' ? await binary(named, { data: blob, mimeType }, received) : `[${named}]`;
}

async function binary(
  what: string,
  { data, mimeType }: { readonly data: string; readonly mimeType: Json | undefined },
  received: Received,
): Promise<string> {
  const kind = typeof mimeType === 'string' ? mimeType : 'of unknown kind';
  const kept = await received(data, kind);
  const where = typeof kept === 'string' ? `not shown, ${kept}` : `kept in ${kept.path}`;
  return `[${what}, ${kind}, ${Buffer.byteLength(data, 'base64')} bytes: ${where}]`;
}

function bounded(text: string): Pick<ToolOutcome, 'text' | 'whole'> {
  const bytes = Buffer.from(text);
  if (bytes.length <= limits.resultBytes) return { text };
  const room = limits.resultBytes - 200;
  const headBytes = Math.floor(room * 0.6);
  const head = bytes
    .subarray(0, headBytes)
    .toString('utf8')
    .replace(/\ufffd+$/, '');
  const tail = bytes
    .subarray(bytes.length - (room - headBytes))
    .toString('utf8')
    .replace(/^\ufffd+/, '');
  return {
    text: `${head}\n[roost: ${bytes.length - room} of ${bytes.length} bytes left out]\n${tail}`,
    whole: bytes,
  };
}

// `roost export` and `roost import`: a branch as a file of JSON Lines (protocol/branchFile.ts), and back.
//
// Promises
//  - A file is there whole or not at all: it is written beside its name, synced and renamed.
//  - A file that is cut, changed, of another version or not ours is refused before anything of it is sent.
//  - One line is in memory at a time, here as in the sidecar.
// Not here: what the lines say (the sidecar writes and reads them).

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

import { branchFileVersion, type BranchEnd, type BranchLine } from '../protocol/branchFile.ts';
import type { AgentId } from '../protocol/ids.ts';
import type { BranchFileCommand } from './branchFileArgs.ts';
import type { Context } from './context.ts';
import { Failure } from './failure.ts';
import type { Session } from './session.ts';
import { findAgent } from './work.ts';

/** Lines and bytes of one part of an import; the sidecar takes 100 lines and 8 MB. */
const partLines = 100;
const partBytes = 512 * 1024;

/** Longest line that is read. The sidecar writes none that is longer: no entry is. */
const lineBytes = 6 * 1024 * 1024;

export function dispatch(context: Context, command: BranchFileCommand): Promise<number> {
  return command.deed === 'export' ? exportBranch(context, command) : importBranch(context, command);
}

type Of<D extends BranchFileCommand['deed']> = Extract<BranchFileCommand, { deed: D }>;

async function exportBranch(context: Context, { agent, file, force }: Of<'export'>): Promise<number> {
  const { session, printer } = context;
  const { id } = await findAgent(context, agent);
  if (file === null || file === '-') {
    for await (const text of fileOf(session, id)) {
      if (!process.stdout.write(text)) await once(process.stdout, 'drain');
    }
    return 0;
  }
  if (!force && existsSync(file))
    throw new Failure(
      'usage',
      `There is a file ${file} already. Name another one, or write over it with --force.`,
    );
  const written = await writeWhole(file, fileOf(session, id));
  await printer.print({ type: 'exported', agent: id, file: path.resolve(file), ...written });
  return 0;
}

/** The file's text, piece by piece, its last line with it. */
async function* fileOf(session: Session, agent: AgentId): AsyncGenerator<string> {
  const hash = createHash('sha256');
  let lines = 0;
  for (let cursor: string | null = null; ;) {
    const page: Awaited<ReturnType<typeof readPage>> = await readPage(session, agent, cursor);
    hash.update(page.text);
    for (const character of page.text) if (character === '\n') lines += 1;
    yield page.text;
    cursor = page.next;
    if (cursor === null) break;
  }
  const end: BranchEnd = { type: 'end', lines, sha256: hash.digest('hex') };
  yield `${JSON.stringify(end)}\n`;
}

const readPage = (session: Session, agent: AgentId, cursor: string | null) =>
  session.call('agent/export', { agent, cursor });

async function writeWhole(file: string, pieces: AsyncIterable<string>): Promise<{ readonly bytes: number }> {
  const half = `${file}.part`;
  const handle = await open(half, 'w', 0o600).catch((error: unknown) => {
    throw new Failure('usage', `${half} cannot be written: ${reasonOf(error)}. Name another file.`);
  });
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      await handle.appendFile(piece);
      bytes += Buffer.byteLength(piece);
    }
    await handle.sync();
    await handle.close();
    await rename(half, file);
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(half, { force: true });
    throw error;
  }
  return { bytes };
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function importBranch(
  { session, printer }: Context,
  { file, workspace }: Of<'import'>,
): Promise<number> {
  const sha256 = await checkFile(file);
  const key = `import/${sha256}`;
  const folder = path.resolve(workspace ?? process.cwd());
  const hash = createHash('sha256');
  let lines: BranchLine[] = [];
  let bytes = 0;
  let after = 0;
  const send = async (last: boolean): Promise<boolean> => {
    const params = { key, workspace: folder, after, lines, last };
    const { agent, name, agents } = await session.call('agent/import', params);
    [lines, bytes, after] = [[], 0, after + lines.length];
    if (agent === null) return false;
    await printer.print({ type: 'imported', agent, name, agents });
    return true;
  };
  for await (const { text, line } of linesOf(file)) {
    if (isEnd(line)) break;
    hash.update(`${text}\n`);
    if (lines.length > 0 && (lines.length >= partLines || bytes + text.length > partBytes)) {
      // A file that was imported before is known by its first part.
      if (await send(false)) return 0;
    }
    // The sidecar checks every field of it.
    lines.push(asLine(line));
    bytes += text.length;
  }
  if (hash.digest('hex') !== sha256)
    throw new Failure('import/invalid', `${file} was changed while it was read. Nothing was imported.`);
  await send(true);
  return 0;
}

/** What the sidecar is to check: an object, of whatever fields. */
function asLine(line: unknown): BranchLine {
  if (isLine(line)) return line;
  throw new Failure('import/invalid', 'A line of the file is no object. Nothing was imported.');
}

const isLine = (line: unknown): line is BranchLine =>
  typeof line === 'object' && line !== null && 'type' in line && line.type !== 'end';

const isEnd = (line: unknown): line is BranchEnd =>
  typeof line === 'object' && line !== null && 'type' in line && line.type === 'end';

/** Reads the whole file once. Returns the hash that it ends with, when it is whole and ours. */
async function checkFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  let lines = 0;
  let end: BranchEnd | null = null;
  for await (const { text, line } of linesOf(file)) {
    if (lines === 0) checkHeader(file, line);
    if (end !== null) throw broken(file, 'it goes on behind its last line');
    if (isEnd(line)) end = line;
    else {
      hash.update(`${text}\n`);
      lines += 1;
    }
  }
  if (end === null) throw broken(file, 'its end is missing, so it was cut');
  if (end.lines !== lines) throw broken(file, `it says ${String(end.lines)} lines and has ${lines}`);
  const sha256 = hash.digest('hex');
  if (end.sha256 !== sha256) throw broken(file, 'it is not as it was written: its SHA-256 is another');
  return sha256;
}

function checkHeader(file: string, line: unknown): void {
  if (typeof line !== 'object' || line === null || !('type' in line) || line.type !== 'branch')
    throw broken(file, 'it does not begin as "roost export" does');
  const version = 'version' in line ? line.version : undefined;
  if (version === branchFileVersion) return;
  throw new Failure(
    'import/invalid',
    `${file} is of version ${String(version)}, and this Roost knows ${branchFileVersion}. Update Roost, or export it anew.`,
  );
}

const broken = (file: string, why: string): Failure =>
  new Failure('import/invalid', `${file} cannot be imported: ${why}. Nothing was imported.`);

interface ReadLine {
  readonly text: string;
  readonly line: unknown;
}

/** The lines of a file, one at a time; what is no UTF-8, no JSON or too long is refused with its number. */
async function* linesOf(file: string): AsyncGenerator<ReadLine> {
  let number = 0;
  for await (const bytes of pieces(file)) {
    number += 1;
    yield parseLine(file, number, bytes);
  }
}

function parseLine(file: string, number: number, bytes: Uint8Array): ReadLine {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const line: unknown = JSON.parse(text);
    return { text, line };
  } catch {
    throw broken(file, `line ${number} is no JSON in UTF-8`);
  }
}

async function* pieces(file: string): AsyncGenerator<Uint8Array> {
  let rest: Buffer[] = [];
  let size = 0;
  const stream = createReadStream(file);
  try {
    for await (const read of stream) {
      const chunk = Buffer.from(read);
      let from = 0;
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
        yield Buffer.concat([...rest, chunk.subarray(from, at)]);
        [rest, size, from] = [[], 0, at + 1];
      }
      rest.push(chunk.subarray(from));
      size += chunk.length - from;
      if (lineBytes < size) throw broken(file, `it has a line of more than ${lineBytes} bytes`);
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure('usage', `${file} cannot be read: ${reasonOf(error)}.`);
  } finally {
    stream.destroy();
  }
  if (size > 0) yield Buffer.concat(rest);
}

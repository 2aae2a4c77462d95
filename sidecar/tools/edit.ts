// The tools `edit` and `write`: one exact replacement in a file, and a whole file.
//
// Both are idempotent by evidence: before anything happens the hashes of the file before and after are committed,
// with the bytes that go away. After a crash the file itself says what happened (I3), and the bytes that were
// there can be told again. An editor's unsaved buffer is edited instead of the file under it (I11).

import path from 'node:path';
import { unlink } from 'node:fs/promises';
import type { Ask, Prepared, ToolJob, ToolOutcome } from '../ports.ts';
import type { Json } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';
import { currentOf, putCurrent } from '../workspace/buffers.ts';
import type { Buffers, Current } from '../workspace/buffers.ts';
import { bom, byteString, bytesOf, hashOf, isUtf8, notText, utf8ByteString } from '../workspace/bytes.ts';
import { messageOf, temporaryOf } from '../workspace/files.ts';
import type { Locks } from '../workspace/locks.ts';
import { spliceOf, spliced } from '../workspace/splice.ts';
import { unified } from '../workspace/unified.ts';
import type { Witness } from '../workspace/witness.ts';
import type { Worktrees } from '../workspace/worktree.ts';
import { withNews } from '../workspace/worktreeBase.ts';
import { fieldsOf } from './fields.ts';
import { locate, locateToWrite } from './locate.ts';
import type { Located } from './locate.ts';
import { askerOf, withSetup } from './setup.ts';
import type { SetupRunner } from './setup.ts';
import { failure, isObject, refuse, schemaOf } from './tool.ts';
import type { Doing, Tool } from './tool.ts';
import { buffersFor } from './versions.ts';

export interface EditOptions {
  readonly buffers: Buffers;
  readonly worktrees: Worktrees;
  /** One edit, verdict or write of a file at a time, whoever makes it. */
  readonly locks: Locks;
  /** Told before a file is written, so that no command is taken for the author (witness.ts). */
  readonly wrote: Witness['wrote'];
  /** Runs the setup command of a new worktree. */
  readonly runner: SetupRunner;
}

/** What a call wants of a file, given its bytes: the bytes after it, or why not, in words for the model. */
type Change = (label: string, before: Uint8Array | null) => Uint8Array | string;

interface Wish {
  readonly path: string;
  readonly change: Change;
  /** It fits a file that has changed since it was looked at: the text to replace is still there, once. */
  readonly rebases: boolean;
}

/** Reads the arguments of one of the two tools; a string says what is wrong with them. */
type WishOf = (job: ToolJob) => Wish | string;

const editSpec = {
  name: 'edit',
  description:
    'Replaces one piece of text in a file. `old` must stand in the file exactly once, white space included: ' +
    'copy it from `read` without the line numbers, with enough lines around it. Every other byte stays as it is.',
  schema: schemaOf(
    {
      path: { type: 'string', description: 'File, relative to the workspace.' },
      old: { type: 'string', description: 'The text to replace.' },
      new: { type: 'string', description: 'What stands there afterwards; empty to delete.' },
    },
    ['path', 'old', 'new'],
  ),
};

const editWish: WishOf = (job) => {
  const fields = fieldsOf('edit', job.input);
  const texts = { path: fields.word('path'), old: fields.text('old'), new: fields.text('new') };
  return (
    fields.problem() ?? {
      path: texts.path,
      rebases: true,
      change: (label, before) => edited(label, before, texts),
    }
  );
};

function edited(
  label: string,
  before: Uint8Array | null,
  texts: { readonly old: string; readonly new: string },
): Uint8Array | string {
  if (before === null) return `there is no ${label}. To make a file use \`write\`.`;
  const reason = notText(label, before);
  if (reason !== null) return `${label} cannot be edited: ${reason}.`;
  const content = byteString(before);
  const splice = spliceOf({ content, utf8: isUtf8(before), old: texts.old, new: texts.new });
  return splice.kind === 'refused' ? `${label}: ${splice.text}` : bytesOf(spliced(content, splice));
}

const writeSpec = {
  name: 'write',
  description:
    'Makes a file with this text, or replaces all of an existing one; directories are made as needed. ' +
    'To change a part of a file use `edit`.',
  schema: schemaOf(
    {
      path: { type: 'string', description: 'File, relative to the workspace.' },
      text: { type: 'string', description: 'The whole text of the file.' },
    },
    ['path', 'text'],
  ),
};

const writeWish: WishOf = (job) => {
  const fields = fieldsOf('write', job.input);
  const file = fields.word('path');
  const text = fields.text('text');
  return (
    fields.problem() ?? {
      path: file,
      rebases: false,
      change: (label, before) => written(label, before, text),
    }
  );
};

/** A byte order mark and uniform `\r\n` line ends of the file that is replaced are kept. */
function written(label: string, before: Uint8Array | null, text: string): Uint8Array | string {
  const reason = notText(label, before);
  if (reason !== null) return `${label} cannot be written as text: ${reason}.`;
  const old = before === null ? '' : byteString(before);
  if (before !== null && !isUtf8(before) && !/^[\0-\x7f]*$/.test(text)) {
    return `${label} is not UTF-8, and the new text is not plain ASCII. Change it with a command that knows its encoding.`;
  }
  const returns = old.includes('\n') && !/(^|[^\r])\n/.test(old) && !text.includes('\r');
  const content = utf8ByteString(returns ? text.replaceAll('\n', '\r\n') : text);
  const marked = old.startsWith(bom) && !content.startsWith(bom) ? bom + content : content;
  if (limits.fileBytes < marked.length)
    return `the text has ${marked.length} bytes, the limit is ${limits.fileBytes}.`;
  return marked === old ? `${label} has this text already: nothing to do.` : bytesOf(marked);
}

export const createEdit = (options: EditOptions): Tool => tool(options, editSpec, editWish);
export const createWrite = (options: EditOptions): Tool => tool(options, writeSpec, writeWish);

function tool(options: EditOptions, spec: Tool['spec'], wishOf: WishOf): Tool {
  return {
    spec,
    callClass: 'idempotent',
    prepare: (job) => prepare(options, job, wishOf(job)),
    run: (job, evidence, doing) =>
      run(options, { job, wish: wishOf(job), evidence: read(evidence), again: false, doing }),
    recover: (job, evidence, doing) =>
      run(options, { job, wish: wishOf(job), evidence: read(evidence), again: true, doing }),
  };
}

/** What is committed before the file is touched. */
interface Evidence {
  readonly before: string;
  readonly after: string;
  /** Where the two differ: an offset, the bytes that go (a byte string), and how many come. */
  readonly at: number;
  readonly gone: string;
  readonly come: number;
  /** The setup of a worktree that the person was asked about; null: none. */
  readonly setup: string | null;
}

function read(evidence: Json): Evidence | null {
  if (!isObject(evidence)) return null;
  const { before, after, at, gone, come } = evidence;
  const setup = typeof evidence['setup'] === 'string' ? evidence['setup'] : null;
  if (typeof before !== 'string' || typeof after !== 'string' || typeof gone !== 'string') return null;
  return typeof at === 'number' && typeof come === 'number' ? { before, after, at, gone, come, setup } : null;
}

function evidenceOf(before: Uint8Array | null, after: Uint8Array, setup: string | null): Json {
  const old = before ?? new Uint8Array();
  const most = Math.min(old.length, after.length);
  let at = 0;
  while (at < most && old[at] === after[at]) at++;
  let tail = 0;
  while (tail < most - at && old[old.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const gone = byteString(old.subarray(at, old.length - tail));
  return { before: hashOf(before), after: hashOf(after), at, gone, come: after.length - tail - at, setup };
}

/** The bytes that were there before, from those that are there now. */
function undone(evidence: Evidence, after: Uint8Array): Uint8Array | null {
  if (evidence.before === 'none') return null;
  const now = byteString(after);
  return bytesOf(now.slice(0, evidence.at) + evidence.gone + now.slice(evidence.at + evidence.come));
}

async function prepare(options: EditOptions, job: ToolJob, wish: Wish | string): Promise<Prepared> {
  if (typeof wish === 'string') return refuse(wish);
  if (job.place.isolation === 'readonly') {
    return refuse(`${job.tool}: this agent may only read. Say what should be changed in your answer.`);
  }
  const located = await locate(options.worktrees, job, wish.path);
  if (located.kind === 'refused') return refuse(`${job.tool}: ${located.text}`);
  const now = await currentOf(buffersFor(options.buffers, located), located.read);
  if (now.kind === 'refused') return refuse(`${job.tool}: ${now.text}`);
  const after = wish.change(located.label, now.bytes);
  if (typeof after === 'string') return refuse(`${job.tool}: ${after}`);
  const setup = located.isolated ? options.worktrees.wish(job.agent, job.place.workspace) : null;
  return {
    kind: 'run',
    evidence: evidenceOf(now.bytes, after, setup?.name ?? null),
    ask: withSetup(askOf(located, now.bytes, after), setup),
    usesCommandSlot: false,
  };
}

function askOf(located: Located, before: Uint8Array | null, after: Uint8Array): Ask {
  const diff = unified(located.label, before, after, limits.askDetailBytes);
  return {
    kind: 'edit',
    title: `${before === null ? 'Make' : 'Edit'} ${located.label}`,
    detail: diff,
    cluster: located.protected ? null : `edit:${path.posix.dirname(located.label)}`,
    always: located.protected,
    harmless: false,
    sandboxed: false,
  };
}

interface Run {
  readonly job: ToolJob;
  readonly wish: Wish | string;
  readonly evidence: Evidence | null;
  /** After a crash: the file may have been written already. */
  readonly again: boolean;
  readonly doing: Doing;
}

async function run(options: EditOptions, { job, wish, evidence, again, doing }: Run): Promise<ToolOutcome> {
  if (typeof wish === 'string') return failure(wish);
  const asker = askerOf(options.runner, job, evidence?.setup ?? null, doing);
  const located = await locateToWrite(options.worktrees, { job, asker }, wish.path);
  if (located.kind === 'refused') return failure(`${job.tool}: ${located.text}`);
  return await options.locks(located.written, async () => {
    const buffers = buffersFor(options.buffers, located);
    if (again) await unlink(temporaryOf(located.written)).catch(() => undefined);
    const now = await currentOf(buffers, located.written);
    if (now.kind === 'refused') return failure(`${job.tool}: ${now.text}`);
    const found = hashOf(now.bytes);
    if (again && evidence !== null && found === evidence.after && now.bytes !== null) {
      return done(located, undone(evidence, now.bytes), now.bytes);
    }
    if (again && found !== evidence?.before) return unclear(located);
    // The approval may have taken hours, or another call of this answer may have come first.
    if (found !== evidence?.before && !wish.rebases) {
      return failure(
        `${job.tool}: ${located.label} has changed since you looked at it. Read it again, then decide.`,
      );
    }
    const after = wish.change(located.label, now.bytes);
    if (typeof after === 'string') return failure(`${job.tool}: ${after}`);
    options.wrote(located.written, after);
    return await put(buffers, located, { now, after });
  });
}

async function put(
  buffers: Buffers,
  located: Located,
  change: { readonly now: Extract<Current, { kind: 'current' }>; readonly after: Uint8Array },
): Promise<ToolOutcome> {
  const { now, after } = change;
  try {
    if (await putCurrent(buffers, located.written, now, after)) return done(located, now.bytes, after);
  } catch (error) {
    return failure(`${located.label} could not be written: ${messageOf(error)}.`);
  }
  return failure(
    `The person is editing ${located.label} right now, and nothing was changed. Read it again, then repeat the edit.`,
  );
}

function done(located: Located, before: Uint8Array | null, after: Uint8Array): ToolOutcome {
  const diff = unified(located.label, before, after, limits.editEchoBytes);
  return {
    status: 'ok',
    text: withNews(
      before === null ? `Made ${located.label}.` : `Changed ${located.label}:\n${diff}`,
      located.news,
    ),
    touched: [{ path: located.person, written: located.written, before, after }],
  };
}

function unclear(located: Located): ToolOutcome {
  return {
    status: 'unknown',
    text: `The runtime was restarted during this edit, and ${located.label} is now neither as it was before nor as it would be after: somebody else has written it. Read it before you go on.`,
  };
}

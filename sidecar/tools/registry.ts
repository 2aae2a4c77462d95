// The Tools port: shell, read, edit, write, search and skill over real files and processes.
//
// Entry: createTools. The tools themselves are async; here they become calls that return at once and post later,
// and whatever a tool throws becomes an error that the model is told.

import type { Cancel, Prepared, ToolEvent, ToolJob, ToolOutcome, Tools } from '../ports.ts';
import type { CommandOutput } from '../protocol/command.ts';
import type { CallId } from '../protocol/ids.ts';
import type { Buffers } from '../workspace/buffers.ts';
import type { Checkpoints } from '../workspace/checkpoints.ts';
import { byteString, bytesOf } from '../workspace/bytes.ts';
import { messageOf } from '../workspace/files.ts';
import type { Locks } from '../workspace/locks.ts';
import type { Witness } from '../workspace/witness.ts';
import type { Worktrees } from '../workspace/worktree.ts';
import type { ShellKind } from './command/script.ts';
import { createBackgrounds } from './command/background.ts';
import { createCommandTool } from './commandTool.ts';
import { createEdit, createWrite } from './edit.ts';
import { createLanguageTools, noLanguages } from './language.ts';
import type { Languages } from './language.ts';
import { createRead } from './read.ts';
import { createRename } from './rename.ts';
import { createSearch } from './search.ts';
import { commandsOf, createShell } from './shell.ts';
import { attend } from './shellBackground.ts';
import { createSkill } from './skill.ts';
import type { Pool } from './mcp/pool.ts';
import { createRemote } from './mcp/remote.ts';
import { failure, refuse } from './tool.ts';
import type { Doing, Tool } from './tool.ts';

export interface ToolsOptions {
  /** Records of commands, in the store's directory, outside every workspace. Made when it is missing. */
  readonly runDirectory: string;
  readonly worktrees: Worktrees;
  /** Taken before the first write of a turn. */
  readonly checkpoints: Pick<Checkpoints, 'before'>;
  /** The environment of the next command (environment.ts), but for what names its call. */
  readonly environment: () => Readonly<Record<string, string>>;
  /** Unsaved text of editors. */
  readonly buffers: Buffers;
  /** Language servers of editors; when not given nobody answers for them. */
  readonly languages?: Languages;
  /** Shared with the Review port. */
  readonly locks: Locks;
  readonly witness: Witness;
  /** How commands are started (shell.ts, bestShell); null: directly, without records. */
  readonly shell: ShellKind | null;
  /** Path of ripgrep; null: there is none. Undefined: the packaged one, else the one on the PATH. */
  readonly ripgrep?: string | null;
  /** Servers of tools (MCP); none when it is not given. */
  readonly servers?: Pool;
  /** Takes out of a text what neither a transcript nor a model may see: keys of providers (DESIGN §13). */
  readonly redacted?: (text: string) => string;
}

export interface ToolsHandle extends Tools {
  /** What a command in the background has printed after a place; null: there is none with this number. */
  output(command: CallId, after: number): CommandOutput | null;
  /** Lets the launcher go. Commands that run go on, and are taken up by the next process. */
  close(): void;
}

/** Opens the tools of a store. */
export function createTools(options: ToolsOptions): ToolsHandle {
  const { buffers, locks, worktrees, checkpoints, witness, redacted = (text: string) => text } = options;
  const { wrote } = witness;
  const { languages = noLanguages } = options;
  const commands = commandsOf(options);
  const runner = { commands, environment: options.environment };
  const backgrounds = createBackgrounds(commands);
  const tools: readonly Tool[] = [
    createShell({ ...runner, worktrees, witness, backgrounds }),
    createCommandTool({ worktrees, witness, backgrounds }),
    createRead({ buffers, worktrees }),
    createEdit({ buffers, worktrees, locks, wrote, runner }),
    createWrite({ buffers, worktrees, locks, wrote, runner }),
    createSearch({ worktrees, ripgrep: options.ripgrep }),
    createSkill(),
    ...createLanguageTools({ languages, buffers, worktrees }),
    createRename({ languages, buffers, worktrees, locks, wrote, runner }),
  ];
  const byName = new Map(tools.map((tool) => [tool.spec.name, tool]));
  const { servers } = options;
  const remote = servers === undefined ? undefined : createRemote(servers);
  const toolOf = (job: ToolJob): Tool | undefined =>
    job.remote === undefined ? byName.get(job.tool) : remote;
  return {
    specs: tools.map((tool) => tool.spec),
    classOf: (name) => byName.get(name)?.callClass ?? null,
    prepare: (job, post) => prepare(toolOf(job), job, post),
    prepareNow: (job) => prepareNow(toolOf(job), job),
    run: (job, evidence, post) =>
      act(toolOf(job), safely(post, redacted), async (tool, doing) => {
        if (mayWrite(tool, job)) await checkpoints.before(job);
        return await tool.run(job, evidence, doing);
      }),
    recover: (job, evidence, post) =>
      act(toolOf(job), safely(post, redacted), async (tool, doing) => {
        // What was started at the crash was started after its checkpoint; what is done again now, too.
        if (mayWrite(tool, job)) await checkpoints.before(job);
        return await tool.recover(job, evidence, doing);
      }),
    attend: (job, evidence, post) =>
      doing(
        safely((event) => event.kind === 'done' && post(event.outcome), redacted),
        (how) => attend({ commands, backgrounds }, { job, evidence }, how),
      ),
    output: (command, after) => {
      const shown = backgrounds.shown(command, after);
      return shown === null ? null : { ...shown, text: redacted(shown.text) };
    },
    settled: (tool, call) => byName.get(tool)?.settled?.(call),
    offer: (server, post) => {
      const none = Promise.resolve({ kind: 'failed', message: 'There are no servers here.' } as const);
      void (servers?.offer(server) ?? none).then(post);
    },
    close: () => {
      commands?.close();
      servers?.close();
    },
  };
}

const mayWrite = (tool: Tool, job: ToolJob): boolean => tool.mayWrite?.(job) ?? tool.callClass !== 'pure';

/** What a tool says, without secrets. What it did to files stays as it is. */
function safely(post: (event: ToolEvent) => void, redacted: (text: string) => string) {
  return (event: ToolEvent): void => {
    if (event.kind === 'output') return post({ ...event, text: redacted(event.text) });
    const { text, whole } = event.outcome;
    const more = whole === undefined ? {} : { whole: redactedBytes(whole, redacted) };
    post({ kind: 'done', outcome: { ...event.outcome, ...more, text: redacted(text) } });
  };
}

/** Byte by byte, since an output need not be UTF-8; keys are ASCII. */
function redactedBytes(bytes: Uint8Array, redacted: (text: string) => string): Uint8Array {
  const text = byteString(bytes);
  const safe = redacted(text);
  return safe === text ? bytes : bytesOf(safe);
}

function prepareNow(tool: Tool | undefined, job: ToolJob): Prepared | null {
  if (tool?.prepareNow === undefined) return null;
  try {
    return tool.prepareNow(job);
  } catch (error) {
    return refuse(`${job.tool}: ${messageOf(error)}.`);
  }
}

function prepare(tool: Tool | undefined, job: ToolJob, post: (prepared: Prepared) => void): Cancel {
  const work =
    tool === undefined
      ? Promise.resolve(refuse(`There is no tool "${job.tool}".`))
      : started(() => tool.prepare(job));
  void work.then(post, (error: unknown) => post(refuse(`${job.tool}: ${messageOf(error)}.`)));
  return () => undefined;
}

function act(
  tool: Tool | undefined,
  post: (event: ToolEvent) => void,
  work: (tool: Tool, doing: Doing) => Promise<ToolOutcome>,
): Cancel {
  return doing(post, (how) =>
    tool === undefined ? Promise.resolve(failure('There is no such tool.')) : work(tool, how),
  );
}

function doing(post: (event: ToolEvent) => void, work: (how: Doing) => Promise<ToolOutcome>): Cancel {
  const abort = new AbortController();
  let ended = false;
  const end = (outcome: ToolOutcome): void => {
    ended = true;
    post({ kind: 'done', outcome });
  };
  const output = (text: string): void => {
    if (!ended) post({ kind: 'output', text });
  };
  const outcome = started(() => work({ signal: abort.signal, output }));
  void outcome.then(end, (error: unknown) => end(failure(`It failed: ${messageOf(error)}.`)));
  return () => abort.abort();
}

/** Begins after the caller has returned, so that nothing is posted before; what the work throws at once rejects. */
async function started<T>(work: () => Promise<T>): Promise<T> {
  await null;
  return await work();
}

// Commands of `shell` that go on when their call has its result: the first moments, in which one that cannot start
// is told like any other, and how one is found again and seen to its end.

import { setTimeout as pause } from 'node:timers/promises';
import { firstLine } from '../core/text.ts';
import type { ToolJob, ToolOutcome } from '../ports.ts';
import type { Json } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';
import type { Background, Backgrounds } from './command/background.ts';
import type { Commands } from './command/commands.ts';
import type { CommandEnd } from './command/watched.ts';
import { outcomeOf } from './shellResult.ts';
import { isObject } from './tool.ts';
import type { Doing } from './tool.ts';

export type Started =
  | { readonly kind: 'ended'; readonly end: CommandEnd }
  | { readonly kind: 'goesOn'; readonly outcome: ToolOutcome };

interface Behind {
  readonly commands: Commands | null;
  readonly backgrounds: Backgrounds;
}

interface BehindWish {
  readonly job: ToolJob;
  readonly doing: Doing;
  readonly command: string;
  readonly runMs: number;
}

interface Beginning {
  readonly record: string;
  readonly watch: (doing: Doing) => Promise<CommandEnd>;
}

/** Sees a command through its first moments. What runs then goes on, and the outcome says how to look after it. */
export async function beginBehind(
  { commands, backgrounds }: Behind,
  wish: BehindWish,
  { record, watch }: Beginning,
): Promise<Started> {
  const { job, doing, command, runMs } = wish;
  const abort = new AbortController();
  const pass = (): void => abort.abort();
  doing.signal.addEventListener('abort', pass, { once: true });
  if (doing.signal.aborted) pass();
  let isBehind = false;
  const output = (text: string): void => {
    if (!isBehind) doing.output(text);
  };
  const end = watch({ signal: abort.signal, output });
  const timer = new AbortController();
  const first = await Promise.race([
    end,
    pause(limits.backgroundStartMs, null, { signal: timer.signal }).catch(() => null),
  ]);
  timer.abort();
  isBehind = true;
  doing.signal.removeEventListener('abort', pass);
  // An interrupt in the last moment: its end is on its way.
  if (first === null && abort.signal.aborted) return { kind: 'ended', end: await end };
  if (first !== null) return { kind: 'ended', end: first };
  const title = firstLine(command.trim(), limits.askTitleChars);
  const kept = backgrounds.keep({
    call: job.call,
    agent: job.agent,
    title,
    record,
    startedAtMs: Date.now(),
    runMs,
    end,
    stop: pass,
  });
  const evidence = { record, origin: commands?.origin() ?? '', title, runMs };
  const outcome = { status: 'ok' as const, text: startedText(commands, kept, backgrounds) };
  return { kind: 'goesOn', outcome: { ...outcome, background: { title, evidence } } };
}

function startedText(commands: Commands | null, kept: Background, backgrounds: Backgrounds): string {
  const group = commands?.groupOf(kept.record) ?? null;
  const { bytes, next } = backgrounds.output(kept, 0, limits.backgroundEndBytes);
  kept.readTo = next;
  const said = bytes.length === 0 ? '[no output yet]' : bytes.toString('utf8');
  return `runs in the background as command ${kept.call}${group === null ? '' : ` (process group ${group})`}\n${said}`;
}

/**
 * Looks after a command that went into the background in this process, or in an earlier one. Resolves with how it
 * ended, in a few lines.
 */
export async function attend(
  { commands, backgrounds }: Behind,
  attended: { readonly job: ToolJob; readonly evidence: Json },
  doing: Doing,
): Promise<ToolOutcome> {
  const { job, evidence } = attended;
  const kept = backgrounds.find(job.call) ?? foundAgain(commands, backgrounds, { job, evidence });
  if (kept === null) {
    const text = 'unknown: the runtime was restarted, and there is no record of it.';
    return { status: 'unknown', text };
  }
  doing.signal.addEventListener('abort', () => kept.stop(), { once: true });
  if (doing.signal.aborted) kept.stop();
  return endOf(kept, await kept.end);
}

/** The end of a command in the background, in words. */
export function endOf(
  kept: Background,
  end: CommandEnd,
  mostBytes: number = limits.backgroundEndBytes,
): ToolOutcome {
  const { status, text } = outcomeOf(end, kept.runMs, mostBytes);
  return { status, text };
}

function foundAgain(
  commands: Commands | null,
  backgrounds: Backgrounds,
  { job, evidence }: { readonly job: ToolJob; readonly evidence: Json },
): Background | null {
  if (commands === null || !isObject(evidence)) return null;
  const { record, origin, title, runMs } = evidence;
  if (typeof record !== 'string' || typeof origin !== 'string') return null;
  const abort = new AbortController();
  return backgrounds.keep({
    call: job.call,
    agent: job.agent,
    title: typeof title === 'string' ? title : '',
    record,
    startedAtMs: Date.now(),
    runMs: typeof runMs === 'number' ? runMs : limits.backgroundMs,
    end: commands.resume(record, origin, { signal: abort.signal, output: () => undefined }),
    stop: () => abort.abort(),
  });
}

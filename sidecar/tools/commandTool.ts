// The tool `command`: looks after commands that `shell` has left in the background. Reads what they print, waits for
// them, ends them. Safe to do again after a crash: a read says what there is from a place that was fixed before.

import { setTimeout as pause } from 'node:timers/promises';
import type { Prepared, ToolJob, ToolOutcome } from '../ports.ts';
import { callId } from '../protocol/ids.ts';
import type { Json } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';
import type { Witness } from '../workspace/witness.ts';
import type { Worktrees } from '../workspace/worktree.ts';
import type { Background, Backgrounds } from './command/background.ts';
import { fieldsOf } from './fields.ts';
import { endOf } from './shellBackground.ts';
import { sceneOf, withSeen } from './shellRun.ts';
import { failure, isObject, refuse, schemaOf } from './tool.ts';
import type { Doing, Tool } from './tool.ts';

export interface CommandToolOptions {
  readonly backgrounds: Backgrounds;
  readonly witness: Witness;
  readonly worktrees: Worktrees;
}

const deeds = ['read', 'wait', 'kill'] as const;

const spec = {
  name: 'command',
  description:
    'Looks after commands that `shell` has started with `background`. `read` tells how one stands and what it has ' +
    'printed since you last read. `wait` does so when it has ended, has printed `until`, or the time is over. ' +
    '`kill` ends it and what it has started. Without `id` it lists your commands.',
  schema: schemaOf(
    {
      id: { type: 'integer', description: 'Number of the command, as `shell` told it.' },
      do: { type: 'string', enum: [...deeds], description: 'read when not given.' },
      until: { type: 'string', description: 'A text to wait for in what it prints from now on.' },
      timeoutMs: {
        type: 'integer',
        minimum: 1,
        maximum: limits.commandLongestWaitMs,
        description: `How long to wait, ${limits.commandWaitMs} when not given.`,
      },
    },
    [],
  ),
};

interface Wish {
  /** Null: lists them. */
  readonly id: number | null;
  readonly deed: (typeof deeds)[number];
  readonly until: string | null;
  readonly waitMs: number;
}

function wishOf(job: ToolJob): Wish | string {
  const fields = fieldsOf('command', job.input);
  const id = fields.optionalCount('id', { atLeast: 1, atMost: Number.MAX_SAFE_INTEGER });
  const deed = fields.choice('do', deeds);
  const until = fields.optionalWord('until');
  const waitMs = fields.optionalCount('timeoutMs', { atLeast: 1, atMost: limits.commandLongestWaitMs });
  const problem = fields.problem();
  if (problem !== null) return problem;
  if (id === null && deed !== null) return `command: \`${deed}\` needs the \`id\` of a command.`;
  if (deed !== 'wait' && (until !== null || waitMs !== null))
    return 'command: `until` and `timeoutMs` belong to `wait`.';
  return { id, deed: deed ?? 'read', until, waitMs: waitMs ?? limits.commandWaitMs };
}

/** The tool. */
export function createCommandTool(options: CommandToolOptions): Tool {
  const run = (job: ToolJob, evidence: Json, doing: Doing): Promise<ToolOutcome> =>
    act(options, job, evidence, doing);
  return {
    spec,
    callClass: 'pure',
    prepare: (job) => Promise.resolve(prepare(options, job)),
    prepareNow: (job) => prepare(options, job),
    run,
    recover: run,
  };
}

function prepare({ backgrounds }: CommandToolOptions, job: ToolJob): Prepared {
  const wish = wishOf(job);
  if (typeof wish === 'string') return refuse(wish);
  const kept = wish.id === null ? null : ownOf(backgrounds, job, wish.id);
  if (typeof kept === 'string') return refuse(kept);
  return { kind: 'run', evidence: { from: kept?.readTo ?? 0 }, ask: null, usesCommandSlot: false };
}

/** A command of the job's agent; a string says that there is none. */
function ownOf(backgrounds: Backgrounds, { agent }: ToolJob, id: number): Background | string {
  const own = backgrounds.of(agent);
  const found = own.find(({ call }) => call === id);
  if (found !== undefined) return found;
  const names = own.map(({ call }) => call).join(', ');
  return `command: you have no command ${id} in the background. ${names === '' ? 'You have none.' : `There are: ${names}.`}`;
}

async function act(
  options: CommandToolOptions,
  job: ToolJob,
  evidence: Json,
  doing: Doing,
): Promise<ToolOutcome> {
  const wish = wishOf(job);
  if (typeof wish === 'string') return failure(wish);
  const { backgrounds, witness, worktrees } = options;
  if (wish.id === null) return listed(backgrounds.of(job.agent));
  const kept = ownOf(backgrounds, job, wish.id);
  if (typeof kept === 'string') return failure(kept);
  const from = isObject(evidence) && typeof evidence['from'] === 'number' ? evidence['from'] : 0;
  if (wish.deed === 'read') return stand(backgrounds, kept, from);
  // While its agent waits, what changes in its folder is most likely the work of what it waits for.
  const watching = await witness.watch(await sceneOf(worktrees, job), () => undefined);
  if (wish.deed === 'kill') kept.stop();
  await waited(backgrounds, kept, { wish, doing });
  return withSeen(stand(backgrounds, kept, from), await watching.end());
}

interface Waiting {
  readonly wish: Wish;
  readonly doing: Doing;
}

async function waited(backgrounds: Backgrounds, kept: Background, { wish, doing }: Waiting): Promise<void> {
  const untilMs = performance.now() + (wish.deed === 'kill' ? 4 * limits.killGraceMs : wish.waitMs);
  let at = kept.readTo;
  let said = '';
  while (kept.ended === null && performance.now() < untilMs && !doing.signal.aborted) {
    const { bytes, next } = backgrounds.output(kept, at, limits.commandOutputBytes);
    at = next;
    said = (said + bytes.toString('latin1')).slice(-limits.commandOutputBytes);
    if (wish.until !== null && said.includes(Buffer.from(wish.until, 'utf8').toString('latin1'))) return;
    if (bytes.length > 0)
      doing.output(Buffer.from(said, 'latin1').toString('utf8').slice(-limits.outputChars));
    const tickMs = Math.min(limits.commandTickMs, Math.max(1, untilMs - performance.now()));
    await Promise.race([kept.end, pause(tickMs, null, { signal: doing.signal }).catch(() => null)]);
  }
}

/** How a command stands, and what it has printed after a place. */
function stand(backgrounds: Backgrounds, kept: Background, from: number): ToolOutcome {
  const { bytes, skippedBytes, next } = backgrounds.output(kept, from, limits.resultBytes - 1_000);
  const { ended } = kept;
  if (ended !== null && next <= from) {
    const line = endOf(kept, ended).text.split('\n', 1)[0] ?? '';
    return {
      status: 'ok',
      text: `ended: ${line}\n[no output since you last read]`,
      ended: callId(kept.call),
    };
  }
  kept.readTo = next;
  const line =
    ended === null ? runningFor(kept) : `ended: ${endOf(kept, ended).text.split('\n', 1)[0] ?? ''}`;
  const gap = skippedBytes === 0 ? '' : `[roost: ${skippedBytes} bytes left out]\n`;
  const said = bytes.length === 0 ? '[no output since you last read]' : gap + bytes.toString('utf8');
  const told = { status: 'ok' as const, text: `${line}\n${said}` };
  return ended === null ? told : { ...told, ended: callId(kept.call) };
}

const runningFor = ({ startedAtMs }: Background): string =>
  `runs since ${Math.round((Date.now() - startedAtMs) / 1000)} s`;

function listed(own: readonly Background[]): ToolOutcome {
  const lines = own.map((kept) => {
    const state =
      kept.ended === null ? runningFor(kept) : `ended: ${endOf(kept, kept.ended).text.split('\n', 1)[0]}`;
    return `${kept.call}: ${state}: ${kept.title}`;
  });
  const text = lines.length === 0 ? 'You have no commands in the background.' : lines.join('\n');
  return { status: 'ok', text };
}

// A call of a server's tool: what a person is asked about it, how its result is told, and what is known of it after a
// crash. A server's tool is an effect unless the server says that it only reads: one that was started and whose end
// nobody saw is unknown, and is never run twice (I3, DESIGN §7).

import type { Prepared, RemoteCall, ToolJob, ToolOutcome } from '../../ports.ts';
import { limits } from '../../runtime/limits.ts';
import { failure, refuse } from '../tool.ts';
import type { Doing, Tool } from '../tool.ts';
import { problemOf } from './connection.ts';
import type { Pool } from './pool.ts';
import { outcomeOf } from './result.ts';

/** The one tool behind all tools of servers; its own name and schema are never offered. */
export function createRemote(pool: Pool): Tool {
  const run = async (job: ToolJob, doing: Doing): Promise<ToolOutcome> => {
    const { remote } = job;
    return remote === undefined ? failure('There is no such tool.') : await call(pool, remote, job, doing);
  };
  return {
    spec: { name: 'remote', description: '', schema: {} },
    callClass: 'effect',
    mayWrite: (job) => job.remote?.reading !== true,
    prepare: (job) => Promise.resolve(prepare(job)),
    prepareNow: prepare,
    run: (job, _evidence, doing) => run(job, doing),
    recover: (job, _evidence, doing) =>
      job.remote?.reading === true
        ? run(job, doing)
        : Promise.resolve(lost(job, 'Roost ended while the call ran')),
  };
}

function prepare(job: ToolJob): Prepared {
  const { remote, input } = job;
  if (remote === undefined) return refuse(`There is no tool "${job.tool}".`);
  const { server, tool, reading } = remote;
  const shown = JSON.stringify(input, null, 2);
  return {
    kind: 'run',
    evidence: { server: server.hash, tool },
    ask: {
      kind: 'command',
      title: `${server.name}: ${tool} ${JSON.stringify(input)}`.slice(0, limits.askTitleChars),
      detail: `Tool ${tool} of the server ${server.name}, with\n${shown}`.slice(0, limits.askDetailBytes),
      cluster: `mcp:${server.name}/${tool}`,
      harmless: reading,
      sandboxed: false,
      always: false,
    },
    usesCommandSlot: false,
  };
}

async function call(pool: Pool, remote: RemoteCall, job: ToolJob, doing: Doing): Promise<ToolOutcome> {
  const { server, tool, reading } = remote;
  const how = { signal: doing.signal, progress: doing.output };
  try {
    return await outcomeOf(await pool.call(server, tool, job.input, how), pool.received);
  } catch (error) {
    const problem = problemOf(error);
    if (problem === null) throw error;
    const { kind, message } = problem;
    if (kind === 'lost' && reading && !doing.signal.aborted) return await again(pool, remote, { job, doing });
    if (kind === 'lost') return lost(job, message);
    return failure(kind === 'answered' ? `${server.name} says: ${message}` : message);
  }
}

/** A tool that only reads is asked once more: what was lost did nothing. */
async function again(
  pool: Pool,
  remote: RemoteCall,
  { job, doing }: { readonly job: ToolJob; readonly doing: Doing },
): Promise<ToolOutcome> {
  const how = { signal: doing.signal, progress: doing.output };
  try {
    return await outcomeOf(await pool.call(remote.server, remote.tool, job.input, how), pool.received);
  } catch (error) {
    const problem = problemOf(error);
    if (problem === null) throw error;
    return failure(`${remote.server.name}: ${problem.message}`);
  }
}

const lost = (job: ToolJob, why: string): ToolOutcome => ({
  status: 'unknown',
  text: `unknown: ${why}. Whether ${job.tool} took effect is not known: check before you call it again.`,
});

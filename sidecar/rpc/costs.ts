// What was spent, as clients are told: days of a root or of all, sums of any agent.

import type { Params, Result } from '../protocol/methods.ts';
import type { Reads } from '../ports.ts';
import { findAgent } from './found.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** @throws RoostError `agent/unknown`. `nowMs` is wall time. */
export function costReport(reads: Reads, params: Params<'cost/get'>, nowMs: number): Result<'cost/get'> {
  const { agent, days, offsetMinutes } = params;
  const since = firstHour(nowMs, days, offsetMinutes);
  if (agent === null) return { agent: null, days: reads.spent(0, since, offsetMinutes) };
  const row = findAgent(reads, agent);
  // Sums by day are kept of roots: what is below one is in the ledger, request by request.
  const isRoot = row.parent === null;
  return {
    agent: reads.agentCost(agent) ?? null,
    days: isRoot ? reads.spent(agent, since, offsetMinutes) : null,
  };
}

/** The first hour of as many days as are wanted, today included, where midnight is `offsetMinutes` before UTC's. */
function firstHour(nowMs: number, days: number, offsetMinutes: number): number {
  const here = nowMs + offsetMinutes * 60_000;
  const midnight = here - (here % dayMs) - Math.max(0, days - 1) * dayMs;
  return Math.floor((midnight - offsetMinutes * 60_000) / hourMs);
}

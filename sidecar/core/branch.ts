// Branch counts: what one agent adds to the counts of its branch, and its place in the order of the tree.
//
// Every ancestor's row holds the sum over its branch, changed in the transaction that changes the agent (I9).
// So a view of a million agents reads the rows it shows and adds up nothing.

import type { AgentRecord } from './rows.ts';

/** What one agent adds to each ancestor, itself included. */
export interface Share {
  agents: number;
  running: number;
  waiting: number;
  needs: number;
  failed: number;
  done: number;
  microUsd: number;
  tokens: number;
  cacheable: number;
  cacheRead: number;
  heldMicroUsd: number;
  heldTokens: number;
}

export const noShare: Readonly<Share> = {
  agents: 0,
  running: 0,
  waiting: 0,
  needs: 0,
  failed: 0,
  done: 0,
  microUsd: 0,
  tokens: 0,
  cacheable: 0,
  cacheRead: 0,
  heldMicroUsd: 0,
  heldTokens: 0,
};

/** The share of an agent, from its own columns alone. */
export function shareOf(agent: AgentRecord): Share {
  const idle = agent.phase === 'idle';
  return {
    agents: 1,
    running: agent.phase === 'ready' || agent.phase === 'asking' || agent.phase === 'calling' ? 1 : 0,
    waiting: agent.phase === 'waiting' ? 1 : 0,
    needs: agent.requests,
    failed: idle && agent.outcome === 'failed' ? 1 : 0,
    done: idle && agent.outcome === 'done' ? 1 : 0,
    microUsd: agent.microUsd,
    tokens: agent.tokens,
    cacheable: agent.cacheable,
    cacheRead: agent.cacheRead,
    heldMicroUsd: agent.heldMicroUsd,
    heldTokens: agent.heldTokens,
  };
}

/** The part of a share that its ancestors keep when the branch is in the trash: money that was spent stays spent (I7). */
export const spendOf = (share: Readonly<Share>): Share => ({
  ...noShare,
  microUsd: share.microUsd,
  tokens: share.tokens,
  cacheable: share.cacheable,
  cacheRead: share.cacheRead,
  heldMicroUsd: share.heldMicroUsd,
  heldTokens: share.heldTokens,
});

/** The branch counts of an agent, as a share. */
export const branchOf = (agent: AgentRecord): Share => ({
  agents: agent.bAgents,
  running: agent.bRunning,
  waiting: agent.bWaiting,
  needs: agent.bNeeds,
  failed: agent.bFailed,
  done: agent.bDone,
  microUsd: agent.bMicroUsd,
  tokens: agent.bTokens,
  cacheable: agent.bCacheable,
  cacheRead: agent.bCacheRead,
  heldMicroUsd: agent.bHeldMicroUsd,
  heldTokens: agent.bHeldTokens,
});

/** What to add to every ancestor when a share moved; null when nothing did. */
export function difference(before: Readonly<Share>, after: Readonly<Share>): Share | null {
  const change: Share = {
    agents: after.agents - before.agents,
    running: after.running - before.running,
    waiting: after.waiting - before.waiting,
    needs: after.needs - before.needs,
    failed: after.failed - before.failed,
    done: after.done - before.done,
    microUsd: after.microUsd - before.microUsd,
    tokens: after.tokens - before.tokens,
    cacheable: after.cacheable - before.cacheable,
    cacheRead: after.cacheRead - before.cacheRead,
    heldMicroUsd: after.heldMicroUsd - before.heldMicroUsd,
    heldTokens: after.heldTokens - before.heldTokens,
  };
  const moved =
    change.agents !== 0 ||
    change.running !== 0 ||
    change.waiting !== 0 ||
    change.needs !== 0 ||
    change.failed !== 0 ||
    change.done !== 0 ||
    change.microUsd !== 0 ||
    change.tokens !== 0 ||
    change.cacheable !== 0 ||
    change.heldMicroUsd !== 0 ||
    change.heldTokens !== 0;
  return moved ? change : null;
}

/** Adds a change to the counts of one agent's branch. */
export function addToBranch(agent: AgentRecord, change: Readonly<Share>): void {
  agent.bAgents += change.agents;
  agent.bRunning += change.running;
  agent.bWaiting += change.waiting;
  agent.bNeeds += change.needs;
  agent.bFailed += change.failed;
  agent.bDone += change.done;
  agent.bMicroUsd += change.microUsd;
  agent.bTokens += change.tokens;
  agent.bCacheable += change.cacheable;
  agent.bCacheRead += change.cacheRead;
  agent.bHeldMicroUsd += change.heldMicroUsd;
  agent.bHeldTokens += change.heldTokens;
}

/** Attention class: 0 somebody in the branch needs a person, 1 running, 2 waiting, 3 failed, 4 done, 5 idle. */
export function rankOf(agent: AgentRecord): number {
  if (agent.bNeeds > 0) return 0;
  if (agent.bRunning > 0) return 1;
  if (agent.bWaiting > 0) return 2;
  if (agent.outcome === 'failed') return 3;
  return agent.outcome === null ? 5 : 4;
}

// From a call's row to what an adapter is asked to do.

import { parseInput, textOf } from '../core/answer.ts';
import { must } from '../core/assert.ts';
import type { AgentRecord, CallRecord, EntryRecord, TurnRecord } from '../core/rows.ts';
import { head } from '../core/text.ts';
import type { EntryBody } from '../protocol/entry.ts';
import { agentId, callId, turnId } from '../protocol/ids.ts';
import type { JsonObject } from '../protocol/json.ts';
import type { Store, ToolJob } from '../ports.ts';
import { limits } from './limits.ts';
import { pinnedProfile } from './profiles.ts';
import type { Step } from './step.ts';

/** The body of an entry, wherever it is kept. It was written by `addEntry`, so its form is known. */
export function bodyOf(store: Store, entry: EntryRecord): EntryBody {
  const json =
    entry.body ??
    must(store.blobText(entry.blob), 'the text of an entry is in the store', { entry: entry.id });
  const body: EntryBody = JSON.parse(json);
  return body;
}

/** What an ended turn said last, or why it failed; at most `limits.briefChars` characters. */
export function briefOf(store: Store, turn: TurnRecord): string {
  return turn.brief === '' ? head(answerOf(store, turn), limits.briefChars) : turn.brief;
}

/** The whole of what an ended turn said last, or why it failed. */
export function answerOf(store: Store, turn: TurnRecord): string {
  const answer = store.get('entry', turn.answer);
  const body = answer === undefined ? null : bodyOf(store, answer);
  return body?.kind === 'answer' ? textOf(body.blocks) : turn.brief;
}

/** The arguments that the model wrote for a call. They were complete JSON when the call was planned. */
export function inputOf(step: Step, call: CallRecord): JsonObject {
  const entry = must(step.store.get('entry', call.entry), 'the answer of a call is in the store', {
    call: call.id,
  });
  const body = bodyOf(step.store, entry);
  const block = body.kind === 'answer' ? body.blocks[call.block] : undefined;
  const text = block?.kind === 'call' ? block.input : '';
  return must(parseInput(text, limits.callInputBytes).input, 'a planned call has usable arguments', {
    call: call.id,
  });
}

/** What the tools adapter needs to know of a call. */
export function jobOf(step: Step, agent: AgentRecord, call: CallRecord): ToolJob {
  const place = must(step.store.get('place', agent.place), 'the folder of an agent is in the store', {
    agent: agent.id,
  });
  return {
    call: callId(call.id),
    agent: agentId(agent.id),
    parent: agent.parent === 0 ? null : agentId(agent.parent),
    turn: turnId(call.turn),
    tool: call.tool,
    input: inputOf(step, call),
    place: { workspace: place.path, isolation: agent.isolation, mode: agent.mode },
    ...remoteOf(step, agent, { tool: call.tool, workspace: place.path }),
    ...(call.tool === 'skill' ? { skills: pinnedProfile(step, agent.profile).revision.skills } : {}),
  };
}

/** The server's tool that a call means, as the agent was offered it. */
function remoteOf(
  step: Step,
  agent: AgentRecord,
  { tool: name, workspace }: { readonly tool: string; readonly workspace: string },
): Pick<ToolJob, 'remote'> {
  // No tool of Roost has two underscores in its name, and every one of a server does.
  if (!name.includes('__')) return {};
  const { remotes, servers } = pinnedProfile(step, agent.profile).revision;
  const remote = remotes.find((each) => each.name === name);
  const server = servers.find(({ hash }) => hash === remote?.server);
  if (remote === undefined || server === undefined) return {};
  return { remote: { server: { ...server, workspace }, tool: remote.tool, reading: remote.reading } };
}

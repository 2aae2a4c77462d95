// The room in an agent's context: what its next request is for, and what is left out of its conversation from now on.
// Decisions are core/room.ts's; here they become entries of kind `context`, so that they are shown, a fork finds them,
// and a crash loses none of them.
//
// Not here: the summary itself (compact.ts).

import {
  comfortable,
  planRoom,
  trimRoom,
  type Change,
  type Room,
  type RoomFacts,
  type RoomRow,
} from '../core/room.ts';
import type { AgentRecord, EntryRecord } from '../core/rows.ts';
import { utf8Bytes } from '../core/text.ts';
import type { ContextView, EntryBody, Usage } from '../protocol/entry.ts';
import { answerTokens, learnDensity, learnWindow, requestTokens, windowOf } from './estimate.ts';
import { bodyOf } from './jobs.ts';
import { limits } from './limits.ts';
import { pinnedProfile } from './profiles.ts';
import type { Step } from './step.ts';
import { entriesBack, entryIn, viewOf } from './transcript.ts';
import { endTurn, startRound } from './turns.ts';

/** Whether the agent's requests are for a summary at the moment, and not for a round of its turn. */
export const isCompacting = (agent: AgentRecord): boolean => agent.compacting > 1;

export type Purpose =
  | { readonly kind: 'round' }
  /** Of what is before entry `tail`. */
  | { readonly kind: 'summary'; readonly tail: number }
  /** No request is made: the turn has ended. */
  | { readonly kind: 'ended' };

const round: Purpose = { kind: 'round' };
const ended: Purpose = { kind: 'ended' };

/** Makes room for the agent's next request when it needs some, and says what that request is for. */
export function makeRoom(step: Step, agent: AgentRecord): Purpose {
  if (agent.compacting === 0 && isRoomy(step, agent)) return round;
  const facts = factsOf(step, agent);
  const text = facts.rows.reduce((bytes, row) => bytes + row.bytes, 0);
  if (agent.compacting > 0 && text < limits.compactLeastBytes) return goOn(step, agent);
  return carryOut(step, agent, planRoom(viewOf(step.store, agent.context), facts, limits));
}

/** Decided without a look at the transcript, as for nearly every request. */
function isRoomy(step: Step, agent: AgentRecord): boolean {
  const most = comfortable(roomOf(step, agent.model), limits);
  return requestTokens(step, agent) <= most && agent.bytes <= limits.requestBytes;
}

/** Tokens that a request may have so that its answer fits, and that a request for a summary may have. */
function roomOf(step: Step, model: string): Pick<RoomFacts, 'mostTokens' | 'mostForSummary'> {
  const window = windowOf(step, model);
  const answer = answerTokens(step, model);
  const summary = Math.min(limits.summaryTokens, answer) + limits.summaryRoomTokens;
  return { mostTokens: window - answer, mostForSummary: window - summary };
}

function carryOut(step: Step, agent: AgentRecord, room: Room): Purpose {
  if (room.kind === 'never' || (room.change?.how === 'trimmed' && isAgain(step, agent, room.change))) {
    endTurn(step, agent, { outcome: 'failed', text: neverText(agent.model), answer: 0 });
    return ended;
  }
  if (room.change !== null) leaveOut(step, agent, room.change);
  if (room.kind === 'round')
    return goOn(step, agent, room.change === null ? nothingText : toldOf[room.change.how]);
  if (!isCompacting(agent)) agent.compacting = 2;
  return { kind: 'summary', tail: Math.min(room.tail, agent.head + 1) };
}

const neverText = (model: string): string =>
  `The instructions, the tools and a single step of the work are more than ${model} takes. Choose a model with a larger context, or give it a smaller task.`;

/** No step of its own was left to it before, and now again none: it would do the same step for ever. */
function isAgain(step: Step, agent: AgentRecord, { view }: Change): boolean {
  if (agent.context === 0) return false;
  const { turn } = entryIn(step.store, agent.context);
  const before = bodyOf(step.store, entryIn(step.store, agent.context));
  if (turn !== agent.turn || before.kind !== 'context' || before.how !== 'trimmed') return false;
  const answers = factsOf(step, agent).rows.filter(({ kind }) => kind === 'answer');
  return answers.every(({ id }) => agent.context < id && id < view.from);
}

/** The turn goes on with its rounds, whatever summary was due; a turn that was only for one has nothing else to do. */
export function goOn(step: Step, agent: AgentRecord, text = nothingText): Purpose {
  if (agent.compacting > 0 && step.turn(agent.turn).cause === 'compact') {
    endTurn(step, agent, { outcome: 'done', text, answer: 0 });
    return ended;
  }
  agent.compacting = 0;
  return round;
}

const toldOf: Record<Change['how'], string> = {
  elided: 'Texts of older results were left out; that was enough.',
  trimmed: 'No summary could be made, so the oldest part was left out.',
};
const nothingText = 'There was nothing to summarise.';

/**
 * The provider said that the request is too long: makes room below what was refused and asks again. False: that was
 * tried often enough, or nothing is left that could be left out.
 */
export function makeMoreRoom(step: Step, agent: AgentRecord, saidTokens: number | null): boolean {
  if (agent.tries + 1 >= limits.overflows) return false;
  agent.tries += 1;
  const refused = requestTokens(step, agent);
  if (saidTokens !== null) learnLimit(step, agent, saidTokens);
  const facts = factsOf(step, agent);
  const most = Math.min(saidTokens ?? Number.POSITIVE_INFINITY, Math.floor(refused * 0.6));
  const mostTokens = Math.min(facts.mostTokens, most);
  const mostForSummary = Math.min(facts.mostForSummary, most);
  const view = viewOf(step.store, agent.context);
  const room = planRoom(view, { ...facts, mostTokens, mostForSummary }, limits);
  // A plan that changes nothing would be refused again.
  if (room.kind === 'never' || (room.kind === 'round' && room.change === null)) return false;
  if (carryOut(step, agent, room).kind !== 'ended') startRound(step, agent);
  return true;
}

/** What the model takes is smaller than was known, or its tokens are more than was thought. */
function learnLimit(step: Step, agent: AgentRecord, saidTokens: number): void {
  const { model, bytes } = agent;
  if (saidTokens < windowOf(step, model)) return learnWindow(step, model, saidTokens);
  learnDensity(step, model, { bytes: bytes + pinnedProfile(step, agent.profile).bytes, tokens: saidTokens });
}

/**
 * No summary came: the older half is left out without one. What has room is left as it is, since a person only wished
 * for a summary; so is what cannot be halved but fits. Only the provider's own refusal is believed more than that.
 */
export function trim(step: Step, agent: AgentRecord): Purpose {
  if (agent.tries === 0 && isRoomy(step, agent)) return goOn(step, agent, leftText);
  const facts = factsOf(step, agent);
  const room = trimRoom(viewOf(step.store, agent.context), facts, limits);
  const fits = facts.tokens <= facts.mostTokens && agent.bytes <= facts.mostBytes;
  return room.kind === 'never' && fits ? goOn(step, agent, leftText) : carryOut(step, agent, room);
}

const leftText = 'No summary could be made. There is room, so the conversation was left as it is.';

/**
 * The provider does not take back reasoning of the conversation: it is left out from now on. False: none is sent, so
 * that was not the reason.
 */
export function leaveOutReasoning(step: Step, agent: AgentRecord): boolean {
  const view = viewOf(step.store, agent.context);
  if (view.plain >= agent.head) return false;
  const { bytes } = agent;
  // Up to this very entry, so that a second refusal finds nothing more to leave out.
  const plain = step.store.nextId('entry');
  writeView(step, agent, { how: 'plain', view: { ...view, plain }, bytes, tokens: 0, text: plainText });
  return true;
}

const plainText =
  'The provider did not take back its own reasoning of before. It is no longer sent; it stays here.';

// ---------------------------------------------------------------- what is there

/** What a decision about the agent's room is made from. */
export function factsOf(step: Step, agent: AgentRecord): RoomFacts {
  const view = viewOf(step.store, agent.context);
  return {
    ...roomOf(step, agent.model),
    rows: entriesBack(step.store, agent, {
      before: agent.head + 1,
      from: view.from,
      limit: limits.contextRows,
      of: roomRow,
    }),
    kept: view.kept.map((id) => roomRow(entryIn(step.store, id))),
    summaryBytes: view.summary === 0 ? 0 : entryIn(step.store, view.summary).bytes,
    headBytes: pinnedProfile(step, agent.profile).bytes,
    tokens: requestTokens(step, agent),
    mostBytes: limits.requestBytes,
    turn: agent.turn,
    wanted: agent.compacting > 0,
  };
}

const roomRow = ({ id, kind, turn, bytes }: EntryRecord): RoomRow => ({ id, kind, turn, bytes });

// ---------------------------------------------------------------- leaving out

/** From now on the conversation is sent as a change says. */
function leaveOut(step: Step, agent: AgentRecord, change: Change): void {
  if (change.how === 'elided') return writeView(step, agent, { ...change, text: elidedText });
  const id = step.store.nextId('entry');
  const text = trimmedText(step, viewOf(step.store, agent.context));
  const view = { ...change.view, from: Math.min(change.view.from, id), summary: id };
  writeView(step, agent, { ...change, view, bytes: change.bytes + utf8Bytes(text), text });
}

const elidedText =
  'Texts of older results are no longer sent to the model. They stay here, and it can read them back.';

/** What stands for a part that was left out without a summary; a summary of what was before that is kept. */
function trimmedText(step: Step, { summary }: ContextView): string {
  const before = summary === 0 ? null : bodyOf(step.store, entryIn(step.store, summary));
  if (before?.kind !== 'context') return trimmedNote;
  return before.how === 'trimmed'
    ? before.text
    : `${trimmedNote}\n\nOf its beginning there is this:\n${before.text}`;
}

const trimmedNote =
  'No summary could be made of the older part of this conversation. Read what you need of it with the tool history before you rely on it.';

export interface NewView {
  readonly how: Extract<EntryBody, { kind: 'context' }>['how'];
  readonly view: ContextView;
  /** Bytes of the conversation under it; tokens of the next request, 0 when nothing but its bytes is known. */
  readonly bytes: number;
  readonly tokens: number;
  readonly text: string;
  /** Who made the summary, and what that took. */
  readonly made?: { readonly model: string; readonly usage: Usage };
}

/** Writes the entry that says what is sent from now on. */
export function writeView(step: Step, agent: AgentRecord, next: NewView): void {
  const { how, view, bytes, tokens, text, made } = next;
  const bytesBefore = agent.bytes;
  agent.context = step.addEntry(agent, agent.turn, {
    kind: 'context',
    how,
    text,
    view,
    bytesBefore,
    bytesAfter: bytes,
    ...made,
  });
  agent.bytes = bytes;
  const matters = tokens > 0 && bytes >= limits.anchorBytes;
  agent.seenTokens = matters ? tokens : 0;
  agent.seenBytes = matters ? bytes : 0;
}

// What the next request of an agent will come to, in tokens: for its budget, its pace and its room in the context.
//
// Learned by model from what providers count, in memory: after a start it is learned again, and the first guess is on
// the high side. What was counted for the agent's own last request is on its row, and exact.

import { estimate, learnRatio } from '../core/room.ts';
import type { AgentRecord } from '../core/rows.ts';
import type { Usage } from '../protocol/entry.ts';
import { limits } from './limits.ts';
import { pinnedProfile } from './profiles.ts';
import type { Step } from './step.ts';

/** Tokens of the agent's next request. */
export function requestTokens(step: Step, agent: AgentRecord): number {
  const { bytes, seenTokens, seenBytes } = agent;
  const headBytes = pinnedProfile(step, agent.profile).bytes;
  return estimate({ bytes, headBytes, seenTokens, seenBytes }, ratioOf(step, agent.model));
}

const ratioOf = (step: Step, model: string): number =>
  step.rt.learned.get(model)?.bytesPerToken ?? limits.bytesPerToken;

/** Room of a model in tokens: what is known of it, or less when its provider said so in a refusal. */
export function windowOf(step: Step, model: string): number {
  const known = step.rt.model.info(model)?.contextTokens ?? limits.contextTokens;
  return Math.min(known, step.rt.learned.get(model)?.windowTokens ?? known);
}

/** Tokens of an answer that are asked for: never so many that little is left for the conversation. */
export function answerTokens(step: Step, model: string): number {
  const most = step.rt.model.info(model)?.outputTokens ?? limits.outputTokens;
  return Math.min(limits.outputTokens, most, Math.floor(windowOf(step, model) / 4));
}

/**
 * An answer was counted: how dense the text of this model is, and of a long conversation where its next request
 * starts from. Call it when the answer is in the transcript; `answerBytes` is what it has added.
 */
export function learnFrom(step: Step, agent: AgentRecord, seen: Seen): void {
  const { model, usage, answerBytes } = seen;
  const before = agent.bytes - answerBytes;
  const bytes = before + pinnedProfile(step, agent.profile).bytes;
  learnDensity(step, model, { bytes, tokens: usage.input });
  const matters = before >= limits.anchorBytes && model === agent.model;
  const answer = Math.max(usage.output, Math.ceil(answerBytes / ratioOf(step, model)));
  agent.seenTokens = matters ? usage.input + answer : 0;
  agent.seenBytes = matters ? agent.bytes : 0;
}

interface Seen {
  readonly model: string;
  readonly usage: Usage;
  readonly answerBytes: number;
}

/** So many bytes of a model's text came to so many tokens. */
export function learnDensity(
  step: Step,
  model: string,
  seen: { readonly bytes: number; readonly tokens: number },
): void {
  const known = step.rt.learned.get(model);
  const bytesPerToken = learnRatio(known?.bytesPerToken, seen, limits);
  if (bytesPerToken === known?.bytesPerToken) return;
  step.after(() => void step.rt.learned.set(model, { ...known, bytesPerToken }));
}

/** A refusal named how many tokens the model takes. */
export function learnWindow(step: Step, model: string, windowTokens: number): void {
  const known = step.rt.learned.get(model);
  step.after(
    () => void step.rt.learned.set(model, { bytesPerToken: limits.bytesPerToken, ...known, windowTokens }),
  );
}

/** The agent's next request goes to another model, which counts and remembers otherwise. */
export function forgetCounts(agent: AgentRecord): void {
  agent.seenTokens = 0;
  agent.seenBytes = 0;
}

/** The agent's requests begin with another profile from now on: what was counted began with the last one. */
export function pinTo(agent: AgentRecord, profile: number): void {
  if (agent.profile !== profile) forgetCounts(agent);
  agent.profile = profile;
}

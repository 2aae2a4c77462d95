// The top of the agent panel: who it is, whose child, what it does or waits for, on which model, what it has
// cost, and the two ways to stop it.

import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { AgentRow } from '../../sidecar/protocol/agent.ts';
import { icon, lookIcon } from '../icons.ts';
import { say, sayCount } from '../strings.ts';
import {
  becauseWords,
  branchCounts,
  clockWords,
  costWords,
  isBusy,
  isScripted,
  lookOf,
  phaseWords,
  shortCount,
} from '../words.ts';

export interface HeaderState {
  readonly agent: AgentRow;
  /** From the root down to the parent, as far as known; null stands for parents that are not named. */
  readonly parents: readonly (AgentRow | null)[];
  readonly nowMs: number;
  readonly hasRequest: boolean;
}

export interface HeaderActs {
  readonly stop: (branch: boolean) => void;
  readonly showRequest: () => void;
  readonly setKey: () => void;
}

export function headerTemplate(state: HeaderState, acts: HeaderActs): TemplateResult {
  const { agent } = state;
  return html`
    ${agent.parent === null ? nothing : crumbs(state)}
    <div class="titleline">
      ${lookIcon(lookOf(agent))}
      <h1 title=${agent.task}>${agent.name}</h1>
      <span class="word" data-look=${lookOf(agent)}>${phaseWords(agent)}</span>
      <span class="since">${sinceWords(agent, state.nowMs)}</span>
      <span class="push"></span>
      ${stops(agent, acts)}
    </div>
    <div class="facts">
      ${
        isScripted(agent.model)
          ? html`<span class="chip warn" title=${say('model.scriptedLong')}
              >${say('model.scriptedChip')}</span
            >`
          : html`<span title=${agent.model}>${agent.model}</span>`
      }
      <span>${say(`agent.isolation.${agent.isolation}`)}</span>
      <span>${say(`agent.mode.${agent.mode}`)}</span>
      ${agent.queued === 0 ? nothing : html`<span>${sayCount('count.queued', agent.queued)}</span>`}
      ${1 < agent.branch.agents ? branch(agent) : nothing}
      ${costWords(agent) === '' ? nothing : html`<span class="cost">${costWords(agent)}</span>`}
    </div>
    ${because(state, acts)}
  `;
}

/** Since when it does what it does; when it ended, if it does nothing. */
function sinceWords(agent: AgentRow, nowMs: number): string {
  const clock = clockWords(agent.sinceMs, nowMs);
  return agent.phase === 'idle' ? clock : say('since', clock);
}

function crumbs(state: HeaderState): TemplateResult {
  return html`<nav class="crumbs" aria-label=${say('agent.parents')}>
    ${state.parents.map((parent) =>
      parent === null
        ? html`<span>…</span>${icon('chevron')}`
        : html`<button class="link" data-act="showAgent" data-agent=${parent.id}>${parent.name}</button
            >${icon('chevron')}`,
    )}
  </nav>`;
}

function stops(agent: AgentRow, acts: HeaderActs): TemplateResult {
  const below = agent.branch.running + agent.branch.waiting - Number(isBusy(agent));
  return html`${
    isBusy(agent)
      ? html`<button class="secondary" title=${say('agent.stopHint')} @click=${() => acts.stop(false)}>
          ${icon('stopped')}${say('agent.stop')}
        </button>`
      : nothing
  }
  ${
    0 < below
      ? html`<button
          class="secondary"
          title=${say('agent.stopBranchHint', sayCount('count.agents', below + Number(isBusy(agent))))}
          @click=${() => acts.stop(true)}
        >
          ${icon('branch')}${say('agent.stopBranch')} (${shortCount(below + Number(isBusy(agent)))})
        </button>`
      : nothing
  }`;
}

function branch(agent: AgentRow): TemplateResult {
  return html`<span class="counts"
    >${branchCounts(agent.branch).map(
      ({ look, count, words }) =>
        html`<span class="count" data-look=${look} title=${words}
          >${icon(look)}${shortCount(count)}<span class="hidden">${words}</span></span
        >`,
    )}</span
  >`;
}

function because(state: HeaderState, acts: HeaderActs): TemplateResult | typeof nothing {
  const words = becauseWords(state.agent);
  if (words === null) return nothing;
  return html`<div class="because" data-look=${lookOf(state.agent)}>
    <span>${words}</span>
    ${
      state.hasRequest
        ? html`<button class="link" @click=${acts.showRequest}>${say('agent.showRequest')}</button>`
        : nothing
    }
    ${state.agent.why === 'key' ? html`<button class="link" @click=${acts.setKey}>${say('agent.setKey')}</button>` : nothing}
  </div>`;
}

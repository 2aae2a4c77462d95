// Files of a folder that nobody has decided on: the agents that were made with them wait for a person, as one
// question for all agents of the folder, and go on with what was decided (I15). An answer to bytes that have changed
// meanwhile decides nothing, and the person is asked about the new ones (case 219).

import { filesOf, modeBelow, type Choices, type Revision, type Server } from '../core/knowledge.ts';
import type { AgentRecord, RequestRecord } from '../core/rows.ts';
import { trustQuestions, type TrustQuestion } from '../core/trust.ts';
import type { Answer } from '../protocol/request.ts';
import { refuse } from './agents.ts';
import { pinTo } from './estimate.ts';
import type { ClientEvent } from './event.ts';
import { knowledgeOf, setTrust } from './knowledge.ts';
import { limits } from './limits.ts';
import { modelFor } from './models.ts';
import { lackOf, landing, pinnedProfile, pinProfile, profileNames } from './profiles.ts';
import { openRequest, withdrawRequest } from './requests.ts';
import type { Step } from './step.ts';
import { endTurn, setPhase, startRound } from './turns.ts';

/**
 * An agent is about to ask its model with a provisional revision: it is pinned anew when all is known by now, and
 * waits for the person, or for servers to say what they offer, otherwise.
 */
export function settleRevision(step: Step, agent: AgentRecord, provisional: Revision): void {
  const pin = pinProfile(step, { place: agent.place, name: provisional.name, ...chosen(provisional) });
  if (pin === null)
    return endTurn(step, agent, { outcome: 'failed', text: gone(step, agent, provisional), answer: 0 });
  pinTo(agent, pin.blob);
  if (pin.revision.provisional) return waitForRest(step, agent, provisional);
  if (provisional.choices !== undefined) adopt(step, agent, pin.revision, provisional.choices);
  startRound(step, agent);
}

const chosen = ({ choices }: Revision): Pick<Revision, 'choices'> =>
  choices === undefined ? {} : { choices };

const gone = (step: Step, agent: AgentRecord, { name }: Revision): string =>
  `The profile "${name}" was not trusted, or its file is gone. There are: ${profileNames(step, agent.place)}.`;

/** The profile is known now: what nobody had chosen otherwise is as it says. */
function adopt(step: Step, agent: AgentRecord, revision: Revision, choices: Choices): void {
  const parent = agent.parent === 0 ? null : step.agent(agent.parent);
  agent.isolation = choices.isolation ?? landing(step, parent, { place: agent.place, revision });
  agent.model = modelFor(step, { named: choices.model ?? null, revision, parent }) ?? agent.model;
  const mode = parent === null ? (revision.mode ?? 'ask') : modeBelow(parent.mode, revision.mode);
  agent.mode = choices.mode ?? mode;
}

function waitForRest(step: Step, agent: AgentRecord, { name }: Revision): void {
  const questions = questionsOf(step, agent, name);
  if (questions.length === 0) return waitForOffers(step, agent, lackOf(step, agent.place, name).unasked);
  setPhase(step, agent, 'waiting', 'approval');
  for (const { title, detail, cluster } of questions)
    openRequest(step, agent, { kind: 'trust', title, detail, cluster, call: 0, choices: [] });
}

/** Parks the turn until these servers have said what they offer, and asks those that nobody is asking. */
function waitForOffers(step: Step, agent: AgentRecord, servers: readonly Server[]): void {
  setPhase(step, agent, 'waiting', 'tools');
  const { rt } = step;
  const workspace = step.store.get('place', agent.place)?.path ?? '';
  step.after(() => {
    for (const { name, hash, path } of servers) {
      if (rt.offering.has(hash)) continue;
      rt.offering.add(hash);
      rt.tools.offer({ name, hash, path, workspace }, (answer) =>
        rt.post({ kind: 'offered', server: hash, answer }),
      );
    }
  });
}

/** What a person has to decide before an agent of this profile can begin. */
function questionsOf(step: Step, agent: AgentRecord, profile: string): readonly TrustQuestion[] {
  const { place } = agent;
  const folder = step.store.get('place', place)?.path ?? '';
  return trustQuestions({ place, folder }, lackOf(step, place, profile).pending, limits);
}

/** A person has answered: the files are decided, and every agent that waited for the same goes on. */
export function applyTrust(step: Step, agent: AgentRecord, request: RequestRecord, answer: Answer): void {
  const { name } = pinnedProfile(step, agent.profile).revision;
  const asked = questionsOf(step, agent, name).find(({ cluster }) => cluster === request.cluster);
  // None: they have changed since they were shown, so nothing is decided, and the agent asks about what is there now.
  for (const file of asked?.files ?? []) setTrust(step, file, answer.kind === 'allow' ? 'trusted' : 'denied');
  if (asked !== undefined) step.after(() => step.rt.post({ kind: 'trustMore', after: 0 }));
  goOn(step, agent);
}

/** An agent goes on when none of its questions is open any more. */
function goOn(step: Step, agent: AgentRecord): void {
  if (agent.requests === 0 && agent.phase === 'waiting' && agent.why === 'approval') startRound(step, agent);
}

/** Agents that wait for a decision about files look whether it has come, a slice at a time. */
export function onTrustMore(step: Step, after: number): void {
  const rows = step.store.range('agent.waiting', ['approval'], { after, limit: limits.slice });
  for (const row of rows) {
    step.lookingAt = row.id;
    const agent = step.agent(row.id);
    if (agent.phase !== 'waiting' || agent.why !== 'approval') continue;
    const asked = step.store.range('request.open', [agent.id], { limit: limits.slice });
    if (asked[0]?.kind !== 'trust') continue;
    const { name } = pinnedProfile(step, agent.profile).revision;
    const open = new Set(questionsOf(step, agent, name).map(({ cluster }) => cluster));
    for (const request of asked)
      if (request.cluster === null || !open.has(request.cluster)) withdrawRequest(step, agent, request);
    goOn(step, agent);
  }
  const last = rows.at(-1);
  if (rows.length < limits.slice || last === undefined) return;
  step.after(() => step.rt.post({ kind: 'trustMore', after: last.id }));
}

/** A person decides about files of a folder without being asked. Doing it twice is doing it once. */
export function onTrustSet(step: Step, event: Extract<ClientEvent, { kind: 'trust/set' }>): void {
  const { params, reply } = event;
  const place = step.store.range('place.path', [params.workspace], { limit: 1 })[0]?.id ?? 0;
  const files = filesOf(knowledgeOf(step, place));
  const named = files.filter(({ hash }) => params.hashes.includes(hash));
  if (params.hashes.some((hash) => !named.some((file) => file.hash === hash))) {
    const message = 'A file has changed since it was listed. List the files again and decide on those.';
    return refuse(step, reply, 'request/invalid', message);
  }
  const verdict = params.trusted ? 'trusted' : 'denied';
  const changed = named.filter((file) => setTrust(step, file, verdict)).length;
  step.after(() => {
    if (changed > 0) step.rt.post({ kind: 'trustMore', after: 0 });
    reply({ ok: true, value: { changed } });
  });
}

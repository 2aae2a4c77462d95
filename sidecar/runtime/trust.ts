// Files of a folder that nobody has decided on: the agents that were made with them wait for a person, as one
// question for all agents of the folder, and go on with what was decided (I15).
//
// The question names the bytes that it is about (its cluster holds their hashes): an answer to bytes that have
// changed meanwhile decides nothing, and the person is asked about the new ones (case 219).

import {
  filesOf,
  modeBelow,
  pendingFiles,
  type Choices,
  type FileKind,
  type Revision,
} from '../core/knowledge.ts';
import type { AgentRecord, RequestRecord } from '../core/rows.ts';
import { head } from '../core/text.ts';
import type { Answer } from '../protocol/request.ts';
import { refuse } from './agents.ts';
import type { ClientEvent } from './event.ts';
import { knowledgeOf, setTrust, trustingIn } from './knowledge.ts';
import { limits } from './limits.ts';
import { modelFor } from './models.ts';
import { landing, pinnedProfile, pinProfile, profileNames } from './profiles.ts';
import { openRequest, withdrawRequests } from './requests.ts';
import type { Step } from './step.ts';
import { endTurn, setPhase, startRound } from './turns.ts';

/**
 * An agent is about to ask its model with a provisional revision: it is pinned anew when all is decided by now,
 * and waits for the person otherwise.
 */
export function settleRevision(step: Step, agent: AgentRecord, provisional: Revision): void {
  const pin = pinProfile(step, { place: agent.place, name: provisional.name, ...chosen(provisional) });
  if (pin === null)
    return endTurn(step, agent, { outcome: 'failed', text: gone(step, agent, provisional), answer: 0 });
  agent.profile = pin.blob;
  if (pin.revision.provisional) return askForTrust(step, agent);
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

function askForTrust(step: Step, agent: AgentRecord): void {
  setPhase(step, agent, 'waiting', 'approval');
  const knowledge = knowledgeOf(step, agent.place);
  const pending = pendingFiles(knowledge, trustingIn(step));
  const names = pending.map((file) => file.label);
  const count = `${names.length} ${names.length === 1 ? 'file' : 'files'}`;
  const folder = step.store.get('place', agent.place)?.path ?? '';
  openRequest(step, agent, {
    kind: 'trust',
    title: head(`Trust ${count} of this project: ${names.join(', ')}`, limits.askTitleChars),
    detail: head(
      `Agents that work in ${folder} are told what these files say. Allow when you know them; deny to work without them. You are asked again when one of them changes.\n\n${pending.map(shown).join('\n\n')}`,
      limits.askDetailBytes,
    ),
    cluster: clusterOf(agent.place, pending),
    call: 0,
    choices: [],
  });
}

const nouns: Readonly<Record<FileKind, string>> = {
  instructions: 'instructions',
  skill: 'a skill, read when it is needed',
  profile: 'a profile',
};

type Pending = ReturnType<typeof pendingFiles>[number];

function shown(file: Pending): string {
  const line = `── ${file.label} (${nouns[file.kind]}, ${file.sizeBytes} bytes) ──`;
  switch (file.kind) {
    case 'instructions':
      return `${line}\n${file.text.trim()}`;
    case 'skill':
      return `${line}\n${file.name}: ${file.description}`;
    case 'profile': {
      const { name, description, tools, isolation, mode, instructions } = file.profile;
      const facts = `${name}: ${description}\ntools: ${tools?.join(', ') ?? 'all'}; isolation: ${isolation}; mode: ${mode ?? 'as whoever starts it'}`;
      return `${line}\n${facts}\n\n${instructions}`;
    }
  }
}

/** Names a folder and the very bytes that are asked about: 128 bits of each hash. */
const clusterOf = (place: number, files: readonly Pending[]): string =>
  `trust:${place}:${files.map(({ hash }) => hash.slice(0, 32)).join('')}`;

/** A person has answered: the files are decided, and every agent that waited for the same goes on. */
export function applyTrust(step: Step, agent: AgentRecord, request: RequestRecord, answer: Answer): void {
  const pending = pendingFiles(knowledgeOf(step, agent.place), trustingIn(step));
  // They have changed since they were shown: nothing is decided, and the agent asks about what is there now.
  if (clusterOf(agent.place, pending) === request.cluster) decide(step, pending, answer.kind === 'allow');
  if (agent.phase === 'waiting' && agent.why === 'approval') startRound(step, agent);
}

function decide(step: Step, files: readonly Pending[], allowed: boolean): void {
  for (const file of files) setTrust(step, file, allowed ? 'trusted' : 'denied');
  step.after(() => step.rt.post({ kind: 'trustMore', after: 0 }));
}

/** Agents that wait for a decision about files look whether it has come, a slice at a time. */
export function onTrustMore(step: Step, after: number): void {
  const rows = step.store.range('agent.waiting', ['approval'], { after, limit: limits.slice });
  for (const row of rows) {
    step.lookingAt = row.id;
    const agent = step.agent(row.id);
    if (agent.phase !== 'waiting' || agent.why !== 'approval' || !waitsForTrust(step, agent)) continue;
    const { revision } = pinnedProfile(step, agent.profile);
    const pin = pinProfile(step, { place: agent.place, name: revision.name, ...chosen(revision) });
    if (pin?.revision.provisional === true) continue;
    withdrawRequests(step, agent);
    startRound(step, agent);
  }
  const last = rows.at(-1);
  if (rows.length < limits.slice || last === undefined) return;
  step.after(() => step.rt.post({ kind: 'trustMore', after: last.id }));
}

const waitsForTrust = (step: Step, agent: AgentRecord): boolean =>
  step.store.range('request.open', [agent.id], { limit: 1 })[0]?.kind === 'trust';

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

// A hundred agents at work at once on this project's own repository, in worktrees, in the person's folder and
// reading only. A person decides on every change, and then the folder holds what was accepted and nothing else.
//
// What the folder must hold is computed here from the plan alone: texts of the repository, the lines that agents
// were told to change, and which of them the person takes. Real parts throughout: the built sidecar, the provider
// over HTTP, git, files, shells.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { connect, type Wire } from '../../sidecar/cli/connect.ts';
import type { ChangeRow, Verdict, VerdictResult } from '../../sidecar/protocol/change.ts';
import type { AgentId } from '../../sidecar/protocol/ids.ts';
import { Person } from '../crash/person.ts';
import { startFixture, type Fixture } from '../fixtures/provider/server.ts';

const root = path.join(import.meta.dirname, '..', '..');
const inWorktrees = 40;
const inPlace = 40;
const readers = 19;

let folder = '';
let workspace = '';
let store = '';
let fixture: Fixture;

before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'roost-swarm-'));
  workspace = path.join(folder, 'repository');
  store = path.join(folder, 'store');
  fixture = await startFixture({});
});

after(async () => {
  await fixture.close();
  if (process.env['KEEP'] === undefined) rmSync(folder, { recursive: true, force: true });
});

const git = (...args: string[]): string =>
  execFileSync('git', ['-C', workspace, ...args], { encoding: 'utf8', windowsHide: true });

/** The folder as a person finds it, without git's own. */
function filesOf(): Map<string, string> {
  const names = git('ls-files', '--cached', '--others', '-z').split('\0').filter(Boolean);
  const found = new Map<string, string>();
  for (const name of new Set(names)) {
    const text = readOrNull(name);
    if (text !== null) found.set(name, text);
  }
  return found;
}

function readOrNull(name: string): string | null {
  try {
    return readFileSync(path.join(workspace, name), 'latin1');
  } catch {
    return null;
  }
}

/** What a person sees of the repository besides its files. */
const stateOfGit = (): string =>
  [
    git('rev-parse', 'HEAD'),
    git('branch', '--list'),
    git('stash', 'list'),
    git('ls-files', '--stage'),
  ].join();

interface Spot {
  readonly file: string;
  /** Lines that stand once in the file, far from each other. */
  readonly lines: readonly [string, string];
}

/** Files with two lines that an edit can name. */
function spotsOf(files: ReadonlyMap<string, string>): Spot[] {
  const spots: Spot[] = [];
  for (const [file, text] of files) {
    if (!/^sidecar\/.*\.ts$/.test(file)) continue;
    const lines = text.split('\n');
    const fits = (line: string): boolean =>
      line.length > 20 && /^[\x20-\x7e]+$/.test(line) && !/\\|@|\|\|\|/.test(line);
    const once = lines.filter((line) => fits(line) && text.split(line).length === 2);
    const first = once[0];
    const last = once.findLast((line) => lines.indexOf(line) > 20);
    if (first === undefined || last === undefined || lines.indexOf(first) > 5) continue;
    spots.push({ file, lines: [first, last] });
  }
  return spots;
}

/** What one agent is told to do, and what that makes of a folder when it is accepted. */
interface Work {
  readonly task: string;
  /** Files of its changes; null: not there any more. */
  readonly makes: ReadonlyMap<string, (text: string) => string | null>;
}

const marked = (line: string, who: string): string => `${line} // ${who}`;

function worktreeWork(index: number, spots: readonly Spot[]): Work {
  const who = `tree-${index}`;
  const pair = Math.floor(index / 2);
  const { file, lines } = at(spots, pair);
  // Two agents share each file. The last two pairs want the same line, all others lines far apart.
  const line = lines[isRivalry(pair) ? 0 : index % 2] ?? '';
  const made = `made/${who}.txt`;
  const making =
    index % 4 === 0 ? `@shell mkdir -p made && echo ${who} > ${made}` : `@write ${made}|||${who}\\n`;
  return {
    task: `@edit ${file}|||${line}|||${marked(line, who)}\n${making}\n@read ${file}`,
    makes: new Map([
      [file, (text: string) => text.replace(line, () => marked(line, who))],
      [made, () => `${who}\n`],
    ]),
  };
}

function placeWork(index: number, spots: readonly Spot[]): Work {
  const who = `place-${index}`;
  const { file, lines } = at(spots, inWorktrees / 2 + index);
  const [line] = lines;
  const edited = (text: string): string => text.replace(line, () => marked(line, who));
  if (index % 10 === 9) return { task: `@shell rm ${file}`, makes: new Map([[file, () => null]]) };
  const adds = index % 5 === 0;
  const more = adds ? `\n@shell echo 'end of ${who}' >> ${file}` : '';
  return {
    task: `@edit ${file}|||${line}|||${marked(line, who)}${more}`,
    makes: new Map([[file, (text: string) => `${edited(text)}${adds ? `end of ${who}\n` : ''}`]]),
  };
}

const isRivalry = (pair: number): boolean => pair >= inWorktrees / 2 - 2;

function at<T>(list: readonly T[], index: number): T {
  const found = list[index];
  assert.ok(found !== undefined, `there is a place ${index}`);
  return found;
}

test(
  'a hundred agents, mixed isolation: the folder is exactly what was accepted',
  { timeout: 300_000 },
  async () => {
    execFileSync('git', ['clone', '--quiet', root, workspace], { windowsHide: true });
    // Work of the person that no commit has.
    writeFileSync(path.join(workspace, 'LICENSE'), 'mine, not committed\n');
    writeFileSync(path.join(workspace, 'notes.txt'), 'mine, not in git\n');
    const before = filesOf();
    const gitBefore = stateOfGit();
    const spots = spotsOf(before);
    const works = new Map<string, Work>();
    for (let i = 0; i < inWorktrees; i += 1) works.set(`tree-${i}`, worktreeWork(i, spots));
    for (let i = 0; i < inPlace; i += 1) works.set(`place-${i}`, placeWork(i, spots));
    for (let i = 0; i < readers; i += 1) {
      const { file, lines } = at(spots, i);
      const task = `@write ${file}|||gone\n@edit ${file}|||${lines[0]}|||gone\n@read ${file}`;
      works.set(`reader-${i}`, { task, makes: new Map() });
    }
    const person = new Person(store);
    const wire = await connect({ store, start: true, secrets: false, call: null });
    try {
      await workDone(wire, works);
      const expected = await decideAll(wire, works, before);
      assert.deepEqual(differences(filesOf(), expected), []);
      assert.equal(stateOfGit(), gitBefore, 'no ref, stash or index of the person has moved');
      assert.deepEqual(await changesOf(wire, null), [], 'nothing is left to decide');
      assert.deepEqual((await wire.call('store/doctor', {})).findings, []);
      assert.deepEqual(fixture.violations(), []);
    } finally {
      await person.leave();
      await wire.call('shutdown', {});
      wire.close();
    }
  },
);

/** Starts the lead and its hundred, and returns once all have done what they were told. */
async function workDone(wire: Wire, works: ReadonlyMap<string, Work>): Promise<void> {
  const spawn = (prefix: string, isolation: string): string => {
    const tasks = [...works]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, { task }]) => ({ name, task }));
    return `@spawn ${JSON.stringify({ tasks, isolation })}`;
  };
  const steps = [spawn('tree-', 'worktree'), spawn('place-', 'shared'), spawn('reader-', 'readonly')];
  await wire.call('provider/set', {
    name: 'fixture',
    dialect: 'chat',
    baseUrl: `${fixture.url}/v1`,
    keyless: true,
  });
  const { agent, turn } = await wire.call('agent/start', {
    name: 'lead',
    text: ['@parallel', ...steps, '@end', '@call wait_agent {"mode":"all"}'].join('\n'),
    workspace,
    model: 'fixture/any',
    mode: 'auto',
    key: randomUUID(),
  });
  const { done } = await wire.call('turn/wait', { turns: [turn], mode: 'all', timeoutMs: 240_000 });
  assert.equal(done[0]?.outcome, 'done');
  const { rows } = await wire.call('agent/list', { parent: agent, after: null, limit: 200 });
  assert.deepEqual(
    rows.filter((row) => row.outcome !== 'done').map((row) => [row.name, row.outcome]),
    [],
  );
  assert.equal(rows.length, inWorktrees + inPlace + readers);
}

async function changesOf(wire: Wire, agent: AgentId | null): Promise<readonly ChangeRow[]> {
  const { rows, more } = await wire.call('change/list', { agent, after: null, limit: 500 });
  assert.equal(more, false);
  return rows.filter((row) => row.state === 'open' || row.state === 'conflict');
}

/** Decides on all changes, agent by agent, and returns what the folder must hold then. */
async function decideAll(
  wire: Wire,
  works: ReadonlyMap<string, Work>,
  before: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const expected = new Map(before);
  const open = await changesOf(wire, null);
  const of = (name: string): ChangeRow[] =>
    open.filter(({ agentName }) => agentName.split('/').at(-1) === name);
  for (const [index, [name, work]] of [...works].entries()) {
    const verdict: Verdict = index % 3 === 2 ? 'reject' : 'accept';
    const own = name.startsWith('place-') ? ofFiles(open, work, name) : of(name);
    assert.deepEqual([...new Set(own.map((each) => each.label))].sort(), [...work.makes.keys()].sort(), name);
    const kept = new Set<string>();
    for (const change of own) {
      const { state } = await decide(wire, change, verdict);
      if (isLoser(name) && !change.label.startsWith('made/') && verdict === 'accept') {
        assert.equal(state, 'conflict', `${name} wants a line that another has`);
        assert.equal((await decide(wire, change, 'reject')).state, 'applied');
        continue;
      }
      assert.equal(state, 'applied', `${name}: ${verdict} ${change.label}`);
      if (verdict === 'accept') kept.add(change.label);
    }
    for (const label of kept) {
      const made = work.makes.get(label)?.(expected.get(label) ?? '') ?? null;
      if (made === null) expected.delete(label);
      else expected.set(label, made);
    }
  }
  return expected;
}

/**
 * Changes in the person's folder, by file: what commands of several agents changed there at the same time stands with
 * one of them, and says that it may be another's.
 */
function ofFiles(open: readonly ChangeRow[], work: Work, name: string): readonly ChangeRow[] {
  const found = open.filter((change) => change.isolation === 'shared' && work.makes.has(change.label));
  for (const { agentName, label, doubt } of found)
    assert.ok(
      agentName.endsWith(name) || doubt !== null,
      `${label} stands with ${agentName}, without a doubt`,
    );
  return found;
}

/** The second one of a pair that wants one line, when the first was accepted. */
function isLoser(name: string): boolean {
  const index = Number(/^tree-(\d+)$/.exec(name)?.[1] ?? Number.NaN);
  return index % 2 === 1 && isRivalry(Math.floor(index / 2)) && (index - 1) % 3 !== 2;
}

async function decide(wire: Wire, { id }: ChangeRow, verdict: Verdict): Promise<VerdictResult> {
  const { baseHash, afterHash } = await wire.call('change/get', { change: id });
  const params = { change: id, verdict, hunks: 'all', baseHash, afterHash, key: randomUUID() } as const;
  return wire.call('change/verdict', params);
}

/** Names of files that are not as they must be, with the first words of both. */
function differences(found: ReadonlyMap<string, string>, wanted: ReadonlyMap<string, string>): string[] {
  const names = new Set([...found.keys(), ...wanted.keys()]);
  return [...names]
    .filter((name) => found.get(name) !== wanted.get(name))
    .map(
      (name) =>
        `${name}: ${found.get(name)?.slice(-80) ?? 'not there'} ≠ ${wanted.get(name)?.slice(-80) ?? 'not there'}`,
    );
}

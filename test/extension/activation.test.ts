// The whole extension on a stand-in for the editor and a fake sidecar: what it registers is what package.json
// says, nothing starts untrusted or unasked, and commands do what they are given.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { ExtensionContext } from 'vscode';
import { emptyAttention } from '../../sidecar/protocol/attention.ts';
import type { AttentionState } from '../../sidecar/protocol/attention.ts';
import { emptyFleet } from '../../sidecar/protocol/fleet.ts';
import type { Channel, Snapshot } from '../../sidecar/protocol/frame.ts';
import { panelCommands } from '../../sidecar/protocol/panel.ts';
import { root } from '../support/tool.ts';
import { limitsUsed } from '../tidy/checks.ts';
import { FakeSidecar, refusal, temporaryStore } from './fakeSidecar.ts';
import { agentRow, changeDetail, changeRow, hunk, requestRow } from './rows.ts';
import { events, extensionContext, seen, standIn } from './vscode.ts';

type Manifest = {
  contributes: {
    commands: { command: string; title: string }[];
    menus: Record<string, { command: string }[]>;
    keybindings: { command: string; key: string; when?: string }[];
    views: Record<string, { id: string }[]>;
    configuration: { properties: Record<string, { scope: string }> };
  };
  capabilities: { untrustedWorkspaces: { restrictedConfigurations: string[] } };
};

const text = readFileSync(path.join(root, 'package.json'), 'utf8');
const manifest = JSON.parse(text) as Manifest;
const { contributes } = manifest;
const { store, remove } = temporaryStore();
let attention: AttentionState = {
  ...emptyAttention,
  requests: [requestRow(1, { cluster: 'npm test' }), requestRow(2, { cluster: 'npm test' }), requestRow(3)],
  requestsTotal: 3,
  reviews: [changeRow(4)],
  reviewsTotal: 1,
};
const sidecar = new FakeSidecar(store, {
  'follow/open': ({ channel }: { channel: Channel }) => ({
    follow: followOf[channel.kind],
    seq: 0,
    snapshot: snapshotOf(channel),
  }),
  'provider/set': () => ({}),
  'model/list': () => ({ models: [{ id: 'scripted/demo', scripted: true }], default: 'scripted/demo' }),
  'agent/start': () => ({ agent: 7, turn: 8, name: 'lead' }),
  'agent/get': () => ({ name: 'lead' }),
  'request/answer': () => ({ state: 'applied' }),
  'change/get': () => changeDetail(changeRow(4), [hunk('h', 3)]),
  'request/answerMany': () => ({ applied: 2, stale: 0 }),
});

const followOf: Partial<Record<Channel['kind'], number>> = { fleet: 1, requests: 2, changes: 3 };

function snapshotOf(channel: Channel): Snapshot {
  if (channel.kind === 'requests') return { kind: 'requests', state: attention };
  if (channel.kind === 'changes') return { kind: 'changes', state: { rows: attention.reviews, more: false } };
  return { kind: 'fleet', state: { ...emptyFleet, agents: 3, decisions: 3, scripted: true } };
}

const context = extensionContext(root) as ExtensionContext;
standIn();

before(async () => {
  seen.trusted = false;
  seen.configuration.set('store', store);
  seen.configuration.set('providers', [
    { name: 'ollama', dialect: 'chat', baseUrl: 'http://127.0.0.1:11434/v1', keyless: true },
    { name: 'wrong' },
  ]);
  await sidecar.start();
  const { activate } = await import('../../extension/main.ts');
  activate(context);
});

after(async () => {
  for (const each of context.subscriptions) each.dispose();
  await sidecar.crash();
  remove();
});

test('case 218: nothing is connected before the workspace is trusted', () => {
  assert.deepEqual(sidecar.calls, []);
  assert.equal(seen.commands.size > 0, true);
});

test('the commands of package.json and those that are registered are the same', () => {
  assert.deepEqual([...seen.commands.keys()].sort(), contributes.commands.map((each) => each.command).sort());
  const named = new Set(contributes.commands.map((each) => each.command));
  const used = [...Object.values(contributes.menus).flat(), ...contributes.keybindings].map(
    (each) => each.command,
  );
  assert.deepEqual(
    used.filter((command) => !named.has(command)),
    [],
  );
  assert.deepEqual(
    panelCommands.filter((command) => !named.has(command)),
    [],
  );
});

test('each text of package.json stands in package.nls.json, and none is left over', () => {
  const nls = JSON.parse(readFileSync(path.join(root, 'package.nls.json'), 'utf8')) as Record<string, string>;
  const used = [...text.matchAll(/"%([^%"]+)%"/g)].map((match) => match[1] ?? '');
  assert.deepEqual([...new Set(used)].sort(), Object.keys(nls).sort());
});

test('each bound of the extension is used', () => {
  const folder = path.join(root, 'extension');
  const texts = readdirSync(folder).map((name) => ({
    path: `extension/${name}`,
    text: name.endsWith('.ts') ? readFileSync(path.join(folder, name), 'utf8') : '',
  }));
  assert.deepEqual(limitsUsed(texts, 'extension/limits.ts'), []);
});

test('case 237: no key of one chord without a condition, except the one for the next decision', () => {
  for (const { command, key, when = '' } of contributes.keybindings) {
    if (command === 'roost.nextDecision') continue;
    assert.match(when, /focusedView == roost|roost\.paths/, command);
    if (!when.includes('focusedView')) assert.match(key, / /, `${command} takes a key of the editor`);
  }
});

test('case 215: what a workspace must not set is not a workspace\u2019s to set', () => {
  const { properties } = contributes.configuration;
  for (const name of ['roost.mode', 'roost.providers', 'roost.store', 'roost.sidecar.node']) {
    assert.match(properties[name]?.scope ?? '', /^(application|machine)$/, name);
  }
  assert.deepEqual(
    Object.keys(properties).sort(),
    manifest.capabilities.untrustedWorkspaces.restrictedConfigurations.toSorted(),
  );
});

test('trust granted: a living sidecar is attached to and told the providers', async () => {
  seen.trusted = true;
  events.trustGranted.fire();
  await sidecar.called('provider/set');
  const set = sidecar.calls
    .filter((call) => call.method === 'provider/set')
    .map((call) => call.params as unknown);
  assert.deepEqual(set, [
    { name: 'ollama', dialect: 'chat', baseUrl: 'http://127.0.0.1:11434/v1', keyless: true },
  ]);
  assert.equal(sidecar.starts, 1);
});

test('case 223: the badge counts decisions, the tree has them in sections, the status bar says scripted', async () => {
  const view = seen.views.get('roost.attention');
  await until(() => view?.['badge'] !== undefined && seen.statusItems[0]?.['shown'] === true);
  assert.equal((view?.['badge'] as { value: number }).value, 3);
  assert.equal(view?.['description'], 'scripted model — no real AI');
  assert.match(String(seen.statusItems[0]?.['text']), /bell-dot\) 3 {2}scripted model — no real AI/);
  const provider = seen.treeProviders.get('roost.attention');
  const labels = (provider?.getChildren() ?? []).map((node) => provider?.getTreeItem(node).label);
  assert.deepEqual(labels, ['Needs you', 'Ready to review']);
  const [needs] = provider?.getChildren() ?? [];
  const rows = (provider?.getChildren(needs) ?? []).map((node) => provider?.getTreeItem(node));
  assert.deepEqual(
    rows.map((row) => [row?.label, row?.contextValue]),
    [
      ['2 × npm test', 'approvalCluster'],
      ['npm test', 'approval'],
    ],
  );
});

test('New Agent and Ask a Swarm, driven by arguments', async () => {
  await seen.commands.get('roost.newAgent')?.({ text: 'fix the mean', open: false });
  await seen.commands.get('roost.askSwarm')?.({ text: 'find bugs', agents: 12, open: false, key: 'mine' });
  const started = sidecar.calls
    .filter((call) => call.method === 'agent/start')
    .map((call) => call.params as unknown as Record<string, unknown>);
  assert.equal(started.length, 2);
  const [agent, swarm] = started;
  assert.equal(agent?.['profile'], 'implementer');
  assert.equal(agent?.['text'], 'fix the mean');
  assert.equal(agent?.['model'], 'scripted/demo');
  assert.equal(agent?.['mode'], 'ask');
  assert.equal(swarm?.['profile'], 'planner');
  assert.equal(swarm?.['key'], 'mine');
  assert.deepEqual(swarm?.['budget'], { agents: 13 });
});

test('one answer serves a cluster; a decision that was taken before is said and not applied', async () => {
  const provider = seen.treeProviders.get('roost.attention');
  const [needs] = provider?.getChildren() ?? [];
  const [cluster] = provider?.getChildren(needs) ?? [];
  await seen.commands.get('roost.allow')?.(cluster);
  const many = sidecar.calls.find((call) => call.method === 'request/answerMany')?.params as unknown as {
    requests: number[];
  };
  assert.deepEqual(many.requests, [1, 2]);
  sidecar.answers['request/answer'] = () => ({ state: 'stale' });
  await seen.commands.get('roost.deny')?.({ request: 3 });
  assert.match(seen.messages.at(-1) ?? '', /had been decided before/);
});

test('Next Decision goes round requests, then changes, then begins again', async () => {
  attention = { ...attention, requests: [requestRow(3)], requestsTotal: 1 };
  sidecar.send({ follow: 2, seq: 5, actions: [], reset: { kind: 'requests', state: attention } });
  const view = seen.views.get('roost.attention');
  await until(() => (view?.['badge'] as { value: number }).value === 1);
  const asked = (): number => sidecar.calls.filter((call) => call.method === 'change/get').length;
  const before = asked();
  const order: string[] = [];
  for (let step = 0; step < 4; step += 1) {
    seen.executed = [];
    await seen.commands.get('roost.nextDecision')?.();
    order.push(seen.executed.some(([command]) => command === 'roost.review') ? 'change' : 'request');
  }
  assert.deepEqual(order, ['request', 'change', 'request', 'change']);
  assert.ok(before < asked());
});

test('Fork, Set Model, Set Budget and Close do what a program or a person says', async () => {
  const said = (method: string): unknown =>
    sidecar.calls.filter((call) => call.method === method).at(-1)?.params as unknown;
  const without = (params: unknown): unknown => ({ ...(params as object), key: '' });
  sidecar.answers['agent/get'] = () => ({ ...agentRow(7), branch: { running: 1, waiting: 1 } });
  sidecar.answers['agent/fork'] = () => ({ agent: 9, turn: 10, name: 'lead-2' });
  sidecar.answers['agent/configure'] = () => ({});
  sidecar.answers['agent/close'] = () => ({ stopped: 2 });
  const state = {
    limits: { microUsd: 2_000_000, tokens: null, agents: null, depth: null, wallMs: null },
    spent: { microUsd: 500_000, tokens: 10, agents: 2 },
    held: { microUsd: 0, tokens: 0 },
  };
  sidecar.answers['budget/get'] = () => state;
  sidecar.answers['budget/set'] = () => state;

  const turn = { state: 'ended', outcome: 'done', from: 'person', said: 'x', startedAtMs: 0, endedAtMs: 1 };
  sidecar.answers['turn/list'] = () => ({
    more: false,
    rows: [
      { ...turn, turn: 2, asked: 'second', left: false },
      { ...turn, turn: 1, asked: 'first', left: false },
    ],
  });
  seen.answers = [{ label: 'first', turn: 1 }, 'try another way'];
  await seen.commands.get('roost.fork')?.({ agent: 7, open: false });
  assert.deepEqual(without(said('agent/fork')), { agent: 7, turn: 1, text: 'try another way', key: '' });

  seen.answers = [{ label: 'scripted/demo' }];
  await seen.commands.get('roost.setModel')?.({ agent: 7 });
  assert.deepEqual(without(said('agent/configure')), { agent: 7, model: 'scripted/demo', key: '' });

  seen.answers = [{ label: 'Money', name: 'microUsd' }, '$2.50'];
  await seen.commands.get('roost.setBudget')?.({ agent: 7 });
  assert.deepEqual(without(said('budget/set')), { agent: 7, budget: { microUsd: 2_500_000 }, key: '' });
  await seen.commands.get('roost.setBudget')?.({ agent: 7, tokens: null });
  assert.deepEqual(without(said('budget/set')), { agent: 7, budget: { tokens: null }, key: '' });

  seen.answers = [undefined];
  await seen.commands.get('roost.close')?.({ agent: 7 });
  assert.equal(said('agent/close'), undefined);
  assert.match(seen.messages.at(-1) ?? '', /2 agents are at work/);
  seen.answers = ['Close'];
  await seen.commands.get('roost.close')?.({ agent: 7 });
  assert.deepEqual(without(said('agent/close')), { agent: 7, key: '' });
});

test('what is deleted can be restored, at once or from the trash', async () => {
  const said = (method: string): unknown =>
    sidecar.calls.filter((call) => call.method === method).at(-1)?.params as unknown;
  const row = agentRow(7);
  sidecar.answers['agent/get'] = () => row;
  sidecar.answers['agent/delete'] = () => ({ agents: 3, stopped: 0, name: row.name });
  sidecar.answers['agent/restore'] = () => ({ agents: 3, stopped: 0, name: row.name });
  const kept = { id: 1, agent: row, path: 'lead', agents: 3, state: 'kept', atMs: 0, untilMs: null };
  sidecar.answers['trash/list'] = () => ({ rows: [kept, { ...kept, state: 'emptying' }], more: false });
  seen.answers = ['Undo'];
  await seen.commands.get('roost.delete')?.({ agent: 7 });
  assert.match(seen.messages.at(-1) ?? '', /in the trash: 3 agents/);
  await until(() => said('agent/restore') !== undefined);
  assert.equal((said('agent/restore') as { agent: number }).agent, 7);
  seen.answers = [{ label: 'lead', id: 9 }];
  await seen.commands.get('roost.restore')?.();
  assert.equal((said('agent/restore') as { agent: number }).agent, 9);
});

test('a server of the folder is decided on and started again, and what came of it is said', async () => {
  const said = (method: string): unknown =>
    sidecar.calls.filter((call) => call.method === method).at(-1)?.params as unknown;
  const notes = {
    ...{ name: 'notes', label: '.mcp.json: notes', path: '/project/.mcp.json', hash: 'h', trust: 'pending' },
    ...{ hidden: false, transport: 'stdio', line: 'notes', given: [], state: 'idle', pid: null },
    ...{ problem: null, tools: null, dropped: [] },
  };
  const offers = (change: object): void => {
    sidecar.answers['mcp/list'] = () => ({ servers: [{ ...notes, ...change }], problems: [] });
  };
  offers({});
  sidecar.answers['trust/set'] = () => ({ changed: 1 });
  sidecar.answers['mcp/restart'] = () => ({ ended: false });
  // What is not trusted is not started, whoever asks: the deeds that there are are offered instead.
  seen.answers = [undefined];
  await seen.commands.get('roost.servers')?.({ server: 'notes', deed: 'restart' });
  assert.equal(said('mcp/restart'), undefined);
  await seen.commands.get('roost.servers')?.({ server: 'notes', deed: 'trust' });
  const { hashes, trusted } = said('trust/set') as { hashes: string[]; trusted: boolean };
  assert.deepEqual([hashes, trusted], [['h'], true]);
  offers({ trust: 'trusted', tools: [{ name: 'a', description: '', reading: true }] });
  await seen.commands.get('roost.servers')?.({ server: 'notes', deed: 'restart' });
  assert.equal((said('mcp/restart') as { hash: string }).hash, 'h');
  assert.match(seen.messages.at(-1) ?? '', /notes runs and offers 1 tool/);
  offers({ trust: 'trusted', problem: 'The server notes cannot be used: no licence' });
  await seen.commands.get('roost.servers')?.({ server: 'notes', deed: 'restart' });
  assert.match(seen.messages.at(-1) ?? '', /no licence/);
});

test('a fan-out and a race are started as they are given, and the one that is kept is asked about', async () => {
  const said = (method: string): Record<string, unknown> | undefined =>
    sidecar.calls.filter((call) => call.method === method).at(-1)?.params as
      Record<string, unknown> | undefined;
  for (const method of ['fan/start', 'race/start'])
    sidecar.answers[method] = () => ({ agent: 7, turn: 8, name: 'group' });
  sidecar.answers['group/pick'] = () => ({ accepted: 2, conflicts: [], discarded: [9] });
  const list = { template: 'look at {item}', items: ['a', 'b'], model: 'scripted/demo', open: false };
  seen.answers = [undefined];
  await seen.commands.get('roost.fanOut')?.(list);
  assert.match(seen.messages.at(-1) ?? '', /Start 2 agents, one for each\? The first is for a\./);
  assert.equal(said('fan/start'), undefined);
  seen.answers = ['Start'];
  await seen.commands.get('roost.fanOut')?.(list);
  assert.deepEqual(
    [said('fan/start')?.['template'], said('fan/start')?.['items']],
    ['look at {item}', ['a', 'b']],
  );

  const runners = [{ profile: 'planner' }, { model: 'scripted/demo' }];
  await seen.commands.get('roost.race')?.({ text: 'go', runners, model: 'scripted/demo', open: false });
  assert.deepEqual(said('race/start')?.['runners'], runners);

  sidecar.answers['agent/get'] = () => agentRow(7);
  seen.answers = ['Accept'];
  await seen.commands.get('roost.pickOfGroup')?.({ agent: 7, winner: 8 });
  assert.equal(said('group/pick')?.['winner'], 8);
  assert.match(seen.messages.at(-1) ?? '', /Its changes are accepted \(2\); the other one is in the trash/);
});

test('Empty Trash always asks, and deletes what was counted', async () => {
  const emptied = (): unknown[] =>
    sidecar.calls.filter((call) => call.method === 'trash/empty').map((call) => call.params);
  const kept = { id: 1, agent: agentRow(7), path: 'lead', agents: 3, state: 'kept', atMs: 0, untilMs: null };
  sidecar.answers['trash/list'] = () => ({ rows: [kept, { ...kept, state: 'moving' }], more: false });
  sidecar.answers['trash/empty'] = () => ({ branches: 1, agents: 3 });
  seen.answers = [undefined];
  await seen.commands.get('roost.emptyTrash')?.();
  assert.match(seen.messages.at(-1) ?? '', /^Delete the 3 agents in the trash for good\?/);
  assert.deepEqual(emptied(), []);
  seen.answers = ['Delete for Good'];
  await seen.commands.get('roost.emptyTrash')?.();
  assert.deepEqual((emptied()[0] as { agents: unknown }).agents, [7]);
  sidecar.answers['trash/list'] = () => ({ rows: [], more: false });
  await seen.commands.get('roost.emptyTrash')?.();
  assert.match(seen.messages.at(-1) ?? '', /The trash is empty/);
  assert.equal(emptied().length, 1);
});

test('Rewind goes back to a turn, asks before it stops one, and can be undone', async () => {
  const said = (): readonly unknown[] =>
    sidecar.calls
      .filter((call) => call.method === 'agent/rewind')
      .map((call) => ({ ...(call.params as object), key: '' }));
  sidecar.answers['agent/get'] = () => agentRow(7, { phase: 'asking' });
  sidecar.answers['agent/rewind'] = () => ({ turn: 1, from: 2, stopped: 1 });
  seen.answers = [undefined];
  await seen.commands.get('roost.rewind')?.({ agent: 7, turn: 1 });
  assert.deepEqual(said(), []);
  seen.answers = ['Stop and Rewind', 'Undo', 'Stop and Rewind'];
  await seen.commands.get('roost.rewind')?.({ agent: 7, turn: 1 });
  const told = (): number => seen.messages.filter((text) => text.includes('goes on from there')).length;
  await until(() => told() === 2);
  assert.deepEqual(said(), [
    { agent: 7, turn: 1, stop: true, key: '' },
    { agent: 7, turn: 2, stop: true, key: '' },
  ]);
});

test('a missing key is asked for, and what was typed is started with it', async () => {
  let tries = 0;
  sidecar.answers['agent/start'] = () => {
    tries += 1;
    return tries === 1
      ? refusal('model/noKey', 'There is no key for scripted.')
      : { agent: 7, turn: 8, name: 'lead' };
  };
  seen.answers = ['Set API Key', 'the-key'];
  assert.deepEqual(await seen.commands.get('roost.newAgent')?.({ text: 'typed', open: false }), {
    agent: 7,
    turn: 8,
    name: 'lead',
  });
  assert.equal(tries, 2);
  const [first, second] = sidecar.calls.filter((call) => call.method === 'agent/start').slice(-2);
  assert.deepEqual(first?.params, second?.params);
});

test('a failing command tells the person what happened', async () => {
  sidecar.answers['agent/start'] = () => {
    throw new Error('unexpected');
  };
  await seen.commands.get('roost.newAgent')?.({ text: 'x', open: false });
  assert.match(seen.messages.at(-1) ?? '', /unexpected/);
});

/** Looks again after each turn of the loop; gives up after 15 s, so that a wait in vain ends. */
async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + 15_000;
  while (!holds()) {
    if (end < Date.now()) throw new Error(`waited in vain for ${holds.toString()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

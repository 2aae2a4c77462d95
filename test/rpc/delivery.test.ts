// The table of DESIGN §5, cell by cell, on a real sidecar over its socket: what becomes of a message that is queued,
// steered or to be rejected, and of a stop, in each state that an agent can be in. All cells run at the same time.

import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';

import { readDiscovery } from '../../sidecar/platform/paths.ts';
import type { AgentRow } from '../../sidecar/protocol/agent.ts';
import type { AgentId, TurnId } from '../../sidecar/protocol/ids.ts';
import type { Delivery } from '../../sidecar/protocol/methods.ts';
import { Store } from '../cli/roost.ts';
import { connectTo, until, type TestClient } from './rig.ts';

/** Long enough for all cells to send while the model of each is at work, on a busy machine. */
const thinkingMs = 2_000;

const rules = [
  { user: 'of your agents ended a turn', say: [{ text: 'heard' }] },
  { user: 'hurry', say: [{ text: 'hurried' }] },
  { user: 'later', say: [{ text: 'did later' }] },
  { task: 'thinking', round: 1, delayMs: thinkingMs, say: [{ call: 'list_agents', input: {} }] },
  { task: 'thinking', say: [{ text: 'thought' }] },
  { task: 'final', delayMs: thinkingMs, say: [{ text: 'finally' }] },
  {
    task: 'running {how}',
    round: 1,
    say: [{ call: 'shell', input: { command: 'until [ -e go-{how} ]; do sleep 0.05; done; echo went' } }],
  },
  { task: 'running', say: [{ text: 'ran' }] },
  {
    task: 'waiting {how}',
    round: 1,
    say: [{ call: 'spawn_agent', input: { tasks: [{ task: 'child of {how}', name: 'kid' }] } }],
  },
  { task: 'waiting', tool: 'spawn_agent', say: [{ call: 'wait_agent', input: {} }] },
  { task: 'waiting', tool: 'wait_agent', say: [{ text: 'waited' }] },
  { user: 'child of', delayMs: thinkingMs, say: [{ text: 'grown up' }] },
  { task: 'asking {how}', round: 1, say: [{ call: 'ask_user', input: { question: 'may {how}?' } }] },
  { task: 'asking', say: [{ text: 'asked' }] },
  { task: 'approval', round: 1, say: [{ call: 'shell', input: { command: 'touch made' } }] },
  { task: 'approval', say: [{ text: 'approved' }] },
  { task: 'resting', say: [{ text: 'rested' }] },
];

/** How each state is told from the agent's row. */
const states: Readonly<Record<string, (row: AgentRow) => boolean>> = {
  resting: ({ phase }) => phase === 'idle',
  thinking: ({ phase }) => phase === 'asking',
  final: ({ phase }) => phase === 'asking',
  running: ({ phase, doing }) => phase === 'calling' && doing.startsWith('shell'),
  waiting: ({ why }) => why === 'child',
  asking: ({ why }) => why === 'answer',
  approval: ({ why }) => why === 'approval',
};

class Cell {
  readonly name: string;
  readonly agent: AgentId;
  readonly turn: TurnId;
  private readonly client: TestClient;
  private readonly store: Store;

  constructor(store: Store, client: TestClient, started: { name: string; agent: AgentId; turn: TurnId }) {
    this.store = store;
    this.client = client;
    this.name = started.name;
    this.agent = started.agent;
    this.turn = started.turn;
  }

  get(): Promise<AgentRow> {
    return this.client.call('agent/get', { agent: this.agent });
  }

  async until(what: string, holds: (row: AgentRow) => boolean): Promise<AgentRow> {
    let row = await this.get();
    await until(`${this.name}: ${what}`, async () => holds((row = await this.get())), 30_000);
    return row;
  }

  send(text: string, delivery: Delivery) {
    return this.client.call('agent/send', { agent: this.agent, text, delivery, key: `${this.name}/${text}` });
  }

  refused(text: string): Promise<{ code: string; message: string }> {
    const params = { agent: this.agent, text, delivery: 'reject', key: `${this.name}/${text}` };
    return this.client.fails('agent/send', params);
  }

  stop() {
    return this.client.call('agent/interrupt', {
      agent: this.agent,
      branch: false,
      key: `${this.name}/stop`,
    });
  }

  /** Lets go what the cell waits for. */
  async release(): Promise<void> {
    if (this.name.startsWith('running'))
      fs.writeFileSync(path.join(this.store.workspace, `go-${this.name.slice(8)}`), '');
    if (this.name.startsWith('asking') || this.name.startsWith('approval')) await this.answer();
  }

  async answer(): Promise<void> {
    const { rows } = await this.client.call('request/list', { after: null, limit: 100 });
    const request = rows.find((row) => row.agent === this.agent);
    assert.ok(request !== undefined, `${this.name} asks`);
    const answer =
      request.kind === 'question' ? ({ kind: 'text', text: 'yes' } as const) : ({ kind: 'allow' } as const);
    await this.client.call('request/answer', { request: request.id, answer, key: `${this.name}/answer` });
  }

  result() {
    return this.client.call('turn/result', { turn: this.turn });
  }

  /** The transcript, a line an entry; results without what would differ from run to run. */
  async lines(): Promise<string[]> {
    const { entries } = await this.client.call('entry/page', { agent: this.agent, limit: 100 });
    return entries.map(({ body }) => {
      switch (body.kind) {
        case 'user':
          return body.delivery === 'turn' ? body.text : `${body.delivery}: ${body.text}`;
        case 'answer':
          return body.blocks
            .map((block) =>
              block.kind === 'call' ? `[${block.tool}]` : block.text.replace(/^heard.*/s, 'heard'),
            )
            .join(' ');
        case 'result':
          return `${body.tool} ${body.status}${/ended early/.test(body.text) ? ' early' : ''}`;
        case 'end':
          return `end ${body.outcome}`;
        case 'note':
        case 'notice':
        case 'context':
        case 'rewind':
          return body.kind;
      }
    });
  }
}

type Play = (cell: Cell) => Promise<void>;

const atRest = ({ phase, queued, branch }: AgentRow): boolean =>
  phase === 'idle' && queued === 0 && branch.running + branch.waiting === 0;

/** A message waits for its own turn: it is acknowledged as queued, and is the next turn when this one has ended. */
const queues =
  (first: readonly string[]): Play =>
  async (cell) => {
    const sent = await cell.send('later', 'queue');
    assert.equal(sent.state, 'queued');
    assert.notEqual(sent.turn, cell.turn);
    await cell.release();
    await cell.until('rest', atRest);
    assert.deepEqual(await cell.lines(), [...first, 'end done', 'later', 'did later', 'end done']);
  };

/** A message enters the turn that is open, at the next request after the results. */
const steers =
  (before: readonly string[], after: readonly string[] = []): Play =>
  async (cell) => {
    assert.deepEqual(await cell.send('hurry', 'steer'), { turn: cell.turn, state: 'steered' });
    await cell.release();
    await cell.until('rest', atRest);
    assert.deepEqual(await cell.lines(), [...before, 'steer: hurry', 'hurried', 'end done', ...after]);
  };

const rejects: Play = async (cell) => {
  const { code, message } = await cell.refused('hurry');
  assert.equal(code, 'agent/busy');
  assert.match(message, /is at work\. Send with delivery queue or steer/);
  await cell.stop();
};

/** What is open is given up with a result for each call, and the queue is kept (case 203). */
const stops =
  (lines: readonly string[]): Play =>
  async (cell) => {
    await cell.send('later', 'queue');
    assert.deepEqual(await cell.stop(), { stopped: 1 });
    assert.deepEqual(await cell.lines(), [...lines, 'end interrupted']);
    const row = await cell.get();
    assert.deepEqual([row.phase, row.queued, row.outcome], ['idle', 1, 'interrupted']);
  };

/** An idle agent begins a turn whatever the delivery. */
const begins =
  (delivery: Delivery): Play =>
  async (cell) => {
    const sent = await cell.send('later', delivery);
    assert.equal(sent.state, 'started');
    await cell.until('rest', atRest);
    assert.deepEqual(await cell.lines(), [
      'resting ' + delivery,
      'rested',
      'end done',
      'later',
      'did later',
      'end done',
    ]);
  };

const wait = ['[spawn_agent]', 'spawn_agent ok', '[wait_agent]'];

const table: Readonly<Record<string, Play>> = {
  'resting queue': begins('queue'),
  'resting steer': begins('steer'),
  'resting reject': begins('reject'),
  'resting stop': async (cell) => {
    assert.deepEqual(await cell.stop(), { stopped: 0 });
    assert.equal((await cell.get()).outcome, 'done');
  },
  'thinking queue': queues(['thinking queue', '[list_agents]', 'list_agents ok', 'thought']),
  'thinking steer': steers(['thinking steer', '[list_agents]', 'list_agents ok']),
  'thinking reject': rejects,
  'thinking stop': stops(['thinking stop']),
  'running queue': queues(['running queue', '[shell]', 'shell ok', 'ran']),
  'running steer': steers(['running steer', '[shell]', 'shell ok']),
  'running reject': rejects,
  'running stop': stops(['running stop', '[shell]', 'shell interrupted']),
  'waiting queue': queues(['waiting queue', ...wait, 'wait_agent ok', 'waited']),
  'waiting steer': steers(['waiting steer', ...wait, 'wait_agent ok early'], ['notice', 'heard', 'end done']),
  'waiting reject': rejects,
  'waiting stop': stops(['waiting stop', ...wait, 'wait_agent interrupted']),
  'asking queue': queues(['asking queue', '[ask_user]', 'ask_user ok', 'asked']),
  'asking steer': steers(['asking steer', '[ask_user]', 'ask_user ok']),
  'asking reject': rejects,
  'asking stop': stops(['asking stop', '[ask_user]', 'ask_user interrupted']),
  'approval queue': queues(['approval queue', '[shell]', 'shell ok', 'approved']),
  'approval steer': steers(['approval steer', '[shell]', 'shell ok']),
  'approval reject': rejects,
  'approval stop': stops(['approval stop', '[shell]', 'shell interrupted']),
  // The answer turned out to be the last one: the steer is a turn of its own, and its sender finds it.
  'final steer': async (cell) => {
    const sent = await cell.send('hurry', 'steer');
    assert.deepEqual(sent, { turn: cell.turn, state: 'steered' });
    await cell.until('rest', atRest);
    assert.deepEqual(await cell.lines(), [
      'final steer',
      'finally',
      'end done',
      'hurry',
      'hurried',
      'end done',
    ]);
    const { late } = await cell.result();
    assert.deepEqual(
      late.map((each) => each.key),
      ['final-steer/hurry'],
    );
    assert.deepEqual(await cell.send('hurry', 'steer'), sent, 'the same key has the same answer for ever');
  },
};

/** A sidecar of its own with the script, and a client of it. */
async function begin(
  t: TestContext,
  script: readonly unknown[] = rules,
): Promise<{ store: Store; client: TestClient; model: string }> {
  const store = new Store(t, script);
  await store.lines('info');
  const client = await connectTo(t, readDiscovery(store.directory));
  const baseUrl = store.model[1]?.replace('play=scripted,', '') ?? '';
  await client.call('provider/set', { name: 'play', dialect: 'scripted', baseUrl });
  return { store, client, model: 'play/x' };
}

test('every cell of the table: what arrives, in every state', async (t) => {
  const { store, client, model } = await begin(t);
  const wrong: string[] = [];
  const play = async (title: string, act: Play): Promise<void> => {
    const [state = ''] = title.split(' ');
    const name = title.replace(' ', '-');
    const started = await client.call('agent/start', {
      ...{ name, text: title, workspace: store.workspace, model, key: name },
    });
    const cell = new Cell(store, client, started);
    if (state === 'running') {
      await cell.until('an approval', ({ why }) => why === 'approval');
      await cell.answer();
    }
    await cell.until(state, states[state] ?? assert.fail(`there is a state ${state}`));
    await act(cell);
  };
  const failed = (title: string) => (error: unknown) =>
    void wrong.push(`${title}: ${error instanceof Error ? error.message : String(error)}`);
  await Promise.all(Object.entries(table).map(([title, act]) => play(title, act).catch(failed(title))));
  assert.deepEqual(wrong, []);
  const { slots } = await client.call('store/info', {});
  assert.equal(slots.commandUsed, 0);
  const { rows } = await client.call('request/list', { after: null, limit: 10 });
  assert.deepEqual(rows, [], 'what a stopped turn has asked is withdrawn');
});

/** Lines of an agent's results, in order. */
async function results(client: TestClient, agent: AgentId): Promise<string[]> {
  const { entries } = await client.call('entry/page', { agent, limit: 200 });
  return entries.flatMap(({ body }) =>
    body.kind === 'result' ? [`${body.tool} ${body.status}: ${body.text}`] : [],
  );
}

const verbs = [
  { task: 'lead', result: 'kid has begun', say: [{ call: 'wait_agent', input: {} }] },
  { task: 'lead', tool: 'followup_task', say: [{ text: 'no kid' }] },
  {
    task: 'lead',
    result: '1 ended:\n- kid: done: {"n":1}',
    say: [
      { call: 'send_message', input: { to: 'kid', text: 'a note for later' } },
      {
        call: 'followup_task',
        input: { to: 'kid', task: 'second', schema: { type: 'object', required: ['n'] } },
      },
    ],
  },
  {
    task: 'lead',
    result: '1 ended:\n- kid: done: {"n":2}',
    say: [{ call: 'list_agents', input: { results: true } }],
  },
  { task: 'lead', tool: 'list_agents', say: [{ text: 'both heard' }] },
  { task: 'lead', tool: 'spawn_agent', say: [{ call: 'wait_agent', input: { agents: ['kid'] } }] },
  { task: 'lead', say: [{ call: 'spawn_agent', input: { tasks: [{ task: 'first', name: 'kid' }] } }] },
  {
    task: 'first',
    user: 'a note for later',
    round: 1,
    say: [{ call: 'submit_result', input: { result: { n: 2 } } }],
  },
  { task: 'first', user: 'first', round: 1, say: [{ call: 'submit_result', input: { result: { n: 1 } } }] },
  { task: 'first', say: [{ text: 'handed in' }] },
];

test('a finished agent is given another task, reads what was left for it, and its parent hears each result once', async (t) => {
  const { store, client, model } = await begin(t, verbs);
  const { agent, turn } = await client.call('agent/start', {
    ...{ name: 'lead', text: 'lead', workspace: store.workspace, model, key: 'lead' },
  });
  const { done } = await client.call('turn/wait', { turns: [turn], mode: 'all', timeoutMs: 30_000 });
  assert.equal(done[0]?.text, 'both heard', JSON.stringify(await results(client, agent)));
  const told = await results(client, agent);
  assert.match(told[2] ?? '', /^send_message ok: Left for kid: it rests, .*followup_task wakes it\.$/);
  assert.match(told[3] ?? '', /^followup_task ok: kid has begun\.$/);
  assert.match(told[5] ?? '', /^list_agents ok: - kid: done\. last turn done:\n\{"n":2\}$/);
  const kid = await client.call('agent/get', { agent: 'lead/kid' });
  const { rows } = await client.call('turn/list', { agent: kid.id, before: null, limit: 10 });
  const found = await Promise.all(rows.map((row) => client.call('turn/result', { turn: row.turn })));
  assert.deepEqual(
    found.map(({ result, revision, superseded }) => [result, revision, superseded]),
    [
      [{ n: 2 }, 2, false],
      [{ n: 1 }, 1, true],
    ],
  );
  const { entries } = await client.call('entry/page', { agent, limit: 100 });
  assert.ok(!entries.some(({ body }) => body.kind === 'notice'));
});

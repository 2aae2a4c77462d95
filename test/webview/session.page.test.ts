// One panel, many agents: what belongs to one is never seen in another, nothing stays behind, and unsent text
// comes back. And the changes of an agent, decided hunk by hunk. Cases 11, 61, 62, 122, 123.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { CDPSession } from 'playwright-core';
import { agentId } from '../../sidecar/protocol/ids.ts';
import type { ToExtension } from '../../sidecar/protocol/panel.ts';
import { AgentHost } from './agents.ts';
import { closeBrowser, openView } from './page.ts';
import type { ViewOptions, ViewPage } from './page.ts';
import { answer, call, change, hunk, openCall, request, result, said, text } from './samples.ts';

after(closeBrowser);

type CallMessage = Extract<ToExtension, { kind: 'call' }>;
type Follow = Extract<ToExtension, { kind: 'follow' }>;
const calls = (view: ViewPage, method: string): CallMessage[] =>
  view.heard.filter(
    (message): message is CallMessage => message.kind === 'call' && message.method === method,
  );

async function openPanel(host: AgentHost, options: ViewOptions = {}): Promise<ViewPage> {
  const view = await openView('agent', { hears: host.hears, ...options });
  await view.page.getByText('Choose an agent in the Agents view.').waitFor();
  return view;
}

const show = async (view: ViewPage, id: number): Promise<void> => {
  await view.say({ kind: 'show', agent: agentId(id) });
  await view.page.getByRole('heading', { name: `agent-${id}`, exact: true }).waitFor();
};

/** An agent whose every word names it. */
function addTalker(host: AgentHost, id: number): void {
  const words = (count: number): string => `words of ${id}, `.repeat(count);
  host.add(
    id,
    [
      said(id * 1000 + 1, words(2)),
      answer(
        id * 1000 + 2,
        text(`# Title of ${id}\n\n${words(30)}`),
        call(`k${id}`, 'shell', { command: `run of ${id}` }),
      ),
      ...Array.from({ length: 60 }, (_, index) => answer(id * 1000 + 3 + index, text(words(index % 9)))),
    ],
    {
      streaming: words(3),
      calls: [openCall(id, `k${id}`, { output: `output of ${id}` })],
      requests: [request(id, { agent: agentId(id), title: `request of ${id}`, detail: '' })],
    },
    { phase: 'waiting', why: 'approval' },
  );
  host.changes.set(id, [change(id, { label: `file-of-${id}.ts` })]);
}

/** A small generator with a stated start, so that a failure can be repeated. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

test('case 122: switching at random while all agents talk never shows a word of another', async () => {
  const host = new AgentHost();
  const ids = [1, 2, 3, 4];
  for (const id of ids) addTalker(host, id);
  const view = await openPanel(host);
  const next = chance(8_271);
  for (let turn = 0; turn < 20; turn += 1) {
    const id = ids[next(ids.length)] ?? 1;
    // What others say is on its way while the switch happens, for follows that are open or just closed.
    for (const [tag, channel] of [...host.follows]) {
      if (channel.kind === 'agent')
        void view.say({
          kind: 'actions',
          tag,
          actions: [{ kind: 'agent/delta', text: `words of ${channel.agent}, `, thinking: '' }],
        });
    }
    await view.say({ kind: 'show', agent: agentId(id) });
    if (next(3) === 0) continue; // away again before anything was drawn
    await view.page.getByRole('heading', { name: `agent-${id}`, exact: true }).waitFor();
    await view.page.getByText(`file-of-${id}.ts`).or(view.page.getByText('1 file')).first().waitFor();
    const shown = await view.page.locator('.panel').textContent();
    const named = [...(shown ?? '').matchAll(/(?:words|Title|run|output|request|file)[ -]of[ -](\d)/g)].map(
      (match) => Number(match[1]),
    );
    assert.ok(0 < named.length);
    assert.deepEqual([...new Set(named)], [id]);
  }
  const open = [...host.follows.values()].map((channel) => channel.kind).sort();
  assert.deepEqual(open, ['agent', 'changes'], 'only the follows of the agent that is shown are open');
  assert.deepEqual(view.problems, []);
  await view.close();
});

test('an answer to a question about one agent changes nothing once another is shown', async () => {
  const host = new AgentHost();
  for (const id of [1, 2]) addTalker(host, id);
  const late: (() => void)[] = [];
  const hears: ViewOptions['hears'] = (message, say) => {
    if (message.kind === 'call' && message.method === 'request/answer') {
      late.push(
        () => void say({ kind: 'answer', id: message.id, ok: false, code: 'internal', message: 'Too late.' }),
      );
    } else host.hears(message, say);
  };
  const view = await openPanel(host, { hears });
  await show(view, 1);
  await view.page.getByRole('button', { name: 'Allow', exact: true }).click();
  await view.page.getByText('Sending…').waitFor();
  await show(view, 2);
  for (const answerNow of late) answerNow();
  await host.play(2, { kind: 'agent/delta', text: 'THE END', thinking: '' });
  await view.page.getByText('THE END').waitFor();
  assert.doesNotMatch((await view.page.locator('.panel').textContent()) ?? '', /Too late|Sending/);
  await view.close();
});

test('case 230: an agent that is being loaded, and one that is not there, are two sights', async () => {
  const view = await openPanel(new AgentHost());
  await view.say({ kind: 'show', agent: agentId(9) });
  await view.page.getByText('Loading the agent…').waitFor();
  const follow = await view.hear((message): message is Follow => message.kind === 'follow');
  await view.say({
    kind: 'refused',
    tag: follow.tag,
    code: 'agent/unknown',
    message: 'There is no agent 9.',
  });
  await view.page.locator('[data-sight=failed]', { hasText: 'There is no agent 9.' }).waitFor();
  await view.close();
});

async function heapBytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize;
}

test('case 11: a hundred agents opened and closed leave nothing behind', async (t) => {
  const host = new AgentHost();
  for (let id = 1; id <= 5; id += 1) addTalker(host, id);
  const view = await openPanel(host);
  const session = await view.page.context().newCDPSession(view.page);
  const switchMany = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1) {
      await view.say({ kind: 'show', agent: agentId(1 + (turn % 5)) });
      if (turn % 5 === 0)
        await view.page
          .getByText(`words of ${1 + (turn % 5)}`)
          .first()
          .waitFor();
    }
    await show(view, 1);
  };
  // Until the browser has compiled what runs and the caches of drawn text are full.
  await switchMany(100);
  const before = await heapBytes(session);
  const nodesBefore = await view.page.locator('*').count();
  await switchMany(100);
  const afterwards = await heapBytes(session);
  t.diagnostic(
    `heap ${(before / 1e6).toFixed(2)} MB, after 100 switches ${(afterwards / 1e6).toFixed(2)} MB`,
  );
  assert.ok(afterwards < before * 1.1, `${before} → ${afterwards} bytes`);
  assert.ok(Math.abs((await view.page.locator('*').count()) - nodesBefore) < 40);
  await view.close();
});

test('unsent text belongs to its agent and outlives a switch and a reload', async () => {
  const host = new AgentHost();
  for (const id of [1, 2]) host.add(id, [said(id, 'go')]);
  const view = await openPanel(host);
  const box = view.page.locator('.composer textarea');
  await show(view, 1);
  await box.fill('for the first');
  await show(view, 2);
  assert.equal(await box.inputValue(), '');
  await box.fill('for the second');
  await show(view, 1);
  assert.equal(await box.inputValue(), 'for the first');
  await view.page.reload();
  await view.page.getByRole('heading', { name: 'agent-1' }).waitFor();
  assert.equal(await box.inputValue(), 'for the first', 'the page shows by itself what it showed before');
  await show(view, 2);
  assert.equal(await box.inputValue(), 'for the second');
  await view.close();
});

const twoHunks = [hunk('h1', 3, ['const a = 1;'], ['const a = 2;']), hunk('h2', 9, ['old();'], [])];
const baseText = Array.from({ length: 12 }, (_, index) =>
  index === 2 ? 'const a = 1;' : index === 8 ? 'old();' : `line ${index + 1}`,
).join('\n');

test('a changed file opens to its diff; a hunk is accepted, the rest rejected, and the strip is gone when all is decided', async () => {
  const host = new AgentHost();
  host.add(1, [said(1, 'go')]);
  const full = change(7, { hunks: twoHunks, baseText });
  const left = change(7, { hunks: twoHunks.slice(1), baseText, baseHash: 'base-8' });
  const done = change(7, { hunks: [], state: 'mixed', baseHash: 'base-8', afterHash: 'base-8' });
  host.changes.set(1, [full]);
  const given: unknown[] = [];
  host.answers = ({ method, params }) => {
    if (method !== 'change/verdict') return undefined;
    given.push(params);
    const now = given.length === 1 ? left : done;
    host.changes.set(1, [now]);
    return { ok: true, result: { state: 'applied', message: '', change: now } };
  };
  const view = await openPanel(host);
  await show(view, 1);
  await view.page.getByRole('button', { name: /^Changes/ }).click();
  await view.page.getByRole('button', { name: 'Show the changes of src/file7.ts' }).click();
  const lines = view.page.locator('.line');
  await lines.first().waitFor();
  assert.deepEqual(
    (await lines.allTextContents()).map((line) => line.replace(/\s+/g, ' ').trim()).slice(0, 5),
    ['11 line 1', '22 line 2', '3−const a = 1;', '3+const a = 2;', '44 line 4'],
  );
  assert.deepEqual(await view.page.locator('.line mark').allTextContents(), ['1', '2']);
  await view.page.getByRole('button', { name: 'Hunk 1 of 2, line 3' }).click();
  await view.page.locator('.hunk').nth(0).getByRole('button', { name: 'Accept' }).click();
  await view.page.getByRole('button', { name: 'Hunk 1 of 1, line 9' }).waitFor();
  await view.page.getByRole('button', { name: 'Reject File' }).click();
  await view.page.getByText('partly accepted').first().waitFor();
  assert.partialDeepStrictEqual(given, [
    { change: 7, verdict: 'accept', hunks: ['h1'], baseHash: 'base-7', afterHash: 'after-7' },
    { change: 7, verdict: 'reject', hunks: 'all', baseHash: 'base-8' },
  ]);
  assert.deepEqual(
    view.heard.filter((message) => message.kind === 'reviewChange'),
    [{ kind: 'reviewChange', change: 7, hunk: 'h1' }],
  );
  await host.play(1, { kind: 'changes/rows', rows: [], gone: [full.id] });
  await view.page.waitForFunction(() => document.querySelector<HTMLElement>('.strip')?.hidden);
  assert.deepEqual(view.problems, []);
  await view.close();
});

test('case 62: a stale verdict and a conflict are said in words at the file', async () => {
  const host = new AgentHost();
  host.add(1, [said(1, 'go')]);
  const full = change(7, { hunks: [{ ...(twoHunks[0] ?? hunk('h', 1, [], [])), now: null }], baseText });
  host.changes.set(1, [full]);
  let state: 'stale' | 'conflict' = 'stale';
  host.answers = ({ method }) =>
    method === 'change/verdict'
      ? {
          ok: true,
          result: {
            state,
            message: state === 'conflict' ? 'You changed line 3 since. Open the file and decide there.' : '',
            change: full,
          },
        }
      : undefined;
  const view = await openPanel(host);
  await show(view, 1);
  await view.page.getByRole('button', { name: /^Changes/ }).click();
  await view.page.getByRole('button', { name: 'Show the changes of' }).click();
  await view.page.getByText('You changed these lines since.').waitFor();
  await view.page.getByRole('button', { name: 'Accept File' }).click();
  await view.page
    .locator('.strip')
    .getByText('It changed since you looked. Look again, then decide.')
    .waitFor();
  state = 'conflict';
  await view.page.getByRole('button', { name: 'Accept File' }).click();
  await view.page
    .locator('.strip')
    .getByText('You changed line 3 since. Open the file and decide there.')
    .waitFor();
  await view.close();
});

test('all files are accepted one after the other; rejecting all asks first', async () => {
  const host = new AgentHost();
  host.add(1, [said(1, 'go')]);
  const rows = [1, 2, 3].map((id) => change(id, { hunks: twoHunks }));
  host.changes.set(1, rows);
  host.answers = ({ method, params }) => {
    if (method !== 'change/verdict') return undefined;
    const { change: id } = params as { change: number };
    return { ok: true, result: { state: 'applied', message: '', change: change(id, { state: 'accepted' }) } };
  };
  const view = await openPanel(host);
  await show(view, 1);
  await view.page.getByRole('button', { name: 'Reject All' }).click();
  await view.page.getByText('Take 3 files back to how they were?').waitFor();
  assert.equal(calls(view, 'change/verdict').length, 0);
  await view.page.getByRole('button', { name: 'Keep' }).click();
  await view.page.getByRole('button', { name: 'Accept All' }).click();
  await view.page.getByRole('button', { name: /Changes\s*all decided/ }).waitFor();
  const given = calls(view, 'change/verdict').map(
    ({ params }) => params as { change: number; verdict: string; hunks: unknown },
  );
  assert.deepEqual(
    given.map(({ change: id, verdict, hunks }) => [id, verdict, hunks]),
    [
      [1, 'accept', 'all'],
      [2, 'accept', 'all'],
      [3, 'accept', 'all'],
    ],
  );
  await view.close();
});

test('case 25: a huge diff is drawn a part at a time', async () => {
  const host = new AgentHost();
  host.add(1, [said(1, 'go'), result(2, 'x')]);
  const added = Array.from({ length: 5_000 }, (_, index) => `line ${index}`);
  host.changes.set(1, [
    change(7, { kind: 'create', hunks: [hunk('h1', 1, [], [...added, 'w'.repeat(50_000)])] }),
  ]);
  const view = await openPanel(host);
  await show(view, 1);
  await view.page.getByRole('button', { name: /^Changes/ }).click();
  await view.page.getByRole('button', { name: 'Show the changes of' }).click();
  await view.page.getByRole('button', { name: 'Show 4,601 more lines' }).click();
  await view.page.getByRole('button', { name: 'Show 4,201 more lines' }).waitFor();
  assert.equal(await view.page.locator('.line').count(), 800);
  await view.close();
});

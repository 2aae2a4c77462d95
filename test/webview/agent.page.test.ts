// The agent panel in a real page: streaming, scrolling and paging of a long transcript, what a model writes as
// safe text, calls, requests, and the composer.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Entry } from '../../sidecar/protocol/entry.ts';
import { agentId, blobId, callId, entryId } from '../../sidecar/protocol/ids.ts';
import type { ToExtension } from '../../sidecar/protocol/panel.ts';
import { AgentHost } from './agents.ts';
import { closeBrowser, openView } from './page.ts';
import type { ViewOptions, ViewPage } from './page.ts';
import { answer, call, entry, openCall, request, result, said, text } from './samples.ts';

after(closeBrowser);

async function openAgent(host: AgentHost, options: ViewOptions = {}): Promise<ViewPage> {
  const view = await openView('agent', { hears: host.hears, ...options });
  await view.say({ kind: 'show', agent: agentId(1) });
  await view.page.locator('.composer textarea').waitFor();
  return view;
}

type CallMessage = Extract<ToExtension, { kind: 'call' }>;
const isCall =
  (method: string) =>
  (message: ToExtension): message is CallMessage =>
    message.kind === 'call' && message.method === method;
const isKind =
  <K extends ToExtension['kind']>(kind: K) =>
  (message: ToExtension): message is Extract<ToExtension, { kind: K }> =>
    message.kind === kind;

const calls = (view: ViewPage, method: string): CallMessage[] => view.heard.filter(isCall(method));

const untilAtEnd = (view: ViewPage): Promise<unknown> =>
  view.page.waitForFunction(() => {
    const box = document.querySelector('.scroller');
    return box !== null && box.scrollHeight - box.scrollTop - box.clientHeight < 2;
  });

const talk = (count: number): Entry[] =>
  Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? said(index + 1, `Question ${index + 1}`)
      : answer(index + 1, text(`Answer ${index + 1}. ${'It is long. '.repeat(1 + (index % 13))}`)),
  );

test('an answer streams in at the end; a person who scrolled up is left where they read', async () => {
  const host = new AgentHost();
  host.add(1, talk(60), {}, { phase: 'asking' });
  const view = await openAgent(host);
  await untilAtEnd(view);
  for (let piece = 1; piece <= 30; piece += 1) {
    await host.play(1, { kind: 'agent/delta', text: `Word ${piece}. `.repeat(10) + '\n\n', thinking: '' });
  }
  await view.page.getByText('Word 30.').first().waitFor();
  await untilAtEnd(view);
  await view.page.mouse.move(400, 400);
  await view.page.mouse.wheel(0, -900);
  await view.page.getByRole('button', { name: 'Latest' }).waitFor();
  await view.page.waitForFunction(
    () =>
      800 <
      (document.querySelector('.scroller')?.scrollHeight ?? 0) -
        (document.querySelector('.scroller')?.scrollTop ?? 0) -
        (document.querySelector('.scroller')?.clientHeight ?? 0),
  );
  const place = (): Promise<{ key: string; y: number }> =>
    view.page.evaluate(() => {
      const scroller = document.querySelector('.scroller');
      const top = scroller?.getBoundingClientRect().top ?? 0;
      const item = [...document.querySelectorAll<HTMLElement>('.item')].find(
        (each) => top <= each.getBoundingClientRect().bottom,
      );
      return { key: item?.dataset['key'] ?? '', y: (item?.getBoundingClientRect().top ?? 0) - top };
    });
  const before = await place();
  for (let piece = 31; piece <= 40; piece += 1)
    await host.play(1, { kind: 'agent/delta', text: `Word ${piece}.\n\n`, thinking: '' });
  await host.play(
    1,
    { kind: 'agent/streamEnd' },
    { kind: 'agent/entries', entries: [answer(61, text('It is stored.'))] },
  );
  await view.page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  const now = await place();
  assert.equal(now.key, before.key);
  assert.ok(Math.abs(now.y - before.y) < 1.5, `moved by ${now.y - before.y} px`);
  await view.page.getByRole('button', { name: 'Latest' }).click();
  await view.page.getByText('It is stored.').waitFor();
  await untilAtEnd(view);
  assert.deepEqual(view.problems, []);
  await view.close();
});

test('cases 9 and 10: 10,000 entries read backwards: few elements, no jumps, the first one a jump away', async () => {
  const host = new AgentHost();
  host.add(1, talk(10_000));
  const view = await openAgent(host);
  await untilAtEnd(view);
  // Reads upwards, each time to the very top of what is loaded, and notes how items that stay in view moved.
  const read = await view.page.evaluate(async () => {
    const scroller = document.querySelector('.scroller');
    if (scroller === null) throw new Error('no scroller');
    const frame = (): Promise<unknown> => new Promise((resolve) => requestAnimationFrame(resolve));
    const tops = (): Map<string, number> =>
      new Map(
        [...document.querySelectorAll<HTMLElement>('.item')].map((item) => [
          item.dataset['key'] ?? '',
          item.getBoundingClientRect().top,
        ]),
      );
    let mostElements = 0;
    let mostJumpPx = 0;
    let pages = 0;
    let before = tops();
    for (let frames = 0; pages < 30 && frames < 2_000; frames += 1) {
      await frame();
      const now = tops();
      // Nobody scrolled in this frame: whatever was paged above or let go below, nothing in view may have moved.
      for (const [key, top] of now) {
        const was = before.get(key);
        if (was !== undefined) mostJumpPx = Math.max(mostJumpPx, Math.abs(top - was));
      }
      mostElements = Math.max(mostElements, now.size);
      if (0 < scroller.scrollTop) pages += 1;
      scroller.scrollTop = 0;
      await frame();
      before = tops();
    }
    return { mostElements, mostJumpPx, pages };
  });
  assert.ok(read.mostElements <= 120, `${read.mostElements} elements`);
  assert.ok(read.mostJumpPx < 1.5, `an item jumped by ${read.mostJumpPx} px`);
  assert.equal(read.pages, 30);
  await view.say({ kind: 'show', agent: agentId(1), entry: entryId(1) });
  await view.page.getByText('Question 1', { exact: true }).waitFor();
  assert.ok((await view.page.locator('*').count()) < 1_500);
  await view.page.getByRole('button', { name: 'Latest' }).click();
  await view.page.getByText('Answer 10000.').waitFor();
  await untilAtEnd(view);
  assert.deepEqual(view.problems, []);
  await view.close();
});

test('an entry far back is shown when asked for', async () => {
  const host = new AgentHost();
  host.add(1, talk(900));
  const view = await openAgent(host);
  await view.say({ kind: 'show', agent: agentId(1), entry: entryId(101) });
  await view.page.getByText('Question 101', { exact: true }).waitFor();
  await view.page.waitForFunction(() => {
    const box = [...document.querySelectorAll('.item')]
      .find((item) => item.textContent.includes('Question 101'))
      ?.getBoundingClientRect();
    return box !== undefined && 0 < box.top && box.bottom < innerHeight;
  });
  await view.close();
});

test('a page that fails is said, and tried again when the person wants', async () => {
  const host = new AgentHost();
  host.add(1, talk(400));
  let fail = true;
  host.answers = ({ method }) =>
    fail && method === 'entry/page'
      ? { ok: false, code: 'internal', message: 'The store is busy.' }
      : undefined;
  const view = await openAgent(host);
  await untilAtEnd(view);
  await view.page.evaluate(() => document.querySelector('.scroller')?.scrollTo(0, 0));
  await view.page.getByText('Could not load entries: The store is busy.').waitFor();
  assert.equal(calls(view, 'entry/page').length, 1);
  fail = false;
  await view.page.getByRole('button', { name: 'Try Again' }).click();
  await view.page.waitForFunction(() => document.querySelector('.above')?.textContent.trim() === '');
  const [first, second] = calls(view, 'entry/page').map(({ params }) => params);
  assert.deepEqual(second, first);
  await view.close();
});

test('cases 221 and 222: what a model writes makes no request, no markup, and no link but through the extension', async () => {
  const host = new AgentHost();
  const hostile = [
    '<img src="http://127.0.0.1:9/leak.png" onerror="document.title=\'owned\'"><script>document.title="owned"</script>',
    '![x](http://127.0.0.1:9/leak2.png) [bad](javascript:document.title="owned") [worse](command:workbench.action.quit)',
    '<style>body{display:none}</style><iframe src="http://127.0.0.1:9/frame"></iframe><a href="http://127.0.0.1:9/a">raw</a>',
    '[good](https://example.com/page?a=1&b=2) <https://example.org>',
  ].join('\n\n');
  host.add(1, [
    said(1, hostile),
    answer(2, text(hostile)),
    entry(3, { kind: 'notice', text: hostile, outcomes: 1 }),
  ]);
  const view = await openAgent(host);
  const asked: string[] = [];
  view.page.on('request', (each) => asked.push(each.url()));
  const good = view.page.getByRole('link', { name: 'good' });
  await good.waitFor();
  assert.equal(
    await view.page.locator('.scroller :is(img, script, style, iframe, [href], [src], [onerror])').count(),
    0,
  );
  assert.equal(await view.page.getByRole('link').count(), 2);
  await good.click();
  assert.equal((await view.hear(isKind('openLink'))).href, 'https://example.com/page?a=1&b=2');
  await view.page.getByRole('link', { name: 'https://example.org' }).focus();
  await view.page.keyboard.press('Enter');
  await view.hear(
    (message): message is Extract<ToExtension, { kind: 'openLink' }> =>
      message.kind === 'openLink' && message.href.startsWith('https://example.org'),
  );
  await view.page.getByText('bad', { exact: false }).first().click();
  assert.equal(view.heard.filter(isKind('openLink')).length, 2);
  assert.equal(await view.page.title(), '');
  assert.deepEqual(asked, []);
  assert.deepEqual(view.problems, []);
  await view.close();
});

test('code is coloured when there is time, and copied as it is', async () => {
  const host = new AgentHost();
  host.add(1, [answer(1, text('```ts\nconst answer: number = 42; // "<b>"\n```'))]);
  const view = await openAgent(host);
  await view.page.locator('.code .hljs-keyword').first().waitFor();
  await view.page.locator('.code').hover();
  await view.page.getByRole('button', { name: 'Copy' }).first().click();
  assert.equal((await view.hear(isKind('copy'))).text, 'const answer: number = 42; // "<b>"');
  assert.deepEqual(view.problems, []);
  await view.close();
});

test('a call is one line; opened it shows input, output, its file, and the whole of a long output in pages', async () => {
  const host = new AgentHost();
  const whole = 'line of output\n'.repeat(9_000);
  host.add(1, [
    answer(
      1,
      call('a', 'read', { path: 'src/a.ts', startLine: 3 }),
      call('b', 'shell', { command: 'npm test' }),
    ),
    result(2, 'a', { tool: 'read', text: 'const a = 1;' }),
    result(3, 'b', { status: 'error', text: `${'x'.repeat(9_000)}the end`, blob: blobId(5) }),
  ]);
  host.answers = ({ method, params }) => {
    if (method !== 'blob/read') return undefined;
    const { offset, limit } = params as { offset: number; limit: number };
    const next = offset + limit < whole.length ? offset + limit : null;
    return {
      ok: true,
      result: { text: whole.slice(offset, offset + limit), nextOffset: next, totalBytes: whole.length },
    };
  };
  const view = await openAgent(host);
  const lines = view.page.locator('.call .foldline');
  assert.match((await lines.nth(0).textContent()) ?? '', /read\s*src\/a\.ts\s*done/);
  assert.match((await lines.nth(1).textContent()) ?? '', /shell\s*npm test\s*failed/);
  await lines.nth(0).click();
  await view.page.getByRole('button', { name: 'Open src/a.ts' }).click();
  assert.deepEqual(await view.hear(isKind('openFile')), {
    kind: 'openFile',
    path: '/home/me/shop/src/a.ts',
    line: 3,
  });
  const y = (await lines.nth(1).boundingBox())?.y ?? 0;
  await lines.nth(1).click();
  const output = view.page.locator('.call').nth(1).locator('.io').nth(1);
  await output.waitFor();
  assert.ok(((await output.textContent()) ?? '').length < 8_200, 'only a part is drawn');
  assert.ok(
    Math.abs(((await lines.nth(1).boundingBox())?.y ?? 0) - y) < 1,
    'what was clicked stays under the pointer',
  );
  await view.page.getByRole('button', { name: 'Show more' }).click();
  await view.page.getByText('the end').waitFor();
  await view.page.getByRole('button', { name: 'Load the whole output' }).click();
  await view.page.getByRole('button', { name: 'Load more (64 KB of 132 KB)' }).click();
  await view.page.getByRole('button', { name: 'Load more (128 KB of 132 KB)' }).click();
  await view.page.waitForFunction(
    (length) =>
      document.querySelectorAll('.call')[1]?.querySelectorAll('.io')[1]?.textContent.length === length,
    whole.length,
  );
  assert.deepEqual(
    calls(view, 'blob/read').map(({ params }) => (params as { offset: number }).offset),
    [0, 65_536, 131_072],
  );
  await lines.nth(1).click();
  await view.page.waitForFunction(() => document.querySelectorAll('.io').length === 2);
  await view.close();
});

test('a running command shows the newest of its output', async () => {
  const host = new AgentHost();
  host.add(
    1,
    [answer(1, call('a', 'shell', { command: 'make' }))],
    { calls: [openCall(9, 'a')] },
    { phase: 'calling' },
  );
  const view = await openAgent(host);
  const output = Array.from({ length: 50 }, (_, index) => `step ${index + 1}`).join('\n');
  await host.play(1, { kind: 'agent/calls', calls: [openCall(9, 'a', { output })] });
  await view.page.getByText('step 50').waitFor();
  assert.equal(await view.page.getByText('step 42\n').count(), 0);
  assert.match((await view.page.locator('.call .foldline').textContent()) ?? '', /running/);
  await host.play(
    1,
    { kind: 'agent/calls', calls: [] },
    { kind: 'agent/entries', entries: [result(2, 'a')] },
  );
  await view.page.waitForFunction(() => document.querySelector('.tail') === null);
  await view.close();
});

test('requests: a button or a key answers once, what cannot be applied is said', async () => {
  const host = new AgentHost();
  const state = {
    calls: [openCall(9, 'a', { state: 'asking' })],
    requests: [
      request(1, { call: callId(9) }),
      request(2, { kind: 'question', title: 'Which?', choices: ['This', 'That'] }),
      request(3, { kind: 'question', title: 'Why?' }),
    ],
  };
  host.add(1, [answer(1, call('a', 'shell', { command: 'npm test' }))], state, {
    phase: 'waiting',
    why: 'approval',
  });
  let fail = true;
  host.answers = ({ method, params }) => {
    if (method !== 'request/answer') return undefined;
    const { request: id } = params as { request: number };
    if (id === 1 && fail) return { ok: false, code: 'internal', message: 'The connection was lost.' };
    return { ok: true, result: { state: id === 3 ? 'stale' : 'applied' } };
  };
  const view = await openAgent(host);
  await view.page.getByText('Waits until you allow or deny').waitFor();
  await view.page.getByRole('button', { name: 'Show', exact: true }).click();
  await view.page.waitForFunction(() => document.activeElement?.classList.contains('card'));
  await view.page.keyboard.press('a');
  await view.page.getByText('Could not send the answer: The connection was lost.').first().waitFor();
  fail = false;
  await view.page.getByRole('button', { name: 'Allow' }).click();
  await view.page.getByText('Answered.').first().waitFor();
  const [first, again] = calls(view, 'request/answer').map(
    ({ params }) => params as { answer: unknown; key: string },
  );
  assert.deepEqual(first?.answer, { kind: 'allow' });
  assert.equal(again?.key, first?.key, 'the same answer again is the same answer');
  await view.page.locator('.card', { hasText: 'Which?' }).focus();
  await view.page.keyboard.press('2');
  await view.page.waitForFunction(() => document.querySelectorAll('.card .message').length === 2);
  const box = view.page.getByRole('textbox', { name: 'Your answer' });
  await box.fill('Because');
  await box.press('Enter');
  await view.page.locator('.card').getByText('This was decided before').waitFor();
  assert.deepEqual(
    calls(view, 'request/answer')
      .slice(2)
      .map(({ params }) => (params as { answer: unknown }).answer),
    [
      { kind: 'text', text: 'That' },
      { kind: 'text', text: 'Because' },
    ],
  );
  await host.play(1, { kind: 'agent/requests', requests: [] });
  await view.page.waitForFunction(() => document.querySelector('.card') === null);
  await view.close();
});

test('files of a project are allowed or denied; a turn in quarantine goes on or is given up', async () => {
  const host = new AgentHost();
  const requests = [request(1, { kind: 'trust', title: 'Trust 1 file' }), request(2, { kind: 'quarantine' })];
  host.add(1, [said(1, 'go')], { requests }, { phase: 'waiting', why: 'approval' });
  const view = await openAgent(host);
  const buttons = (id: number): Promise<string[]> =>
    view.page.locator(`.card[data-request="${id}"] button`).allInnerTexts();
  await view.page.locator('.card').nth(1).waitFor();
  assert.deepEqual((await buttons(1)).slice(0, 2), ['Allow', 'Deny']);
  assert.deepEqual((await buttons(2)).slice(0, 2), ['Go On', 'Give Up']);
  await view.close();
});

test('case 210: requests alike are answered together; one is denied with its reason', async () => {
  const host = new AgentHost();
  const alike = [1, 2, 3].map((id) => request(id, { cluster: 'npm test' }));
  host.add(
    1,
    [said(1, 'go')],
    { requests: [...alike, request(4, { title: 'rm -rf build', detail: '' })] },
    { phase: 'waiting', why: 'approval' },
  );
  host.answers = ({ method }) =>
    method === 'request/answerMany'
      ? { ok: true, result: { applied: 3, stale: 0 } }
      : { ok: true, result: { state: 'applied' } };
  const view = await openAgent(host);
  const last = view.page.locator('.card', { hasText: 'rm -rf build' });
  assert.equal(await last.getByRole('button', { name: 'Like This' }).count(), 0);
  await view.page.getByRole('button', { name: 'Allow All 3 Like This' }).first().click();
  assert.partialDeepStrictEqual((await view.hear(isCall('request/answerMany'))).params, {
    requests: [1, 2, 3],
    answer: { kind: 'allow' },
  });
  await last.focus();
  await view.page.keyboard.press('r');
  await view.page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA');
  await view.page.keyboard.type('Keep it. Delete only dist.');
  await view.page.keyboard.press('Enter');
  assert.partialDeepStrictEqual((await view.hear(isCall('request/answer'))).params, {
    request: 4,
    answer: { kind: 'deny', reason: 'Keep it. Delete only dist.' },
  });
  await view.close();
});

test('case 235: Enter sends, Shift+Enter makes a line, an input method keeps its Enter', async () => {
  const host = new AgentHost();
  host.add(1, [said(1, 'go')]);
  host.answers = ({ method }) =>
    method === 'agent/send' ? { ok: true, result: { turn: 1, state: 'started' } as never } : undefined;
  const view = await openAgent(host);
  const box = view.page.getByRole('textbox', { name: 'Message to agent-1' });
  await box.click();
  await view.page.keyboard.type('one');
  await view.page.keyboard.press('Shift+Enter');
  await view.page.keyboard.type('two');
  await box.dispatchEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true });
  await box.dispatchEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true });
  assert.equal(calls(view, 'agent/send').length, 0);
  await view.page.keyboard.press('Enter');
  assert.partialDeepStrictEqual((await view.hear(isCall('agent/send'))).params, {
    agent: 1,
    text: 'one\ntwo',
    delivery: 'queue',
  });
  await view.page.waitForFunction(
    () => document.querySelector<HTMLTextAreaElement>('.composer textarea')?.value === '',
  );
  await view.close();
});

test('to a busy agent: queued or steered as chosen, the other way with Ctrl; what is not sent stays', async () => {
  const host = new AgentHost();
  host.add(1, [said(1, 'go')], {}, { phase: 'calling' });
  let down = true;
  host.answers = ({ method }) => {
    if (method !== 'agent/send') return undefined;
    return down
      ? { ok: false, code: 'internal', message: 'No connection.' }
      : { ok: true, result: { turn: 1, state: 'steered' } as never };
  };
  const view = await openAgent(host);
  const box = view.page.getByRole('textbox', { name: 'Message to agent-1' });
  await view.page.getByRole('radio', { name: 'Steer' }).click();
  await box.fill('Look at the parser too');
  await box.press('Enter');
  await view.page.locator('.composer').getByText('Not sent: No connection. Your text is kept.').waitFor();
  assert.equal(await box.inputValue(), 'Look at the parser too');
  down = false;
  await box.press('Enter');
  await view.page.locator('.composer').getByText('Steered').waitFor();
  await box.fill('And then the docs');
  await box.press('Control+Enter');
  await view.page.waitForFunction(
    () => document.querySelector<HTMLTextAreaElement>('.composer textarea')?.value === '',
  );
  const sent = calls(view, 'agent/send').map(({ params }) => params as { delivery: string; key: string });
  assert.deepEqual(
    sent.map(({ delivery }) => delivery),
    ['steer', 'steer', 'queue'],
  );
  assert.equal(sent[0]?.key, sent[1]?.key, 'the same text again is the same message');
  assert.notEqual(sent[2]?.key, sent[1]?.key);
  await view.page.locator('.agenthead').getByRole('button', { name: 'Stop' }).click();
  assert.partialDeepStrictEqual((await view.hear(isCall('agent/interrupt'))).params, {
    agent: 1,
    branch: false,
  });
  await view.close();
});

test('the head says who it is, whose child, on which model, and stops a branch with its count', async () => {
  const host = new AgentHost();
  host.add(3, [], {}, { name: 'lead' });
  const branch = {
    agents: 8,
    running: 4,
    waiting: 2,
    needs: 0,
    failed: 1,
    done: 0,
    microUsd: 2_500_000,
    tokens: 9,
  };
  host.add(
    1,
    [said(1, 'go')],
    {},
    {
      name: 'area',
      parent: agentId(3),
      phase: 'waiting',
      why: 'child',
      children: 7,
      model: 'scripted/x',
      branch,
    },
  );
  host.answers = ({ method }) =>
    method === 'agent/interrupt' ? { ok: true, result: { stopped: 6 } } : undefined;
  const view = await openAgent(host);
  await view.page.getByRole('heading', { name: 'area' }).waitFor();
  const head = view.page.locator('.agenthead');
  for (const words of [
    'waiting: its agents',
    'Waits for 5 agents that it started.',
    'Scripted model, no real AI',
    'cost $2.50',
  ]) {
    await head.getByText(words).waitFor();
  }
  await head.getByRole('button', { name: 'lead' }).click();
  assert.equal((await view.hear(isKind('showAgent'))).agent, agentId(3));
  await head.getByRole('button', { name: 'Stop Branch (6)' }).click();
  assert.partialDeepStrictEqual((await view.hear(isCall('agent/interrupt'))).params, {
    agent: 1,
    branch: true,
  });
  await view.page.waitForFunction(
    () => document.querySelector('[role=status]')?.textContent === 'Stopped 6 agents.',
  );
  await view.close();
});

test('at 200 % zoom nothing is wider than the page', async () => {
  const host = new AgentHost();
  host.add(
    1,
    [
      said(1, 'x'.repeat(400)),
      answer(2, text(`| a | b |\n|-|-|\n| ${'y'.repeat(300)} | z |\n\n\`\`\`\n${'w'.repeat(300)}\n\`\`\``)),
      answer(3, call('a', 'shell', { command: 'z'.repeat(300) })),
    ],
    { requests: [request(1, { title: 'q'.repeat(200) })] },
    { phase: 'waiting', why: 'approval', name: 'a-name-that-is-quite-long-for-an-agent' },
  );
  const view = await openAgent(host, { width: 320, height: 500, theme: 'light' });
  await view.page.locator('.card').waitFor();
  const wide = await view.page.evaluate(() =>
    [document.documentElement, document.querySelector('.scroller') ?? document.body].map(
      (each) => each.scrollWidth - each.clientWidth,
    ),
  );
  assert.deepEqual(wide, [0, 0]);
  await view.picture('agent-narrow');
  await view.close();
});

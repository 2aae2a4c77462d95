// The Agents view in a real page: real rows, real scrolling, real keys, against a forest of up to a million
// agents that answers windows as the sidecar does.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AgentRow } from '../../sidecar/protocol/agent.ts';
import { emptyFleet } from '../../sidecar/protocol/fleet.ts';
import { agentId } from '../../sidecar/protocol/ids.ts';
import type { ToExtension } from '../../sidecar/protocol/panel.ts';
import type { TreeQuery, TreeWindow } from '../../sidecar/protocol/tree.ts';
import { closeBrowser, openView } from './page.ts';
import type { ViewOptions, ViewPage } from './page.ts';
import { forest, rollup } from './samples.ts';

after(closeBrowser);

type Follow = Extract<ToExtension, { kind: 'follow' }>;
const isKind =
  <K extends ToExtension['kind']>(kind: K) =>
  (message: ToExtension): message is Extract<ToExtension, { kind: K }> =>
    message.kind === kind;

/** Windows that were asked for, oldest first. */
function queries(view: ViewPage): TreeQuery[] {
  return view.heard.flatMap((message) =>
    message.kind === 'follow' && message.channel.kind === 'tree' ? [message.channel.query] : [],
  );
}

/** The view on a forest; `windowOf` may answer something else for a query. */
async function openTree(
  windowOf: (query: TreeQuery) => TreeWindow | null,
  options: ViewOptions = {},
): Promise<ViewPage> {
  return openView('tree', {
    ...options,
    hears: (message, say) => {
      options.hears?.(message, say);
      if (message.kind !== 'follow' || message.channel.kind !== 'tree') return;
      const window = windowOf(message.channel.query);
      if (window !== null)
        void say({ kind: 'snapshot', tag: message.tag, snapshot: { kind: 'tree', state: window } });
    },
  });
}

/** Rows that are seen, as the page has them. Fails when one is not where its index belongs. */
async function seenRows(
  view: ViewPage,
): Promise<{ index: number; name: string; selected: boolean; y: number }[]> {
  return view.page.evaluate(() => {
    const tree = document.querySelector('.tree');
    if (tree === null) return [];
    const box = tree.getBoundingClientRect();
    return [...tree.querySelectorAll<HTMLElement>('.row:not([hidden])')]
      .map((row) => ({
        index: Number(row.dataset['index']),
        name: row.querySelector('.name')?.textContent ?? '',
        selected: row.getAttribute('aria-selected') === 'true',
        y: row.getBoundingClientRect().top - box.top,
      }))
      .filter(({ y }) => -22 < y && y < box.height)
      .sort((a, b) => a.y - b.y);
  });
}

async function waitForRow(view: ViewPage, name: string): Promise<void> {
  await view.page.waitForFunction(
    (wanted) =>
      [...document.querySelectorAll('.row:not([hidden]) .name')].some((element) => {
        const tree = document.querySelector('.tree')?.getBoundingClientRect();
        const box = element.getBoundingClientRect();
        return (
          element.textContent === wanted &&
          tree !== undefined &&
          tree.top <= box.top &&
          box.bottom <= tree.bottom
        );
      }),
    name,
  );
}

/** Waits until the selected row is this one. */
async function waitForSelected(view: ViewPage, name: string): Promise<void> {
  await view.page.waitForFunction(
    (wanted) => document.querySelector('.row[aria-selected=true] .name')?.textContent === wanted,
    name,
  );
}

for (const total of [100_000, 1_000_000]) {
  test(`${total.toLocaleString('en')} agents: first, last and middle rows, few elements, small windows`, async () => {
    const view = await openTree(forest(total, 0).window);
    await waitForRow(view, 'agent-1');
    await view.page.focus('.tree');
    await view.page.keyboard.press('End');
    await waitForRow(view, `agent-${total}`);
    await view.page.keyboard.press('Home');
    await waitForRow(view, 'agent-1');
    await view.page.evaluate(() => {
      const tree = document.querySelector('.tree');
      if (tree !== null) tree.scrollTop = (tree.scrollHeight - tree.clientHeight) / 2;
    });
    await waitForRow(view, `agent-${total / 2}`);
    const rows = await seenRows(view);
    rows.forEach((row, at) => {
      assert.equal(row.name, `agent-${row.index + 1}`);
      if (0 < at) assert.ok(Math.abs(row.y - (rows[at - 1]?.y ?? 0) - 22) < 0.6, 'rows stand 22 px apart');
    });
    assert.ok((await view.page.locator('.row').count()) <= 120);
    assert.ok(queries(view).every((query) => query.height <= 240));
    assert.ok(queries(view).length <= 8, `asked ${queries(view).length} times`);
    assert.deepEqual(view.problems, []);
    await view.close();
  });
}

test('the wheel goes through a million rows a few at a time', async () => {
  const view = await openTree(forest(1_000_000, 0).window);
  await waitForRow(view, 'agent-1');
  await view.page.mouse.move(150, 400);
  for (let turn = 1; turn <= 10; turn += 1) {
    await view.page.mouse.wheel(0, 220);
    // Row ten times `turn` has come to the top edge, to the pixel.
    await view.page.waitForFunction((index) => {
      const top = document.querySelector('.tree')?.getBoundingClientRect().top ?? 0;
      const row = document.querySelector(`#row-${index}`);
      return row !== null && Math.abs(row.getBoundingClientRect().top - top) < 1;
    }, 10 * turn);
  }
  assert.equal((await seenRows(view))[0]?.name, 'agent-101');
  await view.close();
});

test('keys: move, expand, go in and out, open, stop', async () => {
  const busy = (id: number): Partial<AgentRow> => ({
    phase: 'calling',
    branch: rollup({ agents: id % 4 === 1 ? 4 : 1, running: 1 }),
  });
  const view = await openTree(forest(50, 3, busy).window, {
    hears: (message, say) => {
      if (message.kind === 'call')
        void say({ kind: 'answer', id: message.id, ok: true, result: { stopped: 1 } });
    },
  });
  await waitForRow(view, 'agent-1');
  const keys = async (...names: string[]): Promise<void> => {
    for (const name of names) await view.page.keyboard.press(name);
  };
  await view.page.focus('.tree');
  await keys('ArrowDown', 'ArrowRight');
  await waitForRow(view, 'agent-6');
  await keys('ArrowRight', 'ArrowDown');
  await waitForSelected(view, 'agent-7');
  await keys('ArrowLeft');
  await waitForSelected(view, 'agent-5');
  await keys('Enter');
  assert.deepEqual((await view.hear(isKind('showAgent'))).agent, agentId(5));
  await keys('x');
  assert.partialDeepStrictEqual(await view.hear(isKind('call')), {
    method: 'agent/interrupt',
    params: { agent: 5, branch: false },
  });
  await view.page.waitForFunction(
    () => document.querySelector('[role=status]')?.textContent === 'Stopped 1 agent.',
  );
  await keys('ArrowLeft');
  await view.page.waitForFunction(
    () => document.querySelectorAll('.row[aria-level="2"]:not([hidden])').length === 0,
  );
  await keys('PageDown', 'PageDown');
  await waitForSelected(view, 'agent-197');
  await view.close();
});

test('left from a child whose parent is far above finds the parent', async () => {
  const view = await openTree(forest(3, 1_000).window);
  await waitForRow(view, 'agent-1');
  await view.page.focus('.tree');
  await view.page.keyboard.press('ArrowRight');
  await waitForRow(view, 'agent-2');
  // One page at a time: a page that is not there yet cannot be left.
  for (let at = ''; Number(at.replace('agent-', '')) <= 500;) {
    await view.page.keyboard.press('PageDown');
    const moved = await view.page.waitForFunction((before) => {
      const name = document.querySelector('.row[aria-selected=true] .name')?.textContent ?? '';
      return name !== '' && name !== before ? name : null;
    }, at);
    at = (await moved.jsonValue()) ?? '';
  }
  await view.page.keyboard.press('ArrowLeft');
  await waitForRow(view, 'agent-1');
  await waitForSelected(view, 'agent-1');
  await view.close();
});

test('typing filters, Escape shows all again, no match is said', async () => {
  const all = forest(40, 0).window;
  const matches: Record<string, number[]> = { p: [30, 31] };
  const view = await openTree((query) => {
    if (query.filter === '') return all(query);
    const rows = (matches[query.filter] ?? []).flatMap((at) => all({ ...query, top: at, height: 1 }).rows);
    return { rows, top: 0, total: rows.length, partial: false };
  });
  await waitForRow(view, 'agent-5');
  await view.page.focus('.tree');
  await view.page.keyboard.press('p');
  await view.page.waitForFunction(() => document.querySelectorAll('.row:not([hidden])').length === 2);
  assert.equal(await view.page.inputValue('.filter input'), 'p');
  // From the filter to the list: what was selected before is hidden, so the first match is.
  await view.page.keyboard.press('Enter');
  await waitForSelected(view, 'agent-31');
  await view.page.focus('.filter input');
  await view.page.keyboard.type('q');
  await view.page.getByText('No agent matches “pq”.').waitFor();
  await view.page.keyboard.press('Escape');
  await waitForRow(view, 'agent-5');
  assert.equal(await view.page.evaluate(() => document.activeElement?.className), 'tree');
  await view.close();
});

test('the selection is an agent: it survives rows that move, updates and a reload', async () => {
  const plain = forest(5_000, 0).window;
  let shift = 0;
  const view = await openTree((query) => {
    const window = plain(query);
    const rows = window.rows.map(
      (row, at) =>
        plain({ ...query, top: (window.top + at + 5_000 - shift) % 5_000, height: 1 }).rows[0] ?? row,
    );
    return { ...window, rows };
  });
  await waitForRow(view, 'agent-1');
  await view.page.evaluate(() => document.querySelector('.tree')?.scrollTo(0, 22 * 1_000));
  await waitForRow(view, 'agent-1010');
  await view.page.getByText('agent-1010', { exact: true }).click();
  await waitForSelected(view, 'agent-1010');
  const before = (await seenRows(view)).find((row) => row.selected);
  // Three agents are started above it: the same window now holds other rows.
  shift = 3;
  const tag = (view.heard.findLast(isKind('follow')) as Follow).tag;
  const query = queries(view).at(-1);
  assert.ok(query !== undefined);
  const moved = plain({ ...query, top: query.top - shift });
  await view.say({
    kind: 'actions',
    tag,
    actions: [{ kind: 'tree/window', window: { ...moved, top: query.top } }],
  });
  await view.page.waitForFunction(
    () => document.querySelector<HTMLElement>('.row[aria-selected=true]')?.dataset['index'] === '1012',
  );
  const after = (await seenRows(view)).find((row) => row.selected);
  assert.equal(after?.name, 'agent-1010');
  assert.ok(Math.abs((after?.y ?? 0) - (before?.y ?? 0)) < 1, 'it stays where it was seen');
  // State outlives the page: scroll, selection.
  await view.page.reload();
  await waitForRow(view, 'agent-1010');
  await waitForSelected(view, 'agent-1010');
  await view.close();
});

test('an update redraws the rows that changed and no other', async () => {
  const window = forest(30, 0).window;
  const view = await openTree(window);
  await waitForRow(view, 'agent-1');
  await view.page.evaluate(() => {
    const touched = new Set<string>();
    Object.assign(globalThis, { touched });
    new MutationObserver((records) => {
      for (const { target } of records) {
        const element = target instanceof Element ? target : target.parentElement;
        touched.add(element?.closest<HTMLElement>('.row')?.dataset['index'] ?? 'outside');
      }
    }).observe(document.querySelector('.spacer') ?? document.body, {
      subtree: true,
      childList: true,
      characterData: true,
      attributes: true,
      attributeFilter: ['aria-label'],
    });
  });
  const tag = (
    view.heard.find((message) => message.kind === 'follow' && message.channel.kind === 'tree') as Follow
  ).tag;
  const row = window(queries(view)[0] as TreeQuery).rows[4]?.agent;
  assert.ok(row !== undefined);
  await view.say({
    kind: 'actions',
    tag,
    actions: [{ kind: 'tree/rows', rows: [{ ...row, phase: 'calling', doing: 'npm test' }] }],
  });
  await view.page.getByText('npm test').waitFor();
  const touched = await view.page.evaluate(() => [...(Reflect.get(globalThis, 'touched') as Set<string>)]);
  assert.deepEqual(touched, ['4']);
  await view.close();
});

test('rows too long for one frame: the rest is asked for, and nothing is asked for ever', async () => {
  const whole = forest(500, 0).window;
  const view = await openTree((query) => ({ ...whole(query), rows: whole(query).rows.slice(0, 20) }));
  await waitForRow(view, 'agent-20');
  await view.page.evaluate(() => document.querySelector('.tree')?.scrollTo(0, 22 * 200));
  await waitForRow(view, 'agent-201');
  await waitForRow(view, 'agent-220');
  const asked = queries(view).length;
  await view.page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  assert.equal(queries(view).length, asked);
  await view.close();
});

test('case 230: loading, empty, failed are three sights, each with what to do', async () => {
  const view = await openTree(() => null);
  await view.page.getByText('Loading agents…').waitFor();
  await view.say({
    kind: 'connection',
    connection: { kind: 'failed', message: 'The store is in use. Close the other window.' },
  });
  await view.page.getByText('The store is in use. Close the other window.').waitFor();
  assert.equal(await view.page.locator('[data-sight]').count(), 0);
  await view.page.getByRole('button', { name: 'Start Again' }).click();
  assert.equal((await view.hear(isKind('command'))).command, 'roost.restart');
  await view.say({ kind: 'connection', connection: { kind: 'connected' } });
  const { tag } = await view.hear(
    (message): message is Follow => message.kind === 'follow' && message.channel.kind === 'tree',
  );
  const state: TreeWindow = { rows: [], top: 0, total: 0, partial: false };
  await view.say({ kind: 'snapshot', tag, snapshot: { kind: 'tree', state } });
  await view.page.getByText('No agents yet.').waitFor();
  await view.page.getByRole('button', { name: 'New Agent' }).click();
  await view.hear(
    (message): message is Extract<ToExtension, { kind: 'command' }> =>
      message.kind === 'command' && message.command === 'roost.newAgent',
  );
  await view.picture('tree-empty');
  await view.close();
});

test('rows say their place, level and state to assistive technology, and carry what menus need', async () => {
  const view = await openTree(
    forest(9, 2, (id) => (id === 4 ? { phase: 'waiting', why: 'approval' } : {})).window,
    {
      hears: (message, say) => {
        if (message.kind !== 'follow' || message.channel.kind !== 'fleet') return;
        void say({
          kind: 'snapshot',
          tag: message.tag,
          snapshot: { kind: 'fleet', state: { ...emptyFleet, decisions: 2, running: 1 } },
        });
      },
    },
  );
  await waitForRow(view, 'agent-1');
  const row = view.page.getByRole('treeitem', { name: 'agent-4, needs approval' });
  assert.equal(await row.getAttribute('aria-level'), '1');
  assert.equal(await row.getAttribute('aria-posinset'), '2');
  assert.equal(await row.getAttribute('aria-setsize'), '9');
  assert.equal(await row.getAttribute('aria-expanded'), 'false');
  assert.partialDeepStrictEqual(JSON.parse((await row.getAttribute('data-vscode-context')) ?? '{}'), {
    webviewSection: 'agent',
    agent: 4,
    agentBusy: true,
    preventDefaultContextMenuItems: true,
  });
  await view.page.focus('.tree');
  await view.page.locator('.tree[aria-activedescendant]').waitFor();
  const active = await view.page.locator('.tree').getAttribute('aria-activedescendant');
  assert.equal(await view.page.locator(`#${active}`).getAttribute('aria-selected'), 'true');
  await view.page.waitForFunction(
    () => document.querySelector('[role=status]')?.textContent === 'Roost: 2 decisions for you, 1 running.',
  );
  await view.close();
});

test('agents on a scripted model are labelled', async () => {
  const view = await openTree(forest(3, 0, (id) => (id === 2 ? { model: 'scripted/demo' } : {})).window);
  await waitForRow(view, 'agent-2');
  assert.deepEqual(
    await view.page
      .locator('.row:not([hidden])')
      .evaluateAll((rows) => rows.map((row) => row.querySelector('.chip')?.textContent ?? '')),
    ['', 'scripted', ''],
  );
  await view.page.getByText('no real AI').waitFor();
  await view.close();
});

test('case 22: an idle view sets no timer and asks for no frame', async () => {
  const view = await openTree(forest(1_000, 0).window, {
    before: `
      globalThis.ticks = 0;
      for (const name of ['setTimeout', 'setInterval', 'requestAnimationFrame', 'requestIdleCallback']) {
        const real = globalThis[name].bind(globalThis);
        globalThis[name] = (...args) => { globalThis.ticks += 1; return real(...args); };
      }`,
  });
  await waitForRow(view, 'agent-1');
  // Two frames after the last drawing everything that was asked for has run.
  const ticks = await view.page.evaluate(async () => {
    const frame = (): Promise<void> =>
      new Promise((resolve) => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => resolve();
        channel.port2.postMessage(0);
      });
    const count = (): number => Reflect.get(globalThis, 'ticks') as number;
    for (let before = -1; before !== count();) {
      before = count();
      for (let turn = 0; turn < 2_000; turn += 1) await frame();
    }
    const before = count();
    for (let turn = 0; turn < 5_000; turn += 1) await frame();
    return count() - before;
  });
  assert.equal(ticks, 0);
  await view.close();
});

test('contrast themes and 200 % zoom: nothing is cut off', async () => {
  const look = (id: number): Partial<AgentRow> => ({
    name: `an agent with quite a long name ${id}`,
    phase: 'waiting',
    why: 'approval',
    doing: 'npm test',
    branch: rollup({ agents: 9, running: 3, needs: 2, microUsd: 12_340_000 }),
  });
  const view = await openTree(forest(100, 3, look).window, { theme: 'contrast', width: 170, height: 350 });
  await waitForRow(view, 'an agent with quite a long name 1');
  const wide = await view.page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.equal(wide, 0);
  const cut = await view.page.evaluate(
    () =>
      [...document.querySelectorAll('.row:not([hidden]) .word')].filter(
        (word) => word.getBoundingClientRect().width < 30,
      ).length,
  );
  assert.equal(cut, 0);
  await view.picture('tree-narrow-contrast');
  await view.close();
});

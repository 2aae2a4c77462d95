// The relay between a webview and the sidecar: ready, follows, calls, rest; and what the page may load.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { Ctx } from '../../extension/ctx.ts';
import { Connection } from '../../extension/connection.ts';
import { limits } from '../../extension/limits.ts';
import { Follows } from '../../extension/replica.ts';
import { emptyFleet } from '../../sidecar/protocol/fleet.ts';
import type { ToWebview } from '../../sidecar/protocol/panel.ts';
import { FakeSidecar, quietLog, refusal, temporaryStore, noModels } from './fakeSidecar.ts';
import { EventEmitter, extensionContext, seen, standIn, Uri } from './vscode.ts';

standIn();
const { Panels } = await import('../../extension/panels.ts');

let sidecar: FakeSidecar;
let connection: Connection;
let follows: Follows;
let remove: () => void;
let page: Page;
let log: ReturnType<typeof quietLog>;

/** A webview as the extension sees it, and the page inside as a test plays it. */
class Page {
  readonly heard: ToWebview[] = [];
  readonly onDidReceiveMessage: (listener: (message: unknown) => void) => { dispose(): void };
  readonly cspSource = 'https://source';
  options: { localResourceRoots?: Uri[] } = {};
  html = '';
  readonly #said = new EventEmitter<unknown>();
  readonly #waiting = new Set<() => void>();
  constructor() {
    this.onDidReceiveMessage = this.#said.event;
  }
  postMessage(message: ToWebview): Promise<boolean> {
    this.heard.push(message);
    for (const look of this.#waiting) look();
    return Promise.resolve(true);
  }
  asWebviewUri(uri: Uri): Uri {
    return uri;
  }
  say(message: unknown): void {
    this.#said.fire(message);
  }
  /** Resolves with the first message of a kind, that has come or will. */
  hears<K extends ToWebview['kind']>(kind: K): Promise<Extract<ToWebview, { kind: K }>> {
    return new Promise((resolve) => {
      const look = (): void => {
        const found = this.heard.find((each) => each.kind === kind);
        if (found === undefined) return;
        this.#waiting.delete(look);
        resolve(found as Extract<ToWebview, { kind: K }>);
      };
      this.#waiting.add(look);
      look();
    });
  }
}

const visibility = new EventEmitter<void>();
const view = { webview: null as unknown as Page, visible: true };

beforeEach(() => {
  const place = temporaryStore();
  remove = place.remove;
  let lastFollow = 0;
  sidecar = new FakeSidecar(place.store, {
    'follow/open': () => ({
      follow: (lastFollow += 1),
      seq: 0,
      snapshot: { kind: 'fleet', state: emptyFleet },
    }),
    'agent/get': () => ({ name: 'lead' }),
  });
  log = quietLog();
  connection = new Connection({
    store: () => place.store,
    launch: () => sidecar.start(),
    client: () => Promise.resolve({ name: 'window', workspaces: [] }),
    can: [],
    editor: {
      'editor/readText': () => Promise.resolve({ text: null }),
      'editor/applyEdit': () => Promise.resolve({ applied: false }),
      'editor/secret': () => Promise.resolve({ key: null }),
      ...noModels,
    },
    log,
  });
  follows = new Follows(connection, log);
  const ctx = {
    own: <T>(thing: T): T => thing,
    extension: extensionContext('/ext'),
    connection,
    follows,
    log,
    complain: () => Promise.resolve(),
  };
  page = new Page();
  view.webview = page;
  view.visible = true;
  const panels = new Panels(ctx as unknown as Ctx);
  const shown = {
    ...view,
    get visible() {
      return view.visible;
    },
    onDidChangeVisibility: visibility.event,
    onDidDispose: () => ({ dispose: () => undefined }),
  };
  panels.resolveWebviewView(shown as never);
});

afterEach(async () => {
  connection.dispose();
  await sidecar.crash();
  remove();
});

async function booted(): Promise<void> {
  page.say({ kind: 'ready', view: 'tree' });
  await page.hears('boot');
}

test('scripts run by nonce only, nothing comes from elsewhere', () => {
  const policy = /Content-Security-Policy" content="([^"]+)"/.exec(page.html)?.[1] ?? '';
  const nonce = /script-src 'nonce-([\w-]+)'/.exec(policy)?.[1] ?? '';
  assert.ok(16 <= nonce.length);
  assert.ok(page.html.includes(`<script nonce="${nonce}" src="file:///ext/dist/webview.js">`));
  assert.match(policy, /^default-src 'none'; /);
  assert.doesNotMatch(policy, /unsafe|\*|http:/);
  assert.match(page.html, /<body data-view="tree">/);
  assert.deepEqual(page.options.localResourceRoots?.map(String), ['file:///ext/dist']);
});

test('ready starts a sidecar and boots; a follow gets its state and what happens after', async () => {
  await booted();
  page.say({ kind: 'follow', tag: 'a', channel: { kind: 'fleet' } });
  assert.equal((await page.hears('snapshot')).tag, 'a');
  sidecar.send({ follow: 1, seq: 1, actions: [{ kind: 'fleet/set', state: emptyFleet }] });
  const { tag, actions } = await page.hears('actions');
  assert.deepEqual([tag, actions.length], ['a', 1]);
});

test('case 22: a hidden view follows nothing, and hears nothing', async () => {
  await booted();
  page.say({ kind: 'follow', tag: 'a', channel: { kind: 'fleet' } });
  await page.hears('snapshot');
  view.visible = false;
  visibility.fire();
  await sidecar.called('follow/close');
  assert.equal(follows.count, 0);
  const before = page.heard.length;
  await connection.restart();
  await connection.call('agent/get', { agent: 'lead' });
  assert.equal(page.heard.length, before);
});

test('calls are answered by their number, errors with code and words', async () => {
  await booted();
  page.say({ kind: 'call', id: 5, method: 'agent/get', params: { agent: 1 } });
  assert.deepEqual(await page.hears('answer'), { kind: 'answer', id: 5, ok: true, result: { name: 'lead' } });
  page.heard.length = 0;
  sidecar.answers['agent/get'] = () => refusal('agent/unknown', 'There is no agent 2.');
  page.say({ kind: 'call', id: 6, method: 'agent/get', params: { agent: 2 } });
  assert.deepEqual(await page.hears('answer'), {
    ...{ kind: 'answer', id: 6, ok: false, code: 'agent/unknown' },
    message: 'There is no agent 2.',
  });
});

test('case 222: what is not in the table does nothing but stand in the log', async () => {
  await booted();
  await connection.call('agent/get', { agent: 'lead' });
  const before = sidecar.calls.length;
  page.say({ kind: 'call', id: 1, method: 'shutdown', params: {} });
  page.say({ kind: 'command', command: 'workbench.action.terminal.new' });
  page.say({ kind: 'openLink', href: 'file:///etc/passwd' });
  await connection.call('agent/get', { agent: 'lead' });
  assert.equal(sidecar.calls.length, before + 1);
  assert.deepEqual(seen.opened, []);
  assert.deepEqual(seen.executed, []);
  assert.equal(log.lines.filter((line) => /not in the table|not opened/.test(line)).length, 3);
});

test('a refused follow is told to the view, and a view has a bound of them', async () => {
  await booted();
  sidecar.answers['follow/open'] = () => refusal('agent/unknown', 'There is no agent 9.');
  page.say({ kind: 'follow', tag: 'x', channel: { kind: 'agent', agent: 9 } });
  assert.equal((await page.hears('refused')).code, 'agent/unknown');
  for (let each = 0; each < limits.followsPerView + 3; each += 1) {
    page.say({ kind: 'follow', tag: `t${each}`, channel: { kind: 'fleet' } });
  }
  assert.equal(follows.count, limits.followsPerView);
});

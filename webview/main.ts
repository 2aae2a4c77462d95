// Where a webview starts: `data-view` of the body says which of the two views this page is. One page, one
// view, one bridge; everything else hangs from here.

import './style.css';
import { AgentView } from './agent/view.ts';
import { Announcer } from './announce.ts';
import { Bridge } from './bridge.ts';
import type { BridgeEvents, Host } from './bridge.ts';
import { Memory } from './saved.ts';
import { setStrings } from './strings.ts';
import { TreeView } from './tree/view.ts';

declare function acquireVsCodeApi(): Host;

interface View {
  readonly connection: BridgeEvents['connection'];
  readonly show: BridgeEvents['show'];
}

function start(): void {
  const kind = document.body.dataset['view'] === 'agent' ? 'agent' : 'tree';
  // The view is made when `boot` has brought the words, so that nothing is drawn in two languages.
  let view: View | null = null;
  const bridge = new Bridge(
    acquireVsCodeApi(),
    { connection: (connection) => view?.connection(connection), show: (message) => view?.show(message) },
    (strings) => {
      setStrings(strings);
      view ??= make(kind, bridge);
    },
  );
  window.addEventListener('message', (event: MessageEvent<unknown>) => bridge.receive(event.data));
  bridge.ready(kind);
}

function make(kind: 'tree' | 'agent', bridge: Bridge): View {
  const root = document.createElement('div');
  root.className = 'root';
  const region = document.createElement('div');
  region.className = 'hidden';
  document.body.append(root, region);
  const parts = { root, bridge, memory: new Memory(bridge), announcer: new Announcer(region) };
  if (kind === 'agent') {
    const agentView = new AgentView(parts);
    return {
      connection: (connection) => agentView.connection(connection),
      show: ({ agent, entry }) => agentView.show(agent, entry ?? null),
    };
  }
  const tree = new TreeView(parts);
  return { connection: (connection) => tree.connection(connection), show: () => undefined };
}

start();

// What a webview may say: everything of the table in its form, and nothing else (case 222).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOpenable, isToExtension } from '../../extension/panelMessages.ts';
import { panelCommands, panelMethods } from '../../sidecar/protocol/panel.ts';

const query = { expanded: [], order: 'attention', filter: '', top: 0, height: 50 };

const good: readonly unknown[] = [
  { kind: 'ready', view: 'tree' },
  { kind: 'follow', tag: 'tree/1', channel: { kind: 'tree', query } },
  { kind: 'follow', tag: 'a', channel: { kind: 'agent', agent: 3 } },
  { kind: 'follow', tag: 'a', channel: { kind: 'changes', agent: null } },
  { kind: 'unfollow', tag: 'a' },
  ...panelMethods.map((method) => ({ kind: 'call', id: 1, method, params: {} })),
  { kind: 'showAgent', agent: 4 },
  { kind: 'openFile', path: '/project/a', line: 1 },
  { kind: 'reviewChange', change: 5 },
  { kind: 'openLink', href: 'https://example.com' },
  ...panelCommands.map((command) => ({ kind: 'command', command })),
  { kind: 'copy', text: 'x' },
];

const bad: readonly unknown[] = [
  null,
  'ready',
  {},
  { kind: 'toString' },
  { kind: '__proto__' },
  { kind: 'ready', view: 'settings' },
  { kind: 'follow', tag: 'a', channel: { kind: 'log', agent: null } },
  { kind: 'follow', tag: 'a', channel: { kind: 'agent', agent: 'x' } },
  { kind: 'follow', tag: 'x'.repeat(101), channel: { kind: 'fleet' } },
  { kind: 'call', id: 1, method: 'shutdown', params: {} },
  { kind: 'call', id: 1, method: 'provider/set', params: {} },
  { kind: 'call', id: 1, method: 'agent/get', params: [] },
  { kind: 'call', id: 'x', method: 'agent/get', params: {} },
  { kind: 'command', command: 'workbench.action.terminal.new' },
  { kind: 'command', command: 'roost.stopAll' },
  { kind: 'showAgent', agent: 1.5 },
  { kind: 'openFile', path: 7, line: 1 },
  { kind: 'copy', text: null },
];

test('every message of the table passes', () => {
  for (const message of good) assert.ok(isToExtension(message), JSON.stringify(message));
});

test('case 222: other messages, methods, commands and channels do not', () => {
  for (const message of bad) assert.ok(!isToExtension(message), JSON.stringify(message));
});

test('case 222: links open by http, https and mailto only', () => {
  for (const href of ['http://a', 'https://a/b?c', 'mailto:me@example.com'])
    assert.ok(isOpenable(href), href);
  const refused = [
    'vscode://ext/x',
    'file:///etc/passwd',
    'command:roost.stopAll',
    'javascript:alert(1)',
    'data:,x',
    '/a',
    '',
  ];
  for (const href of refused) assert.ok(!isOpenable(href), href);
});

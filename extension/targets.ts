// What a command is about: its argument may be a row of a native view, an object of a program or a webview, the
// arguments of an editor's menu, or nothing. These readers take what is there and leave out the rest.

import { agentId, changeId, requestId } from '../sidecar/protocol/ids.ts';
import type { AgentId, ChangeId, RequestId } from '../sidecar/protocol/ids.ts';

/** A field of an argument that may be anything. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

export function textField(value: unknown, name: string): string | undefined {
  const found = field(value, name);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

export function numberField(value: unknown, name: string): number | undefined {
  const found = field(value, name);
  return typeof found === 'number' && Number.isSafeInteger(found) ? found : undefined;
}

/** `{agent: 7}`, a row of an agent, or a row that has one in it. */
export function agentOf(value: unknown): AgentId | undefined {
  const agent = field(value, 'agent');
  const owner = agent ?? field(field(value, 'request') ?? field(value, 'change'), 'agent');
  const id = numberField({ id: owner }, 'id') ?? numberField(owner, 'id');
  return id === undefined ? undefined : agentId(id);
}

/** `{request: 7}`, `{requests: [7, 8]}`, or rows with requests in them. */
export function requestsOf(value: unknown): readonly RequestId[] {
  const many = field(value, 'requests');
  const all: readonly unknown[] = Array.isArray(many) ? many : [field(value, 'request')];
  return all.flatMap((each) => {
    const id = numberField({ id: each }, 'id') ?? numberField(each, 'id');
    return id === undefined ? [] : [requestId(id)];
  });
}

/** `{change: 7}`, `{changes: [7, 8]}`, or rows with changes in them. */
export function changesOf(value: unknown): readonly ChangeId[] {
  const many = field(value, 'changes');
  const all: readonly unknown[] = Array.isArray(many) ? many : [field(value, 'change')];
  return all.flatMap((each) => {
    const id = numberField({ id: each }, 'id') ?? numberField(each, 'id');
    return id === undefined ? [] : [changeId(id)];
  });
}

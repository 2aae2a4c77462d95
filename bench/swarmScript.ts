// The script of the swarm workloads: a root starts its children with one template and waits for all; each child
// leaves a message for a sibling, hands in a typed result and ends: three rounds, entries of about 300 bytes.

import type { Block } from '../sidecar/protocol/entry.ts';
import type { Item, ModelRequest } from '../sidecar/ports.ts';

const filler = 'x'.repeat(200);

const call = (key: string, tool: string, input: unknown): Block => ({
  kind: 'call',
  key,
  tool,
  input: JSON.stringify(input),
});

/** The answers of root and child for `children` children of each root. */
export function swarmScript(
  children: number,
): (request: ModelRequest, items: readonly Item[]) => readonly Block[] {
  return (request, items) => {
    const answers = items.filter((item) => item.kind === 'answer').length;
    const first = items[0];
    const text = first?.kind === 'user' ? first.text : '';
    if (text.startsWith('root')) return rootAnswer(answers, children);
    return childAnswer(text, answers, children, Number(request.agent));
  };
}

function rootAnswer(answers: number, children: number): readonly Block[] {
  if (answers === 0) {
    const items = Array.from({ length: children }, (_, index) => String(index + 1));
    return [
      call('spawn', 'spawn_agent', {
        template: `child {item} of ${children}: look at part {item}. ${filler}`,
        items,
      }),
    ];
  }
  if (answers === 1) return [call('wait', 'wait_agent', {})];
  return [{ kind: 'text', text: 'All children have ended.' }];
}

function childAnswer(text: string, answers: number, children: number, agent: number): readonly Block[] {
  const number = Number(/^child (\d+)/.exec(text)?.[1] ?? 1);
  if (answers === 0) {
    const sibling = `agent-${(number % children) + 1}`;
    return [call('m', 'send_message', { to: sibling, text: `from ${number}: ${filler}` })];
  }
  if (answers === 1) return [call('r', 'submit_result', { result: { number, agent, note: filler } })];
  return [{ kind: 'text', text: `Part ${number} is done. ${filler}` }];
}

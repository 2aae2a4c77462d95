// Models of the editor: the conversation as a window gets it, and what the errors of vscode.lm come to.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Item } from '../../sidecar/core/terms.ts';
import { judgeLmError, lmPages } from '../../sidecar/model/editor.ts';
import { createModel } from '../../sidecar/model/model.ts';
import type { LmMessage } from '../../sidecar/protocol/editorModel.ts';
import { answer, ask, requestOf, result, user } from './conversation.ts';

function messages(items: readonly Item[], pageItems = 2): LmMessage[] {
  const next = lmPages(requestOf('vscode/copilot/gpt', items, {}, pageItems));
  const all: LmMessage[] = [];
  for (let page = next(); page !== null; page = next()) all.push(...page);
  return all;
}

/** Neighbours of one role as one, as the extension joins them. */
function joined(all: readonly LmMessage[]): string[] {
  const lines: string[] = [];
  let role = '';
  for (const message of all) {
    const parts = message.parts.map((part) => {
      if (part.kind === 'text') return part.text;
      return part.kind === 'call' ? `${part.tool}(${JSON.stringify(part.input)})` : `=${part.text}`;
    });
    if (message.role === role) lines[lines.length - 1] += ` | ${parts.join(' | ')}`;
    else lines.push(`${message.role}: ${parts.join(' | ')}`);
    role = message.role;
  }
  return lines;
}

const talk: readonly Item[] = [
  user('Look.'),
  answer('anthropic/x', [
    { kind: 'thinking', text: 'secret', provider: 'anthropic', signature: 's' },
    { kind: 'text', text: 'I look.' },
    { kind: 'call', key: 'a', tool: 'read', input: '{"path":"a"}' },
    { kind: 'call', key: 'b', tool: 'read', input: 'no json' },
  ]),
  result('a', 'one'),
  user('Hurry.'),
  result('b', 'two', false),
  answer('anthropic/x', [{ kind: 'call', key: 'c', tool: 'shell', input: '' }]),
  user(' '),
];

test('the prompt comes first, reasoning stays behind, each call has its result before the next message', () => {
  const expected = [
    'user: You work on a repository. | Look.',
    'assistant: I look. | read({"path":"a"}) | read({"invalid_json":"no json"})',
    'user: =one | =[error] two | Hurry.',
    'assistant: shell({})',
    'user: =[error] There is no result: the call did not run to its end. | (empty)',
  ];
  for (let pageItems = 1; pageItems <= talk.length; pageItems += 1)
    assert.deepEqual(joined(messages(talk, pageItems)), expected, `pages of ${pageItems}`);
});

test('case 178: errors of vscode.lm are told apart', () => {
  const judged = (code: string, message: string): string => {
    const outcome = judgeLmError({ code, message }, 0);
    return outcome.kind === 'rejected' ? outcome.code : outcome.kind;
  };
  assert.equal(judged('NoPermissions', 'not allowed'), 'noEditor');
  assert.equal(judged('NotFound', 'no such model'), 'modelUnknown');
  assert.equal(judged('Blocked', 'Quota exceeded'), 'noCredit');
  assert.equal(judged('', 'You have exhausted your premium requests'), 'noCredit');
  assert.equal(judged('Blocked', 'Rate limit exceeded, please wait'), 'refused');
  assert.equal(judged('Unknown', 'Request Failed: 429 too many requests'), 'refused');
  assert.equal(judged('Blocked', 'Response was filtered'), 'badRequest');
  assert.equal(judged('', 'Message exceeds token limit. maximum context length is 8000'), 'contextTooLong');
  assert.equal(judged('', 'fetch failed'), 'cut');
});

test('without an editor such a model lacks one, and a request for it is no failure of the turn', async () => {
  const model = createModel();
  assert.equal(model.lacks('vscode/copilot/gpt'), 'editor');
  assert.equal(model.pool('vscode/copilot/gpt').name, model.pool('vscode/other/x').name);
  assert.ok((model.info('vscode/copilot/gpt')?.contextTokens ?? 0) > 0, 'case 177: unknown is not zero');
  assert.equal(model.info('vscode/'), null);
  const { outcome } = await ask(model, requestOf('vscode/copilot/gpt', [user('Hello')]));
  assert.deepEqual(outcome.kind === 'rejected' && outcome.code, 'noEditor');
});

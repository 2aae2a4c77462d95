// Colours for code blocks, in the browser's idle time and never in the way of a frame. The highlighter and its
// grammars are in the bundle but run only when the first block asks. A block that is gone by then is skipped.

import type { HLJSApi } from 'highlight.js';
import { limits } from './limits.ts';
import { sanitise } from './sanitise.ts';

/** Names that models write after the fence, and the grammar that colours them. */
const grammars: Readonly<Record<string, readonly string[]>> = {
  typescript: ['typescript', 'ts', 'tsx', 'javascript', 'js', 'jsx', 'mjs', 'cjs', 'mts', 'cts'],
  json: ['json', 'jsonc', 'json5', 'jsonl'],
  bash: ['bash', 'sh', 'shell', 'zsh', 'console'],
  python: ['python', 'py'],
  diff: ['diff', 'patch'],
  css: ['css', 'scss', 'less'],
  xml: ['html', 'xml', 'svg', 'vue'],
  yaml: ['yaml', 'yml', 'toml'],
  go: ['go', 'golang'],
  rust: ['rust', 'rs'],
  java: ['java', 'kotlin', 'cs', 'csharp'],
  sql: ['sql', 'sqlite'],
};

const grammarOf = new Map(
  Object.entries(grammars).flatMap(([name, said]) => said.map((word) => [word, name] as const)),
);

type Job = { readonly code: HTMLElement; readonly grammar: string };

const queue: Job[] = [];
let idle = false;
let engine: HLJSApi | null = null;

/** Colours the text of an element some time later, when its language is known and it is not too long. */
export function colourLater(code: HTMLElement, language: string): void {
  const grammar = grammarOf.get(language.toLowerCase());
  const length = code.textContent.length;
  if (grammar === undefined || limits.highlightChars < length || limits.highlightQueue <= queue.length)
    return;
  queue.push({ code, grammar });
  if (idle) return;
  idle = true;
  requestIdleCallback(colourSome);
}

function colourSome(deadline: IdleDeadline): void {
  if (engine === null) {
    void loadEngine().then((loaded) => {
      engine = loaded;
      requestIdleCallback(colourSome);
    });
    return;
  }
  // 3 ms is what a block of some kilobytes takes; starting one with less left would delay a frame.
  while (3 < deadline.timeRemaining()) {
    const job = queue.shift();
    if (job === undefined) break;
    colour(engine, job);
  }
  idle = 0 < queue.length;
  if (idle) requestIdleCallback(colourSome);
}

function colour(hljs: HLJSApi, { code, grammar }: Job): void {
  if (!code.isConnected) return;
  const { value } = hljs.highlight(code.textContent, { language: grammar, ignoreIllegals: true });
  code.replaceChildren(sanitise(value));
}

async function loadEngine(): Promise<HLJSApi> {
  const [{ default: hljs }, ...loaded] = await Promise.all([
    import('highlight.js/lib/core'),
    import('highlight.js/lib/languages/typescript'),
    import('highlight.js/lib/languages/json'),
    import('highlight.js/lib/languages/bash'),
    import('highlight.js/lib/languages/python'),
    import('highlight.js/lib/languages/diff'),
    import('highlight.js/lib/languages/css'),
    import('highlight.js/lib/languages/xml'),
    import('highlight.js/lib/languages/yaml'),
    import('highlight.js/lib/languages/go'),
    import('highlight.js/lib/languages/rust'),
    import('highlight.js/lib/languages/java'),
    import('highlight.js/lib/languages/sql'),
  ]);
  const names = Object.keys(grammars);
  loaded.forEach(({ default: grammar }, index) => hljs.registerLanguage(names[index] ?? '', grammar));
  return hljs;
}

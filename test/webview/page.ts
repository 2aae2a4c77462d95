// The real bundle in a real page, under the content policy that the extension gives it, with an extension that
// a test plays: it hears what the view posts and says what it likes.
//
//   const page = await openView('tree', { hears: (message, say) => … });
//   await page.say({ kind: 'show', agent });
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import type { ToExtension, ToWebview, ViewKind } from '../../sidecar/protocol/panel.ts';
import { launchBrowser } from '../e2e/browser.ts';
import { root } from '../support/tool.ts';
import { themes } from './themes.ts';
import type { Theme } from './themes.ts';

export type Say = (message: ToWebview) => Promise<void>;

export type ViewOptions = {
  theme?: Theme;
  width?: number;
  height?: number;
  /** Hears each message after `ready`, which is answered with `boot` here. */
  hears?: (message: ToExtension, say: Say) => void;
  /** Runs before the bundle, in the page. */
  before?: string;
};

export type ViewPage = {
  page: Page;
  /** Everything that the view has posted so far, oldest first. */
  heard: ToExtension[];
  say: Say;
  /** Resolves with the first message, past or future, that matches. */
  hear: <M extends ToExtension>(matches: (message: ToExtension) => message is M) => Promise<M>;
  /** What went wrong in the page: exceptions and refusals of the content policy. */
  problems: string[];
  /** Keeps a picture below test/e2e/shots when ROOST_SHOTS is set. */
  picture: (name: string) => Promise<void>;
  close: () => Promise<void>;
};

const origin = 'http://127.0.0.1:9';
const policy = "default-src 'none'; script-src 'nonce-roost'; style-src http://127.0.0.1:9";

let bundle: { script: string; style: string } | null = null;
let browser: Promise<Browser> | null = null;

/** One browser for all views of a test file; `closeBrowser` ends it. */
function theBrowser(): Promise<Browser> {
  browser ??= launchBrowser();
  return browser;
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
  browser = null;
}

/** Builds as package.json does, but into memory: a stale dist cannot pass a test. */
export function buildBundle(): { script: string; style: string } {
  if (bundle !== null) return bundle;
  const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const command = scripts['build:webview'] ?? '';
  const flag = (name: string): string => new RegExp(`--${name}=(\\S+)`).exec(command)?.[1] ?? '';
  const built = buildSync({
    absWorkingDir: root,
    entryPoints: ['webview/main.ts'],
    outfile: 'dist/webview.js',
    write: false,
    bundle: true,
    platform: 'browser',
    format: 'iife',
    target: flag('target'),
    minify: command.includes('--minify'),
    logLevel: 'error',
  });
  const read = (ending: string): string =>
    built.outputFiles.find((file) => file.path.endsWith(ending))?.text ?? '';
  bundle = { script: read('.js'), style: read('.css') };
  return bundle;
}

// The same as the editor's: one posts messages out, state outlives a reload.
const fakeApi = `
  globalThis.acquireVsCodeApi = () => ({
    postMessage: (message) => { toExtension(JSON.parse(JSON.stringify(message))); },
    getState: () => JSON.parse(sessionStorage.getItem('state') ?? 'null') ?? undefined,
    setState: (state) => { sessionStorage.setItem('state', JSON.stringify(state)); },
  });
`;

export async function openView(view: ViewKind, options: ViewOptions = {}): Promise<ViewPage> {
  const { script, style } = buildBundle();
  const theme = options.theme ?? 'dark';
  const context = await (
    await theBrowser()
  ).newContext({
    viewport: { width: options.width ?? (view === 'tree' ? 340 : 900), height: options.height ?? 700 },
    timezoneId: 'UTC',
    locale: 'en-GB',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000); // what has not come by then never will; the error says what was waited for
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  const heard: ToExtension[] = [];
  const waiting = new Set<() => void>();
  // Messages to the page go out in the order in which they were said.
  let queue: Promise<unknown> = Promise.resolve();
  const say: Say = (message) => {
    const data = JSON.stringify(message);
    const sent = queue.then(() => page.evaluate((json) => window.postMessage(JSON.parse(json), '*'), data));
    queue = sent.catch(() => undefined); // the page may be gone by then
    return sent;
  };
  await page.exposeFunction('toExtension', (message: ToExtension) => {
    heard.push(message);
    if (message.kind === 'ready') {
      void say({ kind: 'boot', view: message.view, strings: {}, connection: { kind: 'connected' } });
    } else options.hears?.(message, say);
    for (const wake of [...waiting]) wake();
  });
  const html = pageHtml(view, theme, options.before ?? '');
  await page.route(`${origin}/**`, (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === '/webview.js') return route.fulfill({ contentType: 'text/javascript', body: script });
    if (pathname === '/webview.css') return route.fulfill({ contentType: 'text/css', body: style });
    if (pathname === '/theme.css')
      return route.fulfill({ contentType: 'text/css', body: themeCss(view, theme) });
    return route.fulfill({
      contentType: 'text/html',
      body: html,
      headers: { 'content-security-policy': policy },
    });
  });
  await page.goto(`${origin}/`);
  return {
    page,
    heard,
    say,
    problems,
    hear: (matches) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = heard.find(matches);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
    picture: async (name) => {
      const folder = process.env['ROOST_SHOTS'];
      if (folder === undefined) return;
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: path.join(folder, `${name}.png`) });
    },
    close: () => context.close(),
  };
}

function pageHtml(view: ViewKind, theme: Theme, before: string): string {
  const themeClass = { dark: 'vscode-dark', light: 'vscode-light', contrast: 'vscode-high-contrast' }[theme];
  return `<!doctype html><html><head><meta charset="utf-8">
    <link rel="stylesheet" href="theme.css"><link rel="stylesheet" href="webview.css"></head>
    <body class="${themeClass}" data-view="${view}">
    <script nonce="roost">${fakeApi}${before}</script><script nonce="roost" src="webview.js"></script></body></html>`;
}

/** The variables of a theme, and what the editor's own style sheet does to the elements of a page. */
function themeCss(view: ViewKind, theme: Theme): string {
  const variables = Object.entries(themes[theme]).map(([name, value]) => `--vscode-${name}: ${value};`);
  const background = view === 'tree' ? 'sideBar-background' : 'editor-background';
  return `:root { ${variables.join(' ')} } body { background: var(--vscode-${background}); }
    @layer vscode-default {
      body { padding: 0 20px; color: var(--vscode-editor-foreground); font-family: var(--vscode-font-family); }
      code { padding: 1px 3px; border-radius: 4px; color: var(--vscode-textPreformat-foreground);
        background: var(--vscode-textPreformat-background); font-family: var(--vscode-editor-font-family); }
      pre code { padding: 0; }
      blockquote { border-left: 5px solid var(--vscode-textBlockQuote-border); }
      kbd { padding: 1px 3px; border-bottom: 1px solid; box-shadow: inset 0 -1px 0 black; }
    }`;
}

// The workbench as a person uses it: palette, views, webviews, notifications, pictures.
import path from 'node:path';
import type { Browser, FrameLocator, Locator, Page } from 'playwright-core';
import { launchBrowser } from './browser.ts';
import { shotsFolder } from './harness.ts';
import type { VSCode } from './harness.ts';

const extensionId = 'roost.roost';

export class Workbench {
  readonly page: Page;
  /** Requests that left this machine, which none may. */
  readonly outside: string[] = [];
  readonly #browser: Browser;

  constructor(browser: Browser, page: Page) {
    this.#browser = browser;
    this.page = page;
    page.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url());
      // The webviews' own host is answered by a service worker in the page and never looked up.
      const inside = hostname === '127.0.0.1' || hostname.endsWith('.vscode-cdn.net');
      if (/^https?:$/.test(protocol) && !inside) this.outside.push(request.url().slice(0, 200));
    });
  }

  async open(url: string): Promise<void> {
    await this.page.goto(url, { waitUntil: 'domcontentloaded' });
    await this.page.locator('.monaco-workbench .part.activitybar').waitFor({ timeout: 60_000 });
  }

  /**
   * Runs a command by its label in the palette. The palette's list is a snapshot: one that was opened before
   * the extension host registered its extensions never gains their commands, and F1 is swallowed while the
   * workbench restores. So: open, look, close, again.
   */
  async command(label: string, timeoutMs = 60_000): Promise<void> {
    const input = this.page.locator('.quick-input-widget input.input');
    const exact = this.page.getByText(label, { exact: true });
    const row = this.page.locator('.quick-input-list .monaco-list-row', { has: exact }).first();
    const end = Date.now() + timeoutMs;
    for (;;) {
      try {
        await this.page.keyboard.press('F1');
        await input.waitFor({ state: 'visible', timeout: 1000 });
        await input.fill(`>${label}`);
        await row.click({ timeout: 700 });
        return;
      } catch (error) {
        if (end < Date.now()) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
  }

  /** Types into the quick input that a command has opened and confirms it. */
  async answer(text: string): Promise<void> {
    const input = this.page.locator('.quick-input-widget input.input');
    await input.waitFor({ state: 'visible' });
    await input.fill(text);
    await this.page.keyboard.press('Enter');
  }

  /** Opens a file of the workspace by its name. */
  async openFile(name: string): Promise<Locator> {
    await this.page.keyboard.press('ControlOrMeta+P');
    const input = this.page.locator('.quick-input-widget input.input');
    await input.waitFor({ state: 'visible' });
    await input.fill(name);
    await this.page
      .locator('.quick-input-list .monaco-list-row', { hasText: path.basename(name) })
      .first()
      .click();
    const tab = this.page.locator('.tab', { hasText: path.basename(name) });
    await tab.waitFor();
    return tab;
  }

  activityBar(title: string): Locator {
    return this.page.locator(`.activitybar .action-label[aria-label^="${title}"]`);
  }

  notification(text: string | RegExp): Locator {
    return this.page.locator('.notification-toast', { hasText: text });
  }

  /**
   * The inside of one of our webviews. VS Code nests two frames: an outer one of its own, whose address names
   * the extension, and the inner one with our page, whose title is that of the view or panel.
   */
  webview(title?: string): FrameLocator {
    const inner = title === undefined ? '' : `[title="${title}"]`;
    return this.page
      .frameLocator(`iframe.webview.ready[src*="extensionId=${extensionId}"]`)
      .frameLocator(`iframe#active-frame${inner}`);
  }

  async shot(name: string): Promise<void> {
    await this.page.screenshot({ path: path.join(shotsFolder(), `${name}.png`) });
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

/** A browser with a VS Code open in it. */
export async function openWorkbench(vscode: VSCode, size = { width: 1280, height: 800 }): Promise<Workbench> {
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: size, locale: 'en-US' });
    const workbench = new Workbench(browser, await context.newPage());
    await workbench.open(vscode.pageUrl);
    return workbench;
  } catch (error) {
    await browser.close();
    throw error;
  }
}

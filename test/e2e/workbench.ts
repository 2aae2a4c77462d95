// The workbench as a person uses it: palette, views, webviews, notifications, pictures.
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, FrameLocator, Locator, Page } from 'playwright-core';
import { launchBrowser } from './browser.ts';
import { shotsFolder } from './harness.ts';
import type { VSCode } from './harness.ts';

const extensionId = 'roost.roost';

/** How long a gesture or a condition may take: seconds on a calm machine, and this one may be busy. */
const patienceMs = 60_000;

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
        await input.waitFor({ state: 'visible', timeout: 2000 });
        // The box of the command before may still be going, and then nothing can be written into it.
        await input.fill(`>${label}`, { timeout: 1000 });
        await row.waitFor({ timeout: 2000 });
        break;
      } catch (error) {
        if (end < Date.now()) throw error;
        await this.page.keyboard.press('Escape');
      }
    }
    // By keys: what the editor says about the first row may lie over the next ones.
    const isFocused = (): Promise<boolean> => row.evaluate((each) => each.classList.contains('focused'));
    for (let step = 0; step < 100 && !(await isFocused()); step++)
      await this.page.keyboard.press('ArrowDown');
    await this.page.keyboard.press('Enter');
  }

  /** Whether the palette has a command at this moment. */
  async offers(label: string): Promise<boolean> {
    const input = this.page.locator('.quick-input-widget input.input');
    await this.page.keyboard.press('F1');
    await input.waitFor({ state: 'visible' });
    await input.fill(`>${label}`);
    const rows = this.page.locator('.quick-input-list .monaco-list-row');
    // One line is there in any case, if only to say that there is none.
    await rows.first().waitFor();
    const found = await rows.filter({ has: this.page.getByText(label, { exact: true }) }).count();
    await this.page.keyboard.press('Escape');
    return found !== 0;
  }

  /** Chooses a line of the quick pick that a command has opened. */
  async choose(label: string): Promise<void> {
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: label }).first().click();
  }

  /** The first row of the Attention view with this text. */
  async attention(text: string | RegExp): Promise<Locator> {
    await until(`the Attention view shows ${text}`, () => this.#walkTo(text));
    return this.#rows.filter({ hasText: text }).first();
  }

  /**
   * Presses one of the buttons that a row of the Attention view shows under the mouse, and sees the row go or a
   * question open. Again if neither comes: rows move when others go, also between the aim and the press.
   */
  async press(text: string | RegExp, button: string): Promise<void> {
    const row = this.#rows.filter({ hasText: text });
    const input = this.page.locator('.quick-input-widget input.input');
    let pressed = false;
    const done = async (): Promise<boolean> => (await row.count()) === 0 || (await input.isVisible());
    await until(`${button} is pressed in the row ${text}`, async () => {
      if (pressed && (await done())) return true;
      if (!(await this.#walkTo(text))) return false;
      await row.first().hover();
      // Its name goes on with the key that does the same.
      await row
        .first()
        .getByRole('button', { name: new RegExp(`^${button}`) })
        .click();
      pressed = true;
      return within(5000, done);
    });
  }

  get #rows(): Locator {
    return this.page.locator('.customview-tree .monaco-list-rows .monaco-list-row');
  }

  /**
   * Walks down the Attention view by keys, once. The list has elements for the rows in sight only, and the wheel
   * would be caught by the tooltip of the row that it passes.
   */
  async #walkTo(text: string | RegExp): Promise<boolean> {
    const list = this.page.locator('.customview-tree .monaco-list').first();
    const focused = this.#rows.and(list.locator('.focused'));
    // Nowhere for a moment, when the list is drawn anew.
    const place = (): Promise<string> =>
      focused.evaluateAll((elements) => elements[0]?.getAttribute('data-index') ?? '');
    if ((await this.#rows.count()) === 0) return false;
    await list.focus();
    await this.page.keyboard.press('Home');
    if (!(await within(1000, async () => (await focused.count()) === 1))) return false;
    for (;;) {
      if ((await focused.filter({ hasText: text }).count()) === 1) return true;
      const before = await place();
      await this.page.keyboard.press('ArrowDown');
      if (!(await within(500, async () => (await place()) !== before))) return false;
    }
  }

  /** The verbs above the hunks of the editor in front. */
  lens(verb: string): Locator {
    return this.page.locator('.editor-group-container.active .codelens-decoration a', { hasText: verb });
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

  /** The inside of the Agents view in the sidebar. */
  get agents(): FrameLocator {
    return this.#webview('[src*="purpose=webviewView"]');
  }

  /** The inside of the agent panel in the editor area. */
  get panel(): FrameLocator {
    return this.#webview(':not([src*="purpose=webviewView"])');
  }

  /**
   * VS Code nests two frames: an outer one of its own, whose address names the extension and says whether it is
   * a view, and the inner one with our page. While a view is built anew both pages are there for a moment.
   */
  #webview(which: string): FrameLocator {
    return this.page
      .frameLocator(`iframe.webview.ready[src*="extensionId=${extensionId}"]${which}`)
      .frameLocator('iframe#active-frame');
  }

  async shot(name: string): Promise<void> {
    // At the end of their animations, so that no box is caught half faded in.
    await this.page.screenshot({ path: path.join(shotsFolder(), `${name}.png`), animations: 'disabled' });
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

/** Looks again and again until something is so; for what no locator can wait for, such as a file. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  if (!(await within(patienceMs, isSo)))
    throw new Error(`It did not come to pass within ${patienceMs / 1000} s that ${what}.`);
}

async function within(limitMs: number, isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  const end = Date.now() + limitMs;
  while (!(await isSo())) {
    if (end < Date.now()) return false;
    await sleep(50);
  }
  return true;
}

/** A browser with a VS Code open in it. */
export async function openWorkbench(vscode: VSCode, size = { width: 1280, height: 800 }): Promise<Workbench> {
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: size, locale: 'en-US' });
    context.setDefaultTimeout(patienceMs);
    const workbench = new Workbench(browser, await context.newPage());
    await workbench.open(vscode.pageUrl);
    return workbench;
  } catch (error) {
    await browser.close();
    throw error;
  }
}

// The live region: what a screen reader is told without being asked. One sentence at most every three
// seconds, the newest wins. The timer exists only while a sentence waits and the page is seen (case 22).

import { limits } from './limits.ts';

export class Announcer {
  readonly #region: HTMLElement;
  #waiting: string | null = null;
  #said = '';
  #timer = 0;
  #quietUntilMs = 0;

  constructor(region: HTMLElement) {
    this.#region = region;
    region.setAttribute('role', 'status');
    region.setAttribute('aria-live', 'polite');
    document.addEventListener('visibilitychange', () => this.#visibilityChanged());
  }

  /** Says it soon; a sentence that was just said is not said twice. */
  say(sentence: string): void {
    if (sentence === '' || sentence === this.#said) return;
    this.#waiting = sentence;
    this.#arm();
  }

  /** Says it at once: the answer to something that the person has just done. */
  answer(sentence: string): void {
    this.#waiting = sentence;
    this.#speak();
  }

  #arm(): void {
    if (this.#timer !== 0 || document.hidden) return;
    const waitMs = this.#quietUntilMs - performance.now();
    if (waitMs <= 0) this.#speak();
    else this.#timer = window.setTimeout(() => this.#speak(), waitMs);
  }

  #speak(): void {
    window.clearTimeout(this.#timer);
    this.#timer = 0;
    if (this.#waiting === null) return;
    this.#said = this.#waiting;
    this.#waiting = null;
    this.#region.textContent = this.#said;
    this.#quietUntilMs = performance.now() + limits.announceEveryMs;
  }

  #visibilityChanged(): void {
    if (!document.hidden) {
      if (this.#waiting !== null) this.#arm();
      return;
    }
    window.clearTimeout(this.#timer);
    this.#timer = 0;
  }
}

// A value that is announced: listeners are told in the order in which they came, and leave by the function
// they were given. For what must be tested without VS Code; its own EventEmitter serves where it is at hand.

export class Signal<T> {
  readonly #listeners = new Set<(value: T) => void>();

  /** Returns what takes the listener away again. */
  on(listener: (value: T) => void): { dispose(): void } {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  }

  fire(value: T): void {
    for (const listener of [...this.#listeners]) listener(value);
  }
}

// Chance that can be repeated: a generator for what the world does, and a hash for what must not depend on order.
//
// Promises: the same seed gives the same numbers on every engine. Not here: who draws what (swarm.ts, world.ts).

/** 32 bits that depend on all parts and on their order (FNV-1a, then MurmurHash3's finish). */
export function hash(...parts: readonly (string | number)[]): number {
  let h = 0x811c9dc5;
  for (const part of parts) {
    const text = typeof part === 'number' ? String(part) : part;
    for (let at = 0; at < text.length; at += 1) h = Math.imul(h ^ text.charCodeAt(at), 0x01000193);
    h = Math.imul(h ^ 0x1f, 0x01000193);
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A stream of numbers: sfc32 (C. Doty-Humphrey, public domain), seeded by four hashes. */
export class Chance {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(...seed: readonly (string | number)[]) {
    this.#a = hash('a', ...seed) | 0;
    this.#b = hash('b', ...seed) | 0;
    this.#c = hash('c', ...seed) | 0;
    for (let at = 0; at < 12; at += 1) this.next();
  }

  /** At least 0, below 1. */
  next(): number {
    const t = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + t) | 0;
    return (t >>> 0) / 4294967296;
  }

  /** At least `low`, at most `high`. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  hits(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[Math.floor(this.next() * list.length)];
    if (picked === undefined) throw new Error('Nothing to pick from.');
    return picked;
  }

  /** Mostly near the mean, sometimes ten times as much: how long things take. */
  around(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }
}

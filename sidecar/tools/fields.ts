// The arguments of a call, checked by hand: models get names and types wrong, and what they are told decides
// whether the next try is right. The first problem wins; asking for a field that is wrong gives an empty value.

import type { Json, JsonObject } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';

export interface Fields {
  /** A text that must be there. */
  text(name: string): string;
  /** The same for a name, a path or a pattern: no longer than `limits.argumentChars`, since answers repeat it. */
  word(name: string): string;
  optionalWord(name: string): string | null;
  /** A whole number within bounds; null when it is not given. */
  optionalCount(name: string, bounds: { readonly atLeast: number; readonly atMost: number }): number | null;
  /** True or false; false when it is not given. */
  flag(name: string): boolean;
  /** One of these words; null when it is not given. */
  choice<W extends string>(name: string, words: readonly W[]): W | null;
  /** What is wrong, in words for the model; null when all is well. Call it last: it also names unknown fields. */
  problem(): string | null;
}

/** Reads the arguments that `tool` was called with. */
export function fieldsOf(tool: string, input: JsonObject): Fields {
  const asked: string[] = [];
  let first: string | null = null;
  const fail = (what: string): void => {
    first ??= `${tool}: ${what}`;
  };
  const value = (name: string): Json | undefined => {
    asked.push(name);
    return Object.hasOwn(input, name) ? input[name] : undefined;
  };
  const text = (name: string, found: Json | undefined): string => {
    if (typeof found === 'string') return found;
    fail(
      found === undefined
        ? `\`${name}\` is missing.`
        : `\`${name}\` must be a string, it is ${kindOf(found)}.`,
    );
    return '';
  };
  const word = (name: string, found: Json | undefined): string => {
    const said = text(name, found);
    if (said.length <= limits.argumentChars) return said;
    fail(`\`${name}\` has ${said.length} characters, at most ${limits.argumentChars} fit.`);
    return '';
  };
  return {
    text: (name) => text(name, value(name)),
    word: (name) => word(name, value(name)),
    optionalWord: (name) => {
      const found = value(name);
      return found === undefined || found === null ? null : word(name, found);
    },
    optionalCount: (name, { atLeast, atMost }) => {
      const found = value(name);
      if (found === undefined || found === null) return null;
      if (typeof found === 'number' && Number.isInteger(found) && atLeast <= found && found <= atMost)
        return found;
      fail(`\`${name}\` must be a whole number from ${atLeast} to ${atMost}, it is ${kindOf(found)}.`);
      return null;
    },
    flag: (name) => {
      const found = value(name);
      if (found === undefined || found === null || typeof found === 'boolean') return found === true;
      fail(`\`${name}\` must be true or false, it is ${kindOf(found)}.`);
      return false;
    },
    choice: (name, words) => {
      const found = value(name);
      if (found === undefined || found === null) return null;
      const word = words.find((each) => each === found);
      if (word !== undefined) return word;
      fail(`\`${name}\` must be one of ${words.join(', ')}; it is ${kindOf(found)}.`);
      return null;
    },
    problem: () => {
      const unknown = Object.keys(input).filter((name) => !asked.includes(name));
      if (0 < unknown.length) {
        const names = asked.map((name) => `\`${name}\``).join(', ');
        fail(`there is no field \`${unknown[0] ?? ''}\`. The fields are ${names}.`);
      }
      return first;
    },
  };
}

function kindOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? `the string ${JSON.stringify(value.slice(0, 40))}` : String(value);
}

// Judges a model's answer: what calls it plans, and whether the turn goes on, ends or is asked again.

import type { Block, StopReason } from '../protocol/entry.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import { wellFormed } from './text.ts';
import { isObject } from './verbs.ts';

export interface PlannedCall {
  /** Index of the block in the answer. */
  readonly block: number;
  readonly key: string;
  readonly tool: string;
  /** null: the arguments cannot be used, `problem` says why, in words for the model. */
  readonly input: JsonObject | null;
  readonly problem: string;
}

export type Judgement =
  | { readonly kind: 'calls'; readonly calls: readonly PlannedCall[] }
  | { readonly kind: 'final'; readonly text: string }
  /** Ask again at once, with a note that says why when there is one. */
  | { readonly kind: 'again'; readonly note: string | null; readonly empty: boolean }
  | { readonly kind: 'failed'; readonly text: string };

/** Levels of arguments. No tool takes more than a few, and from about 4,000 on what walks over them overflows the stack. */
const inputDepth = 128;

/** Whether the brackets of a JSON text nest deeper than arguments may. No regular expression: those have a stack too. */
export function isTooDeep(json: string): boolean {
  if (json.length < 2 * inputDepth) return false;
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < json.length; at++) {
    const char = json[at];
    if (quoted && char === '\\') at++;
    else if (char === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (char === '[' || char === '{') depth++;
    else if (char === ']' || char === '}') depth--;
    if (inputDepth < depth) return true;
  }
  return false;
}

/** Parses complete JSON only: what is cut off is refused, never repaired (cases 77 and 78). Empty text means {}. */
export function parseInput(text: string, limitBytes: number): { input: JsonObject | null; problem: string } {
  if (text.trim() === '') return { input: {}, problem: '' };
  if (text.length > limitBytes) {
    return {
      input: null,
      problem: `The arguments have ${text.length} characters; at most ${limitBytes} are taken. Pass large text through a file.`,
    };
  }
  if (isTooDeep(text)) {
    return {
      input: null,
      problem: `The arguments nest deeper than ${inputDepth} levels. Make them flatter.`,
    };
  }
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch {
    return {
      input: null,
      problem:
        'The arguments are not complete JSON, so nothing was done. Send the call again with valid JSON.',
    };
  }
  if (!isObject(value)) return { input: null, problem: 'The arguments must be a JSON object.' };
  return { input: value, problem: '' };
}

/**
 * Blocks as they are stored: text well-formed, empty blocks gone, and call keys unique within the conversation's
 * answer. Providers answer 400 to a history with two equal call ids or an empty text block (cases 99 and 85).
 */
export function storable(blocks: readonly Block[], serial: number): Block[] {
  const seen = new Set<string>();
  const kept: Block[] = [];
  for (const block of blocks) {
    if (block.kind === 'text' && block.text === '') continue;
    if (block.kind !== 'call') {
      kept.push({ ...block, text: wellFormed(block.text) });
      continue;
    }
    let key = block.key;
    if (key === '' || seen.has(key)) key = `call_${serial}_${kept.length}`;
    seen.add(key);
    kept.push({ ...block, key, input: wellFormed(block.input) });
  }
  return kept;
}

/** The text of an answer, without reasoning. */
export function textOf(blocks: readonly Block[]): string {
  return blocks.flatMap((block) => (block.kind === 'text' ? [block.text] : [])).join('\n');
}

export interface AnswerBounds {
  readonly callInputBytes: number;
  readonly answerCalls: number;
}

/** What follows from an answer whose blocks went through `storable`. */
export function judge(blocks: readonly Block[], stop: StopReason, bounds: AnswerBounds): Judgement {
  const calls: PlannedCall[] = [];
  blocks.forEach((block, index) => {
    if (block.kind !== 'call') return;
    const { key, tool } = block;
    if (calls.length < bounds.answerCalls) {
      calls.push({ block: index, key, tool, ...parseInput(block.input, bounds.callInputBytes) });
      return;
    }
    const problem = `One answer may ask for ${bounds.answerCalls} calls, so this one was not made. Ask for it again.`;
    calls.push({ block: index, key, tool, input: null, problem });
  });
  // An answer cut at its limit may end inside the last call; complete JSON is then refused by parseInput.
  if (calls.length > 0) return { kind: 'calls', calls };
  const text = textOf(blocks);
  switch (stop) {
    case 'pause':
      return { kind: 'again', note: null, empty: false };
    case 'length':
      return {
        kind: 'again',
        note: '[roost] Your answer was cut at the output limit. Go on where it stopped, in smaller steps.',
        empty: true,
      };
    case 'refusal':
      return {
        kind: 'failed',
        text: text === '' ? 'The model declined to answer.' : `The model declined: ${text}`,
      };
    case 'calls':
    case 'end':
      return text.trim() === '' ? { kind: 'again', note: null, empty: true } : { kind: 'final', text };
  }
}

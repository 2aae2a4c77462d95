// A model that plays a script: for demonstrations, for end-to-end tests, and for trying a swarm without a key.
// Its provider's baseUrl is the absolute path of the script; it is read again when the file has changed. Model
// names are `scripted/<anything>`.
//
// A script is JSON: { "rules": [ RULE, ... ] }. The first rule that fits answers; the answer depends on the
// conversation alone, so any number of agents, in any order, after any restart, hear the same.
//
//   {
//     "task": "PATTERN",       fits when the first user message matches          (all that are given must fit)
//     "user": "PATTERN",       ... the newest user message
//     "result": "PATTERN",     ... the results since the last answer, one after another
//     "tool": "NAME",          ... the newest result is of this tool
//     "round": 1,              ... this is the nth request since the newest user message
//     "say": [ BLOCK, ... ],
//     "delayMs": 0,            before the first delta
//     "chunkChars": 24,        characters of a delta
//     "betweenMs": 0,          between deltas
//     "stop": "end",           or length, refusal, pause; calls when there are calls
//     "fail": { "kind": "refused" | "cut" | "rejected" | "silent", "code": "badRequest", "retryAfterMs": 500, "message": "..." }
//   }
//
// BLOCK is { "text": T }, { "thinking": T } or { "call": "TOOL", "input": {...} }. A PATTERN is text that must
// occur, with {name} for what may stand between its parts; the name can be used in all texts of the rule, also
// inside inputs, beside {task}, {user}, {result} and {round}. When no rule fits, the answer says so.

import { readFileSync, statSync } from 'node:fs';
import type { ModelEvent, ModelRequest } from '../ports.ts';
import type { Item, ModelOutcome } from '../core/terms.ts';
import type { Block, StopReason } from '../protocol/entry.ts';
import type { Json, JsonObject } from '../protocol/json.ts';
import { limits } from '../runtime/limits.ts';
import { countOf, isObject, listOf, objectOf, textOf } from './dialect.ts';

type Post = (event: ModelEvent) => void;

interface Rule {
  readonly when: JsonObject;
  readonly say: readonly Json[];
  readonly delayMs: number;
  readonly chunkChars: number;
  readonly betweenMs: number;
  readonly stop: StopReason | null;
  readonly fail: JsonObject | null;
}

/** What rules look at; gathered page by page, so that a long conversation is never in memory. */
interface Facts {
  task: string;
  user: string;
  round: number;
  results: { readonly tool: string; readonly text: string }[];
  chars: number;
}

export class Script {
  private readonly path: string;
  private rules: readonly Rule[] | string = [];
  private stamp = '';

  constructor(path: string) {
    this.path = path;
  }

  /** Answers by the script; everything is posted in later turns of the loop. Returns what gives it up. */
  ask(request: ModelRequest, post: Post): () => void {
    const playing = new Playing(post);
    setImmediate(() => {
      if (playing.ended) return;
      const rules = this.read();
      if (typeof rules === 'string')
        return playing.end({ kind: 'rejected', code: 'badRequest', message: rules });
      const facts = factsOf(request);
      for (const rule of rules) {
        const words = match(rule.when, facts);
        if (words !== null) return playing.play(rule, words, facts);
      }
      const text = `The script has no rule for this conversation: round ${facts.round}, user message "${facts.user.slice(0, 120)}".`;
      playing.play(ruleOf({ say: [{ text }] }), {}, facts);
    });
    return () => playing.cancel();
  }

  private read(): readonly Rule[] | string {
    try {
      const { mtimeMs, size } = statSync(this.path);
      const stamp = `${mtimeMs} ${size}`;
      if (stamp === this.stamp) return this.rules;
      if (size > limits.scriptBytes) return `The script ${this.path} is larger than 4 MB.`;
      const value: Json = JSON.parse(readFileSync(this.path, 'utf8'));
      this.rules = listOf(objectOf(value)['rules']).map((rule) => ruleOf(objectOf(rule)));
      this.stamp = stamp;
      return this.rules;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return `The script ${this.path} cannot be used: ${why}. The provider's baseUrl is the absolute path of a JSON file; see sidecar/model/scripted.ts.`;
    }
  }
}

function ruleOf(rule: JsonObject): Rule {
  const { fail, stop } = rule;
  return {
    when: rule,
    say: listOf(rule['say']),
    delayMs: countOf(rule['delayMs']),
    chunkChars: countOf(rule['chunkChars']) || 24,
    betweenMs: countOf(rule['betweenMs']),
    stop: stops.find((each) => each === stop) ?? null,
    fail: isObject(fail) ? fail : null,
  };
}

const stops: readonly StopReason[] = ['end', 'calls', 'length', 'refusal', 'pause'];

// ---------------------------------------------------------------- matching

function factsOf(request: ModelRequest): Facts {
  const facts: Facts = { task: '', user: '', round: 1, results: [], chars: 0 };
  const next = request.pages();
  for (let page = next(); page !== null; page = next()) for (const item of page) gather(facts, item);
  return facts;
}

function gather(facts: Facts, item: Item): void {
  facts.chars += JSON.stringify(item).length;
  switch (item.kind) {
    case 'user':
      if (facts.task === '') facts.task = item.text;
      facts.user = item.text;
      facts.round = 1;
      return;
    case 'answer':
      facts.round++;
      facts.results = [];
      return;
    case 'result':
      facts.results.push({ tool: item.tool, text: item.text });
  }
}

type Words = Readonly<Record<string, string>>;

/** The words that a rule's patterns caught; null when the rule does not fit. */
function match(when: JsonObject, facts: Facts): Words | null {
  const result = facts.results.map((each) => each.text).join('\n');
  let words: Words = { task: facts.task, user: facts.user, result, round: String(facts.round) };
  if (typeof when['round'] === 'number' && when['round'] !== facts.round) return null;
  if (typeof when['tool'] === 'string' && when['tool'] !== facts.results.at(-1)?.tool) return null;
  for (const [field, text] of [
    ['task', facts.task],
    ['user', facts.user],
    ['result', result],
  ] as const) {
    const pattern = when[field];
    if (typeof pattern !== 'string') continue;
    const caught = capture(pattern, text);
    if (caught === null) return null;
    words = { ...words, ...caught };
  }
  return words;
}

/**
 * What the {names} of a pattern stand for in a text; null when the pattern does not occur. A name catches as
 * little as it can, but when it ends the pattern, the rest of its line. No regular expressions: they have no bound.
 */
export function capture(pattern: string, text: string): Words | null {
  const parts = pattern.split(/\{(\w+)\}/);
  const words: Record<string, string> = {};
  const first = parts[0] ?? '';
  let at = text.indexOf(first);
  if (at === -1) return null;
  at += first.length;
  for (let index = 1; index < parts.length; index += 2) {
    const literal = parts[index + 1] ?? '';
    const lineEnd = text.indexOf('\n', at);
    const end = literal === '' ? (lineEnd === -1 ? text.length : lineEnd) : text.indexOf(literal, at);
    if (end === -1) return null;
    words[parts[index] ?? ''] = text.slice(at, end);
    at = end + literal.length;
  }
  return words;
}

// ---------------------------------------------------------------- playing

const fill = (text: string, words: Words): string =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => words[name] ?? whole);

function fillJson(value: Json, words: Words): Json {
  if (typeof value === 'string') return fill(value, words);
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fillJson(each, words)]));
  }
  return Array.isArray(value) ? value.map((each: Json) => fillJson(each, words)) : value;
}

function blocksOf(rule: Rule, words: Words, facts: Facts): Block[] {
  return rule.say.map(objectOf).map((each, index): Block => {
    if (typeof each['call'] === 'string') {
      const input = JSON.stringify(fillJson(each['input'] ?? {}, words));
      return { kind: 'call', key: `script_${facts.chars}_${index}`, tool: each['call'], input };
    }
    if (typeof each['thinking'] === 'string') {
      return { kind: 'thinking', text: fill(each['thinking'], words), provider: 'scripted' };
    }
    return { kind: 'text', text: fill(textOf(each['text']), words) };
  });
}

/** One answer being played. */
class Playing {
  ended = false;
  private readonly post: Post;
  private timer: NodeJS.Timeout | null = null;

  constructor(post: Post) {
    this.post = post;
  }

  cancel(): void {
    this.ended = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  end(outcome: ModelOutcome): void {
    this.ended = true;
    this.post({ kind: 'end', outcome });
  }

  play(rule: Rule, words: Words, facts: Facts): void {
    if (rule.fail !== null && rule.fail['kind'] === 'silent') return;
    const { fail } = rule;
    if (fail !== null) return this.after(rule.delayMs, () => this.end(failureOf(fail)));
    const blocks = blocksOf(rule, words, facts);
    const deltas = blocks.flatMap((block) => (block.kind === 'call' ? [] : deltasOf(block, rule.chunkChars)));
    const hasCalls = blocks.some((block) => block.kind === 'call');
    const said = blocks.reduce(
      (sum, block) => sum + (block.kind === 'call' ? block.input : block.text).length,
      0,
    );
    const usage = {
      input: Math.ceil(facts.chars / 4),
      output: Math.ceil(said / 4),
      cacheRead: 0,
      cacheWrite: 0,
    };
    const step = (at: number): void => {
      const delta = deltas[at];
      if (delta === undefined)
        return this.end({ kind: 'answer', blocks, stop: rule.stop ?? (hasCalls ? 'calls' : 'end'), usage });
      this.post(delta);
      if (rule.betweenMs > 0) this.after(rule.betweenMs, () => step(at + 1));
      else if (!this.ended) step(at + 1);
    };
    this.after(rule.delayMs, () => step(0));
  }

  private after(ms: number, work: () => void): void {
    if (ms === 0) return work();
    this.timer = setTimeout(() => {
      if (!this.ended) work();
    }, ms);
  }
}

function deltasOf(
  block: { readonly kind: 'text' | 'thinking'; readonly text: string },
  chars: number,
): { kind: 'text' | 'thinking'; text: string }[] {
  const deltas: { kind: 'text' | 'thinking'; text: string }[] = [];
  for (let at = 0; at < block.text.length; at += chars)
    deltas.push({ kind: block.kind, text: block.text.slice(at, at + chars) });
  return deltas;
}

function failureOf(fail: JsonObject): ModelOutcome {
  const message = textOf(fail['message']) || 'The script says so.';
  if (fail['kind'] === 'cut') return { kind: 'cut', receivedBytes: 0, message };
  if (fail['kind'] === 'refused') {
    const ms = countOf(fail['retryAfterMs']);
    return { kind: 'refused', retryAtMs: ms === 0 ? null : Date.now() + ms, message };
  }
  return { kind: 'rejected', code: codes.find((code) => code === fail['code']) ?? 'badRequest', message };
}

const codes = ['contextTooLong', 'badRequest', 'wrongKey', 'noKey', 'noCredit', 'modelUnknown'] as const;

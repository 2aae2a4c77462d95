// When a server that refused may be asked again, in all the forms in which servers say it: headers with seconds,
// milliseconds, dates, durations and clock times, fields of the body, and words in its message.
//
// Pure; the caller brings the clock. A time is never guessed: null means that the server named none.

import type { Json, JsonObject } from '../protocol/json.ts';
import { isObject, listOf, objectOf, textOf } from './dialect.ts';

export type Headers = { readonly [name: string]: string | readonly string[] | undefined };

/** Wall time in milliseconds at which the server may be asked again; null when it named none. */
export function retryAtMs(headers: Headers, body: Json, nowMs: number): number | null {
  const named = fromRetryAfter(headers, nowMs) ?? fromBody(body, nowMs) ?? fromBuckets(headers, nowMs);
  return named === null ? null : Math.max(nowMs, Math.ceil(named));
}

/** One header's value, whatever its form; '' when it is not there. */
export function headerOf(headers: Headers, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : (value?.[0] ?? '');
}

function fromRetryAfter(headers: Headers, nowMs: number): number | null {
  const ms = headerOf(headers, 'retry-after-ms').trim();
  if (ms !== '' && Number(ms) >= 0) return nowMs + Number(ms);
  const value = headerOf(headers, 'retry-after').trim();
  if (value === '') return null;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds < 0 ? null : nowMs + seconds * 1_000;
  const date = Date.parse(value);
  if (Number.isNaN(date)) return durationMs(value) === null ? null : nowMs + (durationMs(value) ?? 0);
  // A date is as good as the two clocks agree; the server's own clock stands beside it.
  const serverNow = Date.parse(headerOf(headers, 'date'));
  return Number.isNaN(serverNow) ? date : nowMs + (date - serverNow);
}

/**
 * Buckets that are empty say when they are full again. Only those whose remaining count is 0 are the reason; a
 * refusal that leaves them all above 0 has another one.
 */
function fromBuckets(headers: Headers, nowMs: number): number | null {
  let latest: number | null = null;
  for (const name of Object.keys(headers)) {
    const match = /^(?:anthropic|x)-ratelimit-(?:([\w-]+)-)?remaining(?:-([\w-]+))?$/.exec(name);
    if (match === null || Number(headerOf(headers, name)) > 0) continue;
    const reset = headerOf(headers, name.replace('remaining', 'reset'));
    const at = reset === '' ? null : clockMs(reset, nowMs);
    if (at !== null && (latest === null || at > latest)) latest = at;
  }
  return latest;
}

/** A time as servers write it: RFC 3339, seconds or milliseconds since 1970, seconds from now, or a duration. */
export function clockMs(value: string, nowMs: number): number | null {
  const text = value.trim();
  const number = Number(text);
  if (text !== '' && Number.isFinite(number)) {
    // 1e9 seconds are the year 2001 and 1e12 milliseconds the same: no server asks to wait for thirty years.
    if (number > 1e12) return number;
    return number > 1e9 ? number * 1_000 : nowMs + number * 1_000;
  }
  const duration = durationMs(text);
  if (duration !== null) return nowMs + duration;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : date;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `6m0s`, `1.5s`, `250ms`, `2h30m`; null when it is none. */
export function durationMs(text: string): number | null {
  const whole = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.exec(text.trim().toLowerCase());
  if (whole === null) return null;
  let sum = 0;
  for (const match of whole[0].matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    sum += Number(match[1]) * (unitMs[match[2] ?? ''] ?? 0);
  }
  return sum;
}

function fromBody(body: Json, nowMs: number): number | null {
  if (!isObject(body)) return null;
  const error = isObject(body['error'])
    ? body['error']
    : isObject(body['response'])
      ? objectOf(body['response']['error'])
      : body;
  return (
    fromFields(error, nowMs) ??
    fromFields(objectOf(error['metadata']), nowMs) ??
    fromWords(textOf(error['message']), nowMs)
  );
}

function fromFields(error: JsonObject, nowMs: number): number | null {
  // ChatGPT's own limits: hours or days.
  if (typeof error['resets_at'] === 'number') return clockMs(String(error['resets_at']), nowMs);
  for (const field of ['resets_in_seconds', 'retry_after', 'retry_after_seconds']) {
    const value = error[field];
    if (typeof value === 'number' && value >= 0) return nowMs + value * 1_000;
  }
  // Google: details[].retryDelay = "36s".
  for (const detail of listOf(error['details'])) {
    const delay = durationMs(textOf(objectOf(detail)['retryDelay']));
    if (delay !== null) return nowMs + delay;
  }
  const headers = objectOf(error['headers']);
  const reset = headers['X-RateLimit-Reset'];
  return typeof reset === 'string' || typeof reset === 'number' ? clockMs(String(reset), nowMs) : null;
}

const spoken =
  /(?:try again|retry|wait|available|reset\w*)[^.\d]{0,40}?((?:\d+(?:\.\d+)?\s*(?:milliseconds?|seconds?|minutes?|hours?|days?|ms|s|m|h|d)(?![a-z])\s*)+)/i;

/** "Please try again in 1m26.4s", "retry in 20 seconds". */
function fromWords(message: string, nowMs: number): number | null {
  const match = spoken.exec(message);
  const words = match?.[1];
  if (words === undefined) return null;
  let sum = 0;
  for (const part of words.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/gi)) {
    const unit = (part[2] ?? '').toLowerCase();
    sum +=
      Number(part[1]) * (unitMs[unit.startsWith('milli') || unit === 'ms' ? 'ms' : (unit[0] ?? '')] ?? 0);
  }
  return sum > 0 ? nowMs + sum : null;
}

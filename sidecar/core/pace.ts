// Pace: how fast a provider lets requests of one pool (a credential's model) come, learned from what it says and
// from what it refuses (DESIGN §8). One small value a pool; every function returns the next value. The caller
// brings clock and dice, and decides who goes next.
//
//   told    Answers carry the state of buckets (requests, tokens), as it was when the request came in: less what was
//           sent since, plus what has flowed in since, it is the present state, however slow the answer.
//   felt    A refusal at T1 and one at T2 mean an empty bucket at both, so what was accepted in between is what flowed
//           in: that is the rate. From there it grows slowly, and faster the longer nobody refuses.
//   ramp    A pool of which nothing is known starts with a few requests and doubles.
//   resumed What was in flight when the last process ended had been let in: as many leave at once, and the ramp goes on there.
//   pause   A refusal holds the whole pool, until the time the server named or for a doubling moment; requests that
//           were sent before the pause and are refused in it count as the same refusal (cases 165, 166).
//
// Promises: never earlier than a server said; jitter is only added; a pool that is refused for ever is asked about
// once a minute. Not here: queues, alarms, who is parked.

import type { LimitReading } from './terms.ts';

/** What one request takes out of the buckets. Tokens are estimates. */
export interface Cost {
  readonly input: number;
  readonly output: number;
}

/** What was sent to a pool when a request left, itself included: what is told about it is of that time. */
export interface Ticket {
  readonly atMs: number;
  readonly requests: number;
  readonly input: number;
  readonly output: number;
}

interface Bucket {
  readonly of: LimitReading['of'];
  readonly limit: number;
  readonly left: number;
  /** What flows in, as far as it is trusted. */
  readonly perMs: number;
  /** What was seen to flow in: servers that round times up to seconds tell a part of it. */
  readonly seenPerMs: number;
  /** The reading that is measured from. */
  readonly mark: Mark;
}

interface Mark {
  readonly atMs: number;
  readonly remaining: number;
  readonly sent: number;
}

export interface Pace {
  /** Time of `buckets`, `rate` and `credit`. */
  readonly atMs: number;
  readonly sent: Ticket;
  readonly buckets: readonly Bucket[];
  /** Requests a second that were felt to be allowed; null: no limit was felt. */
  readonly rate: number | null;
  /** Requests that may leave at once under `rate`. */
  readonly credit: number;
  /** The rate held somebody back since it last grew: only then does it grow. */
  readonly held: boolean;
  /** Nobody is asked before; 0: no pause. */
  readonly pauseUntilMs: number;
  /** Refusals in a row with no answer between them. */
  readonly refusals: number;
  /** Of the last refusal: when it was heard, and the first refused request. Null before the first. */
  readonly refusedAtMs: number;
  readonly refused: Ticket | null;
  /** Requests refused since, that one included. */
  readonly refusedSince: number;
  /** The rate was measured between two refusals; before, it is sought in larger steps. */
  readonly measured: boolean;
  /** Output tokens of an answer, learned. */
  readonly output: number;
  /** The rate comes from what the last process had in flight: a guess until somebody is refused. */
  readonly resumed: boolean;
  /** About what was sent in the last second, and what of it nothing was told about yet. */
  readonly lately: number;
  readonly unheard: number;
}

export interface PaceBounds {
  readonly paceFirstRate: number;
  readonly paceLowestRate: number;
  readonly paceFirstCredit: number;
  readonly paceRampMs: number;
  readonly paceGrowth: number;
  readonly paceSeekGrowth: number;
  readonly paceCalmMs: number;
  readonly paceCreditMs: number;
  readonly pauseFirstMs: number;
  readonly retryLongestMs: number;
}

const nothing: Ticket = { atMs: 0, requests: 0, input: 0, output: 0 };

/** The least that a rate keeps when a refusal cuts it: two that come close together measure badly. */
const keepsAtLeast = 0.7;
/** Tokens of an answer before one was seen. */
const firstOutput = 500;
/** What a bucket is trusted to fill at: servers round down what is left and so make the flow look larger. */
const trusted = 0.95;
const minuteMs = 60_000;
/** Time between the two readings that a flow is measured by. */
const measureMs = 1_000;
/** A state may have been looked up so long after the request came in: it holds what flowed in till then. */
const doubtMs = 250;

/** A pool of which nothing is known. `ramp` false: it is not held back before it refuses (a script, a test). */
export function newPace(nowMs: number, ramp: boolean, bounds: PaceBounds): Pace {
  return {
    atMs: nowMs,
    sent: nothing,
    buckets: [],
    rate: ramp ? bounds.paceFirstRate : null,
    credit: ramp ? bounds.paceFirstCredit : 0,
    held: false,
    pauseUntilMs: 0,
    refusals: 0,
    refusedAtMs: 0,
    refused: null,
    refusedSince: 0,
    measured: false,
    output: firstOutput,
    resumed: false,
    lately: 0,
    unheard: 0,
  };
}

/**
 * One request more was in flight when the last process ended, and nobody waited for the pool: the provider had let all
 * of them in, so as many may leave at once again. A first refusal takes that back.
 */
export function resumed(pace: Pace, bounds: PaceBounds): Pace {
  if (pace.rate === null) return pace;
  const rate = pace.rate + 1_000 / bounds.paceCreditMs;
  return { ...pace, rate, credit: pace.credit + 1, resumed: true };
}

/** When a request may leave, by what is known now: `nowMs` or earlier means at once. */
export function mayLeaveAtMs(pace: Pace, cost: Cost, nowMs: number, bounds: PaceBounds): number {
  if (nowMs < pace.pauseUntilMs) return pace.pauseUntilMs;
  const now = flown(pace, nowMs, bounds);
  let waitMs = 0;
  for (const bucket of now.buckets) {
    // A request larger than the whole bucket leaves when it is full; the server knows best.
    const need = Math.min(amount(bucket.of, cost), bucket.limit);
    if (bucket.left < need) waitMs = Math.max(waitMs, (need - bucket.left) / bucket.perMs);
  }
  if (now.rate !== null && now.credit < 1) waitMs = Math.max(waitMs, ((1 - now.credit) / now.rate) * 1_000);
  return nowMs + Math.ceil(waitMs);
}

/** Somebody waits for this pool. */
export const heldBack = (pace: Pace): Pace => (pace.held ? pace : { ...pace, held: true });

/** A request leaves; `sent` of the result is its ticket. */
export function leaves(pace: Pace, cost: Cost, nowMs: number, bounds: PaceBounds): Pace {
  const now = flown(pace, nowMs, bounds);
  const { sent } = now;
  return {
    ...now,
    sent: {
      atMs: nowMs,
      requests: sent.requests + 1,
      input: sent.input + cost.input,
      output: sent.output + cost.output,
    },
    buckets: now.buckets.map((bucket) => ({ ...bucket, left: bucket.left - amount(bucket.of, cost) })),
    credit: now.credit - 1,
    lately: now.lately + 1,
    unheard: now.unheard + 1,
  };
}

/** What an answer, or a refusal, to the request of this ticket tells about limits. */
export interface Told {
  readonly ticket: Ticket;
  readonly limits: readonly LimitReading[];
  /** Time since the request went out over its connection, which may be later than it left. */
  readonly sinceMs: number;
}

/** The state of limits was told. */
export function told(before: Pace, reading: Told, nowMs: number, bounds: PaceBounds): Pace {
  const flowed = flown(before, nowMs, bounds);
  const pace = { ...flowed, unheard: Math.max(0, flowed.unheard - 1) };
  const buckets = new Map(pace.buckets.map((bucket) => [bucket.of, bucket]));
  for (const each of reading.limits)
    buckets.set(each.of, bucketOf(each, buckets.get(each.of), { pace, reading, nowMs }));
  // A server that tells needs no feeling for it, as long as what it tells is all there is.
  const rate = buckets.has('requests') && pace.refusals < 2 ? null : pace.rate;
  return { ...pace, buckets: [...buckets.values()], rate };
}

interface Heard {
  readonly pace: Pace;
  readonly reading: Told;
  readonly nowMs: number;
}

function bucketOf(one: LimitReading, known: Bucket | undefined, { pace, reading, nowMs }: Heard): Bucket {
  const { of, limit, remaining, fullInMs } = one;
  const isTold = fullInMs !== null && 0 < fullInMs && remaining < limit;
  const toldPerMs = isTold ? (limit - remaining) / fullInMs : (known?.perMs ?? limit / minuteMs) / trusted;
  const here: Mark = { atMs: nowMs, remaining, sent: amountOf(of, reading.ticket) };
  const mark = known?.mark ?? here;
  const byMs = nowMs - mark.atMs;
  // Tokens are not measured: what a request takes of them is an estimate.
  const isMeasured = of === 'requests' && measureMs <= byMs;
  const seenPerMs = isMeasured
    ? Math.max(0, remaining - mark.remaining + here.sent - mark.sent) / byMs
    : (known?.seenPerMs ?? 0);
  const perMs = Math.max(toldPerMs, seenPerMs) * trusted;
  // What left before it may come in after it, over a connection that is just opened: it is not counted yet.
  const mean = amountOf(of, pace.sent) / Math.max(1, pace.sent.requests);
  const since = Math.max(amountOf(of, pace.sent) - here.sent, pace.unheard * mean);
  const left = Math.min(limit, remaining - since + perMs * Math.max(0, reading.sinceMs - doubtMs));
  return { of, limit, left, perMs, seenPerMs, mark: isMeasured ? here : mark };
}

/** A request was answered. Only one that was sent after a refusal says that it is over. */
export function answered(pace: Pace, ticket: Ticket, outputTokens: number): Pace {
  const refusals = pace.refusedAtMs < ticket.atMs ? 0 : pace.refusals;
  // One agent that asks again as soon as it was answered is no crowd: it is not held back for a ramp.
  const isAlone = pace.refused === null && !pace.held;
  const credit = isAlone ? Math.max(1, pace.credit) : pace.credit;
  return { ...pace, refusals, credit, output: pace.output + (outputTokens - pace.output) / 8 };
}

export interface Refusal {
  readonly ticket: Ticket;
  /** What the server named; null: nothing. */
  readonly retryAtMs: number | null;
  /** At least 0, below 1. */
  readonly random: number;
}

/** A request was refused: the pool pauses, and its rate follows what was accepted. */
export function refused(pace: Pace, refusal: Refusal, nowMs: number, bounds: PaceBounds): Pace {
  const { ticket, retryAtMs } = refusal;
  // Sent before the pause began: it tells nothing new, but a later time is kept.
  const isKnown = pace.refused !== null && ticket.atMs <= pace.refusedAtMs;
  const named = retryAtMs !== null && retryAtMs > nowMs ? retryAtMs : null;
  if (isKnown) {
    return {
      ...pace,
      refusedSince: pace.refusedSince + 1,
      pauseUntilMs: Math.max(pace.pauseUntilMs, named ?? 0),
    };
  }
  const doubled = bounds.pauseFirstMs * 2 ** Math.min(pace.refusals, 20);
  const pauseMs = named === null ? Math.min(bounds.retryLongestMs, doubled) : named - nowMs;
  const jitterMs = refusal.random * Math.min(30_000, Math.max(bounds.pauseFirstMs / 4, pauseMs / 10));
  const now = flown(pace, nowMs, bounds);
  // A told bucket that is simply empty explains a first refusal.
  const isTold = now.buckets.some((bucket) => bucket.of === 'requests');
  const rate = isTold && pace.refusals === 0 ? now.rate : cutRate(now, ticket, bounds);
  return {
    ...now,
    buckets: now.buckets.map((bucket) => ({ ...bucket, left: Math.min(0, bucket.left) })),
    rate,
    credit: Math.min(0, now.credit),
    held: false,
    resumed: false,
    pauseUntilMs: Math.max(pace.pauseUntilMs, nowMs + Math.ceil(pauseMs + jitterMs)),
    refusals: pace.refusals + 1,
    refusedAtMs: nowMs,
    refused: ticket,
    refusedSince: 1,
    measured: pace.refused !== null,
  };
}

/** The wall clock was set back: all times move with it, or nothing would flow until it has come back to where it was. */
export function setBack(pace: Pace, nowMs: number): Pace {
  const byMs = pace.atMs - nowMs;
  return {
    ...pace,
    atMs: nowMs,
    pauseUntilMs: Math.max(0, pace.pauseUntilMs - byMs),
    refusedAtMs: pace.refusedAtMs - byMs,
  };
}

/** What was accepted between two empty buckets; half of what was tried when there is no earlier one. */
function cutRate(pace: Pace, ticket: Ticket, bounds: PaceBounds): number {
  const lowest = bounds.paceLowestRate;
  const { refused: before, rate } = pace;
  if (pace.resumed) return bounds.paceFirstRate;
  if (before === null) return Math.max(lowest, (rate ?? pace.lately) / 2);
  const accepted = ticket.requests - before.requests - pace.refusedSince;
  const measured = (accepted * 1_000) / Math.max(1, ticket.atMs - before.atMs);
  if (rate === null) return Math.max(lowest, measured);
  return Math.max(lowest, Math.min(rate, Math.max(rate * keepsAtLeast, measured)));
}

/** The pool at a later time: buckets and credit have filled, and a rate that held somebody back has grown. */
function flown(pace: Pace, nowMs: number, bounds: PaceBounds): Pace {
  const byMs = nowMs - pace.atMs;
  if (byMs <= 0) return pace; // a clock that was set back is the caller's to see to
  const buckets = pace.buckets.map((bucket) => ({
    ...bucket,
    left: Math.min(bucket.limit, bucket.left + bucket.perMs * byMs),
  }));
  const fades = Math.exp(-byMs / 1_000);
  const [lately, unheard] = [pace.lately * fades, pace.unheard * fades];
  if (pace.rate === null) return { ...pace, atMs: nowMs, buckets, lately, unheard };
  const most = Math.max(1, (pace.rate * bounds.paceCreditMs) / 1_000, pace.credit);
  const credit = Math.min(most, pace.credit + (pace.rate * byMs) / 1_000);
  const rate = pace.held ? grown(pace, pace.rate, byMs, bounds) : pace.rate;
  return { ...pace, atMs: nowMs, buckets, credit, rate, held: false, lately, unheard };
}

/** Doubling before the first refusal. After one a little a second, twice that after each calm time, up to doubling. */
function grown(pace: Pace, rate: number, byMs: number, bounds: PaceBounds): number {
  const calm = Math.floor((pace.atMs - pace.refusedAtMs) / bounds.paceCalmMs);
  const doubling = 1_000 / bounds.paceRampMs;
  const growth = pace.measured ? bounds.paceGrowth : bounds.paceSeekGrowth;
  const slow = Math.log2(1 + growth) * 2 ** Math.max(0, Math.min(20, calm - 1));
  const perSecond = pace.refused === null ? doubling : Math.min(doubling, slow);
  return Math.min(1e6, rate * 2 ** ((perSecond * Math.min(byMs, 1_000)) / 1_000));
}

function amount(of: LimitReading['of'], cost: Cost): number {
  switch (of) {
    case 'requests':
      return 1;
    case 'input':
      return cost.input;
    case 'output':
      return cost.output;
    case 'tokens':
      return cost.input + cost.output;
  }
}

const amountOf = (of: LimitReading['of'], ticket: Ticket): number =>
  of === 'requests' ? ticket.requests : amount(of, ticket);

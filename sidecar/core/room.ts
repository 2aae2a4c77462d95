// Room in a context: what a request will come to, and what is left out when that is too much.
//
// First the texts of old results are left out, in one large bite, because each bite breaks the cached prefix. When
// that does not give enough, a summary is to be made of the conversation as it is, whose request reuses the prefix.
// What does not even fit into that request is cut text by text, and at last its oldest part is left out without a
// summary, so that no history can make its agent unable to go on.
// Not here: what a view does to the items of a request (context.ts).

import type { ContextView } from '../protocol/entry.ts';
import { elidedBytes } from './context.ts';

/** What an agent's next request is estimated by. */
export interface Load {
  /** Bytes of the conversation as it is sent, and of what stands before it: instructions and tools. */
  readonly bytes: number;
  readonly headBytes: number;
  /** What the provider counted of the newest request with its answer, and the bytes of the conversation then; 0: nothing. */
  readonly seenTokens: number;
  readonly seenBytes: number;
}

/** Tokens of the next request. Errs on the high side: what was counted is exact, and only what came since is estimated. */
export function estimate(load: Load, bytesPerToken: number): number {
  const { bytes, headBytes, seenTokens, seenBytes } = load;
  if (seenTokens === 0 || bytes < seenBytes) return Math.ceil((bytes + headBytes) / bytesPerToken);
  return seenTokens + Math.ceil((bytes - seenBytes) / bytesPerToken);
}

export interface RatioBounds {
  readonly bytesPerToken: number;
  /** What of a measured ratio is counted on. */
  readonly bytesPerTokenShare: number;
  readonly bytesPerTokenLeast: number;
  readonly bytesPerTokenMost: number;
}

/**
 * Bytes that a token of a model takes, from what its provider counted of a request. Follows denser text at once and
 * thinner text slowly, because an estimate that is too low is refused, and one that is too high costs nothing.
 */
export function learnRatio(
  known: number | undefined,
  seen: { readonly bytes: number; readonly tokens: number },
  bounds: RatioBounds,
): number {
  const before = known ?? bounds.bytesPerToken;
  if (seen.tokens === 0 || seen.bytes === 0) return before;
  const ratio = (seen.bytes / seen.tokens) * bounds.bytesPerTokenShare;
  const next = ratio < before ? ratio : before + (ratio - before) / 8;
  return Math.min(bounds.bytesPerTokenMost, Math.max(bounds.bytesPerTokenLeast, next));
}

/** One entry of a conversation, without its text. */
export interface RoomRow {
  readonly id: number;
  readonly kind: string;
  readonly turn: number;
  readonly bytes: number;
}

export interface RoomFacts {
  /** From the newest back to the first that is sent. */
  readonly rows: readonly RoomRow[];
  /** Messages that are sent although they are older than the first, and what the summary takes. */
  readonly kept: readonly RoomRow[];
  readonly summaryBytes: number;
  readonly headBytes: number;
  /** Tokens of the next request as it would be now. */
  readonly tokens: number;
  /** Tokens that a request may have so that its answer still fits, and the same for the request for a summary. */
  readonly mostTokens: number;
  readonly mostForSummary: number;
  /** Bytes that the conversation may have, whatever its tokens. */
  readonly mostBytes: number;
  /** The open turn: what was asked in it is never left out. */
  readonly turn: number;
  /** A person asks for a summary, whether there is room or not. */
  readonly wanted: boolean;
}

export interface RoomBounds {
  readonly contextShare: number;
  readonly contextSlack: number;
  readonly keptResultsShare: number;
  readonly keptMessageBytes: number;
  readonly cutLeastBytes: number;
}

export type Room =
  /** The request may leave; `change` is what is left out from now on. */
  | { readonly kind: 'round'; readonly change: Change | null }
  /** A summary is asked for first, of the conversation under the changed view, up to the entry before `tail`. */
  | { readonly kind: 'summary'; readonly change: Change | null; readonly tail: number }
  /** Nothing helps: instructions, tools and the present message alone are too much. */
  | { readonly kind: 'never' };

/** A view of the conversation, and its bytes under it. */
export interface Change {
  readonly how: 'elided' | 'trimmed';
  readonly view: ContextView;
  readonly bytes: number;
  /** Tokens of the request under it. */
  readonly tokens: number;
}

/**
 * Tokens up to which nothing is done: not so many that the answer, or at last the request for a summary, would have no
 * room left.
 */
export const comfortable = (
  { mostTokens, mostForSummary }: Pick<RoomFacts, 'mostTokens' | 'mostForSummary'>,
  { contextShare }: Pick<RoomBounds, 'contextShare'>,
): number => Math.min(mostTokens * contextShare, mostForSummary);

/** Decides what the next request is for, and what is left out of it. */
export function planRoom(view: ContextView, facts: RoomFacts, bounds: RoomBounds): Room {
  const measure = new Measure(view, facts);
  const { wanted, mostTokens } = facts;
  const most = comfortable(facts, bounds);
  const roomy = most * (1 - bounds.contextSlack);
  const now = measure.of(view);
  if (!wanted && measure.fits(now, most)) return { kind: 'round', change: null };

  const elide = measure.changed('elided', elideOld(view, measure, roomy * bounds.keptResultsShare));
  if (!wanted && measure.fits(elide, roomy)) return { kind: 'round', change: elide };

  for (const change of [null, elide]) {
    const { tail, freed } = measure.split(change?.view ?? view);
    // A summary of next to nothing frees nothing, and would be asked for again and again.
    if (freed > 0 && (wanted || most * bounds.contextSlack <= freed))
      return { kind: 'summary', change, tail };
  }
  if (measure.fits(now, mostTokens)) return { kind: 'round', change: null };
  if (measure.fits(elide, mostTokens)) return { kind: 'round', change: elide };

  for (let bytes = longest(facts); bounds.cutLeastBytes <= bytes; bytes = Math.floor(bytes / 2)) {
    const cut = measure.changed('elided', cutLong(elide.view, facts, bytes));
    if (measure.fits(cut, roomy)) return { kind: 'round', change: cut };
  }
  // Even results that it has not read: it knows at least what it called, and can read them piece by piece.
  const least = cutLong(elide.view, facts, bounds.cutLeastBytes);
  const bare = measure.changed('elided', { ...least, elided: least.cutTo });
  if (measure.fits(bare, most)) return { kind: 'round', change: bare };
  return trim(elide.view, measure, bounds);
}

/** Larger than any id of an entry: a summary stands for all that there is. */
export const noTail = Number.MAX_SAFE_INTEGER;

/**
 * The first entry that a summary leaves as it is: what the model has not read yet, results with the answer that asked
 * for them. They are what it is about to work on, and they may be why there is no room.
 */
function tailOf({ rows }: RoomFacts): number {
  const answer = rows.findIndex((row) => row.kind === 'answer');
  const unread = rows.slice(0, Math.max(0, answer)).filter(isSent);
  if (unread.some((row) => row.kind === 'result')) return rows[answer]?.id ?? noTail;
  return unread.at(-1)?.id ?? noTail;
}

/** Leaves the older half out, whatever there is room for: when no summary could be had. */
export function trimRoom(view: ContextView, facts: RoomFacts, bounds: RoomBounds): Room {
  const half = Math.min(facts.mostTokens, Math.ceil(facts.tokens / 2));
  return trim(view, new Measure(view, { ...facts, mostTokens: half, mostForSummary: half }), bounds);
}

/** Leaves out the oldest rounds, as many as it takes; what was asked in the open turn stays. */
function trim(view: ContextView, measure: Measure, bounds: RoomBounds): Room {
  const { facts } = measure;
  const cut = cutLong(view, facts, bounds.cutLeastBytes);
  const kept = keptMessages(facts, bounds.keptMessageBytes);
  const nothing: ContextView = { ...cut, from: Number.MAX_SAFE_INTEGER, kept: kept.map((row) => row.id) };
  const least = measure.changed('trimmed', nothing);
  if (!measure.fits(least, facts.mostTokens)) return { kind: 'never' };
  const roomy = comfortable(facts, bounds) * (1 - bounds.contextSlack);
  let from = Number.MAX_SAFE_INTEGER;
  let bytes = least.bytes;
  // Backwards from the newest, and only from where a round begins: a result must not lose its call.
  for (const row of facts.rows.slice(0, -1)) {
    bytes += sentBytes(row, cut);
    if (!measure.fits({ tokens: measure.tokensOf(bytes), bytes }, roomy)) break;
    if (row.kind !== 'result') from = row.id;
  }
  const keep = kept.filter((row) => row.id < from).map((row) => row.id);
  return { kind: 'round', change: measure.changed('trimmed', { ...cut, from, kept: keep }) };
}

/** The view in which results are left out that are older than the newest `keptTokens`, and that the model has read. */
function elideOld(view: ContextView, measure: Measure, keptTokens: number): ContextView {
  let bytes = 0;
  let read = false;
  for (const row of measure.facts.rows) {
    bytes += row.bytes;
    read ||= row.kind === 'answer';
    if (!read || measure.tokensOf(bytes) - measure.tokensOf(0) <= keptTokens) continue;
    return { ...view, elided: Math.max(view.elided, row.id) };
  }
  return view;
}

function cutLong(view: ContextView, facts: RoomFacts, cutBytes: number): ContextView {
  const newest = facts.rows[0]?.id ?? view.cutTo;
  return { ...view, cutTo: newest, cutBytes, plain: Math.max(view.plain, newest) };
}

const longest = (facts: RoomFacts): number =>
  Math.ceil([...facts.rows, ...facts.kept].reduce((most, row) => Math.max(most, row.bytes), 0) / 2);

/**
 * Messages of the open turn that are sent beside a summary, in their order: the one that began it, and the newest as
 * far as `most` bytes go.
 */
export function keptMessages(
  facts: Pick<RoomFacts, 'rows' | 'kept' | 'turn'>,
  most: number,
): readonly RoomRow[] {
  const asked = [...facts.rows, ...[...facts.kept].reverse()].filter(
    (row) => row.kind === 'user' && row.turn === facts.turn,
  );
  const first = asked.at(-1);
  if (first === undefined) return [];
  const kept: RoomRow[] = [];
  let bytes = first.bytes;
  for (const row of asked.slice(0, -1)) {
    bytes += row.bytes;
    if (bytes > most) break;
    kept.unshift(row);
  }
  return [first, ...kept];
}

interface Size {
  readonly bytes: number;
  readonly tokens: number;
}

/** What a conversation comes to under a view. */
class Measure {
  readonly facts: RoomFacts;
  private readonly bytesNow: number;

  constructor(view: ContextView, facts: RoomFacts) {
    this.facts = facts;
    this.bytesNow = this.bytesOf(view);
  }

  of(view: ContextView): Size {
    const bytes = this.bytesOf(view);
    return { bytes, tokens: this.tokensOf(bytes) };
  }

  /**
   * Where a summary ends, and the tokens that it stands for: at what the model has not read, or earlier when its
   * request would be too long. One that a person wants is of all when it would be of the lesser part.
   */
  split(view: ContextView): { readonly tail: number; readonly freed: number } {
    const { rows, mostForSummary, wanted } = this.facts;
    const all = this.of(view);
    const most = tailOf(this.facts);
    const share = (bytes: number): number => this.tokensOf(bytes) - this.tokensOf(0);
    const total = rows.reduce((sum, row) => sum + row.bytes, 0);
    if (most === noTail && this.fits(all, mostForSummary)) return { tail: noTail, freed: share(total) };
    let sent = all.bytes;
    let after = 0;
    for (const row of rows) {
      sent -= view.from <= row.id || view.kept.includes(row.id) ? sentBytes(row, view) : 0;
      after += row.bytes;
      if (row.id > most || row.kind === 'result') continue;
      if (!this.fits({ bytes: sent, tokens: this.tokensOf(sent) }, mostForSummary)) continue;
      const isLess = wanted && total < 2 * after && this.fits(all, mostForSummary);
      return isLess ? { tail: noTail, freed: share(total) } : { tail: row.id, freed: share(total - after) };
    }
    return { tail: noTail, freed: 0 };
  }

  changed(how: Change['how'], view: ContextView): Change {
    return { how, view, ...this.of(view) };
  }

  /** In proportion to the estimate of the conversation as it is now, which may rest on what its provider counted. */
  tokensOf(bytes: number): number {
    const { tokens, headBytes } = this.facts;
    return Math.ceil((tokens * (bytes + headBytes)) / Math.max(1, this.bytesNow + headBytes));
  }

  fits(size: Size, mostTokens: number): boolean {
    return size.tokens <= mostTokens && size.bytes <= this.facts.mostBytes;
  }

  private bytesOf(view: ContextView): number {
    const { rows, kept, summaryBytes } = this.facts;
    let bytes = summaryBytes;
    for (const row of kept) if (view.kept.includes(row.id)) bytes += sentBytes(row, view);
    for (const row of rows) {
      if (view.from <= row.id || view.kept.includes(row.id)) bytes += sentBytes(row, view);
    }
    return bytes;
  }
}

const isSent = ({ kind }: RoomRow): boolean => kind !== 'end' && kind !== 'context';

/** Bytes that entries from one on take under a view. */
export const bytesFrom = (rows: readonly RoomRow[], from: number, view: ContextView): number =>
  rows.reduce((sum, row) => (from <= row.id ? sum + sentBytes(row, view) : sum), 0);

function sentBytes(row: RoomRow, view: ContextView): number {
  if (!isSent(row)) return 0;
  const bytes =
    row.kind === 'result' && row.id <= view.elided ? Math.min(row.bytes, 2 * elidedBytes) : row.bytes;
  // An answer has several texts, and each is cut by itself.
  return row.id <= view.cutTo && row.kind !== 'answer'
    ? Math.min(bytes, view.cutBytes + 2 * elidedBytes)
    : bytes;
}

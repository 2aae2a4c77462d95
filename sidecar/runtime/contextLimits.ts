// Bounds of contexts: estimates, what is left out of a conversation, summaries, what is read back. A part of limits.ts,
// which takes them in and says what bounds are for.

export const contextLimits = {
  /**
   * Bytes of JSON that one token is estimated at before the provider has counted, the fewest and the most that are
   * believed of what it counted, and the share of it that is relied on: too low an estimate is refused, too high a
   * one only makes room a little early. English text has about 4, Chinese 2 to 3, base64 1.5.
   */
  bytesPerToken: 3,
  bytesPerTokenLeast: 1,
  bytesPerTokenMost: 3.6,
  bytesPerTokenShare: 0.9,
  /** Bytes of a conversation from which it is noted what its provider counted: shorter ones are nowhere near a limit. */
  anchorBytes: 16 * 1024,
  /** Room that a person may say a model has: less holds no instructions, and no model takes more today. */
  windowLeastTokens: 4_096,
  windowMostTokens: 100_000_000,
  /** Room of a model of which nothing is known at all. */
  contextTokens: 128_000,
  /** Share of a context, without the answer, at which room is made; then at least `contextSlack` of it shall be free again. */
  contextShare: 0.9,
  contextSlack: 0.25,
  /** Share of that which the newest results keep when older ones are left out: what the model is at work on. */
  keptResultsShare: 0.3,
  /** Bytes of a conversation as it is sent, whatever its tokens: half of what the strictest large provider takes (20 MB). */
  requestBytes: 10 * 1024 * 1024,
  /** Bytes of messages of the open turn that are sent beside a summary, and of the longest of them. */
  keptMessageBytes: 16 * 1024,
  /** Bytes that a text which is too long is cut to at last. Below, the conversation loses its oldest part instead. */
  cutLeastBytes: 1024,
  /** Entries that are looked at to make room: 3,000 rows take about 15 ms, once in hundreds of rounds. Older ones weigh nothing. */
  contextRows: 3_000,
  /** Output tokens of a summary: four pages, and the thinking before it. */
  summaryTokens: 8_192,
  /** Tokens kept free beside a request for a summary, for the words that ask for it. */
  summaryRoomTokens: 512,
  /** Times that a summary is asked for which does not come out. Then the oldest part is left out without one. */
  summaryTries: 2,
  /** Bytes of a conversation below which there is nothing to summarise. */
  compactLeastBytes: 2 * 1024,
  /** Bytes of what a person says a summary shall stress. */
  focusBytes: 4 * 1024,
  /** Characters that one call of `history` reads, and lines of its lists: what is left out must not come back at once. */
  historyChars: 12_000,
  historyLines: 50,
  /** Refusals of a round for its length that are answered by making room; each leaves out two fifths. Then it fails. */
  overflows: 5,
} as const;

// Every bound of the product, with its reason and what happens at the bound (I14). Sections by owner; a limit
// that nothing uses fails the tidy test.

export const limits = {
  // ------------------------------------------------------------ runtime

  /** Events of one transaction. A barrier costs 0.6 ms; past 50 events the reply of the first waits too long. */
  groupEvents: 50,
  /** A group is closed after this time even with fewer events, so that no event holds the loop (I18). */
  groupMs: 1.5,
  /** Events waiting for the loop. Past it, clients are answered `overloaded`; ports are always let in. */
  queuedEvents: 100_000,
  /** Model requests in flight, unless the person sets another number. Above it turns wait as rows. */
  modelSlots: 100,
  /** Running commands per core. Above it calls wait as rows. */
  commandSlotsPerCore: 4,
  /** Depth of the forest. Counts go up to the root in each transaction, so depth is what a leaf's commit costs. */
  depth: 32,
  /** Rows handled by one event of a paged job (spawn, interrupt of a branch, recovery): 200 rows take about 4 ms. */
  slice: 200,
  /** Tasks of one spawn_agent call. A larger list is refused with the number. */
  spawnTasks: 100_000,
  /** Bytes of an entry kept in its row; above, a compressed blob and a reference. */
  entryInlineBytes: 4 * 1024,
  /** Bytes of a tool result that the model is told; above, head and tail, the rest by blob. */
  resultBytes: 32 * 1024,
  /** Characters of a turn's last words kept in its row for lists and notices. */
  briefChars: 2_000,
  /** Characters of an agent's task line and of its activity line. */
  taskChars: 120,
  /** Bytes of the largest notice. Above, outcomes are counted and asked for by name. */
  noticeBytes: 8 * 1024,
  /** Outcomes read for one notice: more lines than fit into 8 KB are not worth reading. */
  noticeOutcomes: 100,
  /** First window of a notice, and the longest it doubles to. */
  noticeFirstMs: 30_000,
  noticeLongestMs: 10 * 60_000,
  /** Rounds of one turn. A turn that asks this often without an end has lost its way and becomes a failure. */
  rounds: 500,
  /** Times a round is asked again after a broken stream; then a person decides. */
  lostAttempts: 3,
  /** Crashes of the process with the same turn in flight; then a person decides. */
  crashes: 3,
  /** Empty answers, and answers cut at the output limit, that are asked again within a turn. */
  emptyAnswers: 2,
  /** First delay before a broken request is asked again, doubling to the longest. */
  retryFirstMs: 500,
  retryLongestMs: 60_000,
  /** Output tokens asked for when the model allows more. */
  outputTokens: 16_384,
  /** Output tokens below which a request is not worth making; the turn waits for budget instead. */
  outputTokensFloor: 1_024,
  /** Entries read at a time while a request body is written: at 4 KB a row the page stays under 64 KB in the usual case. */
  pageEntries: 16,
  /** Bytes of one call's arguments. Above, the call is refused before anything is parsed. */
  callInputBytes: 4 * 1024 * 1024,
  /** Bytes of a message from a person or an agent. */
  messageBytes: 1024 * 1024,
  /** Bytes of a message between agents: larger things are files or results. */
  siblingMessageBytes: 8 * 1024,
  /** Queued turns of one agent. Above, a send is refused. */
  queuedTurns: 1_000,
  /** Pause before a commit that found the disk full is tried again. */
  diskRetryMs: 1_000,
} as const;

// Every bound of the webviews, with its reason and what happens at the bound (I14). Apart from the sidecar's
// limits because a webview is another program and may import the protocol only.

export const limits = {
  // ------------------------------------------------------------ bridge

  /** Calls without an answer. A person cannot make more by hand; past it a call fails at once. */
  pendingCalls: 64,
  /** Agents whose unsent text is kept over a reload; the one written to longest ago goes first. */
  drafts: 50,
  /** Characters of one kept draft; the box itself holds more, only the copy is cut. */
  draftChars: 64 * 1024,

  // ------------------------------------------------------------ tree

  /** Height of a tree row in CSS pixels: what the editor's own lists use. */
  treeRowPx: 22,
  /** Tallest element we make. Chromium ends at 33.5 million device pixels: 8 million CSS pixels stay reachable at 400 %. */
  spacerPx: 8_000_000,
  /** Rows asked for beyond each edge of what is seen, so that a page of scrolling needs no wait. */
  overscanRows: 40,
  /** Rows of one window; the protocol allows 500. A screen of 2,160 pixels shows 98. */
  windowRows: 240,
  /** Expanded agents; the protocol's bound. The one expanded first is collapsed. */
  expanded: 1_000,
  /** Characters of a filter. */
  filterChars: 200,

  // ------------------------------------------------------------ transcript

  /** Entries in memory. Scrolling past them pages, and the far end is let go. */
  loadedEntries: 400,
  /** Characters of loaded entries: 400 entries of 32 KB would be 13 million. The far end is let go. */
  loadedChars: 4_000_000,
  /** Entries of one page. */
  pageEntries: 100,
  /** Pixels drawn beyond each edge of the transcript's view. */
  overscanPx: 600,
  /** Characters of one text that are parsed as Markdown: 48,000 take about 10 ms. The rest by a button, as it is. */
  markdownChars: 48_000,
  /** Parsed texts kept for scrolling back. */
  markdownCached: 200,
  /** Characters of a code block that are coloured; longer ones stay plain. */
  highlightChars: 20_000,
  /** Code blocks that wait to be coloured; later ones stay plain. */
  highlightQueue: 200,
  /** Characters of an input or output drawn when a call is opened, and added by each "show more". */
  outputChars: 8_000,
  /** How often the output of a command in the background is asked for while it is shown; nothing is asked while hidden. */
  commandLookMs: 1_000,
  /** Bytes of one read of a blob. */
  blobPageBytes: 64 * 1024,
  /** Characters of a blob kept here; past it the person is told to open it elsewhere. */
  blobChars: 500_000,
  /** Parents named in the breadcrumb; more become an ellipsis. */
  ancestors: 4,

  // ------------------------------------------------------------ changes

  /** Files listed at first, and added by each "show more". A review of more is done in the editor. */
  changeRows: 50,
  /** Lines of one change drawn at first, and added by each "show more" (case 25). */
  diffLines: 400,
  /** Characters of a line drawn; the rest is a mark that says how much is missing. */
  diffLineChars: 1_000,
  /** Characters of both sides of a hunk compared word by word; larger hunks are marked by lines only. */
  wordDiffChars: 4_000,
  /** Details of changes kept: only opened ones are, and the one opened first is closed. */
  openChanges: 20,

  // ------------------------------------------------------------ announcements

  /** Milliseconds between two sentences of the live region, which otherwise talks over the person's reader. */
  announceEveryMs: 3_000,
} as const;

// Every bound of the extension, with its reason and what happens at the bound (I14). The sidecar has a file of
// its own (sidecar/runtime/limits.ts), which the extension does not import: only the protocol is shared.

export const limits = {
  // ------------------------------------------------------------ connection

  /** A socket of this machine opens in under a millisecond; past 2 s nobody is there and a sidecar is started. */
  connectMs: 2_000,
  /** An answer to `hello`, from a sidecar that may be opening a store of a million agents. */
  helloMs: 10_000,
  /** A started sidecar listens within 0.3 s here; past 20 s its log is shown and the start counts as a crash. */
  startMs: 20_000,
  /** Looks for the discovery file while a sidecar starts. */
  startLookMs: 25,
  /** One self-test of a Node: a process start and one database. A Node that needs longer is passed over. */
  selfTestMs: 15_000,
  /** The login shell may run a person's whole profile. Past it, its PATH is left out and the next Node is tried. */
  loginShellMs: 5_000,
  /** Nodes tried of one PATH; people keep a few, and each costs a self-test. */
  nodesOfPath: 4,
  /** Waits before the attempts after a crash: the first at once. The last one repeats. */
  backOffMs: [0, 500, 2_000, 5_000],
  /** Crashes within `crashWindowMs` after which starting again needs a person. */
  crashes: 4,
  crashWindowMs: 3 * 60_000,
  /** A call waits this long for a connection that is being made; then it fails with what to do. */
  callWaitMs: 60_000,
  /** A call with a key is sent again after a lost connection this often: the key makes it count once (case 246). */
  keyedTries: 3,

  // ------------------------------------------------------------ views

  /** The native tree, all sections open: more nodes make VS Code slow (case 26). What does not fit is a count. */
  treeNodes: 300,
  /** Redraws of the native tree and of the status bar. A badge may lag 300 ms; ten a second are seen as at once. */
  redrawMs: 100,
  /** Titles that a row for several requests names; a side bar shows two or three. */
  clusterTitles: 4,
  /** Agents, turns and deletions that a quick pick asks for; typing narrows the list in the sidecar. */
  pickRows: 100,
  /** Items of a fan-out from the editor; more are what `roost fan` is for. A list is cut there, and the question names the count. */
  fanFiles: 2_000,
  /** Worktrees of one list; a page of the sidecar, which looks into each with git. */
  worktreeRows: 50,
  /** Names of files that a question about bringing files back shows; a dialog stays on a small screen with these. */
  restoreNames: 12,
  /** How long diagnostics of a file are waited for once a language server has read it; a clean file has none to wait for. */
  diagnosticsMs: 2_000,
  /** Servers report in bursts: when nothing has come for so long, what is there is the answer. */
  diagnosticsCalmMs: 300,
  /** How long a language server may take to start; that of TypeScript takes two seconds on two busy cores. */
  languageStartMs: 10_000,
  /** How often a server is asked for a rename until it knows all texts that change as the editor has them; the second time is enough. */
  renameAsks: 3,
  /** How often it is looked whether they are up, or quiet. */
  diagnosticsLookMs: 50,
  /** Pause in typing before a quick pick asks again. */
  pickPauseMs: 120,
  /** Follows of one webview: its tree or transcript, its changes, and room for one being moved. */
  followsPerView: 8,
  /** Characters that a webview may put on the clipboard: a whole transcript page, not a store. */
  copyChars: 1_000_000,
  /** Roots stopped by one round of "Stop All"; it goes on in rounds until none is left. */
  rootsPage: 200,
  /** Days of a page about cost; as many as the ledger keeps single requests. */
  costDays: 30,
  /** Those of a group that stand in columns; more are lines, because a page is as wide as four columns can be read. */
  groupColumns: 4,
  /** Files of one of them that are named, and characters of what it said; its panel has the rest. */
  groupFiles: 12,
  groupSaidChars: 600,
  /** Bytes that `roost` may print when the extension runs it; it prints a line. More ends it. */
  cliBytes: 1024 * 1024,
  /** How long a message stays in the status bar. */
  sayMs: 5_000,
  /** At most one notification in this time while the window is in the background (case 227). */
  digestMs: 60_000,

  // ------------------------------------------------------------ review

  /** Open changes kept for the gutter and the lenses; more are reviewed through the agents' panels. */
  reviewRows: 500,
  /** Changes of one file that are drawn inline; a file that more agents touched is reviewed by agent. */
  changesPerFile: 10,
  /** Hunks drawn inline in one file: 200 with four lenses each take 0.5 s to appear. The rest is in the diff editor. */
  hunksPerFile: 200,
  /** Details kept of changes whose files are not visible. */
  detailsKept: 50,
  /** Pause in typing before the sidecar is asked where the hunks stand now; until then they are shifted here. */
  placePauseMs: 300,
  /** Files of one multi-file diff: VS Code opens all documents of a page at once (case 23). */
  diffPage: 50,
  /** Merge editors that verdicts open by themselves; what conflicts beyond them is told, and opened when the person asks. */
  mergeEditors: 5,
  /** How often, and how many times, it is looked whether a merge editor has read its texts; 0.3 s here. Then it stays as it opened. */
  mergeLookMs: 100,
  mergeLooks: 50,
  /** Lines of removed text in a hover. */
  hoverLines: 40,
  /** Characters of a line that a comment quotes to its agent. */
  quoteChars: 500,
  /** Open comment threads; the oldest is closed for a new one. */
  threads: 50,
} as const;

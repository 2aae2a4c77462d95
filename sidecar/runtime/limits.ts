// Every bound of the product, with its reason and what happens at the bound (I14). Sections by owner; a limit
// that nothing uses fails the tidy test.

import { contextLimits } from './contextLimits.ts';

export const limits = {
  ...contextLimits,

  // ------------------------------------------------------------ runtime

  /**
   * Events of one transaction. A barrier costs 0.2 to 0.6 ms. 150 events write 20 KB a child where 50 write 23.5, but
   * hold the loop 15 ms at the 99th percentile where 50 hold it 9.5, and I18 promises 10.
   */
  groupEvents: 50,
  /** A group is closed after this time even with fewer events, so that no event holds the loop (I18). */
  groupMs: 1.5,
  /**
   * After a group of this many events the next one waits for a full group, at most this long: with thousands in flight
   * a commit of 45 events writes hardly more pages than one of 30.
   */
  crowdEvents: 16,
  gatherMs: 2,
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
  /** Files that a command changed, and bytes of both sides, that one event records: lines of 256 KB are compared in 5 ms. */
  touchedFiles: 10,
  touchedBytes: 256 * 1024,
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
  /** A provider that has not listed its models by then is left out of the list. */
  modelListMs: 3_000,
  /** Models of one provider that are listed; OpenRouter has some hundreds. */
  modelsListed: 1_000,
  /** Lists are kept this long: agents are started more often than models appear. */
  modelListKeptMs: 10 * 60_000,
  /** Requests that a model of which nothing is known gets at once, and then a second, doubling in each ramp time. */
  paceFirstCredit: 10,
  paceFirstRate: 20,
  paceRampMs: 500,
  /**
   * Share by which a felt rate grows in a second: after a first refusal that only said "too much", and once it was
   * measured between two. Twice that after each calm time.
   */
  paceSeekGrowth: 0.1,
  paceGrowth: 0.01,
  paceCalmMs: 5_000,
  /** Requests a second that are tried whatever was refused: six a minute. */
  paceLowestRate: 0.1,
  /** What a felt rate may catch up on when the loop was late; servers allow bursts of a second or more. */
  paceCreditMs: 250,
  /** Shortest time to the next look at a lane: at 200 requests a second two leave in one commit. */
  paceTickMs: 10,
  /** A pause from which turns are parked, so that it is shown until when; shorter, they stay in their lane. */
  paceParkMs: 10_000,
  /** First pause after a refusal that names no time, doubling with each further one that no answer came between. */
  pauseFirstMs: 100,
  /** The highest price of a model, millionths of a dollar for a million tokens: ten times the dearest of today. */
  priceMicroUsd: 10_000_000_000,
  /** Settled requests that are added up by hour in one write, kept until then: 500 are 60 KB. */
  foldRows: 500,
  /** Output tokens asked for when the model allows more. */
  outputTokens: 16_384,
  /** Output tokens below which a request is not worth making; the turn waits for budget instead. */
  outputTokensFloor: 1_024,
  /** Entries read at a time while a request body is written: at 4 KB a row the page stays under 64 KB in the usual case. */
  pageEntries: 16,
  /** Calls that one answer may ask for; the rest are answered with an error. Below `slice`, so one look finds all that are open. */
  answerCalls: 128,
  /** Longest timeout of wait_agent: a week. A longer one is cut to it. */
  agentWaitMs: 7 * 24 * 60 * 60_000,
  /** Bytes of one call's arguments. Above, the call is refused before anything is parsed. */
  callInputBytes: 4 * 1024 * 1024,
  /** Bytes of a message from a person or an agent. */
  messageBytes: 1024 * 1024,
  /** Bytes of a message between agents: larger things are files or results. */
  siblingMessageBytes: 8 * 1024,
  /**
   * Bytes of a result schema, and parts of one with its references followed. It stands in the conversation of every
   * agent that is given it, so a larger one is refused.
   */
  schemaBytes: 16 * 1024,
  schemaParts: 1_000,
  /** Levels of one that comes over the wire. What a model writes is as deep as arguments may be. */
  schemaDepth: 64,
  /** Applications of a part of a schema to a part of one result: 10,000 take about 10 ms (I18). Past it, refused. */
  schemaSteps: 10_000,
  /** Items of a list that must differ from each other: they are compared pair by pair. More are refused. */
  uniqueItems: 300,
  /** Problems of a result that its model is told at once. */
  schemaProblems: 8,
  /** Schemas kept as they were read. Past it they are read again. */
  schemasKept: 64,
  /** Results that did not fit, and ends without one, until the turn has failed: models mend a result at once or never. */
  resultTries: 5,
  /** Bytes of a result: its parent can read the whole of it in one answer of list_agents. A larger one is refused. */
  resultJsonBytes: 24 * 1024,
  /** Unread messages of one agent: what its next round takes in at once. Above, send_message tells the sender to wait. */
  inboxMessages: 200,
  /** Steers that still find room in a full inbox: agents that write much do not shut a person out. Above, refused. */
  inboxSteers: 50,
  /** Queued turns of one agent. Above, a send is refused. */
  queuedTurns: 1_000,
  /** Agents of one page of list_agents: 50 lines are about 4 KB of a model's context. */
  listAgents: 50,
  /** Names listed in the answer of spawn_agent; above, the first and the last of them say which they are. */
  namesListed: 200,
  /** Time that a branch stays in the trash, unless the person sets another: a month, as mail programs do. Then it is deleted for good. */
  trashKeptMs: 30 * 24 * 60 * 60_000,
  /** Rows that one slice of a deletion removes, and groups of others' events that it lets pass before it: 300 rows take about 3 ms. */
  purgeRows: 300,
  purgePasses: 20,
  /** Time that rows of the ledger stay: as long as the trash. What was spent is in the agents' rows, for ever. */
  ledgerKeptMs: 30 * 24 * 60 * 60_000,
  /** Rows of the ledger between two looks for old ones. */
  ledgerLook: 4_096,
  /** Branches that are imported at the same time. One more is answered `overloaded`. */
  arrivals: 4,
  /** Time that a branch may be on its way without a further part; then what is there of it goes. */
  arrivalIdleMs: 10 * 60_000,
  /** Lines of a part of an import, which is one step: 100 rows with their texts take about 5 ms. More are refused. */
  importLines: 100,
  /** Bytes of a part with more than one line: packing 1 MB takes 10 ms. */
  importPartBytes: 1024 * 1024,
  /** Bytes of a line of a branch's file. A longer one is refused: with the rest of its part it must fit a client's message. */
  branchLineBytes: 6 * 1024 * 1024,
  /** Bytes of a branch's file that one answer holds: as JSON within a JSON text they may double. */
  exportPageBytes: 96 * 1024,
  /** Times that an event is tried again which met a bug and belongs to nobody's turn, such as a wake-up. Then it is dropped. */
  brokenTries: 3,
  /** Pause before a commit that found the disk full is tried again. */
  diskRetryMs: 1_000,

  /** Undecided changes of one file that are looked at for overlaps, and those that a row or an agent is told of. */
  overlapsLooked: 32,
  overlapsShown: 8,

  // ------------------------------------------------------------ rpc

  /** Connections at a time: hundreds of agents' shells may each run `roost`. The next one is told `overloaded`. */
  clients: 512,
  /** Calls of one client without an answer yet. Past it a call is answered `overloaded`; waits count too. */
  pendingCalls: 256,
  /** Messages of one client that were read but not looked at. Past it nothing more is read from its socket. */
  unreadMessages: 32,
  /** Bytes of one message header. LSP needs under 100; a longer one is not our protocol: the connection ends. */
  headerBytes: 1_024,
  /** Bytes of one message from a client: the longest text of a person (1 MB), escaped. Longer: the connection ends. */
  clientMessageBytes: 8 * 1024 * 1024,
  /** A connection that has not said hello by then is closed. */
  helloMs: 5_000,
  /** Follows of one client: a panel, a tree, a badge, and room. The next one is refused. */
  followsPerClient: 64,
  /** Bytes of one frame and of one batch of frames (DESIGN §9). Longer texts are cut; the whole is paged or a blob. */
  frameBytes: 256 * 1024,
  /** Bytes that wait in a client's socket. Past it the client gets nothing until it has read, then one snapshot. */
  clientBufferBytes: 1024 * 1024,
  /** Time between frames of an agent's panel: two frames of a 60 Hz screen. What comes sooner is sent together. */
  panelFrameMs: 33,
  /** Time between frames of fleet, requests, tree and changes: nobody reads ten states a second. */
  listFrameMs: 100,
  /** Time that telling followers may take at once; the rest of them are told in the next turn of the loop (I18). */
  publishMs: 5,
  /** Text of a running answer that is kept for those who look. Past it the oldest half goes. */
  streamChars: 256 * 1024,
  /** Newest output of a running command that is kept for those who look. Past it the oldest goes. */
  outputChars: 4 * 1024,
  /** Rows of one page of a list. A larger wish gets this many and `more`. */
  pageRows: 500,
  /** Entries of one page of a log, and open changes that one follow shows; more of them are behind `more`. */
  logEntries: 200,
  changeRows: 200,
  /** Rows of a tree's window and agents it may have expanded (protocol/tree.ts). More is an error. */
  windowRows: 500,
  expandedAgents: 1_000,
  /** Bytes of one range of a blob. A larger wish gets this much and where to go on. */
  blobRangeBytes: 128 * 1024,
  /** Turns of one `turn/wait`, and its longest time; the client asks again. More turns are an error. */
  waitTurns: 1_000,
  waitMs: 60 * 60_000,
  /** Files that one `trust/set` decides about: all that a folder can have. More are an error. */
  trustHashes: 1_000,
  /** Files of servers that a person may name. More are an error. */
  serverFiles: 20,
  /** Bytes of a name, a path, a key and the like in a call. Longer is an error. */
  nameChars: 4_096,
  /** How often followers of the fleet are looked after for trouble that no commit tells. */
  troubleMs: 1_000,
  /** Time that clients have to take their last answers when the sidecar ends. */
  goodbyeMs: 500,
  /** An editor that has not said by then what is in a buffer counts as not there: the file on disk is used. */
  editorMs: 2_000,
  /** Language servers that have not answered by then are not waited for: one that loads a project takes ten seconds and more. */
  languageMs: 20_000,
  /** A client that has not given a key by then has none; long, because a keychain may ask the person first. */
  secretMs: 20_000,

  // ------------------------------------------------------------ platform

  /** Bytes of the sidecar's log, and again of the one before it. Then the older one goes. */
  logFileBytes: 4 * 1024 * 1024,
  /** Characters of one line of the log. The rest of a longer one goes. */
  logLineChars: 8 * 1024,
  /** Wall time that may pass beside the timer's before it counts as a jump (sleep, a clock that was set). */
  clockJumpMs: 2_000,
  /** The longest single timer, so that a jump of the wall clock is noticed within it. */
  clockCheckMs: 30_000,
  /** A sidecar without client and work leaves after this; the next client starts it again. */
  idleExitMs: 10 * 60_000,
  /** The same on the editor's own binary, which cannot be updated meanwhile: long enough for a window to reload. */
  editorIdleExitMs: 30_000,
  /** A timer that is due later than this does not keep the sidecar; the next client wakes it. */
  idleTimerMs: 60 * 60_000,
  /** How often idleness is looked at. */
  idleCheckMs: 15_000,
  /** Exceptions and rejections that nobody caught, in a minute. Past it the process ends and is started anew. */
  uncaughtPerMinute: 20,
  /** Time that the end may take once asked for; then the process ends anyway, and recovery does the rest. */
  shutdownMs: 5_000,
  /** Bytes of a unix socket's path: macOS takes 104, Linux 108. A longer one moves to the temporary directory. */
  socketPathBytes: 100,

  // ------------------------------------------------------------ store

  /** Ids reserved at a time by a table whose newest rows are removed. A killed process skips at most this many. */
  idLease: 1_024,
  /** Prepared UPDATE statements of one table, 6 KB each. Past it they are dropped and made again. */
  updateStatements: 128,
  /** Wait for a lock of the store that another connection holds for a moment; then the call fails. */
  storeBusyMs: 5_000,
  /** Page of a new database. */
  pageBytes: 4_096,
  /**
   * Page cache of the writer and of the reads: an upper bound, filled as pages are used, and never given back by
   * malloc. The system caches the same file: 16 MB and half a MB cost the same CPU time in a swarm of 100,000 agents.
   */
  writerCacheKib: 512,
  readerCacheKib: 256,
  /** Bytes of the WAL file that are kept when it starts over; the rest is given back to the disk. */
  walKeptBytes: 24 * 1024 * 1024,
  /**
   * Pages of the log (24 MB) from which the worker copies it into the database. At 16 MB a child of a swarm writes
   * 5 % more, because a page that is still being filled is copied more often; at 32 MB no less.
   */
  walLongFrames: 6_144,
  /** Pages of the log (256 MB) at which the loop waits until it is copied: the disk is slower than the fleet. */
  walHardFrames: 65_536,
  /** The longest that the loop waits there; a disk that is slower still lets the log grow until the next look. */
  walHardWaitMs: 2_000,
  /** Pages that the loop copies between two commits so that the log can start over: 256 pages and a sync take 2 ms. */
  walRestFrames: 256,
  /** Passes of the worker in a row; each leaves less. Past it the next look starts over. */
  walPasses: 8,
  /** Commits between two looks at the length of the log. */
  walLookCommits: 16,
  /** Time without a commit after which a short log is folded. */
  walIdleMs: 2_000,
  /** Time after a checkpoint that failed until the next one. */
  walRetryMs: 5_000,
  /** Time after its last work at which the worker ends and gives back its 9 MB. */
  walWorkerCalmMs: 10_000,
  /** Bytes set aside for the rows that say that the disk is full: 5,000 agents in flight need about 8 MB. */
  ballastBytes: 16 * 1024 * 1024,
  /** It is made in parts of this size with a pause between them, so that the loop is not held. */
  ballastPartBytes: 1024 * 1024,
  ballastPartMs: 20,
  /** Time between tries to make the ballast. */
  ballastMs: 5_000,
  /** Rows that one slice of the doctor looks at: 500 agents and their counts take about 5 ms. */
  doctorSlice: 500,
  /** Rows named by one finding; more of them are the same story. */
  doctorRows: 20,
  /** Bytes of a store up to which a running doctor lets SQLite check every page (0.1 s); above, only `roost doctor` on a copy should. */
  doctorPagesBytes: 64 * 1024 * 1024,
  /** Bytes written to find out whether the disk is full. */
  probeBytes: 64 * 1024,
  /** Bytes from which a blob is packed, and up to which: deflate at 100 MB/s must not hold the loop over 10 ms. */
  blobPackFromBytes: 1024,
  blobPackToBytes: 1024 * 1024,
  /** Bytes of a page of entries as JSON: what fits into one frame. At least one entry comes, whatever its size. */
  entryPageBytes: 256 * 1024,
  /** Bytes of the text of a turn's result. Above, it is cut and the whole is a blob. */
  resultTextBytes: 64 * 1024,
  /** Days of one cost report, and rows of hours that it adds up: 5,000 take about 5 ms. Older ones are left out. */
  costDays: 366,
  costRows: 5_000,
  /** Names of profile revisions kept in memory. Past it the names are read again. */
  profileNames: 256,
  /** Forks of forks that a transcript is followed through. Above, the oldest prefix is not shown. */
  forkChain: 1_000,
  /** Agents looked at in one call of a filter: 2,000 rows take about 4 ms. */
  searchSlice: 2_000,
  /** Matches that a filter keeps: nobody scrolls through more; a longer filter finds the rest. */
  filterMatches: 10_000,
  /** Filters that are remembered. The oldest starts over when it is asked for again. */
  searches: 8,
  /** Agents of each phase looked at to say whether a script answers: the flag is a warning, not a count. */
  scriptedLook: 200,

  // ------------------------------------------------------------ model

  /** A server that has not accepted a connection by then counts as not reached: the request is cut. */
  connectMs: 10_000,
  /** Longest silence before the first byte: providers hold the headers while a model thinks. Then the request is cut. */
  firstByteMs: 10 * 60_000,
  /** Longest silence inside an answer. Then the request is cut, and asked again by the runtime. */
  betweenBytesMs: 5 * 60_000,
  /** Time that a connection may take to end after the answer is complete; then it is given up. */
  afterAnswerMs: 5_000,
  /** Pace of the one timer that all requests share: deadlines are met to within it. */
  deadlineTickMs: 1_000,
  /** Streams of one HTTP/2 session. Providers allow 100; fewer lose fewer when a session dies. More open another. */
  streamsPerSession: 64,
  /** Free streams below which another session is opened ahead of need: a burst of this many waits for no handshake. */
  streamsAhead: 16,
  /** Connections that one provider's pool opens at the same time: a TLS handshake costs about 1 ms of the loop. */
  connecting: 16,
  /** Bodies of one provider that are being sent at the same time, a page of each in memory. More wait their turn. */
  bodiesAtOnce: 16,
  /** Requests that wait for a connection of one provider. Past it a request is cut at once. */
  waitingForConnection: 20_000,
  /** A session without streams is closed after this, and its server asked whether it lives after the second. */
  sessionIdleMs: 5 * 60_000,
  pingEveryMs: 45_000,
  /** A session whose server does not answer a ping by then is dead: its requests are cut. */
  pingAnswerMs: 15_000,
  /** Wall time that may pass beside the ticks' own before the machine counts as having slept: all sessions are asked. */
  sleepJumpMs: 10_000,
  /** Times that the transport asks again by itself when the server surely did no work; then the request is cut. */
  safeReasks: 2,
  /** Bytes of one event of a stream; a Responses answer comes whole in its last event. Past it the request is cut. */
  streamEventBytes: 8 * 1024 * 1024,
  /** Bytes of one stream: 128,000 tokens in one delta each are about 40 MB. Past it the request is cut. */
  answerStreamBytes: 64 * 1024 * 1024,
  /** Blocks of one answer. Past it the request is cut. */
  answerBlocks: 1_024,
  /** Bytes of an error body that are read, and characters of its message that are passed on. */
  errorBodyBytes: 64 * 1024,
  errorMessageChars: 600,
  /** Characters held back while an encoder looks for the end of a conversation; past them a cache mark is left out. */
  cacheTailChars: 256 * 1024,
  /** Requests to models of the editor at a time: a subscription for one person's typing, and its windows stay usable. */
  editorRequests: 4,
  /** Bytes of a script of the scripted provider. A longer one is refused. */
  scriptBytes: 4 * 1024 * 1024,

  // ------------------------------------------------------------ workspace

  /** Links followed for one path, as many as Linux follows. A path with more is refused. */
  linkHops: 40,
  /** Bytes of a file that is edited or written as text. Finding, hashing and cutting 2 MB take 5 ms. Larger is refused. */
  fileBytes: 2 * 1024 * 1024,
  /** Bytes of a version in which hunks are looked for. A larger change has no hunks: it is decided as a whole. */
  diffBytes: 1024 * 1024,
  /** Bytes of a version that is shown beside the other in a diff editor. Larger: hunks only. */
  shownFileBytes: 1024 * 1024,
  /** Lines named in the error of an edit that matches several places, or none. */
  editCandidates: 8,
  /** Matches that are counted before the error says "or more". */
  editMatches: 100,
  /** One call of git. A worktree of a very large repository takes a minute; longer, it is given up. */
  gitMs: 120_000,
  /** Output of one call of git: the status of 100,000 files. More counts as a failure. */
  gitOutputBytes: 16 * 1024 * 1024,
  /** Calls of git at a time: a swarm starts hundreds at once (case 142). More wait their turn. */
  gitAtOnce: 8,
  /** New files of the person that a worktree starts with. When there are more, none is taken along. */
  carriedFiles: 1_000,
  /** Bytes of all of them together; then none is taken along either. */
  carriedBytes: 64 * 1024 * 1024,
  /** Bytes of a changed file of the person that a worktree starts with. A larger one is as it was committed. */
  carriedFileBytes: 64 * 1024 * 1024,
  /** Files, and bytes of both sides, of one comparison of snapshots: what a command changed. More are named, without hunks. */
  comparedFiles: 200,
  comparedBytes: 8 * 1024 * 1024,
  /** Files of one comparison that git is asked for one by one, as they are checked out: those that are gone, or converted. */
  comparedSingly: 20,
  /** New files, and bytes of all of them, that one look at a folder takes before a command. More: new files have no hunks. */
  groundFiles: 2_000,
  groundBytes: 32 * 1024 * 1024,
  /** One look at a folder before or after a command; 5,000 files take 10 ms, a million 3 s. Longer: nothing is shown. */
  groundLookMs: 3_000,
  /** A folder that could not be looked at is tried again after this. */
  groundBlindMs: 5 * 60_000,
  /** Repositories in one folder whose changes are followed. Changes in more of them have no hunks. */
  groundsInside: 8,
  /** Folders that are remembered as looked at, under 1 KB each. Past it those in which no command runs are forgotten. */
  groundsKept: 1_024,
  /** Files that our own snapshots of a folder may hold before they are thrown away, once no command runs there. */
  snapshotFiles: 20_000,
  /** What an earlier process has seen of a folder is kept for so long: all its commands are taken up within seconds. */
  oldLooksMs: 10 * 60_000,
  /** What is kept of a folder in which no command has run for this long is removed. */
  snapshotsKeptMs: 7 * 24 * 60 * 60_000,
  /** Writes of Roost's own that are remembered while commands run, so that no command is taken for their author. */
  ownWrites: 1_000,
  /** Ignored files that are copied into a worktree, and their bytes: keys and settings, not packages. The rest is named. */
  includedFiles: 2_000,
  includedBytes: 256 * 1024 * 1024,
  /** Setup commands of new worktrees at a time (installing packages takes a core and the disk), and how long one may take. */
  setupsAtOnce: 2,
  setupMs: 15 * 60_000,
  /** Numbers of worktrees, and ports of each from the first on: below 32,768, where systems begin to give ports away. */
  worktreeSlots: 1_200,
  worktreePorts: 10,
  firstWorktreePort: 20_000,
  /** Bytes of all worktrees as they were checked out, and of the disk that stay free. Past either none is made. */
  worktreesBytes: 64 * 1024 * 1024 * 1024,
  worktreeFreeBytes: 1024 * 1024 * 1024,
  /** Commits whose size on disk is remembered. Past it all are looked up again. */
  checkoutSizes: 64,
  /** Worktrees of one page of a list: each is looked into by three calls of git, 30 ms with 5,000 files. */
  worktreeRows: 50,
  /** Changed files of a worktree that are compared with what was decided. With more it is kept. */
  lookedFiles: 1_000,
  /** Names of them that are shown. */
  unreviewedNamed: 20,
  /** New files of a folder that a checkpoint takes, and bytes of one that is new or has changed. The rest is named. */
  checkpointFiles: 20_000,
  checkpointFileBytes: 8 * 1024 * 1024,
  /** Bytes of all new files of a folder that one takes. With more, none is. */
  checkpointBytes: 512 * 1024 * 1024,
  /** How long it is taken for known where a folder's repository is. Moved meanwhile, its checkpoint fails. */
  repositoryKnownMs: 30_000,
  /** Folders of which that is remembered. Past it all are looked up again. */
  foldersKnown: 256,
  /** How long the first write of a turn waits for its checkpoint: 20 ms with 5,000 files. Past it there is none. */
  checkpointMs: 5_000,
  /** Repositories inside a repository that are in its checkpoints. */
  checkpointRoots: 16,
  /** Checkpoints kept of a folder, and for how long: git keeps what no ref names for two weeks, and so they can be whole. */
  checkpointsKept: 200,
  checkpointKeptMs: 7 * 24 * 60 * 60_000,
  /** Checkpoints between two looks at what may go. */
  checkpointsBetween: 50,
  /** Turns whose checkpoint is remembered as made; the oldest are looked for again on the disk. */
  checkpointTurns: 10_000,
  /** Files that a preview lists, and names of what is not in a checkpoint. */
  previewFiles: 500,
  checkpointProblems: 20,
  /** Agents at work that a preview names, and how many of those in flight are looked at. */
  atWorkNamed: 8,
  atWorkLooked: 1_000,
  /** Names that an agent is told of each kind of thing that its worktree lacks. */
  lackingNamed: 8,

  // ------------------------------------------------------------ knowledge: instructions, skills, profiles

  /** Bytes of a file of instructions, a skill or a profile. Larger is left out, and said. */
  knowledgeFileBytes: 256 * 1024,
  /**
   * Bytes of one file of instructions that agents are told, and of all together: 32 KB are about 8,000 tokens of each
   * request. The rest is cut off, and said.
   */
  instructionsBytes: 32 * 1024,
  instructionsTotalBytes: 96 * 1024,
  /** Skills and profiles of a folder: each is a line of the prompt. More are left out, and said. */
  skills: 128,
  profiles: 128,
  /** Bytes of all profiles of a folder, which are kept as one row. More are left out, and said. */
  profilesTotalBytes: 256 * 1024,
  /** Names of files beside a skill that its reader is told. More are not named. */
  skillFiles: 100,
  /** Characters of a description in lists and prompts. The rest is cut off. */
  descriptionChars: 1_024,
  /** Names looked at in one folder of skills or profiles. More are not looked at. */
  knowledgeNames: 500,
  /** Problems of a folder's files that are kept. More of them are the same story. */
  knowledgeProblems: 50,
  /** Servers of a folder. More are left out, and said. */
  servers: 64,
  /** Age up to which a look at a folder serves agents that start others; what a person starts looks anew. */
  knowledgeFreshMs: 5_000,
  /** Folders whose knowledge is kept in memory, and revisions of profiles. Past it the oldest is read again. */
  knownPlaces: 16,
  profileRevisions: 64,

  // ------------------------------------------------------------ groups: fan-outs and races

  /** Those that race. More are a fan-out: nobody puts more than these side by side. */
  raceRunners: 16,
  /** Of a group, in one answer that puts them side by side; each brings files and the head of what it said. */
  members: 20,
  /** Files of one of them that are named, characters of what it said, and bytes of what it handed in. */
  memberFiles: 50,
  memberChars: 2_000,
  memberResultBytes: 4 * 1024,
  /** What a conductor may read: its plan is one message, and no model has to take it in. */
  conductorTokens: 10_000_000,

  // ------------------------------------------------------------ servers: tools of others (MCP)

  /** Tools that one server may offer; OpenAI takes 128 in a request. More are dropped, and said. */
  offeredTools: 128,
  /** Bytes of a tool's schema, and characters of its description. A larger schema drops the tool; a text is cut. */
  offeredSchemaBytes: 16 * 1024,
  offeredDescriptionChars: 2_000,
  /** Tools of all servers that an agent is offered, and bytes of their schemas: each request pays for them. */
  remoteTools: 128,
  remoteBytes: 192 * 1024,
  /** Characters of a tool's name: what OpenAI and Anthropic take. */
  toolNameChars: 64,
  /** Pages of a list of tools. A server that has more goes in circles. */
  offerPages: 20,
  /** Names that are dropped are kept with their reasons, so many. */
  offerDropped: 50,
  /** A server must have started and listed its tools by then; agents begin without it, its tools come later (case 181). */
  serverStartMs: 10_000,
  /** A server that has not greeted by then is ended: the first `npx` of a server downloads it. */
  serverConnectMs: 120_000,
  /** A server that is reached by an address and does not answer a ping by then is gone. */
  serverPingMs: 10_000,
  /** A server that failed is tried again after this, doubling to the longest; calls fail meanwhile with the reason. */
  serverRetryFirstMs: 1_000,
  serverRetryLongestMs: 60_000,
  /** A pause that a call waits for rather than being told of it. */
  serverPatienceMs: 2_000,
  /** One call without a sign of progress, and with any. Past it, it counts as lost: unknown. */
  serverCallMs: 5 * 60_000,
  serverCallLongestMs: 60 * 60_000,
  /** A server that nobody has called for so long is ended; the next call starts it again. */
  serverIdleMs: 30 * 60_000,
  serverIdleCheckMs: 60_000,
  /** Servers that run at a time: each holds three pipes. Past it a call is refused with the number (case 30). */
  serversRunning: 32,
  /** Time between the end of its input, TERM and KILL when a server is ended. */
  serverGraceMs: 2_000,
  /** Bytes of one message of a server. A longer one ends it. */
  serverMessageBytes: 8 * 1024 * 1024,
  /** Newest bytes kept of what a server writes to standard error: why it ended is at the end. */
  serverErrorBytes: 4 * 1024,
  /** Calls of one server at a time; more wait in order. Servers of one process do one thing at a time anyway. */
  serverCalls: 16,
  /** Records of servers of a sidecar that was killed, looked at by the next one; four lives of all that may run. */
  serverRecords: 128,
  /** Files of results (images, sounds, binary resources) that are kept, and bytes of one. The oldest goes; a larger is named only. */
  receivedFiles: 500,
  receivedBytes: 6 * 1024 * 1024,
  /** Resources of a server that are listed in one answer. The rest is counted, and read by its address all the same. */
  resourcesListed: 200,
  /** Items of a result that are looked at. The rest is counted. */
  resultItems: 1_000,

  // ------------------------------------------------------------ roost lsp

  /** Pause in typing before it is asked where the hunks of a document are now. */
  lspPauseMs: 150,
  /** Open changes of one document that are shown; the rest comes when some are decided. The same as in VS Code. */
  lspChanges: 8,
  /** Lines of a hunk that its note repeats: editors show notes in a box beside the text. */
  lspHintLines: 12,
  /** How often a sidecar is looked for that cannot be started, for as long as the editor is open. */
  lspAgainMs: 10_000,

  // ------------------------------------------------------------ tools

  /** Output of a running command on disk. Past it the head and the tail are kept, and the rest is gone. */
  outputFileBytes: 4 * 1024 * 1024,
  /** What is kept of an output that is longer than both together: how it began, and how it ended. */
  outputHeadBytes: 256 * 1024,
  outputTailBytes: 768 * 1024,
  /** Share of a result's text that shows how an output began; ends say more. */
  outputHeadShare: 0.25,
  /** A command without `timeoutMs`, and the longest one: past it the group is ended. Tests of large projects take minutes. */
  commandMs: 10 * 60_000,
  commandLongestMs: 6 * 60 * 60_000,
  /** Commands in the background, of all agents and of one. More are refused, with the names of the agent's own. */
  backgroundCommands: 64,
  backgroundOfAgent: 8,
  /** One that was given no time runs for so long: servers are for a working day. */
  backgroundMs: 24 * 60 * 60_000,
  /** One that ends within this time of its start is told like any other command: a server that cannot start says so at once. */
  backgroundStartMs: 1_000,
  /** Bytes of its output that are told with its end, and that one look of a person gets. */
  backgroundEndBytes: 2 * 1024,
  commandOutputBytes: 64 * 1024,
  /** A wait for one that was given no time, and the longest; then the model is told how it stands. */
  commandWaitMs: 30_000,
  commandLongestWaitMs: 10 * 60_000,
  /** Time between TERM and KILL. */
  killGraceMs: 5_000,
  /** How often a running command's output and deadline are looked at. A short command is never looked at. */
  commandTickMs: 250,
  /** A command that runs longer is checked for being alive too, in case nobody was left to tell its end. */
  commandTrustMs: 1_000,
  /** Time for the rest of the output after a command without a record has ended; background processes may hold its pipes. */
  pipeEndMs: 200,
  /** Bytes of one command: Linux takes 128 KB for one argument. A longer one belongs into a script. */
  commandBytes: 96 * 1024,
  /** Free bytes below which a command's output is kept in memory, so that `df` still works on a full disk. */
  spoolFreeBytes: 16 * 1024 * 1024,
  /** The launcher leaves after this time without a command; the next command starts one in 5 ms. */
  launcherIdleMs: 60_000,
  /** Records of commands are kept after their result was told, in case it is told again after a crash; and how many. */
  runKeptMs: 10 * 60_000,
  runsKept: 4_096,
  runSweepMs: 60_000,
  /** Emptied run directories that wait for the next commands: as many as are started in a moment. The others are removed. */
  spareRuns: 8,
  /** Time after which they are emptied when no other command starts before. */
  spareAfterMs: 50,
  /** Characters of a name, a path or a pattern in a call: as many as Linux takes of a path. What is longer is refused, since answers repeat it. */
  argumentChars: 4_096,
  /** The login shell of the person must have said its PATH by then; without it, the PATH of the process is used. */
  loginShellMs: 5_000,
  /** Lines of a large file that are looked through for a range. Past it, a command has to do. */
  readScanBytes: 256 * 1024 * 1024,
  /** Lines that one read gives without being asked for a number. */
  readLines: 2_000,
  /** Bytes of one line that are shown; minified files have lines of megabytes. */
  lineBytes: 2_000,
  /** Entries of a directory that are listed. */
  directoryEntries: 500,
  /** Errors and warnings, and places of a name, that one answer shows; the rest is a count. As many fit 8 KB. */
  diagnosticsShown: 50,
  locationsShown: 50,
  /** Places and files that one rename changes: its splices are committed as a whole before it begins. More is refused. */
  renameEdits: 1_000,
  renameFiles: 200,
  /** Names in a message about a rename, and bytes of its diff that the model is told; the rest is counted, or cut. */
  renameNamed: 20,
  renameEchoBytes: 6 * 1024,
  /** How often an editor is asked whose text is older than the file, and the pause: its news of files come after 0.1 s. */
  renameAsks: 3,
  renameAgainMs: 300,
  /** Matching lines of one search, and how long it may take; then what was found is told, and that it is not all. */
  searchMatches: 200,
  searchMs: 20_000,
  /** Bytes of a file that is searched: larger ones are data. */
  searchFileBytes: 4 * 1024 * 1024,
  /** Bytes of a matching line that are shown, and of what ripgrep says about a wrong pattern. */
  searchLineBytes: 300,
  searchProblemChars: 1_000,
  /** Files that the search without ripgrep looks at. */
  searchFiles: 20_000,
  /** Characters of a command in the title of a request; the whole is in its detail. */
  askTitleChars: 500,
  /** Bytes of the diff that the model is told after an edit, so that it need not read the file again. */
  editEchoBytes: 4 * 1024,
  /** Bytes of the diff that a person is shown with an approval. */
  askDetailBytes: 64 * 1024,
} as const;

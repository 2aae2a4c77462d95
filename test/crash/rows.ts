// The rows of DESIGN §7's table as questions to the store: each finds the ids of what is at that point. Rows that
// files decide (a file that was written or not, a command that began or not) are told apart by `evidence.ts`.

export const rows = {
  /** After 2, before 4: a turn that was accepted and whose model was not asked yet. */
  queuedTurn: `SELECT id FROM turn WHERE state = 'queued' UNION SELECT turn FROM agent WHERE phase = 'ready'`,
  /** A model request without an answer. */
  modelInFlight: `SELECT agent.id * 1000 + agent.attempts FROM agent WHERE phase = 'asking'`,
  /** A call that was planned and not started. */
  planned: `SELECT id FROM call WHERE open = 1 AND state = 'planned'`,
  /** A read or a search that was started. */
  pureStarted: `SELECT id FROM call WHERE open = 1 AND state = 'started' AND tool IN ('read', 'search')`,
  /** A file that is being written. */
  writeStarted: `SELECT id FROM call WHERE open = 1 AND state = 'started' AND tool IN ('write', 'edit')`,
  /** A command that was started. */
  commandStarted: `SELECT id FROM call WHERE open = 1 AND state = 'started' AND tool = 'shell'`,
  /** A call of a server's tool (MCP) that acts, and one of a tool that only reads. */
  serverStarted: `SELECT id FROM call WHERE open = 1 AND state = 'started' AND tool = 'odd__note'`,
  readingServerStarted: `SELECT id FROM call WHERE open = 1 AND state = 'started' AND tool = 'odd__peek'`,
  /** A command that its call has left in the background. */
  inBackground: `SELECT call FROM background`,
  /** In flight at two crashes already: this one is the third. */
  thirdCrash: `SELECT id FROM agent WHERE crashes = 2 AND phase IN ('asking', 'calling')`,
  /** Parked: for children, for a person, for a time. */
  waitingForChildren: `SELECT id FROM agent WHERE phase = 'waiting' AND why = 'child'`,
  waitingForPerson: `SELECT id FROM request WHERE state = 'open'`,
  waitingForTimer: `SELECT id FROM timer WHERE kind IN ('wait', 'rate')`,
  /** Some children of an agent have ended and some have not. */
  halfOfTheChildren: `SELECT max(outcome.id) FROM outcome JOIN agent ON agent.id = outcome.parent WHERE agent.openChildren > 0 GROUP BY agent.id`,
} as const;

export type Row = keyof typeof rows;

export const isRow = (name: string): name is Row => name in rows;

export const rowNames: readonly Row[] = Object.keys(rows).filter(isRow);

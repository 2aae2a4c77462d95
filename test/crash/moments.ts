// The rows of DESIGN §7 as questions to the store: each finds the id of something that is at this point.

export const moments = {
  /** A turn that was accepted and has not begun. */
  queuedTurn: `SELECT id FROM turn WHERE state = 'queued' LIMIT 1`,
  /** A model request without an answer. */
  modelInFlight: `SELECT head FROM agent WHERE phase = 'asking' ORDER BY head DESC LIMIT 1`,
  /** A call that was planned and not started. */
  planned: `SELECT id FROM call WHERE open = 1 AND state = 'planned' LIMIT 1`,
  /** A read or a search that was started. */
  pureStarted: `SELECT id FROM call WHERE open = 1 AND state = 'started' AND tool IN ('read', 'search') LIMIT 1`,
  /** A file that is being written. */
  writeStarted: `SELECT id FROM call WHERE open = 1 AND state = 'started' AND tool IN ('write', 'edit') LIMIT 1`,
  /** A command that runs. */
  commandStarted: `SELECT id FROM call WHERE open = 1 AND state = 'started' AND tool = 'shell' LIMIT 1`,
  /** An agent that waits for its children. */
  waitingForChildren: `SELECT max(id) FROM outcome WHERE EXISTS (SELECT 1 FROM agent WHERE phase = 'waiting' AND why = 'child') HAVING max(id) IS NOT NULL`,
  /** Some children have told their parent how they ended and some have not. */
  halfOfTheChildren: `SELECT count(*) FROM outcome HAVING count(*) > 0 AND count(*) < (SELECT count(*) FROM agent WHERE parent > 0)`,
} as const;

export type Moment = keyof typeof moments;

export const isMoment = (name: string): name is Moment => name in moments;

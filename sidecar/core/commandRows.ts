// The row of a command that runs in the background: it is there for as long as the command runs. The other rows are
// in rows.ts.

export interface BackgroundRecord {
  id: number;
  agent: number;
  /** The call of `shell` that started it, and the turn of that. The call has its result; its number names the command. */
  call: number;
  turn: number;
  /** The command in one line. */
  title: string;
  /** `stopping`: it is being ended, also by the next process. */
  state: 'running' | 'stopping';
  /** JSON of what the tools need to find it again. */
  evidence: string;
  started: number;
  /** 1: the agent has been told its end already, so that is no note. */
  told: number;
}

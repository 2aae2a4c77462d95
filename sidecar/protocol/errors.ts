// Errors that cross the wire: a number for JSON-RPC, a stable string code for programs, a sentence for people.
// Every message says what happened and what to do about it.

export type ErrorCode =
  | 'protocol/version'
  | 'protocol/nonce'
  | 'protocol/hello'
  | 'request/unknownMethod'
  | 'request/invalid'
  | 'agent/unknown'
  | 'agent/closed'
  | 'agent/busy'
  | 'agent/nameTaken'
  /** It is in the trash, or on its way there: restore it first. */
  | 'agent/trashed'
  | 'trash/none'
  /** The file is none of ours, or is damaged. */
  | 'import/invalid'
  /** The parts before are gone, or another client imports the same: begin again. */
  | 'import/stale'
  | 'turn/unknown'
  | 'turn/none'
  | 'entry/unknown'
  | 'request/unknown'
  | 'change/unknown'
  | 'checkpoint/unknown'
  | 'checkpoint/unreadable'
  | 'call/unknown'
  | 'blob/unknown'
  | 'profile/unknown'
  | 'model/unknown'
  | 'model/noKey'
  | 'workspace/missing'
  | 'workspace/untrusted'
  | 'workspace/notGit'
  | 'workspace/noCommits'
  | 'budget/spent'
  | 'store/owned'
  | 'store/unwritable'
  | 'store/newer'
  | 'store/full'
  | 'store/fileSystem'
  | 'store/corrupt'
  | 'store/failed'
  | 'follow/unknown'
  | 'editor/none'
  /** Made by clients: the connection ended before the answer came, or no sidecar could be started. */
  | 'sidecar/lost'
  | 'sidecar/failed'
  | 'sidecar/noNode'
  | 'overloaded'
  | 'internal';

/** JSON-RPC numbers: -32000 to -32099 are ours; the rest is the standard's. */
export const errorNumber = (code: ErrorCode): number =>
  code === 'request/unknownMethod'
    ? -32601
    : code === 'request/invalid'
      ? -32602
      : code === 'internal'
        ? -32603
        : -32000;

/** The one error class of the product. `data` holds ids for the log and for programs, never text for people. */
export class RoostError extends Error {
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, string | number | null>>;

  constructor(code: ErrorCode, message: string, data: Readonly<Record<string, string | number | null>> = {}) {
    super(message);
    this.name = 'RoostError';
    this.code = code;
    this.data = data;
  }
}

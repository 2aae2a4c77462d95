// The numbers that name things. Every id is a row id of the store: it ascends, and it is never used again.
//
// Brands keep an AgentId from being passed where a TurnId is meant; on the wire and in SQLite they are
// plain integers below 2^53. This is the one file of the product that casts.

export type AgentId = number & { readonly is: 'AgentId' };
export type TurnId = number & { readonly is: 'TurnId' };
/** Id of a transcript row, and at the same time the store-wide cursor of `roost follow`. */
export type EntryId = number & { readonly is: 'EntryId' };
export type CallId = number & { readonly is: 'CallId' };
export type RequestId = number & { readonly is: 'RequestId' };
export type ChangeId = number & { readonly is: 'ChangeId' };
/** Names a file of our own beside the store, not a row; it ascends too. */
export type CheckpointId = number & { readonly is: 'CheckpointId' };
export type BlobId = number & { readonly is: 'BlobId' };
export type AttemptId = number & { readonly is: 'AttemptId' };

export const agentId = (value: number): AgentId => value as AgentId;
export const turnId = (value: number): TurnId => value as TurnId;
export const entryId = (value: number): EntryId => value as EntryId;
export const callId = (value: number): CallId => value as CallId;
export const requestId = (value: number): RequestId => value as RequestId;
export const changeId = (value: number): ChangeId => value as ChangeId;
export const checkpointId = (value: number): CheckpointId => value as CheckpointId;
export const blobId = (value: number): BlobId => value as BlobId;
export const attemptId = (value: number): AttemptId => value as AttemptId;

// Rows about whole branches: what is in the trash, what is left of what was deleted for good, what goes on in slices;
// and what a person has set for the store. The other rows, and the indexes of all, are in rows.ts.

import type { BranchLine } from '../protocol/branchFile.ts';

/** A branch in the trash: what a person has deleted, kept until it is restored, or emptied by hand or by age. */
export interface TrashRecord {
  id: number;
  /** The top of the branch. */
  agent: number;
  /** `moving`: a walk takes it in; `kept`; `leaving`: a walk brings it back; `emptying`: its rows go; `arriving`: it is being imported. */
  state: 'moving' | 'kept' | 'leaving' | 'emptying' | 'arriving';
  /** When it was deleted. */
  at: number;
  /** Agents in it when it was deleted. */
  agents: number;
}

/**
 * An agent that was deleted for good while forks of it live: its entries up to and with `upTo` are the beginning of
 * their transcripts, and stay (a fork shares its prefix by reference), with its turns and stretches up to there.
 */
export interface RemainsRecord {
  id: number;
  agent: number;
  /** What it was forked from itself: the beginning of its own entries. */
  forkAgent: number;
  forkEntry: number;
  forkStretch: number;
  upTo: number;
  /** 1: a fork of it was deleted since, so less may be needed now. */
  due: number;
}

/** What a person has set for the store: a row a name. */
export interface SettingRecord {
  id: number;
  name: 'trashKeptMs' | 'serverFiles';
  /** JSON. */
  value: string;
}

/** What is done to a whole branch, deepest first, in slices: a row for as long as it goes on, so a crash resumes it. */
export interface WalkRecord {
  id: number;
  kind: 'close' | 'delete' | 'restore';
  /** The top of the branch. */
  agent: number;
  /** The agent that was visited last; 0: none yet. */
  cursor: number;
  /** Agents whose turn was stopped so far. */
  stopped: number;
  /** Key of the client that asked. */
  key: string;
}

/** A place in the file of a branch: in front of an agent, of entries of it, or of its changes, with an id above `after`. */
export interface BranchPlace {
  readonly agent: number;
  readonly part: 'agent' | 'entries' | 'changes';
  readonly after: number;
  /** The turn whose line is written already; 0: none. */
  readonly turn: number;
}

/** A line, and the place behind it. */
export interface PlacedLine {
  readonly line: BranchLine;
  readonly next: BranchPlace;
}

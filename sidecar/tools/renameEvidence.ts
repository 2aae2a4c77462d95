// What a rename commits before it writes: for each file the hashes of its bytes before and after, and the splices
// between them. After a crash each file says itself how far it got.

import type { Json } from '../protocol/json.ts';
import type { Splice } from './renamePlan.ts';
import { isObject } from './tool.ts';

export interface PlannedFile {
  /** Relative to the workspace, with forward slashes. */
  readonly path: string;
  readonly before: string;
  readonly after: string;
  readonly splices: readonly Splice[];
}

export interface RenameEvidence {
  /** The setup of a worktree that the person was asked about; null: none. */
  readonly setup: string | null;
  readonly files: readonly PlannedFile[];
  /** Places that are left to the agent. */
  readonly left: readonly string[];
  readonly fileOperations: number;
}

export function evidenceOf({ setup, files, left, fileOperations }: RenameEvidence): Json {
  return {
    setup,
    left,
    fileOperations,
    files: files.map((file) => ({
      ...file,
      splices: file.splices.map(({ at, gone, come }) => [at, gone, come]),
    })),
  };
}

/** Null: it is not what `evidenceOf` makes. */
export function readEvidence(evidence: Json): RenameEvidence | null {
  if (!isObject(evidence)) return null;
  const { setup, files, left, fileOperations } = evidence;
  if (!Array.isArray(files) || !Array.isArray(left) || typeof fileOperations !== 'number') return null;
  const read = files.map(fileOf);
  const good = read.filter((file) => file !== null);
  if (good.length !== read.length) return null;
  return {
    setup: typeof setup === 'string' ? setup : null,
    files: good,
    left: left.filter((each) => typeof each === 'string'),
    fileOperations,
  };
}

function fileOf(json: Json): PlannedFile | null {
  if (!isObject(json)) return null;
  const { path, before, after, splices } = json;
  if (typeof path !== 'string' || typeof before !== 'string' || typeof after !== 'string') return null;
  if (!Array.isArray(splices)) return null;
  const read = splices.map(spliceOf).filter((splice) => splice !== null);
  return read.length === splices.length ? { path, before, after, splices: read } : null;
}

function spliceOf(json: Json): Splice | null {
  if (!Array.isArray(json)) return null;
  const [at, gone, come] = json;
  if (typeof at !== 'number' || typeof gone !== 'string' || typeof come !== 'string') return null;
  return { at, gone, come };
}

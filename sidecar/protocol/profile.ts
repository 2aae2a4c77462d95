// Profiles of a folder, and the files that its agents are told: what `profile/list` gives.

import type { Isolation, Mode } from './agent.ts';

/** `pending`: nobody has decided on the file in its present form, and agents are asked about it when they start. */
export type TrustState = 'trusted' | 'denied' | 'pending';

export interface ProfileRow {
  readonly name: string;
  readonly description: string;
  /** Label of its file; null: it comes with Roost. */
  readonly source: string | null;
  readonly state: TrustState;
  readonly isolation: Isolation;
  /** null: of whoever starts it. */
  readonly mode: Mode | null;
  /** provider/model; null: of whoever starts it, or the default. */
  readonly model: string | null;
  /** null: all. */
  readonly tools: readonly string[] | null;
  /** Another one of the same name goes before it. */
  readonly hidden: boolean;
}

export interface KnownFileRow {
  /** `server`: a program, or an address, whose tools agents may call (MCP). */
  readonly kind: 'instructions' | 'skill' | 'profile' | 'server';
  /** Relative to the top of the repository, or to the home directory with `~/`. */
  readonly label: string;
  /** Absolute. */
  readonly path: string;
  /** SHA-256 of its kind and its bytes, hex: what `trust/set` decides about. */
  readonly hash: string;
  readonly sizeBytes: number;
  readonly state: TrustState;
}

export interface ProfileList {
  /** The folder, links resolved. */
  readonly workspace: string;
  /** Those of files first, in order of precedence. */
  readonly profiles: readonly ProfileRow[];
  readonly files: readonly KnownFileRow[];
  /** Files that cannot be used, or only in part: what is wrong and what was done about it. */
  readonly problems: readonly { readonly label: string; readonly message: string }[];
}

// Servers of tools (MCP) of a folder: what `mcp/list` gives.

import type { TrustState } from './profile.ts';

/** `idle`: it runs when somebody calls one of its tools. */
export type ServerState = 'idle' | 'starting' | 'running' | 'failed';

export interface ServerToolRow {
  /** As the server names it; models are offered it as `server__tool`. */
  readonly name: string;
  readonly description: string;
  /** The server says that it changes nothing: it is not asked about, and run again when it was lost. */
  readonly reading: boolean;
}

export interface ServerRow {
  readonly name: string;
  /** The file that defines it, and its name there. */
  readonly label: string;
  /** The file, absolute. */
  readonly path: string;
  /** SHA-256 of its definition in this folder, hex: what `trust/set` decides about. */
  readonly hash: string;
  readonly trust: TrustState;
  /** Another one of the same name goes before it. */
  readonly hidden: boolean;
  readonly transport: 'stdio' | 'http';
  /** The command or the address, without what looks like a secret. */
  readonly line: string;
  /** Names of the variables or headers that it is given; their values are never told. */
  readonly given: readonly string[];
  readonly state: ServerState;
  readonly pid: number | null;
  /** What is wrong with it, and what to do. */
  readonly problem: string | null;
  /** What it offered when it was asked last; agents that are started are offered these. Null: it was never asked. */
  readonly tools: readonly ServerToolRow[] | null;
  /** Tools that cannot be used, and why. */
  readonly dropped: readonly { readonly name: string; readonly reason: string }[];
}

export interface ServerList {
  /** The folder, links resolved. */
  readonly workspace: string;
  readonly servers: readonly ServerRow[];
  /** Definitions that cannot be used: what is wrong with them. */
  readonly problems: readonly { readonly label: string; readonly message: string }[];
}

/** The part of the wire's table (methods.ts) that is about servers of tools. */
export interface ServerMethods {
  /** Servers of tools (MCP) that a folder and the person define. With `connect` those that are trusted are asked anew. */
  'mcp/list': {
    params: { readonly workspace: string; readonly connect: boolean };
    result: ServerList;
  };
  /**
   * Ends a server, and forgets why it could not be used: the next call starts it again, or `mcp/list` with `connect`. Calls
   * that it is in the middle of are lost: those of tools that act become unknown.
   */
  'mcp/restart': {
    params: { readonly workspace: string; readonly hash: string };
    /** Whether it ran. */
    result: { readonly ended: boolean };
  };
  /** Files of servers that are the person's own, beside `~/.roost/mcp.json`: absolute paths, in place of those before. */
  'mcp/files': {
    params: { readonly files: readonly string[]; readonly key: string };
    result: Record<string, never>;
  };
}

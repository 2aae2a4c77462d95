// Agents as clients see them: the record, with the names it refers to, turned into an AgentRow.
//
// Promises: every query is by row id or by a declared index, and returns at most the limit asked for.
// Not here: the windowed tree (treeReads.ts).

import type DatabaseConstructor from 'better-sqlite3';
import type { AgentRecord, BlobRecord } from '../core/rows.ts';
import type { AgentRow } from '../protocol/agent.ts';
import { agentId, turnId } from '../protocol/ids.ts';
import { limits } from '../runtime/limits.ts';
import { unpackBlob } from './blobs.ts';

type Database = DatabaseConstructor.Database;
type Statement<Row> = DatabaseConstructor.Statement<unknown[], Row>;

interface StoredAgent extends AgentRecord {
  /** Null only in a damaged store. */
  readonly workspace: string | null;
}

const select = 'SELECT *, (SELECT path FROM place WHERE place.id = agent.place) AS workspace FROM agent';

export class AgentReads {
  readonly #byId: Statement<StoredAgent>;
  readonly #named: Statement<number>;
  readonly #children: Statement<StoredAgent>;
  readonly #failed: Statement<StoredAgent>;
  readonly #profileBlob: Statement<BlobRecord>;
  /** Names of profile revisions by blob: a blob never changes, and a fleet has few. */
  readonly #profiles = new Map<number, string>();

  constructor(database: Database) {
    this.#byId = database.prepare(`${select} WHERE agent.id = +?`);
    this.#named = database
      .prepare<unknown[], number>(
        'SELECT id FROM agent INDEXED BY "agent.named" WHERE detached = 0 AND parent = +? AND name = +? ORDER BY id DESC LIMIT 1',
      )
      .pluck();
    this.#children = database.prepare(
      `${select.replace('FROM agent', 'FROM agent INDEXED BY "agent.children"')}
        WHERE agent.detached = 0 AND agent.parent = +? AND agent.id > ? ORDER BY agent.id LIMIT ? + 0`,
    );
    this.#failed = database.prepare(
      `${select.replace('FROM agent', 'FROM agent INDEXED BY "agent.failed"')}
        WHERE agent.rank = 3 AND agent.trash = 0 ORDER BY agent.id DESC LIMIT ? + 0`,
    );
    this.#profileBlob = database.prepare('SELECT * FROM blob WHERE id = ?');
  }

  agent(id: number): AgentRow | undefined {
    const stored = this.#byId.get(id);
    return stored === undefined ? undefined : this.#row(stored);
  }

  /** Follows names from a root, separated by `/`. Of agents with the same name the newest is meant. */
  agentByName(path: string): AgentRow | undefined {
    const names = path.split('/');
    if (names.length > limits.depth) return undefined;
    let id = 0;
    for (const name of names) {
      const found = this.#named.get(id, name);
      if (found === undefined) return undefined;
      id = found;
    }
    return this.agent(id);
  }

  /** Children of an agent (0: the roots) by id. */
  agents(
    parent: number,
    after: number,
    limit: number,
  ): { readonly rows: readonly AgentRow[]; readonly more: boolean } {
    const wanted = Math.min(limit, limits.pageRows);
    const stored = this.#children.all(parent, after, wanted + 1);
    return { rows: stored.slice(0, wanted).map((row) => this.#row(row)), more: stored.length > wanted };
  }

  /** Agents whose last turn failed, newest first. */
  failed(limit: number): readonly AgentRow[] {
    return this.#failed.all(limit).map((row) => this.#row(row));
  }

  #row(stored: StoredAgent): AgentRow {
    return {
      id: agentId(stored.id),
      parent: stored.parent === 0 ? null : agentId(stored.parent),
      root: agentId(stored.root),
      depth: stored.depth,
      name: stored.name,
      task: stored.task,
      profile: this.#profileName(stored.profile),
      model: stored.model,
      isolation: stored.isolation,
      mode: stored.mode,
      workspace: stored.workspace ?? '',
      phase: stored.phase,
      why: stored.why,
      sinceMs: stored.since,
      turn: stored.turn === 0 ? null : turnId(stored.turn),
      last: stored.last === 0 ? null : turnId(stored.last),
      outcome: stored.outcome,
      doing: stored.doing,
      queued: stored.queued,
      children: stored.children,
      changes: stored.changes,
      commands: stored.commands,
      trashed: stored.trash !== 0,
      branch: {
        agents: stored.bAgents,
        running: stored.bRunning,
        waiting: stored.bWaiting,
        needs: stored.bNeeds,
        failed: stored.bFailed,
        done: stored.bDone,
        microUsd: stored.bMicroUsd,
        tokens: stored.bTokens,
      },
      budget: {
        microUsd: stored.maxMicroUsd,
        tokens: stored.maxTokens,
        agents: stored.maxAgents,
        depth: stored.maxDepth,
        // Kept as the moment it ends; shown as the length it was given.
        wallMs: stored.endBy === null ? null : stored.endBy - stored.created,
      },
    };
  }

  #profileName(blob: number): string {
    const known = this.#profiles.get(blob);
    if (known !== undefined) return known;
    const stored = this.#profileBlob.get(blob);
    const name = stored === undefined ? '' : nameIn(Buffer.from(unpackBlob(stored)).toString('utf8'));
    if (this.#profiles.size >= limits.profileNames) this.#profiles.clear();
    this.#profiles.set(blob, name);
    return name;
  }
}

/** The `name` of a profile's JSON; empty when it has none. */
function nameIn(json: string): string {
  const parsed: unknown = JSON.parse(json);
  if (typeof parsed !== 'object' || parsed === null || !('name' in parsed)) return '';
  return typeof parsed.name === 'string' ? parsed.name : '';
}

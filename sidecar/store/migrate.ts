// Makes a new database a store, and brings the store of an older build forward.
//
// Promises: a newer store is refused and not touched (case 105); an older one is copied beside itself first, then
// brought forward in one transaction: killed in the middle, it is as it was. A file that is not ours is refused.
// Not here: the tables (schema.ts).

import { closeSync, constants, copyFileSync, fsyncSync, openSync, renameSync } from 'node:fs';
import type DatabaseConstructor from 'better-sqlite3';
import { RoostError } from '../protocol/errors.ts';
import { applicationId, schemaSql, schemaVersion } from './schema.ts';

type Database = DatabaseConstructor.Database;

/** What this build knows of the store's format. The steps are a parameter so that tests can have a history. */
export interface Format {
  readonly version: number;
  /** SQL that makes an empty database a store of this version. */
  readonly create: readonly string[];
  /** `steps[n]` brings a store of version n + 1 to n + 2. */
  readonly steps: readonly ((database: Database) => void)[];
}

/**
 * From 1 to 2: what a request in flight holds, and how far the open turn is, move to the agent's row. Numbers of
 * attempts go on above those of the ledger, whose ids named them until now.
 */
function attemptsToAgents(database: Database): void {
  for (const column of ['attempts', 'heldMicroUsd', 'heldTokens', 'rounds', 'tries', 'empties'])
    database.exec(`ALTER TABLE agent ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`);
  database.exec(`
    UPDATE agent SET (rounds, tries, empties) =
      (SELECT rounds, tries, empties FROM turn WHERE turn.id = agent.turn) WHERE turn <> 0;
    UPDATE agent SET (heldMicroUsd, heldTokens) = (SELECT sum(heldMicroUsd), sum(heldTokens)
      FROM ledger WHERE ledger.agent = agent.id AND ledger.state = 'open')
      WHERE id IN (SELECT agent FROM ledger WHERE state = 'open');
    UPDATE agent SET attempts = (SELECT ifnull(max(id), 0) FROM ledger);
    DROP INDEX "ledger.open";
    DELETE FROM ledger WHERE state = 'open';
    ALTER TABLE ledger ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
    UPDATE ledger SET attempt = id;
    ALTER TABLE ledger DROP COLUMN heldMicroUsd;
    ALTER TABLE ledger DROP COLUMN heldTokens;
    ALTER TABLE turn DROP COLUMN rounds;
    ALTER TABLE turn DROP COLUMN tries;
    ALTER TABLE turn DROP COLUMN empties;
  `);
}

/** From 2 to 3: what folders tell agents, what a person trusts of it, and a profile for the turn after this one. */
function knowledgeOfFolders(database: Database): void {
  database.exec(`
    ALTER TABLE agent ADD COLUMN nextProfile INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE "knowledge" (id INTEGER PRIMARY KEY, "place" INTEGER NOT NULL, "blob" INTEGER NOT NULL) STRICT;
    CREATE INDEX "knowledge.place" ON "knowledge" ("place");
    CREATE TABLE "trust" (id INTEGER PRIMARY KEY, "at" INTEGER NOT NULL, "verdict" TEXT NOT NULL,
      "hash" TEXT NOT NULL, "label" TEXT NOT NULL) STRICT;
    CREATE INDEX "trust.hash" ON "trust" ("hash");
  `);
}

/**
 * From 3 to 4: how the last process ended, which restart a model was told of, and outcomes that a command of the
 * parent was told. No index of turns that wait for a slot: nobody asks for all of them.
 */
function processesAndCommands(database: Database): void {
  database.exec(`
    DROP INDEX "agent.ready";
    ALTER TABLE agent ADD COLUMN restarted INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE turn ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE outcome ADD COLUMN via INTEGER;
    CREATE INDEX "outcome.via" ON outcome (via) WHERE via IS NOT NULL;
    CREATE TABLE process (id INTEGER PRIMARY KEY, started INTEGER NOT NULL, ended INTEGER NOT NULL) STRICT;
    CREATE INDEX "process.started" ON process (started);
    UPDATE turn SET told = outcome.id FROM outcome WHERE outcome.turn = turn.id;
  `);
}

/** From 4 to 5: a conflict is a mark on an open change; who has an open change of a file is an index. */
function touches(database: Database): void {
  database.exec(`
    ALTER TABLE change ADD COLUMN conflict INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE change ADD COLUMN ranges TEXT NOT NULL DEFAULT '';
    UPDATE change SET state = 'open', conflict = 1 WHERE state = 'conflict';
    CREATE INDEX "change.file" ON "change" ("path") WHERE "state" = 'open';
  `);
}

/** From 5 to 6: typed results, which task of the parent a turn answers, steers that came too late, and the last turn. */
function typedResults(database: Database): void {
  for (const column of ['schema', 'misses', 'result', 'last'])
    database.exec(`ALTER TABLE agent ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`);
  for (const column of ['schema', 'revision'])
    database.exec(`ALTER TABLE turn ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`);
  database.exec(`
    ALTER TABLE turn ADD COLUMN late INTEGER;
    CREATE INDEX "turn.late" ON turn (late) WHERE late IS NOT NULL;
    UPDATE turn SET revision = ifnull((SELECT revision FROM agent WHERE agent.id = turn.agent), 0);
    UPDATE turn SET result = NULL WHERE state = 'open';
    UPDATE agent SET last = ifnull((SELECT max(turn.id) FROM turn INDEXED BY "turn.agent"
      WHERE turn.agent = agent.id AND turn.state = 'ended' AND turn.last <> 0), 0);
  `);
}

/** From 6 to 7: changes that commands made, of which it is not always known whose they are. */
function doubts(database: Database): void {
  database.exec(`ALTER TABLE change ADD COLUMN doubt TEXT NOT NULL DEFAULT ''`);
}

/** From 7 to 8: the trash, walks over branches, and lists that pass over what is in the trash. */
function trashOfBranches(database: Database): void {
  const counts = ['Agents', 'Running', 'Waiting', 'Needs', 'Failed', 'Done'];
  const sums = (each: (sum: string, column: string, shown: (row: string) => string) => string): string =>
    [
      ...counts.map((count) => each(count.toLowerCase(), `b${count}`, (row) => ` * (1 - ${row}.detached)`)),
      ...['microUsd', 'tokens'].map((sum) => each(sum, sum === 'tokens' ? 'bTokens' : 'bMicroUsd', () => '')),
    ].join(', ');
  database.exec(`
    ALTER TABLE agent ADD COLUMN trash INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE agent ADD COLUMN detached INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE "change" ADD COLUMN trash INTEGER NOT NULL DEFAULT 0;
    DROP INDEX "agent.children"; DROP INDEX "agent.ranked"; DROP INDEX "agent.named"; DROP INDEX "agent.failed";
    DROP INDEX "change.open"; DROP INDEX "change.file";
    CREATE INDEX "change.file" ON "change" (trash, path) WHERE state = 'open';
    CREATE INDEX "agent.children" ON agent (parent) WHERE detached = 0;
    CREATE INDEX "agent.ranked" ON agent (parent, rank) WHERE detached = 0;
    CREATE INDEX "agent.named" ON agent (parent, name) WHERE detached = 0;
    CREATE INDEX "agent.detached" ON agent (parent) WHERE detached = 1;
    CREATE INDEX "agent.failed" ON agent (trash) WHERE rank = 3;
    CREATE INDEX "change.open" ON "change" (trash) WHERE state = 'open';
    CREATE TABLE trash (id INTEGER PRIMARY KEY, agent INTEGER NOT NULL, state TEXT NOT NULL,
      at INTEGER NOT NULL, agents INTEGER NOT NULL) STRICT;
    CREATE INDEX "trash.state" ON trash (state);
    CREATE TABLE walk (id INTEGER PRIMARY KEY, agent INTEGER NOT NULL, kind TEXT NOT NULL,
      cursor INTEGER NOT NULL, stopped INTEGER NOT NULL, "key" TEXT NOT NULL) STRICT;
    CREATE INDEX "walk.agent" ON walk (agent);
    CREATE INDEX "walk.key" ON walk ("key");
    CREATE TABLE remains (id INTEGER PRIMARY KEY, agent INTEGER NOT NULL, forkAgent INTEGER NOT NULL,
      forkEntry INTEGER NOT NULL, upTo INTEGER NOT NULL, due INTEGER NOT NULL) STRICT;
    CREATE INDEX "remains.agent" ON remains (agent);
    CREATE INDEX "remains.forks" ON remains (forkAgent, forkEntry) WHERE forkAgent <> 0;
    CREATE INDEX "remains.due" ON remains (due) WHERE due = 1;
    CREATE TABLE setting (id INTEGER PRIMARY KEY, name TEXT NOT NULL, value TEXT NOT NULL) STRICT;
    CREATE INDEX "setting.name" ON setting (name);
    CREATE INDEX "agent.forks" ON agent (forkAgent, forkEntry) WHERE forkAgent <> 0;
    CREATE INDEX "verdict.of" ON verdict ("change");
    ALTER TABLE total ADD COLUMN moves INTEGER NOT NULL DEFAULT 0;
    DROP TRIGGER rootMade; DROP TRIGGER rootGone; DROP TRIGGER rootMoved;
    DROP TRIGGER changeMade; DROP TRIGGER changeGone; DROP TRIGGER changeMoved;
    CREATE TRIGGER rootMade AFTER INSERT ON agent WHEN NEW.parent = 0 BEGIN UPDATE total SET
      roots = roots + 1 - NEW.detached,
      ${sums((sum, column, shown) => `${sum} = ${sum} + NEW.${column}${shown('NEW')}`)}; END;
    CREATE TRIGGER rootGone AFTER DELETE ON agent WHEN OLD.parent = 0 BEGIN UPDATE total SET
      roots = roots - 1 + OLD.detached,
      ${sums((sum, column, shown) => `${sum} = ${sum} - OLD.${column}${shown('OLD')}`)}; END;
    CREATE TRIGGER rootMoved AFTER UPDATE OF ${counts.map((count) => `b${count}`).join(', ')}, bMicroUsd, bTokens,
      detached ON agent WHEN NEW.parent = 0 BEGIN UPDATE total SET roots = roots + OLD.detached - NEW.detached,
      ${sums((sum, column, shown) => `${sum} = ${sum} + NEW.${column}${shown('NEW')} - OLD.${column}${shown('OLD')}`)}; END;
    CREATE TRIGGER branchMoved AFTER UPDATE OF detached ON agent BEGIN UPDATE total SET moves = moves + 1; END;
    CREATE TRIGGER changeMade AFTER INSERT ON "change" WHEN NEW.state = 'open' AND NEW.trash = 0
      BEGIN UPDATE total SET reviews = reviews + 1; END;
    CREATE TRIGGER changeGone AFTER DELETE ON "change" WHEN OLD.state = 'open' AND OLD.trash = 0
      BEGIN UPDATE total SET reviews = reviews - 1; END;
    CREATE TRIGGER changeMoved AFTER UPDATE OF state, trash ON "change"
      WHEN (NEW.state = 'open' AND NEW.trash = 0) <> (OLD.state = 'open' AND OLD.trash = 0)
      BEGIN UPDATE total SET reviews = reviews + (NEW.state = 'open' AND NEW.trash = 0)
        - (OLD.state = 'open' AND OLD.trash = 0); END;
  `);
}

/** From 8 to 9: rewinds. Every transcript there is is one stretch, and nobody knows in which turns agents were started. */
function rewinds(database: Database): void {
  for (const column of ['forkStretch', 'stretch', 'born'])
    database.exec(`ALTER TABLE agent ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`);
  database.exec(`
    ALTER TABLE turn ADD COLUMN stretch INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE stretch (id INTEGER PRIMARY KEY, agent INTEGER NOT NULL, first INTEGER NOT NULL,
      fromAgent INTEGER NOT NULL, fromEntry INTEGER NOT NULL, fromStretch INTEGER NOT NULL) STRICT;
  `);
}

/** From 9 to 10: which files agents made, for going back to before they did. */
function madeFiles(database: Database): void {
  database.exec(`
    CREATE INDEX "change.made" ON "change" (path) WHERE kind = 'create';
  `);
}

/** From 10 to 11: what is left of an agent that forks begin with knows its stretch, and stretches are found by agent. */
function remainsOfLines(database: Database): void {
  database.exec(`
    ALTER TABLE remains ADD COLUMN forkStretch INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX "stretch.agent" ON stretch (agent);
  `);
}

/** From 11 to 12: prices and models of profiles that a person sets, and what was spent, added up by hour. */
function prices(database: Database): void {
  const sums = 'requests, lost, input, output, cacheRead, cacheWrite, microUsd';
  const added = `l.at / 3600000, l.model, count(*), sum(l.state = 'lost'), sum(l.input), sum(l.output),
    sum(l.cacheRead), sum(l.cacheWrite), sum(l.microUsd)`;
  database.exec(`
    CREATE TABLE "price" (id INTEGER PRIMARY KEY, "model" TEXT NOT NULL, "input" INTEGER NOT NULL,
      "output" INTEGER NOT NULL, "cacheRead" INTEGER NOT NULL, "cacheWrite" INTEGER NOT NULL) STRICT;
    CREATE INDEX "price.model" ON "price" ("model");
    CREATE TABLE "role" (id INTEGER PRIMARY KEY, "profile" TEXT NOT NULL, "model" TEXT NOT NULL) STRICT;
    CREATE INDEX "role.profile" ON "role" ("profile");
    CREATE TABLE "spend" (id INTEGER PRIMARY KEY, "root" INTEGER NOT NULL, "hour" INTEGER NOT NULL,
      "model" TEXT NOT NULL, "requests" INTEGER NOT NULL, "lost" INTEGER NOT NULL, "input" INTEGER NOT NULL,
      "output" INTEGER NOT NULL, "cacheRead" INTEGER NOT NULL, "cacheWrite" INTEGER NOT NULL,
      "microUsd" INTEGER NOT NULL) STRICT;
    CREATE INDEX "spend.root" ON "spend" ("root", "hour", "model");
    CREATE TABLE "folded" (id INTEGER PRIMARY KEY, "upTo" INTEGER NOT NULL) STRICT;
    CREATE INDEX "folded.upTo" ON "folded" ("upTo");
    ALTER TABLE ledger ADD COLUMN root INTEGER NOT NULL DEFAULT 0;
    UPDATE ledger SET root = agent.root FROM agent WHERE agent.id = ledger.agent;
    INSERT INTO spend (root, hour, model, ${sums})
      SELECT l.root, ${added} FROM ledger AS l WHERE l.root <> 0 GROUP BY 1, 2, 3;
    INSERT INTO spend (root, hour, model, ${sums})
      SELECT 0, ${added} FROM ledger AS l GROUP BY 1, 2, 3;
    INSERT INTO folded (upTo) SELECT ifnull(max(id), 0) FROM ledger;
  `);
}

/** From 12 to 13: what servers of tools offer. */
function offersOfServers(database: Database): void {
  database.exec(`
    CREATE TABLE "offer" (id INTEGER PRIMARY KEY, "blob" INTEGER NOT NULL, "at" INTEGER NOT NULL,
      "server" TEXT NOT NULL) STRICT;
    CREATE INDEX "offer.server" ON "offer" ("server");
  `);
}

/** From 13 to 14: commands that run in the background. */
function commandsInBackground(database: Database): void {
  database.exec(`
    ALTER TABLE agent ADD COLUMN commands INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE background (id INTEGER PRIMARY KEY, agent INTEGER NOT NULL, "call" INTEGER NOT NULL,
      turn INTEGER NOT NULL, state TEXT NOT NULL, started INTEGER NOT NULL, told INTEGER NOT NULL,
      title TEXT NOT NULL, evidence TEXT NOT NULL) STRICT;
    CREATE INDEX "background.agent" ON background (agent);
    CREATE INDEX "background.call" ON background ("call");
  `);
}

/** From 14 to 15: what of a transcript is sent, how much of it a cache had, and which model answers with how much effort. */
function contexts(database: Database): void {
  const counts =
    'context seenTokens seenBytes compacting handed cacheable cacheRead bCacheable bCacheRead'.split(' ');
  for (const column of counts)
    database.exec(`ALTER TABLE agent ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`);
  database.exec(`
    ALTER TABLE agent ADD COLUMN homeModel TEXT;
    ALTER TABLE agent ADD COLUMN effort TEXT;
    ALTER TABLE turn ADD COLUMN model TEXT;
    CREATE INDEX "entry.context" ON "entry" ("agent") WHERE "kind" = 'context';
  `);
}

export const format: Format = {
  version: schemaVersion,
  create: schemaSql(),
  steps: [
    attemptsToAgents,
    knowledgeOfFolders,
    processesAndCommands,
    touches,
    typedResults,
    doubts,
    trashOfBranches,
    rewinds,
    madeFiles,
    remainsOfLines,
    prices,
    offersOfServers,
    commandsInBackground,
    contexts,
  ],
};

/**
 * Brings a database to the format of this build. Nobody else may have it open.
 * @throws RoostError `store/newer`, or `store/corrupt` when it is a database of something else.
 */
export function prepareSchema(database: Database, wanted: Format = format): void {
  const application = database.pragma('application_id', { simple: true });
  const version = Number(database.pragma('user_version', { simple: true }));
  if (application === 0 && version === 0 && isEmpty(database)) {
    create(database, wanted);
    return;
  }
  if (application !== applicationId) {
    throw new RoostError(
      'store/corrupt',
      `${database.name} is not a store of Roost. Choose another folder with --store.`,
    );
  }
  if (version > wanted.version) {
    throw new RoostError(
      'store/newer',
      `The store was written by a newer Roost (format ${version}, this one knows ${wanted.version}). Update Roost, or choose another folder with --store.`,
      { version },
    );
  }
  if (version < wanted.version) bringForward(database, version, wanted);
}

/** Where the copy of a store of an older format is put. */
export const backupName = (file: string, version: number): string => `${file}.v${version}.backup`;

function isEmpty(database: Database): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
}

function create(database: Database, wanted: Format): void {
  database.transaction(() => {
    for (const sql of wanted.create) database.exec(sql);
    database.pragma(`application_id = ${applicationId}`);
    database.pragma(`user_version = ${wanted.version}`);
  })();
}

function bringForward(database: Database, version: number, wanted: Format): void {
  if (!database.memory) backUp(database, version);
  database
    .transaction(() => {
      for (const step of wanted.steps.slice(version - 1, wanted.version - 1)) step(database);
      database.pragma(`user_version = ${wanted.version}`);
    })
    .exclusive();
}

/** Copies the database, whole or not at all: under another name first, synced, then renamed. */
function backUp(database: Database, version: number): void {
  // Afterwards everything is in the one file. A clone costs no room and no time where the file system has them.
  database.pragma('wal_checkpoint(TRUNCATE)');
  const target = backupName(database.name, version);
  const half = `${target}.part`;
  copyFileSync(database.name, half, constants.COPYFILE_FICLONE);
  const handle = openSync(half, 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(half, target);
}

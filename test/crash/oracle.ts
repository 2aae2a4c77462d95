// The oracle of the crash tests, a program of its own: `node oracle.ts DATABASE EFFECTS`.
//
// Reads the store with its own SQL and the file to which commands appended (call, pid), and prints as JSON what
// is wrong: a call whose command ran twice, or not at all although its result says that it did, or that ended with
// another code than its result says; a turn that was accepted and has no end; an agent that is not at rest; a call
// without exactly one result; an outcome told twice.

import { existsSync, readFileSync } from 'node:fs';
import process from 'node:process';
import Database from 'better-sqlite3';
import { codeOf, codeText } from './tasks.ts';

const [file = '', effects = ''] = process.argv.slice(2);
const database = new Database(file, { readonly: true });
const problems: string[] = [];

const ran = new Map<number, string[]>();
for (const line of existsSync(effects) ? readFileSync(effects, 'utf8').split('\n') : []) {
  const [call, pid] = line.split(' ');
  if (line === '') continue;
  ran.set(Number(call), [...(ran.get(Number(call)) ?? []), pid ?? '']);
}

interface Call {
  readonly id: number;
  readonly tool: string;
  readonly state: string;
  readonly open: number;
  readonly body: string | null;
}

const calls = database
  .prepare<unknown[], Call>(
    `SELECT call.id, call.tool, call.state, call.open, entry.body FROM call LEFT JOIN entry ON entry.id = call.result`,
  )
  .all();
const unknown: number[] = [];
for (const call of calls) {
  if (call.open === 1) problems.push(`call ${call.id} (${call.tool}) is still open`);
  const times = ran.get(call.id)?.length ?? 0;
  if (times > 1) problems.push(`the command of call ${call.id} ran ${times} times`);
  if (call.state === 'unknown') unknown.push(call.id);
  const input = call.tool === 'shell' ? (inputOf(call.id) ?? '') : '';
  const notes = input.includes(effects);
  const code = input.includes(codeText) ? codeOf(call.id) : null;
  if (code !== null && call.state === 'done' && !(call.body ?? '').includes(`exit code ${code}`))
    problems.push(`the result of call ${call.id} does not say exit code ${code}: ${call.body ?? 'nothing'}`);
  if (notes && times === 0 && call.state === 'done' && !(call.body ?? '').includes('Nothing was run.')) {
    problems.push(`the command of call ${call.id} is done and left no trace`);
  }
}
for (const id of ran.keys()) {
  if (!calls.some((call) => call.id === id)) problems.push(`call ${id} ran and is not in the store`);
}

const count = (sql: string): number => database.prepare<unknown[], number>(sql).pluck().get() ?? 0;
const none = (sql: string, what: string): void => {
  const found = count(sql);
  if (found > 0) problems.push(`${found} ${what}`);
};
none(`SELECT count(*) FROM turn WHERE state <> 'ended'`, 'turns have not ended');
none(`SELECT count(*) FROM turn WHERE state = 'ended' AND outcome <> 'done'`, 'turns are not done');
none(`SELECT count(*) FROM agent WHERE phase <> 'idle'`, 'agents are not at rest');
none(
  `SELECT count(*) FROM (SELECT turn FROM outcome GROUP BY turn HAVING count(*) > 1)`,
  'outcomes stand twice',
);
none(`SELECT count(*) FROM agent WHERE unheard > 0`, 'agents have not heard of all their children');
none(
  `SELECT count(*) FROM (SELECT json_extract(body, '$.call') AS c FROM entry WHERE kind = 'result' AND body IS NOT NULL
     GROUP BY c HAVING count(*) > 1)`,
  'calls have two results',
);
process.stdout.write(`${JSON.stringify({ problems, ran: ran.size, unknown, calls: calls.length })}\n`);
database.close();

/** The arguments of a call, from the answer that asked for it. */
function inputOf(id: number): string | null {
  const row = database
    .prepare<unknown[], { readonly body: string | null; readonly block: number }>(
      'SELECT entry.body, call.block FROM call JOIN entry ON entry.id = call.entry WHERE call.id = ?',
    )
    .get(id);
  if (row?.body === undefined || row.body === null) return null;
  const body: { readonly blocks: readonly { readonly input?: string }[] } = JSON.parse(row.body);
  return body.blocks[row.block]?.input ?? null;
}

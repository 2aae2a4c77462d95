// The tally of the kills: which rows of DESIGN §7's table were cut, how often, and by killing what.

import type { CommandState, FileState } from './evidence.ts';
import { rowNames, type Row } from './rows.ts';
import type { Killed, Target } from './watcher.ts';

/** A row, and where files decide what is done about it, a point of it. */
export type Cut = 'notAccepted' | Row | `writeStarted ${FileState}` | `commandStarted ${CommandState}`;

/** The rows of the table, in its order, with what it says. */
export const table: readonly (readonly [cut: Cut, found: string])[] = [
  ['notAccepted', 'before 1: a message was on its way'],
  ['queuedTurn', 'after 2, before 4: a turn was accepted'],
  ['modelInFlight', 'a model request was in flight'],
  ['planned', 'a call was planned, not started'],
  ['pureStarted', 'a read or a search had started'],
  ['writeStarted before', 'a write had started, the file is as before'],
  ['writeStarted after', 'a write had started, the file is as after'],
  ['serverStarted', 'a call of a server’s tool that acts had started'],
  ['readingServerStarted', 'a call of a server’s tool that only reads had started'],
  ['inBackground', 'a command was in the background'],
  ['commandStarted notBegun', 'a command had started, nobody had its claim'],
  ['commandStarted alive', 'a command had started and is alive'],
  ['commandStarted ended', 'a command had started, its exit record is there'],
  ['thirdCrash', 'in flight at the third crash'],
  ['waitingForChildren', 'parked for children'],
  ['waitingForPerson', 'parked for a person'],
  ['waitingForTimer', 'parked for a time'],
  ['halfOfTheChildren', 'some children of an agent had ended'],
];

export class Tally {
  kills = 0;
  /** Kills by what was killed. */
  readonly targets = new Map<string, number>();
  private readonly cuts = new Map<Cut, number>();

  /** Counts a kill: each row that it cut once. */
  add(killed: Killed, sent: number, targets: readonly Target[]): void {
    const name = targets.join(' and ');
    this.targets.set(name, (this.targets.get(name) ?? 0) + 1);
    if (!targets.includes('sidecar')) return;
    this.kills += 1;
    const cuts = new Set<Cut>(rowNames.filter((row) => killed.rows[row] !== undefined));
    for (const state of killed.files) cuts.add(`writeStarted ${state}`);
    for (const { state } of killed.commands) cuts.add(`commandStarted ${state}`);
    if (killed.accepted.length < sent) cuts.add('notAccepted');
    for (const cut of cuts) this.cuts.set(cut, this.of(cut) + 1);
  }

  of(cut: Cut): number {
    return this.cuts.get(cut) ?? 0;
  }

  lines(): readonly string[] {
    const killed = [...this.targets].map(([name, count]) => `${count} × ${name}`).join(', ');
    return [
      `${this.kills} kills of the sidecar (${killed}); rows of the recovery table by kills that cut them:`,
      ...table.map(([cut, found]) => `${String(this.of(cut)).padStart(5)}  ${found}`),
    ];
  }
}

// Run by faults.test.ts on a disk of 40 MB: fills it and prints what the store said.

import { rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { openStore } from '../../sidecar/store/open.ts';
import { Room } from '../../sidecar/store/room.ts';

const directory = process.argv[2] ?? '';
// Somebody else's file: what a person would delete.
const other = path.join(directory, 'other');
// 40 MB are less than four times the ballast: this disk gets one all the same.
if (new Room(directory).grow() === 'none') {
  writeFileSync(path.join(directory, 'ballast'), Buffer.alloc(16 * 1024 * 1024, 'b'));
}
writeFileSync(other, Buffer.alloc(8 * 1024 * 1024, 'o'));
const { store, close } = openStore({ directory, durability: 'power' });

const rows = (count: number): ReturnType<typeof store.transact> =>
  store.transact(() => {
    for (let made = 0; made < count; made += 1) store.insert('place', { path: `${made}`.padEnd(3_000, 'x') });
    return count;
  });

let committed = 0;
let last = rows(100);
while (last.kind === 'committed' && committed < 1_000) {
  committed += 1;
  last = rows(100);
}
const afterBallast = rows(10);
const whole = store.get('place', committed * 100 + 1)?.path.length === 3_000;
rmSync(other);
const afterRoom = rows(100);
const ballast = statSync(path.join(directory, 'ballast'), { throwIfNoEntry: false });
close();
process.stdout.write(
  JSON.stringify({
    committedUntilFull: committed > 0,
    full: last.kind,
    afterBallast: afterBallast.kind,
    rowsWhole: whole,
    afterRoom: afterRoom.kind,
    ballastGone: ballast === undefined,
  }),
);

// Run by crash.test.ts: commits groups of three rows without end and says so, until it is killed.
//
// It opens the store when told to, so that the next process can start up while this one works.

import process from 'node:process';
import { once } from 'node:events';
import { openStore } from '../../sidecar/store/open.ts';

const directory = process.argv[2] ?? '';
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const { store } = openStore({ directory, durability: 'power' });

function commit(): void {
  const result = store.transact(() => {
    const first = store.insert('place', { path: `first ${process.pid}` });
    store.insert('place', { path: `second of ${first}` });
    // A removed row moves the floor of ids, a large one is spread over pages.
    store.remove('timer', store.insert('timer', { due: first, kind: 'wait', agent: 1, ref: 0 }));
    store.insert('place', { path: `third of ${first} `.padEnd(6_000, 'x') });
    return first;
  });
  if (result.kind === 'committed') process.stdout.write(`${result.value}\n`);
  setImmediate(commit);
}
commit();

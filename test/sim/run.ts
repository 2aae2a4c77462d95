// The simulator as a command.
//
//   npm run sim -- SEED                   one seed, a line an event (columns: README.md)
//   npm run sim -- --seconds 60           new seeds for a minute; the first that fails is made smaller and printed
//   npm run sim -- --seeds 1000 [FROM]    this many seeds, all failures counted by kind
//   npm run sim -- --canaries             every known-bad switch, with the seeds it took to catch it
//   --sqlite                              with any of these: on real SQLite beside the maps, with clients that follow
//   --canary NAME and --smaller "a, b"    with a seed: turn a switch on, apply changes that shrinking found
//
// Any text is a seed; a commit's hash is one too, so that every commit explores a world of its own.

import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { canaries, type Canary } from './canaries.ts';
import { catchCanary, explore } from './explore.ts';
import { changeOf, shrink } from './shrink.ts';
import { simulate, type Report, type SimOptions } from './sim.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string' },
    seeds: { type: 'string' },
    canary: { type: 'string' },
    canaries: { type: 'boolean', default: false },
    smaller: { type: 'string' },
    sqlite: { type: 'boolean', default: false },
  },
});

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function isCanary(name: string): name is Canary {
  return name in canaries;
}

function options(): SimOptions {
  const { canary, smaller } = values;
  if (canary !== undefined && !isCanary(canary)) throw new Error(`There is no canary "${canary}".`);
  return {
    ...(values.sqlite ? { sqlite: true } : {}),
    ...(canary === undefined ? {} : { canary }),
    ...(smaller === undefined ? {} : { change: changeOf(smaller.split(',').map((name) => name.trim())) }),
  };
}

function say(report: Report): void {
  const { seed, failure, swarm, ...numbers } = report;
  print(`seed ${seed}: ${failure === null ? 'ok' : `${failure.check}: ${failure.message}`}`);
  print(JSON.stringify(numbers));
  if (failure !== null) print(JSON.stringify(swarm));
}

function failed(report: Report): void {
  process.exitCode = 1;
  say(report);
  const smaller = shrink(report, options());
  print(`\nsmaller: ${smaller.report.failure?.message ?? ''}`);
  print(`npm run sim -- ${report.seed} --smaller "${smaller.kept.join(', ')}"`);
}

if (values.canaries) {
  for (const name of Object.keys(canaries).filter(isCanary)) {
    const caught = catchCanary(name, 2_000);
    if (caught === null) process.exitCode = 1;
    const how =
      caught === null ? 'NOT CAUGHT' : `caught by seed ${caught.seeds}: ${caught.check} ${caught.message}`;
    print(`${name.padEnd(24)} ${how}`);
  }
} else if (values.seconds !== undefined || values.seeds !== undefined) {
  const base = positionals[0] ?? randomBytes(8).toString('hex');
  const found = explore({
    base,
    most: Number(values.seeds ?? Number.MAX_SAFE_INTEGER),
    seconds: Number(values.seconds ?? Number.MAX_SAFE_INTEGER),
    stopAtFailure: values.seeds === undefined,
    options: options(),
  });
  const rate = Math.round(found.steps / found.seconds);
  print(
    `${found.seeds} seeds from ${base}, ${found.steps} steps, ${rate} steps/s, ${found.crashes} crashes, ${found.agents} agents`,
  );
  for (const [kind, seeds] of found.kinds) print(`${seeds.length} × ${kind}: ${seeds.slice(0, 5).join(' ')}`);
  if (found.first !== null) failed(found.first);
} else {
  const report = simulate(positionals[0] ?? '1', { ...options(), trace: print });
  if (report.failure !== null) process.exitCode = 1;
  say(report);
}

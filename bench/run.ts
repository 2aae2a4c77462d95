// Runs one workload: `npm run bench -- NAME [options]`. Prints what was measured and where, and as the last line
// one JSON object with the workload's keys (bench/README.md says what each means).

import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import type { Workload } from './workload.ts';

const folder = path.join(import.meta.dirname, 'workloads');
const names = readdirSync(folder).map((file) => path.basename(file, '.ts'));
const [name, ...rest] = process.argv.slice(2);

if (name === undefined || !names.includes(name)) {
  process.stderr.write(`Usage: npm run bench -- NAME [options]\nWorkloads: ${names.join(', ')}\n`);
  process.exit(2);
}

const loaded: { readonly workload: Workload } = await import(path.join(folder, `${name}.ts`));
const { workload } = loaded;
interface Option {
  type: 'string';
  default?: string;
}
const options: Record<string, Option> = {};
for (const [key, value] of Object.entries(workload.options)) {
  options[key] = { type: 'string', default: String(value) };
}
for (const key of Object.keys(workload.folders ?? {})) options[key] = { type: 'string' };
const values: Record<string, unknown> = parseArgs({ args: rest, options }).values;
const numbers = Object.fromEntries(Object.keys(workload.options).map((key) => [key, Number(values[key])]));
const folders: Record<string, string> = {};
for (const key of Object.keys(workload.folders ?? {})) {
  const value = values[key];
  if (typeof value === 'string') folders[key] = path.resolve(value);
}

const commit = execFileSync('git', ['-C', import.meta.dirname, 'rev-parse', '--short', 'HEAD'], {
  encoding: 'utf8',
}).trim();
const cpu = os.cpus()[0]?.model ?? 'unknown';
process.stdout.write(`${workload.title}\n`);
process.stdout.write(
  `commit ${commit}, Node ${process.versions.node}, ${os.type()} ${os.release()}, ${os.cpus().length} × ${cpu}, ${Math.round(os.totalmem() / 2 ** 30)} GiB\n`,
);
process.stdout.write(`options ${JSON.stringify({ ...numbers, ...folders })}\n`);
const result = await workload.run(numbers, (line) => process.stdout.write(`${line}\n`), folders);
process.stdout.write(`${JSON.stringify({ workload: name, ...result })}\n`);
process.exit(0);

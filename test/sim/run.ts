// npm run sim
import process from 'node:process';
import { simulate } from './sim.ts';

const [first = '1', count = '1'] = process.argv.slice(2);
const t0 = performance.now();
let steps = 0, crashes = 0, agents=0;
const kinds = new Map<string, string[]>();
for (let n = 0; n < Number(count); n += 1) {
  const seed = String(Number(first) + n);
  const trace = count === '1' ? (line: string) => console.log(line) : undefined;
  const report = simulate(seed, trace === undefined ? {} : { trace });
  steps += report.steps; crashes += report.crashes; agents += report.agents;
  if (report.failure !== null) {
    const key = `${report.failure.check} ${report.failure.message.replace(/\d+/g, 'N')}`.slice(0, 300);
    kinds.set(key, [...(kinds.get(key) ?? []), seed]);
  }
}
const s = (performance.now() - t0) / 1000;
for (const [key, seeds] of [...kinds].sort((a, b) => b[1].length - a[1].length)) console.log(seeds.length, seeds.slice(0, 4).join(' '), key);
console.log(`${count} seeds, ${steps} steps, ${Math.round(steps / s)} steps/s, crashes ${crashes}, agents ${agents}`);

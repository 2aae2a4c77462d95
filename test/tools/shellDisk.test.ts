// Commands whose record is in danger: a disk that is really full, a folder that is removed while they run; and what leaves
// its group by a double fork.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { ToolOutcome } from '../../sidecar/ports.ts';
import { begin, createPlace, evidenceOf, until } from './place.ts';
import type { Begun, Place } from './place.ts';

const run = promisify(execFile);
const runs = (place: Place): string => path.join(place.store, 'runs');

/** Mounting a disk of its own needs a namespace, which not every machine gives to every user. */
const mayMount = (() => {
  try {
    execFileSync('unshare', ['-rm', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

for (const shell of ['bash', 'sh']) {
  test(
    `case 57: on a full disk no end is lost, and the command that makes room runs (${shell})`,
    { skip: !mayMount },
    async () => {
      const disk = mkdtempSync(path.join(tmpdir(), 'roost-disk-'));
      try {
        const program = path.join(import.meta.dirname, 'fullDisk.ts');
        const { stdout } = await run('unshare', ['-rm', process.execPath, program, disk, shell]);
        const told = stdout
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as ToolOutcome).text);
        // Its disk was full when it ended, and the sidecar that had started it was gone.
        assert.match(told[0] ?? '', /^exit code 5\n/);
        // What it changed cannot be looked at on a full disk, and the agent is told so.
        assert.match(told[1] ?? '', /^exit code 0\nhere\nfreed\n(\[roost: What it changed [^\n]*\])?$/);
        assert.match(told[2] ?? '', /^exit code 3\nfilling\n/);
        assert.match(told[3] ?? '', /^exit code 0\nfreed\n(\[roost: What it changed [^\n]*\])?$/);
        assert.match(told[4] ?? '', /^exit code 0\nas before\n$/);
      } finally {
        rmSync(disk, { recursive: true, force: true });
      }
    },
  );

  test(`a record that is removed while its command runs: unknown, when it is over (${shell})`, async () => {
    const place = createPlace({ shell: shell === 'sh' ? 'sh' : 'bash' });
    const { running, pid } = await runningCommand(place, 'until [ -e go ]; do sleep 0.02; done; touch done');
    renameSync(runs(place), `${runs(place)}-gone`);
    rmSync(`${runs(place)}-gone`, { recursive: true });
    writeFileSync(path.join(place.workspace, 'go'), '');
    const { status, text } = await running.outcome;
    assert.equal(status, 'unknown', text);
    assert.ok(existsSync(path.join(place.workspace, 'done')), 'the model is not told that nothing was run');
    assert.ok(!existsSync(`/proc/${pid}`));
  });

  test(`what is left without a record is still ended by an interrupt (${shell})`, async () => {
    const place = createPlace({ shell: shell === 'sh' ? 'sh' : 'bash' });
    const { running, pid } = await runningCommand(place, 'until [ -e never ]; do sleep 0.02; done');
    renameSync(runs(place), `${runs(place)}-gone`);
    running.cancel();
    assert.equal((await running.outcome).status, 'unknown');
    await until(() => !existsSync(`/proc/${pid}`));
  });

  test(`a double fork does not hold up the result (${shell})`, async () => {
    const place = createPlace({ shell: shell === 'sh' ? 'sh' : 'bash' });
    for (const [leave, isNamed] of [
      ['', true],
      ['setsid ', false],
    ] as const) {
      rmSync(path.join(place.workspace, 'pid'), { force: true });
      const fork = `(${leave}sh -c 'echo $$ >pid; exec sleep 100' & ) & wait; until [ -s pid ]; do sleep 0.01; done; echo on`;
      const { text } = await place.call('shell', { command: fork });
      assert.match(text, /^exit code 0\n[^]*on\n$/);
      assert.equal(/still run/.test(text), isNamed, text);
      const pid = Number(readFileSync(path.join(place.workspace, 'pid'), 'utf8'));
      assert.ok(existsSync(`/proc/${pid}`));
      process.kill(pid, 'SIGKILL');
    }
  });
}

/** A command that was looked at while it was at work, and its process. */
async function runningCommand(place: Place, command: string): Promise<{ running: Begun; pid: number }> {
  const job = place.job('shell', { command: `echo $$; ${command}` });
  const running = begin(place.tools, job, await evidenceOf(place, job));
  await until(() => running.output.length > 0);
  return { running, pid: Number(running.output[0]) };
}

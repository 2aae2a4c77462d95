// What is read of a shell line, held against bash itself: whatever program bash runs, the reader has seen.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { after, test } from 'node:test';
import { loadParser, readLine } from '../../sidecar/tools/commandParse.ts';

await loadParser();

/** Lines of every kind of command in every other, each program with a name that says which line it is in. */
class Lines {
  private state: number;
  private serial = 0;
  private line = 0;

  constructor(seed: number) {
    this.state = seed * 2_654_435_761 || 1;
  }

  next(): string {
    this.line += 1;
    return this.list(3);
  }

  private pick<T>(of: readonly T[]): T {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return of[(this.state >>> 0) % of.length] ?? assert.fail('something to pick');
  }

  private list(depth: number): string {
    const kinds = depth === 0 ? (['simple'] as const) : listKinds;
    const inner = (): string => this.list(depth - 1);
    switch (this.pick(kinds)) {
      case 'simple':
        return this.simple(depth);
      case 'and':
        return `${inner()} && ${inner()}`;
      case 'or':
        return `${inner()} || ${inner()}`;
      case 'then':
        return `${inner()}\n${inner()}`;
      case 'pipe':
        return `${this.simple(0)} | ${this.simple(0)}`;
      case 'not':
        return `! ${this.simple(0)}`;
      case 'subshell':
        return `(${inner()})`;
      case 'group':
        return `{ ${inner()}\n} 2>/dev/null`;
      case 'if':
        return `if ${inner()}\nthen ${inner()}\nelse ${inner()}\nfi`;
      case 'for':
        return `for i in a ${this.word(depth - 1)}; do ${inner()}\ndone`;
      case 'while':
        return `while ${inner()}\ndo ${inner()}\nbreak; done`;
      case 'case':
        return `case ${this.word(depth - 1)} in a) ${inner()};; *) ${inner()};; esac`;
      case 'here':
        return `${this.simple(0)} <<E\nx ${this.word(0)}\nE\n${inner()}`;
      case 'comment':
        return `${this.simple(0)} # it's ${this.simple(0)}\n${inner()}`;
    }
  }

  private simple(depth: number): string {
    const name = this.pick([
      (n: string) => n,
      (n: string) => `"${n}"`,
      (n: string) => `p""${n.slice(1)}`,
      (n: string) => `\\${n}`,
      (n: string) => `p\\\n${n.slice(1)}`,
    ])(`p${this.line}x${++this.serial}`);
    return [name, ...Array.from({ length: this.pick([0, 1, 2]) }, () => this.word(depth - 1))].join(' ');
  }

  private word(depth: number): string {
    if (depth < 0) return this.pick(['a', "'b c'", '"d"', '\\;', 'x#y', '*.ts', '~', '-n']);
    const inner = this.simple(depth - 1);
    return this.pick([
      `$(${inner})`,
      `"a $(${inner}) b"`,
      `\${none:-$(${inner})}`,
      `<(${inner})`,
      `x$(${inner} # )\n)y`,
      `$((1 + $(echo 1)))`,
    ]);
  }
}

const listKinds = [
  ...['simple', 'and', 'or', 'then', 'pipe', 'not', 'subshell', 'group', 'if', 'for', 'while', 'case'],
  ...['here', 'comment'],
] as const satisfies readonly string[];

test('every program that bash runs was read, however it stands in the line', { skip: skipReason() }, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'roost-parse-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const seed = Number(process.env['SEED'] ?? 1);
  const lines = new Lines(seed);
  const log = path.join(folder, 'log');
  writeFileSync(log, '');
  // No program is found: bash calls this with its name, also in all that it starts for the line.
  const script = [
    'PATH=/nothing',
    `command_not_found_handle() { echo "$1" >> ${log}; return $((RANDOM % 2)); }`,
  ];
  const seen = new Map<string, ReadonlySet<string>>();
  let unread = 0;
  for (let line = 1; line <= 400; line++) {
    const text = lines.next();
    const read = readLine(text, '/w', '/w');
    if (read.kind === 'unsure') unread += 1;
    else seen.set(String(line), new Set(read.commands.map(({ command }) => command.words[0] ?? '')));
    script.push(`( eval ${quoted(text)} ) < /dev/null > /dev/null 2>&1`, 'wait');
  }
  writeFileSync(path.join(folder, 'script'), `${script.join('\n')}\n`);
  execFileSync('bash', [path.join(folder, 'script')], { cwd: folder, timeout: 60_000 });
  const ran = readFileSync(log, 'utf8').trim().split('\n');
  for (const name of ran) {
    const names = seen.get(/^p(\d+)x/.exec(name)?.[1] ?? '');
    assert.ok(names === undefined || names.has(name), `${name} was run and not read; SEED=${seed}`);
  }
  assert.ok(500 < ran.length, `${ran.length} programs were run`);
  assert.ok(unread < 200, `${unread} of 400 lines were not read`);
});

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

function skipReason(): string | false {
  try {
    execFileSync('bash', ['-c', 'true']);
    return false;
  } catch {
    return 'there is no bash here';
  }
}

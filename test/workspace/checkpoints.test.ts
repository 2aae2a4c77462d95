// Checkpoints on real repositories: what is in one, and going back, which destroys nothing and can be undone.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { RestoreEvent } from '../../sidecar/ports.ts';
import type { CheckpointFile, CheckpointPreview, CheckpointRow } from '../../sidecar/protocol/checkpoint.ts';
import { agentId, checkpointId, turnId } from '../../sidecar/protocol/ids.ts';
import { limits } from '../../sidecar/runtime/limits.ts';
import { noBuffers } from '../../sidecar/workspace/buffers.ts';
import { createCheckpoints } from '../../sidecar/workspace/checkpoints.ts';
import type { Checkpoints } from '../../sidecar/workspace/checkpoints.ts';
import { createCheckpointService } from '../../sidecar/workspace/checkpointService.ts';
import type { CheckpointService } from '../../sidecar/workspace/checkpointService.ts';
import { createLocks } from '../../sidecar/workspace/locks.ts';
import { createRepository, temporaryFolder } from './repository.ts';
import type { Repository } from './repository.ts';

type Done = Extract<RestoreEvent, { kind: 'done' }>['result'];

type Rig = {
  repository: Repository;
  root: string;
  checkpoints: Checkpoints;
  service: CheckpointService;
  /** Files that an agent made, as the store would know. */
  made: Set<string>;
  unsaved: Set<string>;
  warnings: string[];
  before(turn: number, agent?: number): Promise<void>;
  rows(): Promise<readonly CheckpointRow[]>;
  preview(checkpoint: number): Promise<CheckpointPreview>;
  restore(checkpoint: number, paths?: readonly string[]): Promise<Done>;
  file(name: string): string;
};

function createRig(repository: Repository, root = temporaryFolder(), workspace = repository.folder): Rig {
  const warnings: string[] = [];
  const checkpoints = createCheckpoints({
    root,
    warn: (message, fields) => void warnings.push(`${message}: ${String(fields['message'])}`),
  });
  const made = new Set<string>();
  const unsaved = new Set<string>();
  const service = createCheckpointService({
    checkpoints,
    buffers: { ...noBuffers, readText: (file) => Promise.resolve(unsaved.has(file) ? 'unsaved' : null) },
    locks: createLocks(),
    wrote: () => undefined,
    agentName: (agent) => `agent-${agent}`,
    madeByAgent: (file) => made.has(file),
    isOpen: () => true,
    atWork: () => ['somebody'],
  });
  return {
    ...{ repository, root, checkpoints, service, made, unsaved, warnings },
    before: (turn, agent = 1) =>
      checkpoints.before({
        agent: agentId(agent),
        turn: turnId(turn),
        place: { workspace, isolation: 'shared', mode: 'ask' },
      }),
    rows: async () => (await service.list({ agent: null, workspace: null, before: null, limit: 100 })).rows,
    preview: (checkpoint) => service.preview({ checkpoint: checkpointId(checkpoint) }),
    restore: async (checkpoint, paths) => {
      const end = await new Promise<RestoreEvent>((resolve) =>
        service.restore({ checkpoint: checkpointId(checkpoint), paths: paths ?? 'all' }, (event) => {
          if (event.kind !== 'file') resolve(event);
        }),
      );
      assert.ok(end.kind === 'done', end.kind === 'failed' ? end.message : '');
      return end.result;
    },
    file: (name) => path.join(workspace, name),
  };
}

const actions = (files: readonly CheckpointFile[]): string[] =>
  files.map((file) => `${file.action} ${file.label}`);

test('cases 63, 157 and 158: back to before a turn and forth again, and nothing of the person moves', async () => {
  const repository = createRepository({
    'a.txt': 'a\n',
    'gone.txt': 'g\n',
    '.gitignore': 'out/\n',
    'deep/b.txt': 'b\n',
  });
  repository.write('mine.txt', 'new and not committed\n');
  repository.write('a.txt', 'not committed\n');
  repository.write('out/product', 'ignored\n');
  const rig = createRig(repository);
  const before = repository.state();
  await rig.before(1);
  assert.equal(repository.state(), before);
  // The turn writes, and so does the person.
  repository.write('a.txt', 'by the agent\n');
  rmSync(rig.file('gone.txt'));
  repository.write('made/by/agent.txt', 'x\n');
  rig.made.add(rig.file('made/by/agent.txt'));
  repository.write('by-person.txt', 'precious\n');
  repository.write('.gitignore', 'out/\n*.tmp\n');
  repository.git('add', 'deep/b.txt');
  const after = repository.state();
  const preview = await rig.preview(1);
  assert.deepEqual(actions(preview.files), [
    'write .gitignore',
    'write a.txt',
    'leave by-person.txt',
    'write gone.txt',
    'remove made/by/agent.txt',
  ]);
  assert.match(preview.files[2]?.reason ?? '', /newer, and no agent made it/);
  assert.deepEqual(preview.atWork, ['somebody']);
  assert.equal(repository.state(), after, 'a preview changes nothing');
  const result = await rig.restore(1);
  assert.deepEqual([result.written, result.removed, result.left.length], [3, 1, 1]);
  assert.equal(repository.read('a.txt'), 'not committed\n');
  assert.equal(repository.read('gone.txt'), 'g\n');
  assert.equal(existsSync(rig.file('made')), false);
  assert.equal(repository.read('by-person.txt'), 'precious\n');
  assert.equal(repository.read('out/product'), 'ignored\n');
  const undone = await rig.restore(result.undo ?? 0);
  assert.deepEqual([undone.written, undone.removed], [3, 1]);
  assert.equal(repository.state(), after);
  assert.equal(repository.read('made/by/agent.txt'), 'x\n');
  assert.deepEqual(
    (await rig.rows()).map((row) => [row.id, row.kind, row.agentName]),
    [
      [3, 'restore', null],
      [2, 'restore', null],
      [1, 'turn', 'agent-1'],
    ],
  );
  assert.equal((await rig.restore(1, [rig.file('a.txt')])).written, 1, 'one file alone');
  assert.equal(existsSync(rig.file('gone.txt')), false);
});

test('a file with unsaved changes, one saved a moment ago and one that was too large are left, with the reason', async () => {
  const repository = createRepository({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' });
  const rig = createRig(repository);
  await rig.before(1);
  repository.write('a.txt', 'A\n');
  repository.write('b.txt', 'B\n');
  repository.write('c.txt', 'x'.repeat(limits.checkpointFileBytes + 1));
  rig.unsaved.add(rig.file('a.txt'));
  const future = new Date(Date.now() + 60_000);
  utimesSync(rig.file('b.txt'), future, future);
  const result = await rig.restore(1);
  assert.equal(result.written, 0);
  const reasons = Object.fromEntries(result.left.map((file) => [file.label, file.reason ?? '']));
  assert.match(reasons['a.txt'] ?? '', /unsaved changes in the editor/);
  assert.match(reasons['b.txt'] ?? '', /written a moment ago/);
  // Too large to be looked at, so it does not even differ.
  assert.equal(reasons['c.txt'] === undefined || /could not be recorded/.test(reasons['c.txt']), true);
  assert.equal(repository.read('a.txt'), 'A\n');
  assert.equal(repository.read('c.txt').length, limits.checkpointFileBytes + 1);
});

test('modes, links and line ends come back as they were', async () => {
  const repository = createRepository({
    'run.sh': '#!/bin/sh\n',
    'plain.txt': 'p\n',
    '.gitattributes': '*.crlf text eol=crlf\n',
  });
  repository.write('windows.crlf', 'one\r\ntwo\r\n');
  chmodSync(path.join(repository.folder, 'run.sh'), 0o755);
  symlinkSync('plain.txt', path.join(repository.folder, 'link'));
  const rig = createRig(repository);
  await rig.before(1);
  chmodSync(rig.file('run.sh'), 0o644);
  rmSync(rig.file('link'));
  repository.write('link', 'a file now\n');
  repository.write('windows.crlf', 'one\r\n');
  chmodSync(rig.file('plain.txt'), 0o755);
  const result = await rig.restore(1);
  assert.deepEqual(result.left, []);
  assert.equal(statSync(rig.file('run.sh')).mode & 0o111, 0o111);
  assert.equal(statSync(rig.file('plain.txt')).mode & 0o111, 0);
  assert.equal(readlinkSync(rig.file('link')), 'plain.txt');
  assert.equal(repository.read('windows.crlf'), 'one\r\ntwo\r\n');
  await rig.restore(result.undo ?? 0);
  assert.equal(lstatSync(rig.file('link')).isSymbolicLink(), false);
  assert.equal(repository.read('link'), 'a file now\n');
});

test('cases 65 and 151: repositories inside are in it as they are; one that cannot be read leaves the others', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  const library = createRepository({ 'lib.txt': 'lib\n' });
  repository.addSubmodule(library, 'vendor');
  repository.commit();
  const nested = createRepository({ 'n.txt': 'n\n' }, path.join(repository.folder, 'nested'));
  const broken = createRepository({ 'x.txt': 'x\n' }, path.join(repository.folder, 'broken'));
  createRepository({}, path.join(repository.folder, 'empty'));
  writeFileSync(path.join(broken.folder, '.git/index'), 'no index at all');
  const rig = createRig(repository);
  await rig.before(1);
  repository.write('a.txt', 'A\n');
  nested.write('n.txt', 'N\n');
  repository.write('vendor/lib.txt', 'LIB\n');
  const [row] = await rig.rows();
  assert.match(row?.problems.join('\n') ?? '', /broken is not in it/);
  assert.equal((await rig.restore(1)).written, 3);
  assert.equal(repository.read('a.txt'), 'a\n');
  assert.equal(nested.read('n.txt'), 'n\n');
  assert.equal(repository.read('vendor/lib.txt'), 'lib\n');
  assert.equal(existsSync(path.join(nested.folder, '.git/HEAD')), true);
});

test('a workspace below the top of its repository is brought back, and what lies beside it is not', async () => {
  const repository = createRepository({ 'one/a.txt': 'a\n', 'two/b.txt': 'b\n' });
  const rig = createRig(repository, temporaryFolder(), path.join(repository.folder, 'one'));
  await rig.before(1);
  repository.write('one/a.txt', 'A\n');
  repository.write('two/b.txt', 'B\n');
  assert.deepEqual(actions((await rig.preview(1)).files), ['write a.txt']);
  await rig.restore(1);
  assert.equal(repository.read('one/a.txt'), 'a\n');
  assert.equal(repository.read('two/b.txt'), 'B\n');
});

test('one checkpoint for a turn, also after a restart; each of many agents has its own, of one look', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  const root = temporaryFolder();
  const rig = createRig(repository, root);
  await Promise.all([
    rig.before(1),
    rig.before(1),
    ...Array.from({ length: 20 }, (_, i) => rig.before(10 + i, 2 + i)),
  ]);
  assert.equal((await rig.rows()).length, 21);
  repository.write('a.txt', 'A\n');
  const again = createRig(repository, root);
  await again.before(1);
  await again.before(2);
  const rows = await again.rows();
  assert.equal(rows.length, 22);
  assert.equal((await again.preview(rows.at(-1)?.id ?? 0)).files.length, 1);
  const page = await again.service.list({
    agent: agentId(1),
    workspace: null,
    before: checkpointId(22),
    limit: 5,
  });
  assert.deepEqual([page.rows.length, page.more], [1, false]);
});

test('agents that are not in the folder of the person have none', async () => {
  const rig = createRig(createRepository({ 'a.txt': 'a\n' }));
  const place = { workspace: rig.repository.folder, mode: 'ask' as const };
  for (const isolation of ['worktree', 'readonly'] as const)
    await rig.checkpoints.before({ agent: agentId(1), turn: turnId(1), place: { ...place, isolation } });
  assert.deepEqual(await rig.rows(), []);
});

test('a folder without a repository has checkpoints too, without packages and products', async () => {
  const folder = temporaryFolder();
  const write = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  };
  write('a.txt', 'a\n');
  write('node_modules/left/index.js', 'left\n');
  const rig = createRig({ ...createRepository({}), folder });
  await rig.before(1);
  write('a.txt', 'A\n');
  write('b.txt', 'b\n');
  write('node_modules/left/index.js', 'other\n');
  rig.made.add(path.join(folder, 'b.txt'));
  const result = await rig.restore(1);
  assert.deepEqual([result.written, result.removed], [1, 1]);
  assert.equal(readFileSync(path.join(folder, 'a.txt'), 'utf8'), 'a\n');
  assert.deepEqual(readdirSync(folder).sort(), ['a.txt', 'node_modules']);
  assert.equal(readFileSync(path.join(folder, 'node_modules/left/index.js'), 'utf8'), 'other\n');
  await rig.restore(result.undo ?? 0);
  assert.equal(readFileSync(path.join(folder, 'b.txt'), 'utf8'), 'b\n');
});

test('cases 154, 159 and 163: hooks, signing and no identity do not matter, nothing of ours is in the repository', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  for (const name of ['post-checkout', 'post-index-change', 'reference-transaction', 'pre-commit'])
    chmodSync(
      repository.write(`.git/hooks/${name}`, `#!/bin/sh\ntouch "${repository.folder}/hooked"\nexit 1\n`),
      0o755,
    );
  repository.git('config', 'commit.gpgSign', 'true');
  repository.git('config', 'core.splitIndex', 'true');
  const listing = (): string =>
    execFileSync('find', ['.git', '-type', 'f', '-not', '-path', '*/objects/*'], {
      cwd: repository.folder,
      encoding: 'utf8',
    });
  const [files, objects] = [listing(), repository.git('count-objects')];
  const rig = createRig(repository);
  await rig.before(1);
  repository.write('a.txt', 'A\n');
  repository.write('new.txt', 'N\n');
  await rig.before(2);
  await rig.restore(1);
  assert.equal(repository.read('a.txt'), 'a\n');
  assert.equal(existsSync(rig.file('hooked')), false);
  assert.deepEqual([listing(), repository.git('count-objects')], [files, objects]);
});

test('what is past the bounds goes, with its objects, and what is kept can still be restored', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  const rig = createRig(repository);
  for (let turn = 1; turn <= 4; turn++) {
    repository.write('a.txt', `turn ${turn} ${'x'.repeat(turn)}\n`);
    await rig.before(turn);
  }
  const { store } = rig.checkpoints;
  const [first, second] = await store.all();
  const last = (await store.all()).at(-1);
  assert.ok(first !== undefined && second !== undefined && last !== undefined);
  const objects = await store.objects({ top: repository.folder });
  const loose = (): number =>
    readdirSync(objects, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /^[0-9a-f]{2}\/[0-9a-f]{38}$/.test(name),
    ).length;
  const had = loose();
  await store.prune(first.atMs + limits.checkpointKeptMs);
  assert.equal((await store.all()).length, 4, 'none is too old yet');
  await store.prune(second.atMs + limits.checkpointKeptMs + 1);
  assert.ok((await store.all()).length <= 2);
  assert.ok(loose() < had);
  repository.write('a.txt', 'now\n');
  await rig.restore(last.id);
  assert.equal(repository.read('a.txt'), 'turn 4 xxxx\n');
  await assert.rejects(rig.preview(first.id), /There is no checkpoint 1 any more: they are kept 7 days/);
  await rig.before(9);
  assert.equal((await rig.rows())[0]?.turn, 9, 'and new ones can be made');
});

test('files that git has removed from the repository are said to be gone, and nothing is half done', async () => {
  const repository = createRepository({ 'a.txt': 'a\n', 'b.txt': 'b\n' });
  const rig = createRig(repository);
  await rig.before(1);
  repository.write('a.txt', 'A\n');
  const object = repository.git('rev-parse', 'HEAD:a.txt').trim();
  rmSync(path.join(repository.folder, '.git/objects', object.slice(0, 2), object.slice(2)));
  const result = await rig.restore(1);
  assert.equal(result.written, 0);
  assert.match(result.left[0]?.reason ?? '', /cannot be read out of the checkpoint any more/);
  assert.equal(repository.read('a.txt'), 'A\n');
});

// What of the ignored files comes into a new worktree, and what its agent is told that it lacks.
import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { agentId } from '../../sidecar/protocol/ids.ts';
import { createWorktrees } from '../../sidecar/workspace/worktree.ts';
import { createRepository, temporaryFolder } from './repository.ts';
import type { Repository } from './repository.ts';

const ignores = '.env*\n/node_modules/\ncache/\n*.local\n';

async function made(repository: Repository): Promise<{ inside(name: string): string; news: string }> {
  const result = await createWorktrees(temporaryFolder()).ensure(agentId(1), repository.folder);
  assert.ok(result.kind === 'worktree', result.kind === 'refused' ? result.text : '');
  return { inside: (name) => path.join(result.worktree.place, name), news: result.news ?? '' };
}

test('case 137: without a list, files of the environment come along, also nested ones, and nothing else', async () => {
  const repository = createRepository({ '.gitignore': ignores, 'a.txt': 'a\n', '.env.example': 'tracked\n' });
  repository.git('add', '--force', '.env.example');
  repository.commit();
  repository.write('.env', 'A=1\n');
  repository.write('packages/one/.env.local', 'B=2\n');
  repository.write('cache/big', 'x');
  repository.write('settings.local', 'x');
  const { inside } = await made(repository);
  assert.equal(readFileSync(inside('.env'), 'utf8'), 'A=1\n');
  assert.equal(readFileSync(inside('packages/one/.env.local'), 'utf8'), 'B=2\n');
  assert.equal(existsSync(inside('cache')), false);
  assert.equal(existsSync(inside('settings.local')), false);
});

test('case 137: a list with the syntax of .gitignore says what is copied, of what git ignores', async () => {
  const repository = createRepository({
    '.gitignore': ignores,
    '.worktreeinclude': '# keys\n**/*.local\ncache/keys/\n!secret.local\na.txt\n',
    'a.txt': 'a\n',
  });
  repository.write('.env', 'A=1\n');
  repository.write('deep/er/settings.local', 'S\n');
  repository.write('cache/keys/one.pem', 'K\n');
  repository.write('cache/other', 'x');
  repository.write('secret.local', 'x');
  const { inside } = await made(repository);
  assert.equal(readFileSync(inside('deep/er/settings.local'), 'utf8'), 'S\n');
  assert.equal(readFileSync(inside('cache/keys/one.pem'), 'utf8'), 'K\n');
  for (const name of ['.env', 'cache/other', 'secret.local'])
    assert.equal(existsSync(inside(name)), false, name);
});

test('links of ignored files are not followed, and nothing is put over a file of the base (case 138)', async () => {
  const outside = path.join(temporaryFolder(), 'outside');
  writeFileSync(outside, 'outside\n');
  const repository = createRepository({ '.gitignore': ignores, 'a.txt': 'a\n' });
  symlinkSync(outside, path.join(repository.folder, '.env'));
  repository.write('.env.mine', 'person\n');
  repository.git('add', '--force', '.env.mine');
  repository.write('.env.mine', 'changed\n');
  const { inside, news } = await made(repository);
  assert.equal(existsSync(inside('.env')), false);
  assert.equal(readFileSync(inside('.env.mine'), 'utf8'), 'changed\n');
  assert.match(news, /\.env \(not a regular file\)/);
});

test('a folder that the person names is linked; what cannot be linked is told', async () => {
  const repository = createRepository({
    '.gitignore': ignores,
    '.roost/worktree.json': JSON.stringify({ link: ['node_modules', 'src', '../up', 'cache'] }),
    'src/a.txt': 'a\n',
  });
  mkdirSync(path.join(repository.folder, 'node_modules/left'), { recursive: true });
  const { inside, news } = await made(repository);
  assert.equal(lstatSync(inside('node_modules')).isSymbolicLink(), true);
  assert.equal(readlinkSync(inside('node_modules')), path.join(repository.folder, 'node_modules'));
  assert.match(news, /src \(only what git ignores can be linked\)/);
  assert.match(news, /\.\.\/up \(not a path in the repository\)/);
  assert.match(news, /cache \(the person has none\)/);
});

test('a file of settings that cannot be understood makes no worktree and says what is wrong', async () => {
  const repository = createRepository({ 'a.txt': 'a\n' });
  const worktrees = createWorktrees(temporaryFolder());
  const refusals: [string, RegExp][] = [
    ['{ "link": "node_modules" }', /\.roost\/worktree\.json: link: /],
    ['{ "lnik": [] }', /\.roost\/worktree\.json: .*lnik/],
    ['{', /\.roost\/worktree\.json is not JSON/],
  ];
  for (const [text, says] of refusals) {
    repository.write('.roost/worktree.json', text);
    const refused = await worktrees.ensure(agentId(1), repository.folder);
    assert.ok(refused.kind === 'refused');
    assert.match(refused.text, says);
  }
});

test('cases 135 and 147: the agent is told once what its worktree is made of and what it lacks', async () => {
  const library = createRepository({ 'lib.txt': 'lib\n' });
  const repository = createRepository({ '.gitignore': ignores, 'a.txt': 'a\n' });
  repository.addSubmodule(library, 'vendor/lib');
  repository.commit();
  createRepository({ 'inner.txt': 'inner\n' }, path.join(repository.folder, 'nested'));
  mkdirSync(path.join(repository.folder, 'node_modules/left'), { recursive: true });
  repository.write('a.txt', 'not committed\n');
  const worktrees = createWorktrees(temporaryFolder());
  const first = await worktrees.ensure(agentId(1), repository.folder);
  assert.ok(first.kind === 'worktree');
  assert.match(first.news ?? '', /made of commit [0-9a-f]{12}, with what the person has not committed\./);
  assert.match(first.news ?? '', /ignored by git: node_modules\//);
  assert.match(first.news ?? '', /submodules, empty here: vendor\/lib/);
  assert.match(first.news ?? '', /not taken along: nested\//);
  const again = await worktrees.ensure(agentId(1), repository.folder);
  assert.ok(again.kind === 'worktree');
  assert.equal(again.news, null);
});

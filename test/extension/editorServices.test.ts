// What this window does for the sidecar: unsaved text, edits on what was expected, keys; and the two names of a
// path.
import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { Paths } from '../../extension/paths.ts';
import { Secrets } from '../../extension/secrets.ts';
import { noModels, quietLog, temporaryStore } from './fakeSidecar.ts';
import { extensionContext, seen, standIn, TestDocument } from './vscode.ts';

standIn();
const { editorServices, hashOfText } = await import('../../extension/editorServices.ts');

type Storage = ConstructorParameters<typeof Secrets>[0];
const storage = (): Storage => (extensionContext('/ext') as { secrets: Storage }).secrets;

function services(env: Record<string, string> = {}, kept = storage()) {
  const paths = new Paths('linux');
  const parts = { paths, secrets: new Secrets(kept, env), log: quietLog() };
  return editorServices({ ...parts, editorModels: { handlers: noModels } });
}

function open(text: string, isDirty: boolean): TestDocument {
  const document = new TestDocument('/project/a.ts', text, isDirty);
  seen.documents = [document];
  return document;
}

test('case 59: the text of an unsaved buffer, and null for what is saved or not open', async () => {
  open('unsaved', true);
  assert.deepEqual(await services()['editor/readText']({ path: '/project/a.ts' }), { text: 'unsaved' });
  assert.deepEqual(await services()['editor/readText']({ path: '/project/b.ts' }), { text: null });
  open('saved', false);
  assert.deepEqual(await services()['editor/readText']({ path: '/project/a.ts' }), { text: null });
});

test('edits are made on the text that was expected, and the rest of an unsaved buffer stays unsaved', async () => {
  const document = open('one\ntwo\nthree\n', true);
  const edits = [
    { start: 0, end: 3, text: 'ONE' },
    { start: 8, end: 14, text: '' },
  ];
  const expect = hashOfText(document.getText());
  assert.deepEqual(await services()['editor/applyEdit']({ path: '/project/a.ts', expect, edits }), {
    applied: true,
  });
  assert.equal(document.getText(), 'ONE\ntwo\n');
  assert.equal(document.saves, 0);
});

test('case 62: what the person typed meanwhile is not written over', async () => {
  const document = open('typed since', true);
  const params = {
    path: '/project/a.ts',
    expect: hashOfText('before'),
    edits: [{ start: 0, end: 5, text: '' }],
  };
  assert.deepEqual(await services()['editor/applyEdit'](params), { applied: false });
  assert.equal(document.getText(), 'typed since');
});

test('a document that was saved stays saved', async () => {
  const document = open('one\n', false);
  const params = {
    path: '/project/a.ts',
    expect: hashOfText('one\n'),
    edits: [{ start: 0, end: 4, text: '' }],
  };
  assert.deepEqual(await services()['editor/applyEdit'](params), { applied: true });
  assert.equal(document.saves, 1);
  assert.equal(document.isDirty, false);
});

test('keys: secret storage first, then the environment with its address; none is null', async () => {
  const env = { ANTHROPIC_API_KEY: 'from-env', ANTHROPIC_BASE_URL: 'http://proxy', MY_HOST_API_KEY: 'k' };
  const kept = storage();
  const secret = services(env, kept)['editor/secret'];
  assert.deepEqual(await secret({ provider: 'anthropic' }), { key: 'from-env', baseUrl: 'http://proxy' });
  assert.deepEqual(await secret({ provider: 'my-host' }), { key: 'k' });
  assert.deepEqual(await secret({ provider: 'openai' }), { key: null });
  // Case 54: a stored key does not go to the environment's address.
  await new Secrets(kept, env).set('anthropic', 'stored');
  assert.deepEqual(await secret({ provider: 'anthropic' }), { key: 'stored' });
  await new Secrets(kept, env).set('anthropic', '');
  assert.equal((await secret({ provider: 'anthropic' })).key, 'from-env');
});

test('case 198: a secret storage that fails leaves the environment', async () => {
  const broken = { ...storage(), get: () => Promise.reject(new Error('no keyring')) };
  const secret = services({ OPENAI_API_KEY: 'e' }, broken)['editor/secret'];
  assert.deepEqual(await secret({ provider: 'openai' }), { key: 'e' });
  assert.deepEqual(await secret({ provider: 'anthropic' }), { key: null });
});

test(
  'a folder that was opened through a link has two names',
  { skip: process.platform === 'win32' },
  async () => {
    const { store, remove } = temporaryStore();
    try {
      const real = path.join(realpathSync(store), 'real');
      const shown = path.join(store, 'shown');
      mkdirSync(real);
      symlinkSync(real, shown);
      const paths = new Paths('linux');
      await paths.setFolders([shown, '/gone']);
      assert.deepEqual(paths.real, [real, '/gone']);
      assert.equal(paths.toReal(path.join(shown, 'a/b')), path.join(real, 'a/b'));
      assert.equal(paths.toShown(path.join(real, 'a/b')), path.join(shown, 'a/b'));
      assert.equal(paths.toShown(`${real}-other/a`), `${real}-other/a`);
      assert.ok(paths.holds(path.join(real, 'a')) && !paths.holds('/elsewhere'));
    } finally {
      remove();
    }
  },
);

test('case 231: names that differ only by case are one file where the platform says so', () => {
  assert.equal(new Paths('darwin').key('/Project/A'), new Paths('darwin').key('/project/a'));
  assert.notEqual(new Paths('linux').key('/Project/A'), new Paths('linux').key('/project/a'));
});

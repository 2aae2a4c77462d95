// What commands are given of the person's environment, and how the login shell's PATH is asked for.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { commandEnvironment, loginPath } from '../../sidecar/tools/environment.ts';

const environment = (env: Record<string, string>, login: string | null = null): Record<string, string> =>
  commandEnvironment({ env, store: '/store', binDirectory: '/roost/bin', loginPath: login });

test("what is the person's stays; what is the editor's, Node's, git's or secret goes", () => {
  const kept = {
    HOME: '/home/me',
    LANG: 'C',
    EDITOR: 'vi',
    SSH_AUTH_SOCK: '/s',
    TOKENIZERS_PARALLELISM: '1',
    PATHEXT: 'x',
    KEYBOARD: 'us',
    MONKEY: 'x',
    XAUTHORITY: '/x',
    OLDPWD: '/y',
    AUTHOR: 'me',
  };
  const dropped = [
    'ELECTRON_RUN_AS_NODE',
    'VSCODE_PID',
    'NODE_OPTIONS',
    'npm_config_prefix',
    'npm_lifecycle_event',
    'GIT_DIR',
    'GIT_INDEX_FILE',
    'APPIMAGE',
    'APPDIR',
    'ANTHROPIC_API_KEY',
    'OPENAI_API_KEY',
    'GITHUB_TOKEN',
    'GH_TOKEN',
    'NPM_TOKEN',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'DB_PASSWORD',
    'MY_SECRET',
    'SLACK_BOT_TOKEN',
    'GOOGLE_APPLICATION_CREDENTIALS',
    'BASH_ENV',
    'CDPATH',
    'BASH_FUNC_which%%',
    'ROOST_NONCE',
    'ROOST_CALL',
    'MALLOC_TRIM_THRESHOLD_',
    'secret_key',
    'PGPASSWORD',
    'MYSQL_PWD',
    'DB_PASS',
    'TOKEN_GITHUB',
    'OPENAI_API_KEY_2',
    'MYAPIKEY',
    'SIGNING_KEY',
    'ANTHROPIC_AUTH',
    'SLACK_WEBHOOK_URL',
    'SENTRY_DSN',
    'ApiKey',
  ];
  const env = environment({ ...kept, ...Object.fromEntries(dropped.map((name) => [name, 'x'])) });
  for (const [name, value] of Object.entries(kept)) assert.equal(env[name], value, name);
  for (const name of dropped) assert.equal(env[name], undefined, name);
  assert.equal(env['ROOST_STORE'], '/store');
});

test('case 43: nothing pages and nothing prompts', () => {
  const env = environment({ PAGER: 'less', GIT_PAGER: 'less' });
  assert.deepEqual(
    [env['PAGER'], env['GIT_PAGER'], env['GIT_TERMINAL_PROMPT'], env['TERM']],
    ['cat', 'cat', '0', 'dumb'],
  );
});

test('case 53: an editor from the dock gets the PATH of the login shell, one from a terminal keeps its own first', () => {
  assert.equal(
    environment({ PATH: '/usr/bin:/bin' }, '/opt/brew/bin:/usr/bin:/bin')['PATH'],
    '/roost/bin:/opt/brew/bin:/usr/bin:/bin',
  );
  assert.equal(
    environment({ PATH: '/venv/bin:/usr/bin' }, '/opt/brew/bin:/usr/bin')['PATH'],
    '/roost/bin:/venv/bin:/usr/bin:/opt/brew/bin',
  );
  assert.equal(environment({ PATH: '/usr/bin:/usr/bin' })['PATH'], '/roost/bin:/usr/bin');
});

test('case 53: the login shell is asked once, through what its start files print; none costs nothing', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'roost-login-'));
  after(() => rmSync(folder, { recursive: true }));
  const shellOf = (text: string): string => {
    const file = path.join(folder, `shell-${text.length}`);
    writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return file;
  };
  const noisy = shellOf('echo "Welcome!"; PATH=/from/login:/bin; shift 2; shift; eval "$1"; echo bye');
  assert.equal(await loginPath(noisy, process.env), '/from/login:/bin');
  assert.equal(await loginPath(shellOf('exit 1'), process.env), null);
  assert.equal(await loginPath('/nowhere/shell', process.env), null);
  assert.equal(await loginPath(null, process.env), null);
});

// The environment of agents' commands: the person's, without what belongs to the editor, to Node, to the
// sidecar's own start or to nobody but the person (secrets), and with what makes programs quiet (DESIGN §2, §13).

import { execFile } from 'node:child_process';
import path from 'node:path';
import { limits } from '../runtime/limits.ts';

export interface CommandSurroundings {
  /** The process's environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The store's directory: `ROOST_STORE`. */
  readonly store: string;
  /** Directory that holds the program `roost`; it goes first on the PATH. */
  readonly binDirectory: string;
  /** PATH of the person's login shell, when it is known (loginPath). */
  readonly loginPath: string | null;
}

const dropped: readonly RegExp[] = [
  // The editor's and its runtime's.
  /^(ELECTRON|VSCODE)_/,
  /^(NODE_OPTIONS|NODE_CHANNEL_FD|NODE_UNIQUE_ID|CHROME_DESKTOP|ORIGINAL_XDG_CURRENT_DESKTOP|GDK_BACKEND|TERM_PROGRAM(_VERSION)?)$/,
  // Of a package manager that started the editor, and of an AppImage's mount.
  /^npm_/i,
  /^(INIT_CWD|APPDIR|APPIMAGE|ARGV0|OWD)$/,
  // Git's: they point it at another repository or make it ask (case 153).
  /^GIT_/,
  // What a shell would run at its start, and functions that would replace commands; CDPATH makes \`cd\` print.
  /^(BASH_ENV|ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|CDPATH|ZDOTDIR)$/,
  /^BASH_FUNC_/,
  // Of a sidecar's start, or of a command of another agent.
  /^ROOST_/,
  /^MALLOC_(MMAP|TRIM)_THRESHOLD_$/,
  // Secrets, by the words of their names: a name that is only like one (KEYBOARD, XAUTHORITY) stays.
  /^(?!SSH_AUTH_SOCK$)(\w*_)?(KEYS?|TOKENS?|SECRETS?|PASS|AUTH|WEBHOOK|DSN)(_\w*)?$/i,
  /(API_?KEYS?|PASSWORDS?|PASSWD|PASSPHRASE)(_?\d+)?$|^\w+_PWD$/i,
  /(^|_)(API_?KEYS?|ACCESS_?KEYS?|SECRET(_?KEYS?)?|PRIVATE_?KEY|TOKENS?|PAT|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?)$/i,
  /^(AWS_(SECRET|SESSION)_\w+|GOOGLE_APPLICATION_CREDENTIALS|DATABASE_URL|OP_SESSION_\w+)$/,
  /^(HTTPS?|ALL)_PROXY_AUTH$/i,
];

// Pagers and prompts wait for a key that nobody presses (case 43).
const quiet = {
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  TERM: 'dumb',
  NO_COLOR: '1',
  DEBIAN_FRONTEND: 'noninteractive',
};

/** The environment of a command, but for what names its call. */
export function commandEnvironment(from: CommandSurroundings): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(from.env)) {
    if (value !== undefined && !dropped.some((pattern) => pattern.test(name))) env[name] = value;
  }
  // Windows calls it Path.
  const pathName = Object.keys(env).find((name) => name.toUpperCase() === 'PATH') ?? 'PATH';
  const entries = [from.binDirectory, ...mergedPath(env[pathName] ?? '', from.loginPath)];
  return { ...env, ...quiet, [pathName]: joinedPath(entries), ROOST_STORE: from.store };
}

const joinedPath = (entries: readonly string[]): string => [...new Set(entries)].join(path.delimiter);

/**
 * An editor started from the dock has the system's few directories; then the login shell's PATH is what the
 * person has in a terminal. One started in a terminal has more (a virtual environment): its order stands.
 */
function mergedPath(own: string, login: string | null): string[] {
  const entries = own.split(path.delimiter).filter((entry) => entry !== '');
  const more = (login ?? '').split(path.delimiter).filter((entry) => path.isAbsolute(entry));
  return entries.every((entry) => more.includes(entry)) ? more : [...entries, ...more];
}

/**
 * The PATH that the person's login shell makes, asked once, within \`limits.loginShellMs\`; null when there is no
 * answer, which costs nothing but the PATH (case 53). Marks around it set it apart from what start files print.
 */
export function loginPath(
  shell: string | null,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  if (shell === null || shell === '' || process.platform === 'win32') return Promise.resolve(null);
  const mark = 'roost-path-7c1f';
  const command = `printf '${mark}%s${mark}' "$PATH"`;
  return new Promise((resolve) => {
    const child = execFile(
      shell,
      ['-i', '-l', '-c', command],
      {
        env: { ...env, TERM: 'dumb' },
        timeout: limits.loginShellMs,
        killSignal: 'SIGKILL',
        windowsHide: true,
      },
      (_error, out) => {
        const said = out.split(mark)[1];
        resolve(said === undefined || said === '' ? null : said);
      },
    );
    child.stdin?.end();
    child.unref();
  });
}

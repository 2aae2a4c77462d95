// What a person is asked about a command: whether many like it may be answered together, and whether it is asked
// in every mode.
//
// Each command of the line is judged, wherever it stands (commandParse.ts). Whatever is not known for sure counts as
// dangerous: it asks and stands alone. Being wrong in that direction costs a key; in the other it costs the person's
// files.

import path from 'node:path';
import { isParserLoaded, readLine, unsureText, type SimpleCommand } from './commandParse.ts';
import { carried, isOpen, leaves, reachOf, shown, textOfShell } from './commandReach.ts';

export interface Judgement {
  /** The programs of the line with their subcommands; null: it must not be answered together with others. */
  readonly cluster: string | null;
  /** Why it asks in every mode; null: it does not. */
  readonly danger: string | null;
  /** It only looks, and only at what is below its directory. */
  readonly harmless: boolean;
}

/** Texts of shells in shells that are read for one line; more count as dangerous, and take no time. */
const mostTexts = 20;

/** Judges a command that would run in a directory. */
export function judge(command: string, workspace: string): Judgement {
  const judgement = judged(command, { workspace, directory: workspace, texts: { read: 0 } });
  remember(command, judgement.harmless);
  return judgement;
}

interface Place {
  readonly workspace: string;
  /** Where the command runs. */
  readonly directory: string;
  /** Shared by all texts of a line. */
  readonly texts: { read: number };
}

const dangerous = (danger: string): Judgement => ({ cluster: null, danger, harmless: false });

function judged(command: string, place: Place): Judgement {
  place.texts.read += 1;
  if (mostTexts < place.texts.read) return dangerous(unsureText);
  const line = readLine(command, place.directory, place.workspace);
  if (line.kind === 'unsure') return dangerous(line.why);
  const names: string[] = [];
  let alone = false;
  for (const { command: each, directories } of line.commands) {
    for (const directory of directories) {
      const danger = dangerOf(each, { ...place, directory });
      if (danger !== null) return dangerous(danger);
    }
    const name = nameOf(each);
    if (name === null || 0 < each.writes.length) alone = true;
    else if (name !== '') names.push(name);
  }
  return {
    cluster: alone || names.length === 0 ? null : `command:${names.join(' ')}`,
    danger: null,
    harmless: line.commands.length > 0 && line.commands.every((each) => looksOnly(each.command)),
  };
}

/** Lines and whether they only look, the newest last. */
const known = new Map<string, boolean>();
const mostKnown = 64;

/**
 * Whether a command only looks, as `judge` says: that hangs on its text alone, so it is remembered, and of the three times
 * that a call needs it two cost nothing.
 */
export function isHarmless(command: string, workspace: string): boolean {
  return known.get(command) ?? judge(command, workspace).harmless;
}

function remember(command: string, harmless: boolean): void {
  // Without its parser every line is unsure.
  if (!isParserLoaded()) return;
  known.set(command, harmless);
  const oldest = known.keys().next();
  if (mostKnown < known.size && oldest.done !== true) known.delete(oldest.value);
}

/** Programs that write nothing and start nothing, whatever their arguments are. */
const lookers = new Set('ls pwd echo true false uname which basename dirname [['.split(' '));
/** The only options of `date` that neither set the clock nor read a file (`--file` prints the lines it cannot read). */
const dateOption = /^(\+.*|-u|--utc|-R|-I\w*|--iso-8601(=\w+)?|--rfc-3339=\w+)$/;
/** These read files, and a link may lead anywhere; without a file they read what a looking command pipes to them. */
const readers = new Set('cat head tail wc sort uniq'.split(' '));
const gitLookers = new Set('status ls-files log diff show blame rev-parse describe shortlog'.split(' '));
/**
 * Options by which Git's looking commands write a file, start a program (`%G` starts gpg) or read a file that is
 * not the repository's (git-diff(1), git-log(1), git-blame(1)); some of them are known by a beginning too.
 */
const gitActs =
  /^--?(outpu|ext-|textc|exec|upload-pack|pagin|show-sig|open-files|no-index|contents|ignore-revs|exclude-f|O)|%G/;

/** A word that may stand for names of files, and a file may be named like an option: `*x` is `--output=x` where that exists. */
const optionByName = /^-?[^/]*[*?[]/;

/** A word that names something outside: absolute, of a home directory or above, also as the value of an option. */
const outsideWord = (word: string): boolean =>
  path.isAbsolute(word) || /(^|[=:])[~/]|^-\w[~/]/.test(word) || word.split(/[/=:]/).includes('..');

/** Whether a command only looks at what is below its directory: a secret elsewhere is not for a model to read unasked. */
function looksOnly(command: SimpleCommand): boolean {
  const [program = '', ...rest] = command.words;
  if (command.writes.length + command.reads.length > 0) return false;
  // What is not known may name a file elsewhere, or be a secret of the environment.
  if (rest.some(outsideWord) || command.words.some(isOpen)) return false;
  if (command.words.length === 0) return true;
  if (program === 'date') return rest.every((word) => dateOption.test(word));
  if (readers.has(program))
    return command.piped && rest.every((word) => /^-\w*$/.test(word) && !word.includes('o'));
  if (program !== 'git') return lookers.has(program);
  const [sub = '', ...options] = rest;
  return gitLookers.has(sub) && !options.some((option) => gitActs.test(option) || optionByName.test(option));
}

// Run another command that stands in their arguments, so their own name says nothing.
const carriers = new Set(
  'env busybox ionice sudo doas su xargs nohup nice time timeout stdbuf setsid exec eval command builtin source . bash sh zsh dash fish ssh docker podman kubectl parallel watch find python python3 node deno bun perl ruby php osascript powershell pwsh npx pnpx bunx uvx tee dd awk sed make'.split(
    ' ',
  ),
);

/** Programs whose first argument says what they do. */
const withSubcommand = new Set(
  'git npm pnpm yarn cargo go dotnet gradle mvn pip pip3 uv poetry gh brew apt apt-get systemctl bundle rails composer deno bun'.split(
    ' ',
  ),
);

/** What stands for a command in a cluster, '' when it is no program; null when its name does not say what it does. */
function nameOf(command: SimpleCommand): string | null {
  const [program = '', ...rest] = command.words;
  if (program.includes('=') || isOpen(program) || carriers.has(path.basename(program))) return null;
  if (!withSubcommand.has(program)) return program;
  const sub = rest[0] ?? '';
  if (sub === '' || sub.startsWith('-') || isOpen(sub)) return null;
  // `npm run build` and `npm run deploy` are different things.
  return ['run', 'run-script', 'exec'].includes(sub)
    ? `${program} ${sub} ${rest[1] ?? ''}`
    : `${program} ${sub}`;
}

const always = new Set(
  'sudo doas su dd mkfs fdisk shutdown reboot halt poweroff passwd chown crontab launchctl systemctl iptables mount umount eval exec source . ssh scp rsync nc ncat telnet osascript ln'.split(
    ' ',
  ),
);
/** Words of `roost` that are for a person: agents are refused them, unless their command hides whose it is. */
const deciding = new Set(
  'answer review trust budget configure models trash import checkpoint shutdown mcp lsp --parent'.split(' '),
);
/** Builtins after which the words of a line mean something else. */
const meaning = new Set(
  'alias unalias trap enable hash export declare typeset readonly local let read mapfile readarray getopts unset shopt bind complete compgen'.split(
    ' ',
  ),
);
const shells = new Set('sh bash zsh dash fish python python3 node perl ruby'.split(' '));
const gitDangers =
  /^(push|clean|reset|checkout|restore|rebase|filter-branch|filter-repo|config|gc|reflog|update-ref|worktree|stash|branch|tag|remote|submodule|am|apply)$/;
const publishing =
  /^(npm|pnpm|yarn|cargo|gh|gem|twine|docker) (publish|login|logout|token|unpublish|push|release|repo|secret|auth|adduser|owner|deprecate)\b/;

function dangerOf(command: SimpleCommand, place: Place): string | null {
  const outside = command.writes.find((target) => leaves(target, place.directory, place.workspace));
  if (outside !== undefined) return `It writes to ${shown(outside)}.`;
  const read = command.reads.find((target) => leaves(target, place.directory, place.workspace));
  if (read !== undefined) return `It reads ${shown(read)}.`;
  const [word = '', ...rest] = command.words;
  const program = path.basename(word);
  if (isOpen(word)) return 'It runs what is known only when it runs.';
  if (rest.some(isOpen) && mayMean(program, rest)) return unsureText;
  const inner = carriers.has(program) ? carried(command.words) : [];
  if (inner === null) return unsureText;
  for (const words of [command.words, ...inner]) {
    const danger = dangerOfProgram({ ...command, words: [...words] }, program);
    if (danger !== null) return danger;
    const shell = path.basename(words[0] ?? '');
    const inShell = /^(ba|z|da|fi|k)?sh$/.test(shell) ? textOfShell(words) : null;
    const below = inShell === null ? null : judged(inShell, place).danger;
    if (below !== null) return below;
  }
  return looksOnly(command) ? null : reachOf(command.words, place.directory, place.workspace);
}

/** Whether what is not known of its words may decide what a program does. */
function mayMean(program: string, rest: readonly string[]): boolean {
  if (['git', 'chmod', 'chgrp', 'test', '['].includes(program) || carriers.has(program)) return true;
  const [first = ''] = rest;
  const decides = withSubcommand.has(program) || program === 'printf';
  return decides && (isOpen(first) || first.startsWith('-'));
}

/** Of the program that the words begin with; `carrier` is the one that may start it, or the same. */
function dangerOfProgram(command: SimpleCommand, carrier: string): string | null {
  const [word = '', ...rest] = command.words;
  const program = path.basename(word);
  const line = [program, ...rest].join(' ');
  if (word.includes('=') && program === carrier) return 'It sets variables for another program.';
  if (meaning.has(program)) return 'It changes what later commands mean.';
  // The subscript of a variable is reckoned, and what is reckoned may run a command.
  if (['printf', 'test', '['].includes(program) && rest.some((each) => /^-[vR]/.test(each)))
    return unsureText;
  if (always.has(program)) return `It runs ${program}.`;
  if (program === 'roost' && rest.some((each) => deciding.has(each))) return 'It may decide in your place.';
  if (
    program === 'rm' ||
    program === 'rmdir' ||
    program === 'shred' ||
    program === 'truncate' ||
    program === 'unlink'
  )
    return 'It removes files.';
  if (program === 'find' && /\s-(delete|exec|execdir|ok|okdir|fprint\S*)\b/.test(line))
    return 'It acts on what it finds.';
  if (
    program === 'git' &&
    rest.some((each) => each === '-c' || each.startsWith('--exec') || gitDangers.test(each))
  ) {
    return 'It can lose or send work of the repository.';
  }
  if (publishing.test(line)) return 'It acts on a service in your name.';
  if (command.piped && shells.has(program)) return 'It runs what another program prints.';
  if ((program === 'chmod' || program === 'chgrp') && /\s-\w*R/.test(line))
    return `It runs ${program} on whole folders.`;
  if (program === 'kill' || program === 'pkill' || program === 'killall') return 'It ends processes.';
  return program.startsWith('mkfs.') ? `It runs ${program}.` : null;
}

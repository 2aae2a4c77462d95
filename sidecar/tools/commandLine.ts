// What a person is asked about a command: whether many like it may be answered together, and whether it is asked
// in every mode.
//
// A line is cut into words, operators and redirections. Whatever this reader does not know for sure (substitutions,
// here-documents, compound commands, odd quoting) counts as dangerous: it asks and stands alone. Being wrong in
// that direction costs a key; in the other it costs the person's files.

import path from 'node:path';
import { carried, directoryAfter, leaves, reachOf, textOfShell } from './commandReach.ts';

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
  return judged(command, { workspace, directory: workspace, texts: { read: 0 } });
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
  const commands = mostTexts < place.texts.read ? null : parsed(command);
  if (commands === null) return dangerous('It cannot be read with certainty.');
  const names: string[] = [];
  let alone = false;
  let { directory } = place;
  for (const each of commands) {
    const danger = dangerOf(each, { ...place, directory });
    if (danger !== null) return dangerous(danger);
    const next = directoryAfter(each.words, directory, place.workspace);
    if (next === null) return dangerous('It goes to another folder.');
    directory = next;
    const name = nameOf(each);
    if (name === null || 0 < each.writes.length) alone = true;
    else names.push(name);
  }
  return {
    cluster: alone || names.length === 0 ? null : `command:${names.join(' ')}`,
    danger: null,
    harmless: commands.length > 0 && commands.every(looksOnly),
  };
}

/** Programs that write nothing and start nothing, whatever their arguments are. */
const lookers = new Set('ls pwd echo true false uname which basename dirname'.split(' '));
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
  if (command.writes.length > 0) return false;
  if (rest.some(outsideWord)) return false;
  if (program === 'date') return rest.every((word) => dateOption.test(word));
  if (readers.has(program))
    return command.piped && rest.every((word) => /^-\w*$/.test(word) && !word.includes('o'));
  if (program !== 'git') return lookers.has(program);
  const [sub = '', ...options] = rest;
  return gitLookers.has(sub) && !options.some((option) => gitActs.test(option) || optionByName.test(option));
}

interface SimpleCommand {
  readonly words: string[];
  /** Targets of `>` and `>>`. */
  readonly writes: string[];
  /** Comes after a pipe. */
  readonly piped: boolean;
}

const keywords =
  /^(if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|time|coproc|!|\[\[)$/;

/** The simple commands of a line; null when it has anything that this reader does not know. */
function parsed(line: string): SimpleCommand[] | null {
  const commands: SimpleCommand[] = [];
  let now: SimpleCommand = { words: [], writes: [], piped: false };
  let redirected = false;
  const tokens = tokensOf(line.trim());
  if (tokens === null) return null;
  for (const token of tokens) {
    if (token.kind === 'word') {
      if (redirected) now.writes.push(token.text);
      else if (now.words.length === 0 && keywords.test(token.text)) return null;
      else now.words.push(token.text);
      redirected = false;
      continue;
    }
    if (redirected) return null;
    if (token.kind === 'write') redirected = true;
    if (token.kind !== 'end') continue;
    // A new line after a pipe goes on with it.
    if (now.piped && now.words.length === 0 && now.writes.length === 0 && token.text === '\n') continue;
    if (0 < now.words.length || 0 < now.writes.length) commands.push(now);
    now = { words: [], writes: [], piped: token.text === '|' };
  }
  if (redirected) return null;
  return 0 < now.words.length || 0 < now.writes.length ? [...commands, now] : commands;
}

interface Token {
  /** `end`: what separates two commands. `write`: a redirection whose target follows. `copy`: one between descriptors. */
  readonly kind: 'word' | 'end' | 'write' | 'copy';
  readonly text: string;
}

// Sticky, tried in this order. What none of them matches is not known: `$`, backquotes, brackets of all kinds, here-documents, comments.
const blank = /[ \t]+/y;
const separator = /&&|\|\||[;\n]|\|(?!&)|&(?!>)/y;
// `>&1x` writes to a file of the name `1x`.
const copyRedirection = /\d?>&\d(?![^\s;&|<>])/y;
const writeRedirection = /&>>?|\d?>>?(?![(&|])/y;
const wordPattern = /(?:[\w./:=,+@%^*?~!\]-]|\[|(?<=[^\s;&|<>()])#|'[^']*'|"[^"$`\\]*"|\\[^\n])+/y;

function tokensOf(text: string): Token[] | null {
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found === undefined) return null;
    at += found.length;
    return found;
  };
  while (at < text.length) {
    if (take(blank) !== null) continue;
    const copy = take(copyRedirection);
    const write = copy === null ? take(writeRedirection) : null;
    const end = copy === null && write === null ? take(separator) : null;
    const word = copy === null && write === null && end === null ? take(wordPattern) : null;
    if (copy !== null) tokens.push({ kind: 'copy', text: copy });
    else if (write !== null) tokens.push({ kind: 'write', text: write });
    else if (end !== null) tokens.push({ kind: 'end', text: end });
    else if (word !== null) tokens.push({ kind: 'word', text: unquoted(word) });
    else return null;
  }
  return tokens;
}

const unquoted = (word: string): string =>
  word.replace(
    /'([^']*)'|"([^"]*)"|\\(.)/g,
    (_all, single?: string, double?: string, escaped?: string) => single ?? double ?? escaped ?? '',
  );

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

/** What stands for a command in a cluster; null when its name does not say what it does. */
function nameOf(command: SimpleCommand): string | null {
  const [program = '', ...rest] = command.words;
  if (program.includes('=') || carriers.has(path.basename(program))) return null;
  if (!withSubcommand.has(program)) return program;
  const sub = rest[0] ?? '';
  if (sub === '' || sub.startsWith('-')) return null;
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
/** Builtins after which the words of a line mean something else. */
const meaning = new Set('alias unalias trap enable hash export declare typeset readonly'.split(' '));
const shells = new Set('sh bash zsh dash fish python python3 node perl ruby'.split(' '));
const gitDangers =
  /^(push|clean|reset|checkout|restore|rebase|filter-branch|filter-repo|config|gc|reflog|update-ref|worktree|stash|branch|tag|remote|submodule|am|apply)$/;
const publishing =
  /^(npm|pnpm|yarn|cargo|gh|gem|twine|docker) (publish|login|logout|token|unpublish|push|release|repo|secret|auth|adduser|owner|deprecate)\b/;

function dangerOf(command: SimpleCommand, place: Place): string | null {
  const outside = command.writes.find((target) => leaves(target, place.directory, place.workspace));
  if (outside !== undefined) return `It writes to ${outside}.`;
  const [word = ''] = command.words;
  const program = path.basename(word);
  const inner = carriers.has(program) ? carried(command.words) : [];
  if (inner === null) return 'It cannot be read with certainty.';
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

/** Of the program that the words begin with; `carrier` is the one that may start it, or the same. */
function dangerOfProgram(command: SimpleCommand, carrier: string): string | null {
  const [word = '', ...rest] = command.words;
  const program = path.basename(word);
  const line = [program, ...rest].join(' ');
  if (word.includes('=') && program === carrier) return 'It sets variables for another program.';
  if (meaning.has(program)) return 'It changes what later commands mean.';
  if (always.has(program)) return `It runs ${program}.`;
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

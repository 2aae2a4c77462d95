// The shell texts that start commands. Three processes, each in a process group of its own:
//
//   launcher ── wrapper ── command shell
//
// The launcher is forked once from the sidecar (a fork costs 4 ms at 60 MB of memory and 41 ms at 360 MB; from
// the launcher, at 0.3 MB, it costs 0.3 ms) and keeps one wrapper with one started shell waiting, so that a
// command costs no fork, no exec and no start of bash: 1.1 ms from request to result, against 2.3 ms without the
// waiting pair. The wrapper outlives whatever the command does to its own group (`kill 0`, `kill -9 0`), ignores
// what it does to its parent (`kill $PPID`), and writes the exit record when the command's shell ends.
//
// Files of a run, in its own directory: `job` (sourced by the command's shell), `claim` (whose first line decides who
// has it, written before any work: "pid start wrapper wrapperStart boot"), `out`, `exit` (a number and a line end;
// without the line end it is not there; on a full disk a line of the claim instead), `mark` (what its folder looked
// like before), and, where output cannot be trimmed in place (runs.ts), `head`, `tail` and `cut`. The files may be
// there before, empty, from a run whose result is committed (commands.ts).

import { limits } from '../../runtime/limits.ts';

// Reads the directory of its run from standard input, claims it, and becomes the command. Everything that can be
// done before is done before: this text waits in `read`. $1: boot id; $2: how the directory ends that it reads, as
// options of `read`.
const commandShell = `
b=$1 r=$2 s=- w=-
if [ -r /proc/$$/stat ]; then
  read -r s </proc/$$/stat
  read -r w </proc/$PPID/stat
  set -- \${s##*) }; s=\${20}
  set -- \${w##*) }; w=\${20}
else
  s=$(LC_ALL=C ps -o lstart= -p $$ 2>/dev/null | tr -s ' ' _)
  w=$(LC_ALL=C ps -o lstart= -p $PPID 2>/dev/null | tr -s ' ' _)
fi
IFS= read -r $r d || exit 0
{ echo "$$ $s $PPID $w $b" >>"$d/claim"; } 2>/dev/null || exit 0
read -r o x <"$d/claim" && [ "$o" = "$$" ] || exit 0
exec </dev/null >>"$d/out" 2>&1 || exit 126
. "$d/job" || exit 126
unset b r s w d o x
eval "set --
$1"
`;

// Around the start of the command's shell. Handlers become defaults in the child, what is ignored would stay ignored
// in it and in the command; so signals are ignored only once the child is there. Not caught while waiting either:
// bash's `wait`, called again after a signal, answers -1 when the child had ended in between (5.2).
const signals = 'TERM HUP INT QUIT PIPE USR1 USR2 ALRM';
const beforeStart = `trap : ${signals}`;
const awaitShell = `
trap '' ${signals}
wait "$pid"
code=$?
`;

// Only the shell that made the claim ran the command: else recovery was first, or the disk is full. A disk that the
// command itself has filled has no room for a new file, but the claim has a block already. Appended, because ext4 writes
// a file out at once that was emptied and written again: 0.1 ms.
const record = `
if read -r owner rest <"$dir/claim" && [ "$owner" = "$pid" ]; then
  echo "$code" >>"$dir/exit" || echo "exit $code" >>"$dir/claim"
  echo "done $id $code" >&3
else
  echo "lost $id" >&3
fi
`;

// When the input ends without a goodbye the sidecar is gone. Nothing more is started, but somebody must keep output within its bound and end what
// runs too long, until the last command is done or another sidecar has taken over (it writes its own keeper).
const afterSidecar = `
while sleep 1; do
  read -r now <"$runs/keeper" || exit 0
  [ "$now" = "$keeper" ] || exit 0
  left= now=$(date +%s)
  for d in "$runs"/*/; do
    d=\${d%/}
    { [ -s "$d/claim" ] && [ ! -s "$d/exit" ]; } || continue
    read -r pid rest <"$d/claim"
    kill -0 "$pid" 2>/dev/null || continue
    left=1
    read -r x x due rest <"$d/job"
    if [ "$now" -gt "$((due + ${limits.killGraceMs / 1000}))" ]; then kill -KILL -- "-$pid"
    elif [ "$now" -gt "$due" ]; then kill -TERM -- "-$pid"; kill -CONT -- "-$pid"; fi
    size=$(wc -c <"$d/out")
    if [ "$size" -gt ${limits.outputFileBytes} ]; then
      middle=$((size - ${limits.outputHeadBytes + limits.outputTailBytes}))
      fallocate --punch-hole --offset ${limits.outputHeadBytes} --length "$middle" "$d/out" || {
        [ -e "$d/head" ] || head -c ${limits.outputHeadBytes} "$d/out" >"$d/head"
        tail -c ${limits.outputTailBytes} "$d/out" >"$d/tail"
        : >"$d/out"
        was=0; [ -s "$d/cut" ] && read -r was <"$d/cut"
        echo "$((was + size))" >"$d/cut"
      }
    fi
  done
  [ -n "$left" ] || exit 0
done
`;

const opening = `exec 3>&1 >/dev/null 2>&1
trap : PIPE HUP INT
`;

// The shell of the command reads up to the separator, its wrapper the rest. In one write: bash makes a write of each
// line, and a launcher that is killed between the two leaves a command whose end nobody writes down.
/** Bash with job control makes process groups; commands run in bash. Needs bash 3.2 (macOS) or newer. */
const bashLauncher = `${opening}
separator=$(printf '\\001')
wrapper() {
  exec 7>&-
  ${beforeStart}
  set -m
  "$BASH" --noprofile --norc -c "$command" bash "$boot" "-d $separator" 3>&- <&0 &
  pid=$!
  set +m
  ${awaitShell}
  IFS=' ' read -r id dir || exit 0
  ${record}
}
exec 7> >(wrapper)
while IFS=' ' read -r id dir; do
  [ "$id" = bye ] && exit 0
  printf '%s\\001%s %s\\n' "$dir" "$id" "$dir" >&7 || {
    # Somebody killed the wrapper that waited.
    exec 7> >(wrapper)
    printf '%s\\001%s %s\\n' "$dir" "$id" "$dir" >&7
  }
  exec 7> >(wrapper)
done
exec 7>&- </dev/null
${afterSidecar}
`;

const shWrapper = `
${beforeStart}
id=$1 dir=$2
setsid sh -c "$command" sh "$boot" 3>&- <<END &
$dir
END
pid=$!
${awaitShell}
${record}
`;

/** Any POSIX shell, where \`setsid\` makes the groups (Alpine). Commands run in sh; nothing waits ahead of need. */
const shLauncher = `${opening}
while IFS=' ' read -r id dir; do
  [ "$id" = bye ] && exit 0
  setsid sh -c "$wrapper" sh "$id" "$dir" </dev/null &
done
exec </dev/null
${afterSidecar}
`;

export type ShellKind = 'bash' | 'sh';

/** Program and arguments of a launcher. Its texts go by variables that are not exported to commands. */
export function launcherCommand(kind: ShellKind, told: LauncherWords): { program: string; args: string[] } {
  const words = [
    ['command', commandShell],
    ['wrapper', shWrapper],
    ['boot', told.bootId],
    ['keeper', told.keeper],
    ['runs', told.runDirectory],
  ].map(([name = '', value = '']) => `${name}=${quoted(value)}`);
  if (kind === 'bash') {
    return { program: 'bash', args: ['--noprofile', '--norc', '-c', `${words.join('\n')}\n${bashLauncher}`] };
  }
  // The wrapper is a program of its own here and needs what the launcher knows.
  return { program: 'sh', args: ['-c', `${words.join('\n')}\nexport command boot\n${shLauncher}`] };
}

export interface LauncherWords {
  readonly bootId: string;
  /** Names this sidecar; also in the file \`keeper\`. */
  readonly keeper: string;
  readonly runDirectory: string;
}

export interface RunJob {
  readonly command: string;
  /** Absolute. */
  readonly directory: string;
  /** Added to the launcher's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Seconds since 1970 at which it has run long enough. */
  readonly dueSeconds: number;
  /** Kept with the run (Commands.remember). */
  readonly mark?: string;
}

/** The text of a run's \`job\` file: sourced in the command's shell, it leaves the command as the first argument. */
export function jobText(job: RunJob): string {
  const exports = Object.entries(job.env).map(([name, value]) => `export ${name}=${quoted(value)}`);
  return [
    `# due ${job.dueSeconds} seconds after 1970`,
    ...exports,
    `unset command boot`,
    `cd -- ${quoted(job.directory)} || exit 126`,
    `set -- ${quoted(job.command)}`,
    '',
  ].join('\n');
}

/** A word that every POSIX shell reads back as the same bytes. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

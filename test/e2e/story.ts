// The story that the end-to-end test tells: a repository with twelve modules, a lead that starts one agent for
// each, and agents that read, edit and run a command. All that is said is a function of the conversation, so
// reloads, restarts and second attempts hear the same; only the pace of one answer is the test's.
//
// The command is `./check`, a script of the repository. It appends its call and process to a file outside of the
// workspace, opened to append, and then waits for a gate: a test holds twelve agents in the middle of their turns
// for as long as it likes, and opens the gate by making a file.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Item } from '../../sidecar/core/terms.ts';
import { answerTo, plain } from '../fixtures/provider/behaviours.ts';
import type { Answer, Said } from '../fixtures/provider/behaviours.ts';
import { editOf, modules } from './modules.ts';
import type { Module } from './modules.ts';

/** What the person types. */
export const task = 'Find and fix the bugs in these modules, one agent for each';

/** The agent whose answer is streamed slowly, so that a reload falls in the middle of it. */
export const streamer = 'debounce';
/** The agent that asks the person a question first. */
export const asker = 'dates';
export const question = 'Are years before 1582 used anywhere?';

export interface Places {
  /** One line for each run of the command: call, process, module. */
  readonly calls: string;
  /** The command waits until this is there. */
  readonly gate: string;
}

/** Fills an empty folder with the repository. */
export function makeRepository(folder: string, places: Places): void {
  const files: Record<string, string> = {
    'README.md': '# Toolbox\n\nSmall functions without dependencies. `./check FILE` checks one of them.\n',
    'AGENTS.md':
      'Change only the module that you are asked about. Run `./check` on it before you are done.\n',
    'package.json': '{ "name": "toolbox", "private": true, "type": "module" }\n',
    check: checkScript(places),
    ...Object.fromEntries(modules.map((module) => [module.path, module.text])),
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  chmodSync(path.join(folder, 'check'), 0o755);
  const git = (...args: string[]): void => {
    execFileSync('git', args, { cwd: folder, stdio: 'ignore', windowsHide: true });
  };
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Sample');
  git('config', 'user.email', 'sample@example.invalid');
  git('config', 'core.autocrlf', 'false');
  git('add', '.');
  git('-c', 'commit.gpgsign=false', 'commit', '-q', '-m', 'Small functions');
}

function checkScript({ calls, gate }: Places): string {
  return [
    '#!/bin/sh',
    '# One line, one write: appended whole, whatever others append at the same time.',
    `echo "$ROOST_CALL $$ $1" >> '${calls}'`,
    `until [ -e '${gate}' ]; do sleep 0.1; done`,
    'node --check "$1" && echo "$1: no syntax error"',
    '',
  ].join('\n');
}

/** How fast the streamed answer comes, so that a test can be sure to be in the middle of it. */
export interface Pace {
  betweenMs: number;
}

/** The model of the story: what to answer to whoever has a conversation, the lead or the agent of a module. */
export function storyteller(pace: Pace): (items: readonly Item[], tools: readonly string[]) => Answer {
  return (items, tools) => {
    const start = items.findIndex((item) => item.kind === 'user' && item.text.includes(task));
    if (start !== -1) return lead(items.slice(start + 1));
    return answerTo(
      items.map((item) => (item.kind === 'user' ? { ...item, text: withProgram(item.text, pace) } : item)),
      tools,
    );
  };
}

function lead(after: readonly Item[]): Answer {
  switch (after.filter((item) => item.kind === 'answer').length) {
    case 0:
      return plain([
        {
          kind: 'thinking',
          text: 'The modules do not depend on each other, so nobody has to wait for anybody.',
        },
        { kind: 'text', text: 'I look at what is there.' },
        call('read', { path: 'README.md' }),
        call('search', { pattern: 'export ', path: '.' }),
      ]);
    case 1:
      return plain([
        { kind: 'text', text: `There are ${modules.length} modules. Each gets an agent of its own.` },
        call('spawn_agent', {
          tasks: modules.map((module) => ({ name: module.name, task: taskOf(module) })),
          isolation: 'shared',
        }),
      ]);
    case 2:
      return plain([call('wait_agent', { mode: 'all' })]);
    default:
      return plain([{ kind: 'text', text: summary(after) }]);
  }
}

const call = (tool: string, input: unknown): Said => ({ kind: 'call', tool, input });

/** One line for each module whose agent has reported; the others are named as missing. */
function summary(after: readonly Item[]): string {
  const heard = after.flatMap((item) => (item.kind === 'answer' ? [] : [item.text])).join('\n');
  const lines = modules.map(
    ({ name, path: file, found }) =>
      `- \`${file}\`: ${heard.includes(reportOf(name)) ? found : '**no report**'}`,
  );
  return `All ${modules.length} agents are done. What they found:\n\n${lines.join('\n')}`;
}

const reportOf = (name: string): string => `Report on ${name}:`;

const taskOf = (module: Module): string =>
  `Find and fix the bugs in ${module.path}. Then run \`./check ${module.path}\` and report what was wrong.`;

/** The task of a module's agent, with what it does in the fixture's small language; other texts as they are. */
function withProgram(text: string, pace: Pace): string {
  const module = modules.find((each) => text === taskOf(each));
  if (module === undefined) return text;
  const { name, path: file, found } = module;
  const edit = editOf(module);
  const escaped = (lines: string): string => lines.replaceAll('\n', '\\n');
  const report = `${reportOf(name)} ${found}. Both are fixed in \`${file}\`.`;
  const ending =
    name === streamer
      ? ['@stream 90', `@between ${pace.betweenMs}`, `@say ${report} ${streamed}`]
      : [`@shell ./check ${file}`, `@say ${report}`];
  return [
    `@read ${file}`,
    ...(name === asker ? [`@ask ${question}|No, never|Yes, they are`] : []),
    `@edit ${file}|||${escaped(edit.old)}|||${escaped(edit.new)}`,
    ...ending,
  ].join('\n');
}

/** Long enough to be seen coming. */
const streamed = [
  'The timer is made by `setTimeout`, so `clearTimeout` is what ends it; browsers forgive the mix-up, other',
  'hosts do not. The arguments of the last call are handed on one by one, as the caller wrote them. I left the',
  'name of the parameter alone because callers do not see it, and I looked for other uses of this function in the',
  'repository: there are none. A test with a fake clock would be worth having.',
].join(' ');

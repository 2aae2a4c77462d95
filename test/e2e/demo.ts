// What `npm start` shows without a key: a script for the scripted provider (sidecar/model/scripted.ts) that plays a
// small swarm on the sample project. Whatever is asked for, the lead says first that no AI is at work; then its
// agents really read, edit and run things, ask before they do, and leave changes to review.

/** One answer: when it is given, and what it is made of. */
type Rule = Record<string, unknown>;

interface Part {
  readonly name: string;
  readonly task: string;
  /** Answers in their order, each after the results of the one before. */
  readonly rounds: readonly (readonly object[])[];
}

const text = (words: string): object => ({ text: words });
const call = (tool: string, input: object): object => ({ call: tool, input });
const runTests = call('shell', { command: 'node --test' });

const parts: readonly Part[] = [
  {
    name: 'mean',
    task: 'Find and fix the bugs in src/mean.js.',
    rounds: [
      [text('I read the function and its tests.'), call('read', { path: 'src/mean.js' })],
      [
        text('The loop leaves out the first value, and the mean of nothing is NaN.'),
        call('edit', {
          path: 'src/mean.js',
          old: 'let i = 1; i < values.length; i += 1) sum += values[i];\n  return sum / values.length;',
          new:
            'let i = 0; i < values.length; i += 1) sum += values[i];\n' +
            '  return values.length === 0 ? 0 : sum / values.length;',
        }),
      ],
      [runTests],
      [
        text(
          'Two bugs are fixed in `src/mean.js`: the first value was left out, and an empty list gave NaN.',
        ),
      ],
    ],
  },
  {
    name: 'words',
    task: 'Find and fix the bugs in src/words.js.',
    rounds: [
      [call('read', { path: 'src/words.js' })],
      [
        text('Two blanks in a row count as a word.'),
        call('edit', {
          path: 'src/words.js',
          old: 'return text.split(" ").length;',
          new: 'return text.split(/\\s+/).filter(Boolean).length;',
        }),
      ],
      [runTests],
      [text('`countWords` no longer counts blanks as words.')],
    ],
  },
  {
    name: 'tests',
    task: 'Write tests for src/words.js.',
    rounds: [
      [call('read', { path: 'src/words.js' }), call('read', { path: 'test/mean.test.js' })],
      [
        call('write', {
          path: 'test/words.test.js',
          text:
            "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n" +
            "import { countWords, longestWord } from '../src/words.js';\n\n" +
            "test('words between blanks', () => assert.equal(countWords('one  two'), 2));\n" +
            "test('the longest word', () => assert.equal(longestWord('a bee sees'), 'sees'));\n",
        }),
      ],
      [text('`test/words.test.js` has a test for each of the two functions.')],
    ],
  },
  {
    name: 'greeting',
    task: 'Make the greeting in src/greeting.ts fit its readers.',
    rounds: [
      [call('read', { path: 'src/greeting.ts' })],
      [
        call('ask_user', {
          question: 'How should people be greeted?',
          choices: ['Good day', 'Hi', 'Welcome'],
        }),
      ],
      [call('edit', { path: 'src/greeting.ts', old: 'Hello, ', new: '{choice}, ' })],
      [text('The greeting is as you said.')],
    ],
  },
];

const lead: readonly (readonly object[])[] = [
  [
    text(
      '**This is a scripted demonstration: no AI is asked.** The answers come from a script; files, commands, ' +
        'approvals and reviews are real. Set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` and start again to use a model.\n\n' +
        'I look at what is there.',
    ),
    call('search', { pattern: 'export function' }),
  ],
  [
    text(`There are ${parts.length} things to do. Each gets an agent of its own.`),
    // In the workspace and not in worktrees, so that the person is asked about each kind of edit.
    call('spawn_agent', { tasks: parts.map(({ name, task }) => ({ name, task })), isolation: 'shared' }),
  ],
  [call('wait_agent', { mode: 'all' })],
  [
    text(
      'All agents have ended. What they changed is under **Ready to review**: open a file there and accept or reject ' +
        'each hunk, beside the code or in the panel of the agent.',
    ),
  ],
];

/** The script as the text of its file. */
export function demoScript(): string {
  const rules: Rule[] = [
    // What a person has denied is not tried in another way.
    { result: 'The person denied', say: [text('You said no, so I stop here.')] },
    ...parts.flatMap(({ task, rounds }) =>
      // {choice} is what the result before is: the answer to the question.
      rounds.map((say, index) => ({ task, round: index + 1, result: '{choice}', say })),
    ),
    ...lead.map((say, index) => ({ round: index + 1, say })),
    { say: [text('The script of this demonstration has ended.')] },
  ];
  // Slow enough to be watched.
  return JSON.stringify({
    rules: rules.map((rule) => ({ delayMs: 400, chunkChars: 8, betweenMs: 25, ...rule })),
  });
}

// The lint rules. Few, and each for a mistake that types and tests let pass:
//  - a promise nobody waits for, a switch that forgets a case;
//  - hidden time, chance or waiting in core and runtime, which must be deterministic and synchronous;
//  - syntax that Node cannot strip, functions too long to read, a console that flashes up on Windows.
// test/tidy/lint.test.ts runs them over the tree, and over a sample in which every one is broken.
import tseslint from 'typescript-eslint';

const always = [
  { selector: 'ExportDefaultDeclaration', message: 'Export by name: an import then says what it is.' },
  { selector: 'TSEnumDeclaration', message: 'Enums do not erase. Use a union of string literals.' },
  { selector: 'TSModuleDeclaration:not([declare=true])', message: 'Namespaces do not erase. Use a module.' },
  { selector: 'ExportAllDeclaration', message: 'No barrels: import from the file that has it.' },
];

const childProcess = {
  selector:
    'CallExpression[callee.name=/^(spawn|spawnSync|exec|execSync|execFile|execFileSync)$/]:not(:has(Property[key.name="windowsHide"]))',
  message: 'State windowsHide: true, or a console window flashes up on Windows.',
};

// The folder that the sidecar was started in is nobody's (case 74), and a watcher of a whole root is an inotify handle for
// each of a million folders (case 143): what changed is looked at when somebody asks.
const sidecarOnly = [
  {
    selector: 'CallExpression[callee.object.name="process"][callee.property.name="cwd"]',
    message: 'Paths are resolved against the place of the agent, not against where the sidecar was started.',
  },
  {
    selector:
      'CallExpression[callee.name=/^(watch|watchFile)$/][arguments.length>1]:has(Property[key.name="recursive"])',
    message: 'No folder is watched: look at it when somebody asks.',
  },
];

const waiting = [
  {
    selector: 'AwaitExpression',
    message: 'core and runtime never wait: a port posts an event when it is done.',
  },
  {
    selector: ':function[async=true]',
    message: 'core and runtime never wait: a port posts an event when it is done.',
  },
  {
    selector: 'ForOfStatement[await=true]',
    message: 'core and runtime never wait: a port posts an event when it is done.',
  },
  {
    selector: 'MemberExpression[object.name="Math"][property.name="random"]',
    message: 'Chance comes through the random port, so that a run can be repeated.',
  },
];

const hiddenInputs = [
  'Date',
  'Promise',
  'crypto',
  'fetch',
  'performance',
  'process',
  'queueMicrotask',
  'setImmediate',
  'setInterval',
  'setTimeout',
].map((name) => ({ name, message: 'core and runtime get time, chance and effects through ports.' }));

const config = [
  {
    ignores: [
      '**/node_modules/',
      'dist/',
      'prebuilds/',
      'test/fixtures/*',
      '!test/fixtures/provider/',
      'test/e2e/shots/',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { '@typescript-eslint': tseslint.plugin },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/prefer-promise-reject-errors': 'error',
      'max-params': ['error', 4],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true, IIFEs: true }],
      'no-restricted-syntax': ['error', ...always],
      'no-control-regex': 'off',
      'no-debugger': 'error',
      'no-empty': 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: ['sidecar/**/*.ts', 'extension/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...always, childProcess], 'no-console': 'error' },
  },
  {
    files: ['sidecar/**/*.ts'],
    ignores: ['sidecar/cli/**'],
    rules: { 'no-restricted-syntax': ['error', ...always, childProcess, ...sidecarOnly] },
  },
  {
    files: ['sidecar/core/**/*.ts', 'sidecar/runtime/**/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', ...always, ...waiting],
      'no-restricted-globals': ['error', ...hiddenInputs],
    },
  },
  {
    // A test is one story told to the end, and node:test keeps the promises that describe and test return.
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', name: ['test', 'it', 'describe', 'suite'], package: 'node:test' },
          ],
        },
      ],
    },
  },
];

export default config;

// Who may import whom, as a table that dependency-cruiser checks (boundaries.test.ts runs it).
//
// A line is a layer: where its files are, which layers it may use, which packages, which of Node's modules.
// What a line does not name is forbidden, so a new folder or a new package starts with a change here.
// Type imports count: a layer that must not know another must not know its types either.
// A product file in none of these places is an error too; tidy.test.ts reads the places from here.

/** Modules of Node for those that touch files and processes; HTTP is not among them, it belongs to the model. */
const files = ['assert', 'buffer', 'child_process', 'crypto', 'events', 'fs', 'os', 'path', 'perf_hooks'];
const system = [
  ...files,
  'process',
  'stream',
  'string_decoder',
  'timers',
  'url',
  'util',
  'v8',
  'worker_threads',
  'zlib',
];
const http = ['http', 'https', 'http2', 'net', 'tls', 'dns'];

const adapter = ['protocol', 'core', 'ports', 'limits'];

const layers = {
  protocol: { at: '^sidecar/protocol/', may: [] },
  core: { at: '^sidecar/core/', may: ['protocol'], packages: ['@cfworker/json-schema', 'diff'] },
  ports: { at: '^sidecar/ports\\.ts$', may: ['protocol', 'core'] },
  // Every bound is in one object, whose files import nothing else, so that the adapters can keep them without knowing
  // the runtime.
  limits: { at: '^sidecar/runtime/(limits|contextLimits)\\.ts$', may: [] },
  runtime: { at: '^sidecar/runtime/(?!(limits|contextLimits)\\.ts$)', may: adapter },
  store: { at: '^sidecar/store/', may: adapter, packages: ['better-sqlite3'], node: system },
  model: {
    at: '^sidecar/model/',
    may: adapter,
    packages: ['undici', 'eventsource-parser'],
    node: [...system, ...http],
  },
  tools: {
    at: '^sidecar/tools/',
    may: [...adapter, 'workspace'],
    packages: [
      '@modelcontextprotocol/sdk',
      '@vscode/ripgrep',
      'ajv',
      'diff',
      'ignore',
      'picomatch',
      'valibot',
    ],
    node: system,
  },
  workspace: {
    at: '^sidecar/workspace/',
    may: adapter,
    packages: ['diff', 'ignore', 'picomatch', 'jsonc-parser', 'valibot', 'yaml'],
    node: system,
  },
  platform: { at: '^sidecar/platform/', may: adapter, node: [...system, 'net'] },
  rpc: {
    at: '^sidecar/rpc/',
    may: [...adapter, 'runtime'],
    packages: ['vscode-jsonrpc', 'valibot'],
    node: [...system, 'net'],
  },
  cli: {
    at: '^sidecar/cli/',
    may: ['protocol', 'platform', 'limits', 'lsp'],
    packages: ['vscode-jsonrpc', 'valibot'],
    node: [...system, 'net', 'readline', 'tty'],
  },
  // A client like the others, and the only one with this library; `roost lsp` loads it.
  lsp: {
    at: '^sidecar/lsp/',
    may: ['protocol', 'limits', 'cli'],
    packages: [
      'vscode-languageserver',
      'vscode-languageserver-protocol',
      'vscode-languageserver-textdocument',
      'vscode-languageserver-types',
      'vscode-jsonrpc',
    ],
    node: system,
  },
  wiring: {
    at: '^sidecar/(main|wiring)\\.ts$',
    may: [
      'protocol',
      'core',
      'ports',
      'limits',
      'runtime',
      'store',
      'model',
      'tools',
      'workspace',
      'platform',
      'rpc',
      'cli',
    ],
    packages: ['valibot'],
    node: system,
  },
  extension: {
    at: '^extension/',
    may: ['protocol'],
    packages: ['vscode', 'vscode-jsonrpc', 'diff', 'valibot'],
    node: [...system, 'net'],
  },
  webview: {
    at: '^webview/',
    may: ['protocol'],
    packages: ['lit-html', 'marked', 'dompurify', 'highlight.js', 'diff'],
  },
};

/** Matches a package however it resolved: in node_modules, through its types, or (vscode) not at all. */
function packagePattern(name) {
  const escaped = name.replace(/[.]/g, '\\.');
  return `(^|node_modules/(@types/)?)${escaped}(/|$)`;
}

function layerRule([name, layer]) {
  const known = [
    layer.at,
    ...layer.may.map((other) => layers[other].at),
    ...(layer.packages ?? []).map(packagePattern),
    ...(layer.node ?? []).map((module) => `^(node:)?${module}(/|$)`),
  ];
  return {
    name: `${name}-only-knows-its-own`,
    comment: `${name} may use: ${[...layer.may, ...(layer.packages ?? [])].join(', ') || 'nothing'}. See the table in test/tidy/boundaries.cjs.`,
    severity: 'error',
    from: { path: layer.at },
    to: { pathNot: known },
  };
}

const product = '^(sidecar|extension|webview)/';

module.exports = {
  forbidden: [
    ...Object.entries(layers).map(layerRule),
    {
      name: 'no-cycles',
      comment: 'Two files that need each other are one file, or a third is missing.',
      severity: 'error',
      from: { path: product },
      to: { circular: true },
    },
    {
      name: 'no-cycles-in-tests',
      comment: 'A rig and its parts may know each other by type; what runs may not go in a circle.',
      severity: 'error',
      from: { path: '^(test|bench)/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'nothing-needs-tests',
      comment: 'Tests and benchmarks may import everything; nothing may import them.',
      severity: 'error',
      from: { path: product },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'resolvable',
      comment: 'The import leads nowhere. (`vscode` exists only inside the editor.)',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^vscode$' },
    },
    {
      name: 'no-tools-at-run-time',
      comment: 'A devDependency is not there on the machine of a user; importing its types is fine.',
      severity: 'error',
      from: { path: product },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only'],
        pathNot: 'node_modules/@types/',
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|test/fixtures|test/e2e/node_modules)/' },
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['types', 'import', 'node', 'default', 'require'],
      extensions: ['.ts', '.mjs', '.cjs', '.js', '.d.ts'],
      mainFields: ['module', 'main', 'types', 'typings'],
    },
  },
};

// Deliberately wrong code, one mistake a line, for tools.test.ts. `// !: rule` names what eslint must report on
// that line, `// ! rule` what dependency-cruiser must report for that file. It is text, not code, so that the
// checks of the tree itself do not stumble over it. Cases 51 (console windows), 74 (paths against where the sidecar was
// started) and 143 (watchers of whole roots) are among them.

const longFunction = `export function tooLong(): number {\n  let sum = 0;\n${'  sum += 1;\n'.repeat(70)}  return sum;\n}\n`;

export const brokenLint: Record<string, string> = {
  'sidecar/core/sample.ts': `
export const now = Date.now(); // !: no-restricted-globals
export const luck = Math.random(); // !: no-restricted-syntax
setTimeout(() => undefined, 1); // !: no-restricted-globals
export const later = Promise.resolve(1); // !: no-restricted-globals
process.exit(1); // !: no-restricted-globals
export async function waits() { // !: no-restricted-syntax
  await later; // !: no-restricted-syntax
}
`,
  'sidecar/store/sample.ts': `
import { spawn } from 'node:child_process';
import { watch } from 'node:fs';
import { EventEmitter } from 'node:events';
type Colour = 'red' | 'green';
async function work(): Promise<void> {}
work(); // !: @typescript-eslint/no-floating-promises
new EventEmitter().on('x', work); // !: @typescript-eslint/no-misused-promises
export function name(colour: Colour): string {
  switch (colour) { // !: @typescript-eslint/switch-exhaustiveness-check
    case 'red':
      return 'r';
  }
  return '';
}
export const loose: any = 1; // !: @typescript-eslint/no-explicit-any
export function many(a: 1, b: 2, c: 3, d: 4, e: 5) { return [a, b, c, d, e]; } // !: max-params
export default name; // !: no-restricted-syntax
export enum Old { One } // !: no-restricted-syntax
export * from './other.ts'; // !: no-restricted-syntax
spawn('ls', []); // !: no-restricted-syntax
spawn('ls', [], { windowsHide: true });
export const here = process.cwd(); // !: no-restricted-syntax
watch('/', { recursive: true }); // !: no-restricted-syntax
console.log('on the wire'); // !: no-console
throw 'text'; // !: @typescript-eslint/only-throw-error
`,
  'sidecar/store/long.ts': longFunction.replace('{\n', '{ // !: max-lines-per-function\n'),
  'sidecar/store/other.ts': 'export const other = 1;\n',
};

export const brokenBoundaries: Record<string, string> = {
  'sidecar/protocol/ids.ts': `import '../core/turn.ts'; // ! protocol-only-knows-its-own`,
  'sidecar/core/turn.ts': `import 'node:fs'; // ! core-only-knows-its-own`,
  'sidecar/core/a.ts': `import './b.ts'; // ! no-cycles`,
  'sidecar/core/b.ts': `import './a.ts';`,
  'sidecar/core/typed.ts': `import type { D } from '../store/db.ts'; // ! core-only-knows-its-own\nexport type E = D;`,
  'sidecar/ports.ts': `import './runtime/host.ts'; // ! ports-only-knows-its-own`,
  'sidecar/runtime/host.ts': `import '../store/db.ts'; // ! runtime-only-knows-its-own`,
  'sidecar/store/db.ts': `import 'better-sqlite3';\nimport '../core/merge.ts';\nimport '../runtime/limits.ts';\nexport type D = 1;`,
  'sidecar/runtime/limits.ts': `export const limits = { pageRows: 200 };`,
  'sidecar/core/merge.ts': `import '../protocol/errors.ts';`,
  'sidecar/protocol/errors.ts': `export const code = 1;`,
  'sidecar/store/fetch.ts': `import 'node:http'; // ! store-only-knows-its-own`,
  'sidecar/model/http.ts': `import 'undici';\nimport 'node:http2';`,
  'sidecar/tools/read.ts': `import '../workspace/worktree.ts';`,
  'sidecar/workspace/worktree.ts': `import 'better-sqlite3'; // ! workspace-only-knows-its-own`,
  'sidecar/workspace/train.ts': `import '../tools/read.ts'; // ! workspace-only-knows-its-own`,
  'sidecar/platform/clock.ts': `import '../rpc/serve.ts'; // ! platform-only-knows-its-own`,
  'sidecar/rpc/serve.ts': `import '../store/db.ts'; // ! rpc-only-knows-its-own`,
  'sidecar/cli/main.ts': `import '../runtime/slots.ts'; // ! cli-only-knows-its-own`,
  'sidecar/runtime/slots.ts': `import '../core/nowhere.ts'; // ! resolvable, runtime-only-knows-its-own`,
  'sidecar/runtime/clock.ts': `import 'vscode'; // ! runtime-only-knows-its-own`,
  'sidecar/wiring.ts': `import './cli/main.ts';\nimport 'fast-check'; // ! wiring-only-knows-its-own, no-tools-at-run-time`,
  'sidecar/main.ts': `import '../test/support/x.ts'; // ! wiring-only-knows-its-own, nothing-needs-tests`,
  'extension/main.ts': `import 'vscode';\nimport '../sidecar/protocol/errors.ts';`,
  'extension/panel.ts': `import '../sidecar/core/merge.ts'; // ! extension-only-knows-its-own`,
  'webview/main.ts': `import 'vscode'; // ! webview-only-knows-its-own`,
  'webview/bridge.ts': `import '../extension/main.ts'; // ! webview-only-knows-its-own`,
  'test/support/x.ts': `export const x = 1;`,
};

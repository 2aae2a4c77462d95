// What the tree must look like, beyond what the tools check. Each check takes the files and returns sentences
// about what is wrong and what to do; none means all is well. Pure, so that tidy.test.ts can also feed them
// files that are wrong on purpose.

export type TreeFile = { path: string; text: string };

/** Longer files allowed for a stated reason; an entry may only shrink, and leaves when the file is short again. */
export type Exceptions = { lines: Record<string, { atMost: number; reason: string }> };

const code = /\.(ts|mjs|cjs|js|css)$/;
const product = /^(sidecar|extension|webview)\/.*\.(ts|css)$/;

/** A file of the product may have this many lines, a test or benchmark more: a test is a list of stories. */
export const longest = { product: 500, test: 800 } as const;

/** Room between an exception and its file, so that removing a few lines does not ask for a second edit. */
const exceptionSlackLines = 25;

export function headers(files: readonly TreeFile[]): string[] {
  return files
    .filter((file) => code.test(file.path) && !opensWithComment(file.text))
    .map(
      (file) => `${file.path}: open it with a comment: what it owns, what it promises, what is not in it.`,
    );
}

function opensWithComment(text: string): boolean {
  const body = text.replace(/^#!.*\n/, '').trimStart();
  const comment = /^(\/\/[^\n]*\n?)+|^\/\*[\s\S]*?\*\//.exec(body)?.[0] ?? '';
  // Five words are the shortest thing that says something.
  return 5 <= (comment.match(/[A-Za-z]{2,}/g) ?? []).length;
}

export function sizes(files: readonly TreeFile[], exceptions: Exceptions): string[] {
  const problems: string[] = [];
  for (const file of files.filter((each) => code.test(each.path))) {
    const lines = lineCount(file.text);
    const bound = /^(test|bench)\//.test(file.path) ? longest.test : longest.product;
    const exception = exceptions.lines[file.path];
    const allowed = Math.max(bound, exception?.atMost ?? 0);
    if (allowed < lines)
      problems.push(`${file.path}: ${lines} lines, at most ${allowed}. Split it by what it owns.`);
    if (exception === undefined) continue;
    if (lines <= bound) problems.push(`${file.path}: short enough now; remove it from exceptions.json.`);
    else if (lines + exceptionSlackLines < exception.atMost) {
      problems.push(
        `${file.path}: ${lines} lines; lower its exception from ${exception.atMost}, it may only shrink.`,
      );
    }
    if (exception.reason.length < 20) problems.push(`${file.path}: its exception needs a reason.`);
  }
  const present = new Set(files.map((file) => file.path));
  for (const name of Object.keys(exceptions.lines)) {
    if (!present.has(name)) problems.push(`${name}: gone; remove it from exceptions.json.`);
  }
  return problems;
}

export function lineCount(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

/** Every product file lies in one of the places that boundaries.cjs has a rule for. */
export function placed(files: readonly TreeFile[], places: readonly RegExp[]): string[] {
  return files
    .filter((file) => product.test(file.path) && !places.some((place) => place.test(file.path)))
    .map((file) => `${file.path}: no boundary rule covers this place; add one to test/tidy/boundaries.cjs.`);
}

/** Names that say nothing about what is inside. */
export function names(files: readonly TreeFile[]): string[] {
  return files
    .filter((file) => /(^|\/)(utils?|helpers?|common|misc|index)(\.ts$|\/)/.test(file.path))
    .map(
      (file) => `${file.path}: a name that says nothing. A helper lives with its user; a folder is a noun.`,
    );
}

type Banned = { pattern: RegExp; instead: string };

// Written so that this file does not contain what it looks for.
const banned: readonly Banned[] = [
  { pattern: /\b(TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b/, instead: 'do it, or open an issue' },
  { pattern: /\bfor[ ]now\b/i, instead: 'say until when, or do it' },
  { pattern: /\bwhite[-]?list/i, instead: 'allow list' },
  { pattern: /\bblack[-]?list/i, instead: 'deny list' },
  { pattern: /\bsanity[ ]check/i, instead: 'check' },
  { pattern: /\beslint-disable(?!-next-line)/, instead: 'a single-line exception with its reason' },
  { pattern: /@ts[-]ignore/, instead: '@ts-expect-error with its reason' },
];

// Where the tree happens to be, where its packages happen to come from: neither belongs in it.
const leaks: readonly Banned[] = [
  {
    pattern: /(?<![\w.~*])\/(work|root)\/[\w.]/,
    instead: 'a path relative to the tree, or a temporary folder',
  },
  { pattern: /(?<![\w.])\/home\/(?!(me|you|user|person)\b)\w+\//, instead: '/home/me' },
  { pattern: /\/tmp\/bash[_]jobs/, instead: 'a temporary folder' },
  { pattern: /registry\.[\w-]+\.\w+/, instead: 'nothing: npm knows its registry' },
  { pattern: /"resolv[e]d":/, instead: 'a lockfile without addresses (omit-lockfile-registry-resolved)' },
];

export function words(files: readonly TreeFile[]): string[] {
  return files.filter((file) => code.test(file.path)).flatMap((file) => find(file, banned));
}

export function leftovers(files: readonly TreeFile[]): string[] {
  return files.flatMap((file) => find(file, leaks));
}

function find(file: TreeFile, patterns: readonly Banned[]): string[] {
  return file.text.split('\n').flatMap((line, index) =>
    patterns.flatMap(({ pattern, instead }) => {
      const match = pattern.exec(line);
      return match === null ? [] : [`${file.path}:${index + 1}: "${match[0]}"; instead: ${instead}.`];
    }),
  );
}

/** A limit that nothing reads is a promise that nothing keeps. */
export function limitsUsed(files: readonly TreeFile[], limitsPath: string): string[] {
  const limits = files.find((file) => file.path === limitsPath);
  if (limits === undefined) return [];
  const others = files.filter((file) => product.test(file.path) && file !== limits).map((file) => file.text);
  return [...limits.text.matchAll(/^ {2}(\w+):/gm)]
    .map((match) => match[1] ?? '')
    .filter((name) => !others.some((text) => new RegExp(`\\b${name}\\b`).test(text)))
    .map((name) => `${limitsPath}: nothing uses ${name}; enforce it or remove it.`);
}

/** A branch that carries a mark is claimed by exactly one test. */
export function marksClaimed(files: readonly TreeFile[]): string[] {
  const inTests = files.filter(
    (file) => /^test\/.*\.test\.ts$/.test(file.path) && !file.path.startsWith('test/tidy/'),
  );
  const claims = inTests.flatMap((file) => quoted(file.text, 'covering'));
  const marks = files.filter((file) => product.test(file.path)).flatMap((file) => quoted(file.text, 'mark'));
  return [
    ...marks.filter((mark) => !claims.includes(mark)).map((mark) => `no test claims the mark "${mark}".`),
    ...claims
      .filter((claim) => !marks.includes(claim))
      .map((claim) => `a test claims "${claim}", which is no mark.`),
    ...twice(marks).map((mark) => `two branches carry the mark "${mark}".`),
    ...twice(claims).map((claim) => `two tests claim the mark "${claim}".`),
  ];
}

function quoted(text: string, call: string): string[] {
  return [...text.matchAll(new RegExp(`\\b${call}\\(\\s*'([^']+)'`, 'g'))].map((match) => match[1] ?? '');
}

function twice(all: readonly string[]): string[] {
  return [...new Set(all.filter((each, index) => all.indexOf(each) < index))];
}

/** Every fixture is named by some test; a fixture that none names is left over. */
export function fixturesUsed(files: readonly TreeFile[]): string[] {
  const tests = files.filter((file) => /^(test|bench)\/.*\.ts$/.test(file.path)).map((file) => file.text);
  const fixtures = files.map((file) => /^test\/fixtures\/([^/]+)/.exec(file.path)?.[1]);
  return [...new Set(fixtures)]
    .filter((name) => name !== undefined)
    .filter((name) => !tests.some((text) => text.includes(name)))
    .map((name) => `test/fixtures/${name}: no test names it; remove it.`);
}

// The project of the end-to-end story: twelve small modules, each with two bugs that stand apart, so that each
// file has two hunks to decide. Names, bugs and fixes are ones that a person could meet; what a module must look
// like after any pair of verdicts is computed here, byte for byte.

/** One bug: text that stands once in the module, and what an agent puts in its place. */
export interface Fix {
  readonly old: string;
  readonly new: string;
}

export interface Module {
  /** Name of the agent that works on it, and of the file. */
  readonly name: string;
  readonly path: string;
  readonly text: string;
  /** In order of their place. */
  readonly fixes: readonly [Fix, Fix];
  /** What the agent says that was wrong. */
  readonly found: string;
}

interface Draft {
  readonly name: string;
  readonly folder?: string;
  readonly lines: readonly string[];
  readonly fixes: readonly [Fix, Fix];
  readonly found: string;
  /** Written before the first line and between lines. */
  readonly bom?: string;
  readonly eol?: string;
  /** The last line has no line end. */
  readonly open?: boolean;
}

const drafts: readonly Draft[] = [
  {
    name: 'mean',
    lines: [
      '/** The mean of the values; of none it is 0. */',
      'export function mean(values) {',
      '  let sum = 0;',
      '  for (let i = 1; i < values.length; i += 1) {',
      '    sum += values[i];',
      '  }',
      '  return sum / values.length;',
      '}',
    ],
    fixes: [
      { old: 'let i = 1', new: 'let i = 0' },
      { old: 'return sum / values.length;', new: 'return values.length === 0 ? 0 : sum / values.length;' },
    ],
    found: 'it left out the first value, and the mean of nothing was NaN',
  },
  {
    name: 'median',
    lines: [
      '/** The middle value; of an even number, the mean of the two in the middle. */',
      'export function median(values) {',
      '  const sorted = values.sort();',
      '  const middle = Math.floor(sorted.length / 2);',
      '  if (sorted.length % 2 === 1) {',
      '    return sorted[middle];',
      '  }',
      '  return (sorted[middle] + sorted[middle + 1]) / 2;',
      '}',
    ],
    fixes: [
      { old: 'values.sort()', new: 'values.toSorted((a, b) => a - b)' },
      { old: 'sorted[middle] + sorted[middle + 1]', new: 'sorted[middle - 1] + sorted[middle]' },
    ],
    found: 'it sorted numbers as text, in place, and took the wrong pair',
  },
  {
    name: 'clamp',
    bom: '\uFEFF',
    eol: '\r\n',
    open: true,
    lines: [
      '/** The value, moved into the range. */',
      'export function clamp(value, low, high) {',
      '  if (low >= high) {',
      "    throw new RangeError('The range is empty.');",
      '  }',
      '  // Both ends belong to the range.',
      '  return Math.max(high, Math.min(low, value));',
      '}',
    ],
    fixes: [
      { old: 'low >= high', new: 'low > high' },
      { old: 'Math.max(high, Math.min(low, value))', new: 'Math.min(high, Math.max(low, value))' },
    ],
    found: 'a range of one value was refused, and the ends were mixed up',
  },
  {
    name: 'slug',
    lines: [
      '/** A title as a part of an address. */',
      'export function slug(title) {',
      '  return title',
      '    .toLowerCase()',
      "    .replace(' ', '-')",
      "    .normalize('NFKD')",
      "    .replace(/[\\u0300-\\u036f]/g, '')",
      "    .replace(/[^a-z0-9]/g, '');",
      '}',
    ],
    fixes: [
      { old: "replace(' ', '-')", new: "replaceAll(' ', '-')" },
      { old: '[^a-z0-9]/g', new: '[^a-z0-9-]/g' },
    ],
    found: 'only the first space became a dash, and then dashes were removed',
  },
  {
    name: 'chunk',
    lines: [
      '/** The items in groups of a size; the last one may be smaller. */',
      'export function chunk(items, size) {',
      '  const groups = [];',
      '  for (let at = 0; at <= items.length; at += size) {',
      '    const end = at + size;',
      '    const group = items.slice(at, end);',
      '    groups.push(group);',
      '  }',
      '  return group;',
      '}',
    ],
    fixes: [
      { old: 'at <= items.length', new: 'at < items.length' },
      { old: 'return group;', new: 'return groups;' },
    ],
    found: 'it made an empty last group, and returned a name that is not there',
  },
  {
    name: 'unique',
    lines: [
      '/** The items without those that have the same key as one before. */',
      'export function unique(items, keyOf) {',
      '  const seen = [];',
      '  return items.filter((item) => {',
      '    const key = keyOf(item);',
      '    const known = seen.includes(key);',
      '    seen.push(key);',
      '    return known;',
      '  });',
      '}',
    ],
    fixes: [
      { old: 'return items.filter(', new: 'return [...items].filter(' },
      { old: 'return known;', new: 'return !known;' },
    ],
    found: 'it kept exactly the repeated ones, and failed on a Set',
  },
  {
    name: 'range',
    lines: [
      '/** Whole numbers from `from` up to and without `to`. */',
      'export function* range(from, to, step = 1) {',
      '  if (step === 0) {',
      '    return;',
      '  }',
      '',
      '  for (let at = from; at <= to; at += step) {',
      '    yield at;',
      '  }',
      '}',
    ],
    fixes: [
      { old: '    return;', new: "    throw new RangeError('A step of 0 never ends.');" },
      { old: 'at <= to', new: '(0 < step ? at < to : to < at)' },
    ],
    found: 'the end was included, and a step of 0 went unnoticed',
  },
  {
    name: 'csv',
    lines: [
      '/** One line of values, separated by commas. */',
      'export function csvLine(values) {',
      '  return values',
      '    .map((value) => String(value))',
      '    .map((text) => {',
      '      if (!/[",\\n]/.test(text)) return text;',
      '      const inner = text;',
      '      return `"${inner}"`;',
      '    })',
      "    .join(', ');",
      '}',
    ],
    fixes: [
      { old: 'const inner = text;', new: "const inner = text.replaceAll('\"', '\"\"');" },
      { old: "join(', ')", new: "join(',')" },
    ],
    found: 'quotes were not doubled, and spaces became part of values',
  },
  {
    name: 'query',
    lines: [
      '/** The parameters as the end of an address. */',
      'export function query(parameters) {',
      '  const parts = [];',
      '  for (const name in parameters) {',
      '    const value = parameters[name];',
      '    if (value === undefined) {',
      '      continue;',
      '    }',
      '    parts.push(`${name}=${value}`);',
      '  }',
      "  return parts.join('&');",
      '}',
    ],
    fixes: [
      { old: 'const name in parameters', new: 'const name of Object.keys(parameters)' },
      { old: '`${name}=${value}`', new: '`${encodeURIComponent(name)}=${encodeURIComponent(value)}`' },
    ],
    found: 'inherited names were sent, and nothing was escaped',
  },
  {
    name: 'retry',
    lines: [
      '/** Tries the work up to `times`, and gives its result. */',
      'export async function retry(work, times) {',
      '  let last;',
      '  for (let n = 1; n < times; n += 1) {',
      '    try {',
      '      return work();',
      '    } catch (error) {',
      '      last = error;',
      '    }',
      '  }',
      '  throw last;',
      '}',
    ],
    fixes: [
      { old: 'n < times', new: 'n <= times' },
      { old: 'return work();', new: 'return await work();' },
    ],
    found: 'the last try was left out, and a rejection escaped the catch',
  },
  {
    name: 'dates',
    lines: [
      '/** Whether a year has a day more than others. */',
      'export function isLeap(year) {',
      '  return year % 4 === 0;',
      '}',
      '',
      '/** The number of days of a month, 1 to 12. */',
      'export function daysIn(year, month) {',
      '  return new Date(year, month - 1, 0).getDate();',
      '}',
    ],
    fixes: [
      { old: 'year % 4 === 0', new: '(year % 4 === 0 && year % 100 !== 0) || year % 400 === 0' },
      { old: 'month - 1, 0', new: 'month, 0' },
    ],
    found: '1900 was a leap year, and each month had the days of the one before',
  },
  {
    name: 'debounce',
    folder: 'web',
    lines: [
      '/** Runs the work once calls have paused for a time. */',
      'export function debounce(work, waitMs) {',
      '  let timer;',
      '  return (...args) => {',
      '    clearInterval(timer);',
      '    const run = () => {',
      '      timer = undefined;',
      '      work(args);',
      '    };',
      '    timer = setTimeout(run, waitMs);',
      '  };',
      '}',
    ],
    fixes: [
      { old: 'clearInterval(timer)', new: 'clearTimeout(timer)' },
      { old: 'work(args)', new: 'work(...args)' },
    ],
    found: 'the wrong kind of timer was cleared, and arguments came as a list',
  },
];

export const modules: readonly Module[] = drafts.map((draft) => {
  const { name, folder = 'src', lines, fixes, found, bom = '', eol = '\n', open = false } = draft;
  const text = bom + lines.join(eol) + (open ? '' : eol);
  return { name, path: `${folder}/${name}.js`, text, fixes, found };
});

/** The text of a module after the verdicts on its two hunks. */
export function afterVerdicts(module: Module, first: boolean, second: boolean): string {
  const [a, b] = module.fixes;
  const half = first ? replaced(module.text, a) : module.text;
  return second ? replaced(half, b) : half;
}

function replaced(text: string, fix: Fix): string {
  if (text.split(fix.old).length !== 2) throw new Error(`"${fix.old}" must stand exactly once in:\n${text}`);
  // A function, because a fix may have `$&` in it.
  return text.replace(fix.old, () => fix.new);
}

/** The one edit that an agent makes: from the line of its first fix to the line of its second. */
export function editOf(module: Module): Fix {
  const before = module.text.replace('\uFEFF', '').replaceAll('\r\n', '\n').split('\n');
  const after = afterVerdicts(module, true, true).replace('\uFEFF', '').replaceAll('\r\n', '\n').split('\n');
  const changed = before.flatMap((line, at) => (line === after[at] ? [] : [at]));
  const first = changed[0] ?? 0;
  const end = (changed.at(-1) ?? 0) + 1;
  return { old: before.slice(first, end).join('\n'), new: after.slice(first, end).join('\n') };
}

// Markdown with fields before it, between two lines of three dashes: profiles and skills of every tool have them.
//
// The fields are YAML, read by the library of that name; it is loaded with the first such file (a bundle of its own:
// 12 ms and 1.3 MB), so a sidecar without them does not pay. What people write is often not quite
// YAML (`description: Use it when: …`, unquoted): then the values of simple lines are taken as they stand.

import type { Json, JsonObject } from '../protocol/json.ts';

export interface Frontmatter {
  /** None when there is no such block, or nothing in it. */
  readonly fields: JsonObject;
  /** What follows the block. */
  readonly body: string;
}

/** Splits and reads a file's text; a text says what is wrong with its fields. */
export async function readFrontmatter(text: string): Promise<Frontmatter | string> {
  const match = /^\ufeff?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/.exec(text);
  if (match === null) return { fields: {}, body: text };
  const body = text.slice(match[0].length);
  const yaml = match[1] ?? '';
  const fields = await fieldsIn(yaml);
  return typeof fields === 'string' ? fields : { fields, body };
}

async function fieldsIn(yaml: string): Promise<JsonObject | string> {
  const { parse } = await import('yaml');
  // Aliases can make a small text large without end (a "billion laughs"); nobody needs one here.
  const read = (text: string): unknown => parse(text, { maxAliasCount: 0, logLevel: 'error' });
  try {
    return asObject(read(yaml));
  } catch (error) {
    try {
      return asObject(read(quoted(yaml)));
    } catch {
      const said = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
      return `its fields are not YAML: ${said}`;
    }
  }
}

/** Each line `name: value` at the margin with its value in quotes, unless it is a list, a text of several lines or quoted already. */
const quoted = (yaml: string): string =>
  yaml.replaceAll(
    /^([\w-]+):[ \t]+([^\s'"[{|>&*!%@`#][^\r\n]*?)[ \t]*$/gm,
    (_line, name: string, value: string) => `${name}: ${JSON.stringify(value)}`,
  );

function asObject(value: unknown): JsonObject | string {
  if (value === null || value === undefined) return {};
  const json: Json = JSON.parse(JSON.stringify(value));
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return 'its fields are not `name: value`';
  return Object.fromEntries(Object.entries(json));
}

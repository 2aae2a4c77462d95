// Arguments that models get wrong, for every tool there is, made from its own schema: each is answered with an error that
// names the tool and the argument, so that the model can mend it, and nothing is run (cases 42 and 77).

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../sidecar/protocol/json.ts';
import { createPlace } from './place.ts';

interface Property {
  readonly type: 'string' | 'integer' | 'boolean';
  readonly enum?: readonly string[];
  readonly minimum?: number;
}

interface Schema {
  readonly properties: Readonly<Record<string, Property>>;
  readonly required: readonly string[];
}

const good = ({ type, enum: names, minimum }: Property): Json =>
  type === 'integer' ? (minimum ?? 1) : type === 'boolean' ? false : (names?.[0] ?? 'a');

/** Values that are no value of a property. */
function bad({ type, enum: names, minimum }: Property): readonly Json[] {
  if (type === 'boolean') return ['yes', 1, {}, []];
  if (type === 'string') return [7, true, {}, ['a'], ...(names === undefined ? [] : ['nonsense', ''])];
  return ['one', 1.5, true, {}, [1], 1e300, ...(minimum === undefined ? [] : [minimum - 1, -1])];
}

/** Texts that are strings and that no tool expects. */
const odd = ['', '\uD800', 'a\0b', '../outside', 'x'.repeat(2_000_000)];

const { specs } = createPlace().tools;

for (const { name, schema } of specs) {
  const { properties, required } = schema as unknown as Schema;
  const base = Object.fromEntries(required.map((field) => [field, good(properties[field]!)]));

  test(`${name}: what is missing or of another type is named`, async () => {
    const place = createPlace();
    const wrong: [string, JsonObject][] = required.map((field) => [
      field,
      Object.fromEntries(Object.entries(base).filter(([other]) => other !== field)),
    ]);
    for (const [field, property] of Object.entries(properties))
      for (const value of bad(property)) wrong.push([field, { ...base, [field]: value }]);
    assert.ok(wrong.length > 0);
    for (const [field, input] of wrong) {
      const { status, text } = await place.call(name, input);
      const asked = JSON.stringify(input).slice(0, 200);
      assert.equal(status, 'error', asked);
      assert.match(text, new RegExp(`^${name}\\b.*[\`"]${field}[\`"]`), asked);
    }
    assert.deepEqual(readdirSync(place.workspace), []);
  });

  test(`${name}: odd texts are answered in words, and nothing outside is touched`, async () => {
    const place = createPlace();
    for (const [field, property] of Object.entries(properties)) {
      if (property.type !== 'string' || property.enum !== undefined) continue;
      for (const value of odd) {
        const { text } = await place.call(name, { ...base, [field]: value });
        const asked = `${field}: ${JSON.stringify(value).slice(0, 40)}`;
        assert.ok(text.length > 0 && text.length < 64 * 1024, asked);
        assert.doesNotMatch(text, /\.[cm]?[jt]s:\d+|\[object |\bundefined\b/, asked);
      }
    }
    const beside = readdirSync(path.dirname(place.workspace));
    assert.ok(!beside.includes('outside'));
  });
}

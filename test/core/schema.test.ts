// Result schemas: what is taken, what is refused and why, and what a wrong result is told.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSchema, type ResultSchema } from '../../sidecar/core/schema.ts';
import type { JsonObject } from '../../sidecar/protocol/json.ts';
import { limits } from '../../sidecar/runtime/limits.ts';

const object = (more: JsonObject): JsonObject => ({ type: 'object', ...more });

function taken(schema: JsonObject): ResultSchema {
  const read = readSchema(schema, limits);
  if (typeof read === 'string') assert.fail(read);
  return read;
}

function refusal(schema: JsonObject): string {
  const read = readSchema(schema, limits);
  return typeof read === 'string' ? read : 'it was taken';
}

const findings = object({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Findings',
  properties: {
    findings: { type: 'array', items: { $ref: '#/$defs/finding' }, minItems: 1 },
    verdict: { enum: ['pass', 'fail'], description: 'how it looks' },
    at: { type: 'string', format: 'date-time' },
  },
  required: ['findings', 'verdict'],
  additionalProperties: false,
  $defs: {
    finding: {
      type: 'object',
      properties: { file: { type: 'string' }, line: { type: 'integer', minimum: 1 } },
      required: ['file'],
    },
  },
});

test('a result that fits is taken, and each that does not is told where and why', () => {
  const schema = taken(findings);
  const right = { findings: [{ file: 'a.ts', line: 3 }], verdict: 'pass', at: 'any text: formats describe' };
  assert.equal(schema.problemOf(right), null);
  const wrong: [result: JsonObject, says: RegExp][] = [
    [{ verdict: 'pass' }, /^- result: .*"findings"/],
    [{ findings: [], verdict: 'pass' }, /^- result\.findings: Array has too few items/],
    [{ findings: [{ file: 'a' }, { line: 1 }], verdict: 'pass' }, /^- result\.findings\[1\]: .*"file"/],
    [{ findings: [{ file: 'a', line: 1.5 }], verdict: 'pass' }, /^- result\.findings\[0\]\.line: .*integer/],
    [{ findings: [{ file: 'a' }], verdict: 'maybe' }, /^- result\.verdict: .*"pass","fail"/],
    [{ findings: [{ file: 'a' }], verdict: 'pass', more: 1 }, /^- result/],
  ];
  for (const [result, says] of wrong) assert.match(schema.problemOf(result) ?? 'it fits', says);
});

test('all keywords that decide are carried out', () => {
  const cases: [schema: JsonObject, fits: JsonObject, not: JsonObject][] = [
    [{ properties: { a: { const: [1, { b: null }] } } }, { a: [1, { b: null }] }, { a: [1, { b: 0 }] }],
    [{ properties: { a: { type: ['string', 'null'] } } }, { a: null }, { a: 1 }],
    [{ anyOf: [{ required: ['a'] }, { required: ['b'] }] }, { b: 1 }, { c: 1 }],
    [{ oneOf: [{ required: ['a'] }, { required: ['b'] }] }, { a: 1 }, { a: 1, b: 1 }],
    [{ allOf: [{ required: ['a'] }, { minProperties: 2 }] }, { a: 1, b: 1 }, { a: 1 }],
    [{ not: { required: ['a'] } }, { b: 1 }, { a: 1 }],
    [
      { if: { properties: { a: { const: 1 } } }, then: { required: ['b'] }, else: { required: ['c'] } },
      { a: 1, b: 1 },
      { a: 2, b: 1 },
    ],
    [{ maxProperties: 1 }, { a: 1 }, { a: 1, b: 1 }],
    [{ propertyNames: { maxLength: 2 } }, { ab: 1 }, { abc: 1 }],
    [{ additionalProperties: { type: 'number' } }, { a: 1 }, { a: '1' }],
    [{ dependentRequired: { a: ['b'] } }, { b: 1 }, { a: 1 }],
    [{ dependentSchemas: { a: { required: ['b'] } } }, { a: 1, b: 1 }, { a: 1 }],
    [{ properties: { a: {} }, unevaluatedProperties: false }, { a: 1 }, { b: 1 }],
    [
      { properties: { a: { prefixItems: [{ type: 'string' }], items: { type: 'number' } } } },
      { a: ['x', 1] },
      { a: ['x', 'y'] },
    ],
    [{ properties: { a: { contains: { const: 1 }, maxContains: 1 } } }, { a: [1, 2] }, { a: [1, 1] }],
    [
      { properties: { a: { uniqueItems: true, maxItems: 3 } } },
      { a: [{ b: 1 }, { b: 2 }] },
      { a: [{ b: 1 }, { b: 1 }] },
    ],
    [{ properties: { a: { exclusiveMinimum: 1, maximum: 5, multipleOf: 0.5 } } }, { a: 2.5 }, { a: 1 }],
    [{ properties: { a: { minLength: 2, maxLength: 3 } } }, { a: '😀😀' }, { a: '😀' }],
    [{ properties: { constructor: { type: 'number' } } }, { a: 1 }, { constructor: 'x' }],
    [{ properties: { a: false } }, { b: 1 }, { a: 1 }],
    [
      { definitions: { b: { const: 1 } }, properties: { a: { $ref: '#/definitions/b' } } },
      { a: 1 },
      { a: 2 },
    ],
  ];
  for (const [schema, fits, not] of cases) {
    const read = taken(object(schema));
    assert.equal(read.problemOf(fits), null, `${JSON.stringify(schema)} takes ${JSON.stringify(fits)}`);
    assert.notEqual(read.problemOf(not), null, `${JSON.stringify(schema)} refuses ${JSON.stringify(not)}`);
  }
});

test('what would not be carried out is refused by name, with what to write instead (I18)', () => {
  const cases: [schema: JsonObject, says: RegExp][] = [
    [{ type: 'array' }, /"type": "object" at its top/],
    [{}, /"type": "object" at its top/],
    [
      object({ properties: { a: { pattern: '^(a+)+$' } } }),
      /#\/properties\/a has "pattern": regular expressions are not run/,
    ],
    [object({ patternProperties: { '^a': {} } }), /"patternProperties"/],
    [object({ properties: { a: { nullable: true } } }), /\["string", "null"\]/],
    [object({ $id: 'https://elsewhere' }), /"\$id"/],
    [object({ properties: { a: { $ref: 'https://elsewhere#' } } }), /"#\/\$defs\/NAME"/],
    [object({ properties: { a: { $ref: '#/$defs/b' } } }), /of a part that is there/],
    [object({ properties: { a: { $ref: '#' } } }), /"#\/\$defs\/NAME"/],
    [
      object({ $defs: { a: { items: { $ref: '#/$defs/a' } } }, properties: { a: { $ref: '#/$defs/a' } } }),
      /refers to itself/,
    ],
    [object({ required: 'a' }), /#\/required must be a list of texts/],
    [object({ properties: { a: { type: 'text' } } }), /#\/properties\/a\/type must be one of object, array/],
    [object({ properties: { a: 5 } }), /#\/properties\/a must be a schema/],
    [object({ anyOf: {} }), /#\/anyOf must be a list of schemas/],
    [object({ properties: { a: { minimum: '1' } } }), /#\/properties\/a\/minimum must be a number/],
    [object({ properties: { a: { maxItems: -1 } } }), /whole number that is not negative/],
    [object({ properties: { a: { items: [{}] } } }), /#\/properties\/a\/items must be a schema/],
  ];
  for (const [schema, says] of cases) assert.match(refusal(schema), says);
  // A property may have the name of a keyword, and so may a value.
  assert.equal(refusal(object({ properties: { pattern: { const: { pattern: 'x' } } } })), 'it was taken');
});

test('a schema that doubles at each level is refused, and a result that costs too much as well (I18)', () => {
  const levels = Array.from({ length: 40 }, (_, n): [string, JsonObject] => [
    `l${n}`,
    n === 39 ? {} : { allOf: [{ $ref: `#/$defs/l${n + 1}` }, { $ref: `#/$defs/l${n + 1}` }] },
  ]);
  const doubling = object({ $defs: Object.fromEntries(levels), properties: { a: { $ref: '#/$defs/l0' } } });
  assert.match(refusal(doubling), /more than 1000 parts/);

  const wide = taken(
    object({
      properties: {
        a: { items: { anyOf: Array.from({ length: 100 }, (_, n) => ({ properties: { b: { const: n } } })) } },
      },
    }),
  );
  const list = (length: number): JsonObject => ({ a: Array.from({ length }, () => ({ b: 5 })) });
  assert.equal(wide.problemOf(list(10)), null);
  assert.match(wide.problemOf(list(5_000)) ?? 'it fits', /too large to be checked/);
  // It is no worse off afterwards.
  assert.equal(wide.problemOf(list(10)), null);

  const different = taken(object({ properties: { a: { uniqueItems: true } } }));
  const numbers = (length: number): JsonObject => ({ a: Array.from({ length }, (_, n) => n) });
  assert.equal(different.problemOf(numbers(limits.uniqueItems)), null);
  assert.match(different.problemOf(numbers(limits.uniqueItems + 1)) ?? 'it fits', /more than 300 items/);
});

test('many problems are told as the first few and a number', () => {
  const schema = taken(
    object({
      properties: { a: { items: { required: ['b', 'c', 'd', 'e', 'f', 'g'] } } },
      required: ['x', 'y', 'z'],
    }),
  );
  const told = schema.problemOf({ a: [{}] })?.split('\n') ?? [];
  assert.equal(told.length, limits.schemaProblems + 1);
  assert.match(told.at(-1) ?? '', /^- and \d+ more$/);
});

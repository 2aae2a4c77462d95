// Result schemas: the form of what a turn must hand in, as JSON Schema that a person or a model wrote.
//
// A schema is judged before it is taken, keyword by keyword, so that nothing in it can break or hold the loop later
// (I18): no regular expressions, no references outside or in circles, a bounded number of parts. Keywords that only
// describe (title, description, default, examples, format and all that are not known) are let be, as the standard has
// it. What passes is a copy of the keywords that count, and only that is given to the validator, which evaluates
// without generating code. Not here: where a schema comes from and what becomes of a wrong result (runtime/typed.ts).

import { Validator, type Schema } from '@cfworker/json-schema';

import type { Json, JsonObject } from '../protocol/json.ts';
import { isObject } from './verbs.ts';

export interface SchemaBounds {
  /** Parts of a schema, references followed. */
  readonly schemaParts: number;
  /** Applications of a part of a schema to a part of a result. */
  readonly schemaSteps: number;
  /** Items of a list that must differ from each other: they are compared pair by pair. */
  readonly uniqueItems: number;
  /** Problems of a result that are told at once. */
  readonly schemaProblems: number;
}

/** What the value of a keyword must be. */
type Form =
  | 'schema'
  | 'schemas'
  | 'schemaMap'
  | 'types'
  | 'names'
  | 'nameMap'
  | 'count'
  | 'number'
  | 'positive'
  | 'flag'
  | 'values'
  | 'value'
  | 'reference';

/** Looked up by what others wrote, so it is no plain object: those have a `constructor`. */
const forms: ReadonlyMap<string, Form> = new Map(
  Object.entries<Form>({
    $ref: 'reference',
    $defs: 'schemaMap',
    definitions: 'schemaMap',
    type: 'types',
    enum: 'values',
    const: 'value',
    allOf: 'schemas',
    anyOf: 'schemas',
    oneOf: 'schemas',
    not: 'schema',
    if: 'schema',
    then: 'schema',
    else: 'schema',
    properties: 'schemaMap',
    required: 'names',
    additionalProperties: 'schema',
    unevaluatedProperties: 'schema',
    propertyNames: 'schema',
    minProperties: 'count',
    maxProperties: 'count',
    dependentRequired: 'nameMap',
    dependentSchemas: 'schemaMap',
    items: 'schema',
    prefixItems: 'schemas',
    unevaluatedItems: 'schema',
    contains: 'schema',
    minContains: 'count',
    maxContains: 'count',
    minItems: 'count',
    maxItems: 'count',
    uniqueItems: 'flag',
    minimum: 'number',
    maximum: 'number',
    exclusiveMinimum: 'number',
    exclusiveMaximum: 'number',
    multipleOf: 'positive',
    minLength: 'count',
    maxLength: 'count',
  }),
);

/** Keywords that would decide and that are not carried out, with what to write instead. */
const refused: ReadonlyMap<string, string> = new Map(
  Object.entries({
    pattern: 'regular expressions are not run on results; use "enum", or say it in the description',
    patternProperties: 'regular expressions are not run on results; use "additionalProperties"',
    additionalItems: 'write "prefixItems" for the first items and "items" for the rest',
    dependencies: 'write "dependentRequired" or "dependentSchemas"',
    nullable: 'write "type": ["string", "null"]',
    $id: 'parts are named in "$defs" and referred to as "#/$defs/NAME"',
    $anchor: 'parts are named in "$defs" and referred to as "#/$defs/NAME"',
    $dynamicRef: 'write "$ref": "#/$defs/NAME"',
    $dynamicAnchor: 'write "$ref": "#/$defs/NAME"',
    $recursiveRef: 'write the levels out',
    $recursiveAnchor: 'write the levels out',
  }),
);

const formWords: Readonly<Record<Form, string>> = {
  schema: 'a schema: an object, true or false',
  schemas: 'a list of schemas that is not empty',
  schemaMap: 'an object whose values are schemas',
  types: 'one of object, array, string, number, integer, boolean and null, or a list of them',
  names: 'a list of texts',
  nameMap: 'an object whose values are lists of texts',
  count: 'a whole number that is not negative',
  number: 'a number',
  positive: 'a number above 0',
  flag: 'true or false',
  values: 'a list that is not empty',
  value: 'a value',
  reference: '"#/$defs/NAME" or "#/definitions/NAME" of a part that is there',
};

const typeNames: readonly Json[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** A schema that was judged: what results are held against. */
export interface ResultSchema {
  /** What is wrong with a result, in words for a model; null when it fits. */
  problemOf(result: JsonObject): string | null;
}

/**
 * Reads a schema. A text: why it cannot be taken, in words for whoever wrote it.
 * Sources: JSON Schema 2020-12, https://json-schema.org/draft/2020-12 (core and validation vocabularies).
 */
export function readSchema(schema: JsonObject, bounds: SchemaBounds): ResultSchema | string {
  if (schema['type'] !== 'object')
    return 'The result schema must have "type": "object" at its top. Put a list or a text into a property.';
  try {
    return new Checker(new Reading(schema, bounds), bounds);
  } catch (error) {
    if (error instanceof Unusable) return `The result schema cannot be used: ${error.message}.`;
    throw error;
  }
}

/** Why a schema is refused. Never leaves this file. */
class Unusable extends Error {}

/** One reading of a schema, from the top down: the copy that counts, and how large it is with references followed. */
class Reading {
  readonly whole: Schema | boolean;
  /** It has lists whose items must differ. */
  mustDiffer = false;
  /** Applications of a part since somebody set it to 0. */
  steps = 0;
  readonly #root: JsonObject;
  readonly #bounds: SchemaBounds;
  /** Parts that each definition comes to; null while it is being counted, so that a circle is noticed. */
  readonly #sizes = new Map<string, number | null>();

  constructor(root: JsonObject, bounds: SchemaBounds) {
    this.#root = root;
    this.#bounds = bounds;
    this.whole = this.#part(root, '#');
    this.#count(root);
  }

  #part(schema: Json, at: string): Schema | boolean {
    if (typeof schema === 'boolean') return schema;
    if (!isObject(schema)) throw new Unusable(`${at} must be ${formWords.schema}`);
    const part: Schema = {};
    for (const [keyword, value] of Object.entries(schema)) {
      const instead = refused.get(keyword);
      if (instead !== undefined) throw new Unusable(`${at} has "${keyword}": ${instead}`);
      const form = forms.get(keyword);
      if (form !== undefined) part[keyword] = this.#value(form, value, `${at}/${keyword}`);
    }
    this.mustDiffer ||= part.uniqueItems === true;
    // The validator has no bound of its own. It reads this keyword, which is refused here, once for each part that it
    // applies, so reading it is counted.
    Object.defineProperty(part, '$recursiveAnchor', { get: () => this.#step(), enumerable: false });
    return part;
  }

  #step(): undefined {
    this.steps += 1;
    if (this.#bounds.schemaSteps < this.steps) throw new TooDear();
  }

  #value(form: Form, value: Json, at: string): unknown {
    switch (form) {
      case 'schema':
        return this.#part(value, at);
      case 'schemas':
        if (!Array.isArray(value) || value.length === 0)
          throw new Unusable(`${at} must be ${formWords[form]}`);
        return value.map((each: Json, index) => this.#part(each, `${at}/${index}`));
      case 'schemaMap':
        if (!isObject(value)) throw new Unusable(`${at} must be ${formWords[form]}`);
        return Object.fromEntries(
          Object.entries(value).map(([name, each]) => [name, this.#part(each, `${at}/${name}`)]),
        );
      case 'types':
      case 'names':
      case 'nameMap':
      case 'count':
      case 'number':
      case 'positive':
      case 'flag':
      case 'values':
      case 'value':
      case 'reference':
        if (!this.#fits(form, value)) throw new Unusable(`${at} must be ${formWords[form]}`);
        return value;
    }
  }

  #fits(form: Exclude<Form, 'schema' | 'schemas' | 'schemaMap'>, value: Json): boolean {
    switch (form) {
      case 'types':
        return Array.isArray(value)
          ? value.length > 0 && value.every((each: Json) => typeNames.includes(each))
          : typeNames.includes(value);
      case 'names':
        return isNames(value);
      case 'nameMap':
        return isObject(value) && Object.values(value).every(isNames);
      case 'count':
        return typeof value === 'number' && Number.isSafeInteger(value) && 0 <= value;
      case 'number':
        return typeof value === 'number';
      case 'positive':
        return typeof value === 'number' && 0 < value;
      case 'flag':
        return typeof value === 'boolean';
      case 'values':
        return Array.isArray(value) && value.length > 0;
      case 'value':
        return true;
      case 'reference':
        return this.#definition(value) !== undefined;
    }
  }

  #definition(reference: Json): Json | undefined {
    const [, where = '', name = ''] =
      typeof reference === 'string' ? (/^#\/(\$defs|definitions)\/([\w.-]+)$/.exec(reference) ?? []) : [];
    const definitions = this.#root[where];
    return isObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  }

  /** Parts of a schema, references followed; definitions count where they are used. */
  #count(schema: Json): number {
    if (!isObject(schema)) return 1;
    let parts = 1;
    for (const [keyword, value] of Object.entries(schema)) {
      const form = forms.get(keyword);
      if (keyword === '$defs' || keyword === 'definitions') continue;
      if (form === 'schema') parts += this.#count(value);
      else if (form === 'schemas' && Array.isArray(value))
        for (const each of value) parts += this.#count(each);
      else if (form === 'schemaMap' && isObject(value))
        for (const each of Object.values(value)) parts += this.#count(each);
      else if (form === 'reference' && typeof value === 'string') parts += this.#countReference(value);
      if (this.#bounds.schemaParts < parts) {
        throw new Unusable(
          `it has more than ${this.#bounds.schemaParts} parts with its references followed; make it smaller`,
        );
      }
    }
    return parts;
  }

  #countReference(reference: string): number {
    const known = this.#sizes.get(reference);
    if (known === null)
      throw new Unusable(`${reference} refers to itself; write the levels out that are wanted`);
    if (known !== undefined) return known;
    this.#sizes.set(reference, null);
    const parts = this.#count(this.#definition(reference) ?? true);
    this.#sizes.set(reference, parts);
    return parts;
  }
}

const isNames = (value: Json): boolean =>
  Array.isArray(value) && value.every((each: Json) => typeof each === 'string');

/** Thrown out of the validator when a result costs more than it may. */
class TooDear extends Error {}

class Checker implements ResultSchema {
  readonly #validator: Validator;
  readonly #reading: Reading;
  readonly #bounds: SchemaBounds;

  constructor(reading: Reading, bounds: SchemaBounds) {
    this.#reading = reading;
    this.#bounds = bounds;
    this.#validator = new Validator(reading.whole, '2020-12');
  }

  problemOf(result: JsonObject): string | null {
    const { uniqueItems, schemaProblems } = this.#bounds;
    if (this.#reading.mustDiffer && uniqueItems < longestList(result))
      return `- result: a list has more than ${uniqueItems} items, too many to tell whether they all differ.`;
    this.#reading.steps = 0;
    try {
      const { valid, errors } = this.#validator.validate(result);
      if (valid) return null;
      const leaves = errors.filter(({ keyword }) => !branches.has(keyword));
      const told = (leaves.length === 0 ? errors : leaves).map(
        ({ instanceLocation, error }) => `- ${placeOf(instanceLocation)}: ${error}`,
      );
      const lines = [...new Set(told)];
      const more = lines.length - schemaProblems;
      return [...lines.slice(0, schemaProblems), ...(more > 0 ? [`- and ${more} more`] : [])].join('\n');
    } catch (error) {
      if (error instanceof TooDear)
        return '- result: too large to be checked. Hand in less, or write it to a file and name the file.';
      throw error;
    }
  }
}

/** Keywords whose error only says that something below them is wrong. */
const branches: ReadonlySet<string> = new Set([
  '$ref',
  'properties',
  'additionalProperties',
  'unevaluatedProperties',
  'dependentSchemas',
  'items',
  'prefixItems',
  'unevaluatedItems',
  'allOf',
  'if',
]);

/** `#/a/0/b` as `result.a[0].b`. */
function placeOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((place, part) => (/^\d+$/.test(part) ? `${place}[${part}]` : `${place}.${part}`), 'result');
}

function longestList(value: Json): number {
  if (Array.isArray(value))
    return value.reduce((most: number, each: Json) => Math.max(most, longestList(each)), value.length);
  if (!isObject(value)) return 0;
  return Object.values(value).reduce<number>((most, each) => Math.max(most, longestList(each)), 0);
}

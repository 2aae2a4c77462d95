// Records that the workspace keeps as JSON files of its own: a torn or foreign one is none.

import * as v from 'valibot';
import { writeWhole } from './files.ts';

/** Writes a record, durable before it resolves. Rejects with what the file system says. */
export function writeRecord(file: string, record: object): Promise<void> {
  return writeWhole(file, Buffer.from(JSON.stringify(record)));
}

/** What a file of ours says; null: it is not what was written. */
export function readRecord<T>(schema: v.GenericSchema<unknown, T>, text: string): T | null {
  try {
    const result = v.safeParse(schema, JSON.parse(text));
    return result.success ? result.output : null;
  } catch {
    return null;
  }
}

// The agent's own version of a file, in its worktree, and the person's, which the editor and its language servers know:
// where a place of one is in the other. Of an agent without a worktree the two are one.

import type { Position } from '../protocol/language.ts';
import { currentOf, noBuffers } from '../workspace/buffers.ts';
import type { Buffers } from '../workspace/buffers.ts';
import { shownText } from '../workspace/bytes.ts';
import type { Located } from './locate.ts';
import { editorLines, lineMap, positionIn } from './position.ts';
import type { NamedPlace } from './position.ts';

/** Unsaved buffers matter where the person's own file is meant. */
export const buffersFor = (buffers: Buffers, { isolated }: Located): Buffers =>
  isolated ? noBuffers : buffers;

/** A file's text as it is, unsaved where there is such a text; null: there is none, or none that can be edited. */
export async function textOf(buffers: Buffers, file: string): Promise<string | null> {
  const now = await currentOf(buffers, file);
  if (now.kind === 'refused' || now.bytes === null) return null;
  return now.buffer ?? shownText(now.bytes);
}

export interface EditorPlace {
  readonly position: Position;
  /** The person's text, which the position is of. */
  readonly known: string;
}

/** Where the editor has a name that stands in the agent's version; a string says why it has not. */
export async function editorPlace(
  buffers: Buffers,
  located: Located,
  named: NamedPlace,
): Promise<EditorPlace | string> {
  const own = await textOf(buffersFor(buffers, located), located.read);
  if (own === null) return `${named.label} cannot be read.`;
  const position = positionIn(own, named);
  if (typeof position === 'string') return position;
  if (!located.isolated) return { position, known: own };
  const known = await textOf(buffers, located.person);
  const line = known === null ? null : lineMap(editorLines(own), editorLines(known))(position.line);
  if (known !== null && line !== null) return { position: { line, character: position.character }, known };
  return `line ${named.line} of ${named.label} stands in your worktree only, and the editor’s language servers know the person’s folder. Name a line that you have not changed, or find the uses with search.`;
}

/** Where lines of the person's version are in the agent's; null: it has not got the line as it is there. */
export async function ownLines(buffers: Buffers, located: Located): Promise<(line: number) => number | null> {
  if (!located.isolated) return (line) => line;
  const [own, known] = [await textOf(noBuffers, located.read), await textOf(buffers, located.person)];
  return own === null || known === null ? () => null : lineMap(editorLines(known), editorLines(own));
}

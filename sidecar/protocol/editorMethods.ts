// What the sidecar asks of an editor: texts that are not saved, edits, language servers, keys, models. The other half
// of the wire, with the same rules (methods.ts).

import type { LmEnding, LmMessage, LmTool } from './editorModel.ts';
import type { Diagnostics, Locations, Position, Renaming, Seek } from './language.ts';

/** What an editor can be asked to do; a client names what it offers in `hello`. */
export type EditorAbility = 'buffers' | 'secrets' | 'reveal' | 'languages';

/** Calls that the sidecar makes and a client with the ability answers. */
export interface EditorMethods {
  /** The text of an unsaved buffer, or null when the file is not open or is saved. */
  'editor/readText': { params: { readonly path: string }; result: { readonly text: string | null } };
  /** Replaces ranges of an open buffer as one undo step; refused when the buffer's text is not `expect` (its SHA-256, hex). */
  'editor/applyEdit': {
    params: {
      readonly path: string;
      readonly expect: string;
      /** Offsets in UTF-16 units of the text that `editor/readText` gave, ascending, not touching. */
      readonly edits: readonly { readonly start: number; readonly end: number; readonly text: string }[];
    };
    result: { readonly applied: boolean };
  };
  /** What language servers say of a file, or of all files below a folder that they have looked at. Opens no editor. */
  'editor/diagnostics': { params: { readonly path: string; readonly most: number }; result: Diagnostics };
  /** Where the name at a position is defined, used or implemented. */
  'editor/locations': {
    params: {
      readonly path: string;
      readonly position: Position;
      readonly find: Seek;
      readonly most: number;
    };
    result: Locations;
  };
  /** What renaming the name at a position would change, in at most so many places; more is refused. Changes nothing. */
  'editor/rename': {
    params: {
      readonly path: string;
      readonly position: Position;
      /** The text that the position is of, as `FileEdits.text` names it; another one answers *stale*. */
      readonly text: string;
      readonly newName: string;
      readonly most: number;
    };
    result: Renaming;
  };
  /** A provider's key and where it is valid; null when this client has none. Never stored (DESIGN §13). */
  'editor/secret': {
    params: { readonly provider: string };
    result: { readonly key: string | null; readonly baseUrl?: string };
  };
  /** A page of the conversation of a request, before it is asked. `request` is a number of the sidecar's. */
  'editor/modelPage': {
    params: { readonly request: number; readonly messages: readonly LmMessage[] };
    result: Record<string, never>;
  };
  /** Asks a model of the editor with the pages that came. Answers when the answer is complete; `editor/modelSaid` tells it meanwhile. */
  'editor/modelAsk': {
    params: { readonly request: number; readonly model: string; readonly tools: readonly LmTool[] };
    result: LmEnding;
  };
  /** Gives a request up, before or after it was asked. */
  'editor/modelDrop': { params: { readonly request: number }; result: Record<string, never> };
}

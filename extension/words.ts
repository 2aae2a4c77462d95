// Words that several parts say, and the choice between one and many.

import * as vscode from 'vscode';

/** What stands wherever a script answers instead of a model. */
export const scriptedLabel = (): string => vscode.l10n.t('scripted model — no real AI');

/** The form for a count; `many` has the number in it. Languages with more forms put the number last. */
export function counted(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

// Command lines about the files of branches: export and import.

import { need } from './values.ts';

export type BranchFileCommand =
  | {
      readonly kind: 'branchFile';
      readonly deed: 'export';
      readonly agent: string;
      /** Null, or `-`: standard output. */
      readonly file: string | null;
      readonly force: boolean;
    }
  | {
      readonly kind: 'branchFile';
      readonly deed: 'import';
      readonly file: string;
      /** Null: the present folder. */
      readonly workspace: string | null;
    };

interface Values {
  readonly force?: boolean | undefined;
  readonly workspace?: string | undefined;
}

export function parseBranchFile(
  name: 'export' | 'import',
  { force = false, workspace }: Values,
  [first, second]: readonly string[],
): BranchFileCommand {
  return name === 'export'
    ? { kind: 'branchFile', deed: name, agent: need(first, name, 'an agent'), file: second ?? null, force }
    : { kind: 'branchFile', deed: name, file: need(first, name, 'a file'), workspace: workspace ?? null };
}

// The box that asks what a new agent should do, and its button that chooses the profile: one step for whoever wants the
// usual one, and what was typed stays while another is looked for.

import * as vscode from 'vscode';
import type { ProfileRow } from '../sidecar/protocol/profile.ts';
import type { Ctx } from './ctx.ts';

const { t } = vscode.l10n;

export interface TaskBox {
  readonly title: string;
  readonly prompt: string;
  /** What answers, such as the model. */
  readonly note: string;
  /** Folder of the agent, as the sidecar names it. */
  readonly workspace: string;
  readonly profile: string;
}

export interface AskedTask {
  readonly text: string;
  readonly profile: string;
}

/** Undefined when the person left. */
export function askTaskAndProfile(ctx: Ctx, box: TaskBox): Promise<AskedTask | undefined> {
  const input = vscode.window.createInputBox();
  let { profile } = box;
  let isPicking = false;
  const show = (): void => {
    input.title = `${box.title} (${box.note} · ${profile})`;
    input.buttons = [
      { iconPath: new vscode.ThemeIcon('account'), tooltip: t('Profile: {0}. Choose another…', profile) },
    ];
  };
  input.prompt = box.prompt;
  input.ignoreFocusOut = true;
  show();
  return new Promise((resolve, reject) => {
    const end = (task: AskedTask | undefined): void => {
      resolve(task);
      input.dispose();
    };
    input.onDidTriggerButton(() => {
      isPicking = true;
      void pickProfile(ctx, box.workspace, profile).then(
        (picked) => {
          profile = picked?.name ?? profile;
          isPicking = false;
          show();
          input.show();
        },
        (error: unknown) => {
          reject(error instanceof Error ? error : new Error(String(error)));
          input.dispose();
        },
      );
    });
    input.onDidChangeValue(() => (input.validationMessage = undefined));
    input.onDidAccept(() => {
      const text = input.value;
      if (text.trim() === '') input.validationMessage = t('Say what to do.');
      else end({ text, profile });
    });
    input.onDidHide(() => {
      if (!isPicking) end(undefined);
    });
    input.show();
  });
}

/** One of the profiles of a folder that agents can be started with; undefined when the person chose none. */
export async function pickProfile(
  ctx: Ctx,
  workspace: string,
  present: string | null,
): Promise<ProfileRow | undefined> {
  const { profiles } = await ctx.connection.call('profile/list', { workspace });
  const usable = profiles.filter((row) => !row.hidden && row.state !== 'denied');
  const items = usable.map((row) => ({ ...profileWords(row, present), row }));
  return (await vscode.window.showQuickPick(items, { title: t('Profile of the agent'), matchOnDetail: true }))
    ?.row;
}

/** A profile as a line of a list. */
export function profileWords(row: ProfileRow, present: string | null): vscode.QuickPickItem {
  const about = [
    ...(row.name === present ? [t('now')] : []),
    row.isolation,
    ...(row.model === null ? [] : [row.model]),
    row.source ?? t('comes with Roost'),
    ...(row.state === 'pending' ? [t('asks you before it is used')] : []),
  ];
  return { label: row.name, description: about.join(' · '), detail: row.description };
}

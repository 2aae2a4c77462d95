// Which model new agents get, and what is needed before one can be asked: a model that is known, and its key.

import * as vscode from 'vscode';
import type { ModelInfo, ProviderSpec } from '../sidecar/protocol/settings.ts';
import type { Ctx } from './ctx.ts';
import { describe } from './log.ts';
import { settings } from './settings.ts';

const { t } = vscode.l10n;

/** Providers that Roost knows without being told; their keys are found under these names. */
const known = ['anthropic', 'openai'] as const;

export interface Chosen {
  /** provider/model. */
  readonly model: string;
  readonly scripted: boolean;
}

/** The model of new agents; null when none is set up, which the person has then been told. */
export async function chooseModel(ctx: Ctx): Promise<Chosen | null> {
  const wanted = settings.model();
  const { models, default: first } = await ctx.connection.call('model/list', {});
  const model = wanted === '' ? first : wanted;
  if (model === null) {
    await sayNoModel(
      t('Roost has no model to ask yet. Give it a key, or name a model of your own server in the settings.'),
    );
    return null;
  }
  return { model, scripted: isScripted(model, models) };
}

/** Whether a script answers for a model and not an AI. */
export function isScripted(model: string, models: readonly ModelInfo[]): boolean {
  return models.find((each) => each.id === model)?.scripted ?? model.startsWith('scripted/');
}

/** True when a request can be made, or the person wants to start all the same: agents then wait for the key. */
export async function keyIsThere(ctx: Ctx, { model, scripted }: Chosen): Promise<boolean> {
  const provider = model.split('/', 1)[0] ?? '';
  const spec = settings.providers(ctx.log).find((each) => each.name === provider);
  if (scripted || spec?.keyless === true || spec?.dialect === 'scripted') return true;
  const key = await ctx.secrets.key(provider).catch((error: unknown) => {
    ctx.log.warn(`secret storage: ${describe(error)}`);
    return null;
  });
  if (key !== null) return true;
  const set = t('Set API Key');
  const start = t('Start Anyway');
  const choice = await vscode.window.showWarningMessage(
    t('There is no API key for {0}. Agents wait until there is one.', provider),
    set,
    start,
  );
  if (choice === set) return (await setKey(ctx, provider)) !== undefined;
  return choice === start;
}

async function sayNoModel(message: string): Promise<void> {
  const set = t('Set API Key');
  const open = t('Open Settings');
  const choice = await vscode.window.showErrorMessage(message, set, open);
  if (choice === set) await vscode.commands.executeCommand('roost.setKey');
  if (choice === open) await vscode.commands.executeCommand('workbench.action.openSettings', 'roost.');
}

/** Asks for a key and keeps it. Returns the provider, or undefined when the person gave none. */
export async function setKey(ctx: Ctx, given?: string): Promise<string | undefined> {
  const provider = given ?? (await pickProvider(ctx));
  if (provider === undefined) return undefined;
  const key = await vscode.window.showInputBox({
    title: t('API key of {0}', provider),
    prompt: t('Kept in the secret storage of the editor. Leave it empty to remove the key.'),
    password: true,
    ignoreFocusOut: true,
  });
  if (key === undefined) return undefined;
  try {
    await ctx.secrets.set(provider, key.trim());
  } catch (error) {
    // Without a keyring nothing was kept; the environment is the other way (case 198).
    throw new Error(
      t(
        'The editor could not keep the key: {0} Set {1}_API_KEY in the environment instead.',
        describe(error),
        provider.toUpperCase(),
      ),
      { cause: error },
    );
  }
  // A window that greets is asked for the keys that agents wait for.
  ctx.connection.greetAgain();
  const text =
    key.trim() === '' ? t('The key of {0} was removed.', provider) : t('The key of {0} is kept.', provider);
  void vscode.window.showInformationMessage(text);
  return provider;
}

async function pickProvider(ctx: Ctx): Promise<string | undefined> {
  const added = settings
    .providers(ctx.log)
    .filter((spec) => spec.keyless !== true && spec.dialect !== 'scripted');
  const names = [...new Set([...known, ...added.map((spec) => spec.name)])];
  return vscode.window.showQuickPick(names, { placeHolder: t('Key of which provider?') });
}

/** Tells the sidecar which providers the settings name; what it refuses is said and the rest goes on. */
export async function sendProviders(ctx: Ctx): Promise<void> {
  const send = async (spec: ProviderSpec): Promise<void> => {
    try {
      await ctx.connection.call('provider/set', spec);
    } catch (error) {
      ctx.log.error(`provider ${spec.name}: ${describe(error)}`);
      void ctx.complain(t('Provider {0} of "roost.providers": {1}', spec.name, describe(error)));
    }
  };
  await Promise.all(settings.providers(ctx.log).map(send));
}

// Which model new agents get, and what is needed before one can be asked: a model that is known, and its key.

import * as vscode from 'vscode';
import { editorProvider } from '../sidecar/protocol/settings.ts';
import type { ModelInfo, ProviderSpec } from '../sidecar/protocol/settings.ts';
import type { Ctx } from './ctx.ts';
import { describe } from './log.ts';
import type { Key } from './secrets.ts';
import { settings } from './settings.ts';

const { t } = vscode.l10n;

/** Providers that Roost knows without being told and that need a key. */
const known = ['anthropic', 'openai', 'openrouter', 'gemini', 'deepseek', 'groq', 'mistral', 'xai'] as const;

/** What new agents get when a person has given a key and named no model; the sidecar's own default goes first. */
const firstModels: readonly (readonly [string, string])[] = [
  ['anthropic', 'anthropic/claude-sonnet-5'],
  ['openai', 'openai/gpt-5.6-terra'],
];

export interface Chosen {
  /** provider/model. */
  readonly model: string;
  readonly scripted: boolean;
}

/** The model of new agents: the setting, the sidecar's default, that of a provider with a key, or one of the editor; else null. */
export async function modelOfNewAgents(ctx: Ctx): Promise<Chosen | null> {
  const { models, default: first } = await ctx.connection.call('model/list', {});
  const named = settings.model() === '' ? first : settings.model();
  // What the person has lent of the editor comes last: it is a subscription, and not made for fleets.
  const lent = models.find((each) => each.id.startsWith(`${editorProvider}/`))?.id ?? null;
  const model = named ?? (await modelByKey(ctx)) ?? lent;
  return model === null ? null : { model, scripted: isScripted(model, models) };
}

/** As above; when none is set up, the person has been told what to do. */
export async function chooseModel(ctx: Ctx): Promise<Chosen | null> {
  const chosen = await modelOfNewAgents(ctx);
  if (chosen === null) {
    await sayNoModel(
      t('Roost has no model to ask yet. Give it a key, or name a model of your own server in the settings.'),
    );
  }
  return chosen;
}

async function modelByKey(ctx: Ctx): Promise<string | null> {
  for (const [provider, model] of firstModels) if ((await keyOf(ctx, provider)) !== null) return model;
  return null;
}

/** Null also when the secret storage fails: that is said where a key is asked for. */
async function keyOf(ctx: Ctx, provider: string): Promise<Key | null> {
  try {
    return await ctx.secrets.key(provider);
  } catch (error) {
    ctx.log.warn(`secret storage: ${describe(error)}`);
    return ctx.secrets.fromEnvironment(provider);
  }
}

/** Whether a script answers for a model and not an AI. */
function isScripted(model: string, models: readonly ModelInfo[]): boolean {
  return models.find((each) => each.id === model)?.scripted ?? model.startsWith('scripted/');
}

/** Asks for the key that was missing. True: there is one now, and what was refused may be tried again. */
export async function offerKey(ctx: Ctx, model: string, message: string): Promise<boolean> {
  const set = t('Set API Key');
  if ((await vscode.window.showWarningMessage(message, set)) !== set) return false;
  return (await setKey(ctx, model.split('/', 1)[0])) !== undefined;
}

async function sayNoModel(message: string): Promise<void> {
  const set = t('Set API Key');
  const use = t('Use Models of the Editor');
  const open = t('Open Settings');
  const choice = await vscode.window.showErrorMessage(message, set, use, open);
  if (choice === set) await vscode.commands.executeCommand('roost.setKey');
  if (choice === use) await vscode.commands.executeCommand('roost.useEditorModels');
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

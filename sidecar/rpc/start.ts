// What is looked at before an agent is started: that its folder is there, and that its model can be reached with a
// key somebody has. Both are found out here, so that a person is told at once and no agent is made for nothing.

import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';

import { RoostError } from '../protocol/errors.ts';
import type { Params } from '../protocol/methods.ts';
import type { Clients, Model } from '../ports.ts';

export interface StartChecks {
  readonly model: Pick<Model, 'info' | 'lacks' | 'setKey'>;
  readonly clients: Clients;
}

/**
 * The parameters with the folder's real path.
 * @throws RoostError `workspace/missing`, `model/unknown`, `model/noKey`, `editor/none`.
 */
export async function checkStart(
  params: Params<'agent/start'>,
  checks: StartChecks,
): Promise<Params<'agent/start'>> {
  const workspace = await realFolder(params.workspace);
  if (params.model !== undefined) await checkModel(params.model, checks);
  return { ...params, workspace };
}

/**
 * The real path of a folder that a client names.
 * @throws RoostError `workspace/missing`.
 */
export async function realFolder(named: string): Promise<string> {
  if (!path.isAbsolute(named)) {
    throw new RoostError(
      'workspace/missing',
      `"${named}" is not an absolute path. Name the folder with its whole path.`,
    );
  }
  try {
    const real = await realpath(named);
    if ((await stat(real)).isDirectory()) return real;
  } catch {
    throw new RoostError('workspace/missing', `There is no folder ${named}. Make it, or name another one.`);
  }
  throw new RoostError(
    'workspace/missing',
    `${named} is not a folder. Name the folder that the agent works in.`,
  );
}

async function checkModel(model: string, { model: models, clients }: StartChecks): Promise<void> {
  const [provider = '', name = ''] = model.split(/\/(.*)/s);
  if (provider === '' || name === '' || models.info(model) === null) {
    throw new RoostError(
      'model/unknown',
      `"${model}" names no model that Roost can reach. Write provider/model, such as anthropic/claude-sonnet-4-5, ` +
        'or set the provider first (setting roost.providers, or roost run --provider).',
    );
  }
  const lacks = models.lacks(model);
  if (lacks === null) return;
  if (lacks === 'editor') {
    throw new RoostError(
      'editor/none',
      `No window lends models of its editor. Open VS Code and run "Roost: Use Models of the Editor" there, or choose another model than ${model}.`,
    );
  }
  const secret = await new Promise<{ readonly key: string; readonly baseUrl?: string } | null>((resolve) =>
    clients.secret(provider, resolve),
  );
  if (secret === null) {
    const variable = `${provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_API_KEY`;
    throw new RoostError(
      'model/noKey',
      `There is no key for ${provider}. Set one with "Roost: Set API Key" in VS Code, or start with ${variable} in the environment.`,
      { provider },
    );
  }
  models.setKey(provider, secret.key, secret.baseUrl);
}

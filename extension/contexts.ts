// The context keys that `when` clauses read: which welcome the Attention view shows, and which files have changes
// that wait for a verdict.

import * as vscode from 'vscode';
import { throttled } from './ctx.ts';
import type { Ctx } from './ctx.ts';
import { limits } from './limits.ts';
import { describe } from './log.ts';
import { modelOfNewAgents } from './models.ts';
import type { Reviews } from './reviews.ts';

/** `quiet`: agents are there and nothing waits for a person. */
type ShownState = 'off' | 'connecting' | 'restarting' | 'failed' | 'noModel' | 'empty' | 'quiet';

export function registerContexts(ctx: Ctx, reviews: Reviews): void {
  let noModel = false;
  const update = ctx.own(
    throttled(limits.redrawMs, () => {
      set('roost.state', shownState(ctx, noModel));
      set('roost.paths', [...new Set(reviews.all.map((row) => reviews.fileOf(row).path))]);
    }),
  );
  const lookForModel = async (): Promise<void> => {
    if (!ctx.connected) return;
    try {
      const chosen = await modelOfNewAgents(ctx);
      noModel = chosen === null;
      ctx.setScriptedModel(chosen?.scripted === true);
      update();
    } catch (error) {
      ctx.log.debug(`model/list: ${describe(error)}`);
    }
  };
  ctx.own(
    ctx.connection.onState.on((state) => {
      update();
      if (state.kind === 'connected') void lookForModel();
    }),
  );
  ctx.own(
    vscode.workspace.onDidChangeConfiguration(
      (event) => event.affectsConfiguration('roost') && void lookForModel(),
    ),
  );
  ctx.own(ctx.extension.secrets.onDidChange(() => void lookForModel()));
  ctx.onFleet(update);
  ctx.own(reviews.onChange((key) => key === null && update()));
  update();
}

function shownState(ctx: Ctx, noModel: boolean): ShownState {
  const { kind } = ctx.connection.state;
  if (kind !== 'connected') return kind;
  const fleet = ctx.fleetOrNull;
  if (fleet === null) return 'connecting';
  if (fleet.agents === 0) return noModel ? 'noModel' : 'empty';
  return 'quiet';
}

function set(name: string, value: unknown): void {
  void vscode.commands.executeCommand('setContext', name, value);
}

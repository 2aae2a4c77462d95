// The one context object: what the parts of the extension share. It owns all that is disposed of with the
// window, the connection, and the three channels that every window follows.

import * as vscode from 'vscode';
import type { AttentionState } from '../sidecar/protocol/attention.ts';
import { emptyAttention } from '../sidecar/protocol/attention.ts';
import type { ChangeRow } from '../sidecar/protocol/change.ts';
import type { FleetState } from '../sidecar/protocol/fleet.ts';
import { emptyFleet } from '../sidecar/protocol/fleet.ts';
import { Connection } from './connection.ts';
import { EditorModels } from './editorModels.ts';
import { editorServices } from './editorServices.ts';
import type { Log } from './log.ts';
import { describe } from './log.ts';
import { Paths } from './paths.ts';
import { Follows, Replica } from './replica.ts';
import { Secrets } from './secrets.ts';
import { settings } from './settings.ts';
import { Signal } from './signal.ts';
import { Launcher } from './sidecar.ts';
import type { Machine } from './sidecar.ts';

export class Ctx {
  readonly extension: vscode.ExtensionContext;
  readonly output: vscode.LogOutputChannel;
  readonly log: Log;
  readonly paths = new Paths(process.platform);
  readonly secrets: Secrets;
  readonly editorModels: EditorModels;
  readonly launcher: Launcher;
  readonly connection: Connection;
  readonly follows: Follows;
  readonly #onModel = new Signal<void>();
  #scriptedModel = false;
  readonly #complaints = new Set<string>();
  readonly #fleet: Replica;
  readonly #attention: Replica;
  readonly #changes: Replica;

  constructor(extension: vscode.ExtensionContext) {
    this.extension = extension;
    this.output = this.own(vscode.window.createOutputChannel('Roost', { log: true }));
    this.log = this.output;
    this.secrets = new Secrets(extension.secrets, process.env);
    this.editorModels = new EditorModels({
      storage: extension.globalState,
      access: extension.languageModelAccessInformation,
      log: this.log,
      offer: (offer) => this.connection.call('model/offer', offer),
      said: (said) => this.connection.notify('editor/modelSaid', said),
    });
    this.launcher = new Launcher({ script: this.file('dist/sidecar.cjs'), machine, log: this.log });
    this.connection = this.own(
      new Connection({
        store: settings.store,
        launch: (store) => this.launcher.start(store),
        client: async () => {
          await this.paths.ready;
          const name = `${vscode.env.appName} ${vscode.workspace.name ?? ''}`.trim();
          return { name, workspaces: this.paths.real };
        },
        can: ['buffers', 'secrets', 'reveal', 'languages'],
        editor: editorServices(this),
        log: this.log,
      }),
    );
    this.follows = new Follows(this.connection, this.log);
    this.#fleet = new Replica(this.follows, { kind: 'fleet' });
    this.#attention = new Replica(this.follows, { kind: 'requests' });
    this.#changes = new Replica(this.follows, { kind: 'changes', agent: null });
  }

  /** Registers something for disposal with the extension; on the line that makes it. */
  own<T extends { dispose(): unknown }>(thing: T): T {
    this.extension.subscriptions.push(thing);
    return thing;
  }

  /** A file of the installed extension. */
  file(relative: string): string {
    return vscode.Uri.joinPath(this.extension.extensionUri, relative).fsPath;
  }

  /** A key for a call that starts work: the same call sent twice counts once. */
  key(): string {
    return globalThis.crypto.randomUUID();
  }

  get connected(): boolean {
    return this.connection.state.kind === 'connected';
  }

  /** Null until the sidecar has told; an old state stays visible while a new sidecar starts. */
  get fleetOrNull(): FleetState | null {
    const { snapshot } = this.#fleet;
    return snapshot?.kind === 'fleet' ? snapshot.state : null;
  }

  get fleet(): FleetState {
    return this.fleetOrNull ?? emptyFleet;
  }

  /** A script answers, or would: said wherever Roost shows, not only while such an agent runs. */
  get scripted(): boolean {
    return this.#scriptedModel || this.fleet.scripted;
  }

  /** Whether new agents get a scripted model. */
  setScriptedModel(scripted: boolean): void {
    this.#scriptedModel = scripted;
    this.#onModel.fire();
  }

  get attention(): AttentionState {
    const { snapshot } = this.#attention;
    return snapshot?.kind === 'requests' ? snapshot.state : emptyAttention;
  }

  /** Open changes of all agents, as far as the sidecar sends them. */
  get changes(): readonly ChangeRow[] {
    const { snapshot } = this.#changes;
    return snapshot?.kind === 'changes' ? snapshot.state.rows : [];
  }

  /** The fleet's numbers, or the model that answers it, have changed. */
  onFleet(listener: () => void): void {
    this.own(this.#fleet.onChange.on(listener));
    this.own(this.#onModel.on(listener));
  }

  onAttention(listener: () => void): void {
    this.own(this.#attention.onChange.on(listener));
  }

  onChanges(listener: () => void): void {
    this.own(this.#changes.onChange.on(listener));
  }

  /** Registers a command whose failure a person sees, in words, with the log one click away. */
  command<T extends readonly unknown[]>(name: string, run: (...args: T) => unknown): void {
    const guarded = async (...args: T): Promise<unknown> => {
      try {
        return await run(...args);
      } catch (error) {
        this.log.error(`${name}: ${describe(error)}`);
        void this.complain(error instanceof Error ? error.message : String(error));
        return undefined;
      }
    };
    this.own(vscode.commands.registerCommand(name, guarded));
  }

  /** Shows an error with the two ways on. Resolves when it was closed; the same error is not shown twice at once. */
  async complain(message: string): Promise<void> {
    if (this.#complaints.has(message)) return;
    this.#complaints.add(message);
    try {
      await this.#showError(message);
    } finally {
      this.#complaints.delete(message);
    }
  }

  async #showError(message: string): Promise<void> {
    const log = vscode.l10n.t('Show Log');
    const restart = vscode.l10n.t('Restart');
    const buttons = this.connection.state.kind === 'failed' ? [restart, log] : [log];
    const choice = await vscode.window.showErrorMessage(message, ...buttons);
    if (choice === log) this.output.show(true);
    if (choice === restart) await this.connection.restart();
  }
}

function machine(): Machine {
  return {
    setting: settings.node(),
    execPath: process.execPath,
    electron: process.versions['electron'] !== undefined,
    platform: process.platform,
    env: process.env,
  };
}

/** Calls at most once in `gapMs`, with the newest state, and once more after the last call. */
export function throttled(gapMs: number, run: () => void): { (): void; dispose(): void } {
  let timer: NodeJS.Timeout | null = null;
  let again = false;
  const tick = (): void => {
    timer = null;
    if (!again) return;
    again = false;
    run();
    timer = setTimeout(tick, gapMs);
  };
  const call = (): void => {
    again = true;
    timer ??= setTimeout(tick, 0);
  };
  return Object.assign(call, {
    dispose: () => {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  });
}

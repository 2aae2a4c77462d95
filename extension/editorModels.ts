// Models that the person has in this editor (`vscode.lm`, such as Copilot's), lent to the sidecar: what is offered,
// and the requests that come for it. Nothing is offered before the person has said so by the palette's command, which
// also lets VS Code ask its own question (case 178); the answer is kept in the editor's storage.
//
// A request's pages are kept until it is asked or dropped; all of them end with the connection. What goes wrong is
// told in the words of VS Code and judged by the sidecar. Not here: which agents use what.

import * as vscode from 'vscode';
import type { LmEnding, LmMessage, LmPart, ModelOffer } from '../sidecar/protocol/editorModel.ts';
import type { EditorMethods } from '../sidecar/protocol/editorMethods.ts';
import type { ClientNotifications } from '../sidecar/protocol/methods.ts';
import { editorProvider } from '../sidecar/protocol/settings.ts';
import type { EditorHandlers } from './wire.ts';
import { describe } from './log.ts';
import type { Log } from './log.ts';

const { t } = vscode.l10n;

/** For whom the models may be used: nobody, agents that the person starts, or those that agents start as well. */
export type Lent = 'nobody' | 'agents' | 'swarms';

export interface EditorModelParts {
  readonly storage: vscode.Memento;
  readonly access: vscode.LanguageModelAccessInformation;
  readonly log: Log;
  /** Tells the sidecar what is offered; rejects when there is none. */
  readonly offer: (offer: ModelOffer) => Promise<unknown>;
  readonly said: (said: ClientNotifications['editor/modelSaid']) => void;
}

type Handlers = Pick<EditorHandlers, 'editor/modelPage' | 'editor/modelAsk' | 'editor/modelDrop'>;
type Ask = EditorMethods['editor/modelAsk']['params'];

const storageKey = 'roost.editorModels';

export class EditorModels {
  readonly handlers: Handlers;
  readonly #parts: EditorModelParts;
  /** Messages of requests that are not asked yet. */
  readonly #pages = new Map<number, vscode.LanguageModelChatMessage[]>();
  readonly #running = new Map<number, vscode.CancellationTokenSource>();
  /** Whether the sidecar was told of models that it would have to forget. */
  #offered = false;

  constructor(parts: EditorModelParts) {
    this.#parts = parts;
    this.handlers = {
      'editor/modelPage': ({ request, messages }) => {
        const pages = this.#pages.get(request) ?? [];
        this.#pages.set(request, pages);
        for (const message of messages) addMessage(pages, message);
        return Promise.resolve({});
      },
      'editor/modelAsk': (ask) => this.#ask(ask),
      'editor/modelDrop': ({ request }) => {
        this.#pages.delete(request);
        this.#running.get(request)?.cancel();
        return Promise.resolve({});
      },
    };
  }

  get lent(): Lent {
    const kept = this.#parts.storage.get<unknown>(storageKey);
    return kept === 'agents' || kept === 'swarms' ? kept : 'nobody';
  }

  /** Tells the sidecar what may be asked: at each connection, and when models come or go. */
  async tell(): Promise<void> {
    const models = this.lent === 'nobody' ? [] : await vscode.lm.selectChatModels();
    if (models.length === 0 && !this.#offered) return;
    this.#offered = models.length > 0;
    const offered = models.map((model) => ({
      id: nameOf(model),
      name: model.name === '' ? model.id : model.name,
      inputTokens: 0 < model.maxInputTokens ? Math.floor(model.maxInputTokens) : 0,
    }));
    try {
      await this.#parts.offer({ models: offered, swarms: this.lent === 'swarms' });
    } catch (error) {
      this.#parts.log.warn(`models of the editor: ${describe(error)}`);
    }
  }

  /** The connection has ended: what it asked for is nobody's any more. */
  disconnected(): void {
    this.#offered = false;
    this.#pages.clear();
    for (const source of this.#running.values()) source.cancel();
  }

  /** The person's gesture: says what it means, asks for whom, and lets VS Code ask its own question. */
  async consent(): Promise<Lent> {
    const models = await vscode.lm.selectChatModels();
    if (models.length === 0) {
      void vscode.window.showWarningMessage(
        t('This editor has no models. Sign in to GitHub Copilot, or install an extension that brings some.'),
      );
      return this.lent;
    }
    const wanted = await askForWhom(models, this.lent);
    if (wanted === undefined) return this.lent;
    if (wanted !== 'nobody' && !(await this.#permitted(models))) return this.lent;
    await this.#parts.storage.update(storageKey, wanted);
    await this.tell();
    const first = models[0];
    const text =
      wanted === 'nobody' || first === undefined
        ? t('Roost uses no models of this editor any more.')
        : t(
            'Roost may use models of this editor. Choose one as "roost.model", such as {0}.',
            modelName(first),
          );
    void vscode.window.showInformationMessage(text);
    return wanted;
  }

  /** VS Code asks the person at the first request to a vendor, and only while they do something: so it is made now. */
  async #permitted(models: readonly vscode.LanguageModelChat[]): Promise<boolean> {
    const vendors = new Map(models.map((model) => [model.vendor, model]));
    for (const model of vendors.values()) {
      if (this.#parts.access.canSendRequest(model) === true) continue;
      const source = new vscode.CancellationTokenSource();
      try {
        const hello = vscode.LanguageModelChatMessage.User('Answer with one word: yes.');
        await model.sendRequest([hello], { justification: justification() }, source.token);
      } catch (error) {
        if (codeOf(error) === 'NoPermissions') {
          void vscode.window.showWarningMessage(
            t('VS Code did not allow Roost to use {0}, so nothing was changed.', model.vendor),
          );
          return false;
        }
        // A quota that is used up today is no refusal of the person.
        this.#parts.log.warn(`models of the editor: ${messageOf(error)}`);
      } finally {
        source.cancel();
        source.dispose();
      }
    }
    return true;
  }

  async #ask(ask: Ask): Promise<LmEnding> {
    const messages = this.#pages.get(ask.request) ?? [];
    this.#pages.delete(ask.request);
    if (this.lent === 'nobody') return this.#withdraw(t('The person lends no models of this editor.'));
    const source = new vscode.CancellationTokenSource();
    this.#running.set(ask.request, source);
    try {
      return await this.#stream(ask, messages, source.token);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'NoPermissions') return await this.#withdraw(messageOf(error));
      return { kind: 'error', code, message: messageOf(error) };
    } finally {
      this.#running.delete(ask.request);
      source.dispose();
    }
  }

  async #stream(
    { request, model, tools }: Ask,
    messages: vscode.LanguageModelChatMessage[],
    token: vscode.CancellationToken,
  ): Promise<LmEnding> {
    const slash = model.indexOf('/');
    const [chat] = await vscode.lm.selectChatModels({
      vendor: model.slice(0, slash),
      id: model.slice(slash + 1),
    });
    if (chat === undefined)
      return { kind: 'error', code: 'NotFound', message: t('The editor has no model {0} now.', model) };
    const offered = tools.map(({ name, description, schema }) => ({
      name,
      description,
      inputSchema: schema,
    }));
    const response = await chat.sendRequest(
      messages,
      { justification: justification(), ...(offered.length === 0 ? {} : { tools: offered }) },
      token,
    );
    const parts: LmPart[] = [];
    for await (const part of response.stream) {
      if (part instanceof vscode.LanguageModelTextPart) {
        this.#parts.said({ request, text: part.value });
        addText(parts, part.value);
      } else if (part instanceof vscode.LanguageModelToolCallPart) {
        parts.push({ kind: 'call', key: part.callId, tool: part.name, input: asJson(part.input) });
      }
      // What else there is (data, reasoning) is proposed API and no part of an answer.
    }
    return { kind: 'answer', parts };
  }

  /** The permission was taken back: agents wait for it, and are not told to try again. */
  async #withdraw(message: string): Promise<LmEnding> {
    await this.#parts.offer({ models: [], swarms: false }).catch(() => undefined);
    this.#offered = false;
    const again = t('Use Models of the Editor');
    void vscode.window
      .showWarningMessage(t('Agents wait for a model of this editor: {0}', message), again)
      .then((choice) => choice === again && vscode.commands.executeCommand('roost.useEditorModels'));
    return { kind: 'error', code: 'NoPermissions', message };
  }
}

async function askForWhom(
  models: readonly vscode.LanguageModelChat[],
  lent: Lent,
): Promise<Lent | undefined> {
  const agents = t('For Agents I Start');
  const swarms = t('For Swarms Too');
  const stop = t('Stop Using Them');
  const detail = t(
    'Requests count against your subscription there ({0}), a few at a time. Agents that agents start use them only when you allow swarms.',
    [...new Set(models.map((model) => model.vendor))].join(', '),
  );
  const buttons = lent === 'nobody' ? [agents, swarms] : [agents, swarms, stop];
  const choice = await vscode.window.showInformationMessage(
    t('May Roost use the {0} models of this editor?', models.length),
    { modal: true, detail },
    ...buttons,
  );
  if (choice === agents) return 'agents';
  if (choice === swarms) return 'swarms';
  return choice === stop ? 'nobody' : undefined;
}

const justification = (): string => t('Agents of Roost that you start are answered by this model.');

const nameOf = (model: vscode.LanguageModelChat): string => `${model.vendor}/${model.id}`;
const modelName = (model: vscode.LanguageModelChat): string => `${editorProvider}/${nameOf(model)}`;

/** Adds a message; what continues the one before becomes parts of it, for pages end anywhere. */
function addMessage(messages: vscode.LanguageModelChatMessage[], { role, parts }: LmMessage): void {
  const made = role === 'assistant' ? assistant(parts) : user(parts);
  const last = messages.at(-1);
  if (last?.role === made.role) last.content.push(...made.content);
  else messages.push(made);
}

type UserPart = vscode.LanguageModelTextPart | vscode.LanguageModelToolResultPart;
type AssistantPart = vscode.LanguageModelTextPart | vscode.LanguageModelToolCallPart;

const textPart = (text: string) => new vscode.LanguageModelTextPart(text);

function user(parts: readonly LmPart[]): vscode.LanguageModelChatMessage {
  return vscode.LanguageModelChatMessage.User(
    parts.flatMap((part): UserPart[] => {
      if (part.kind === 'text') return [textPart(part.text)];
      if (part.kind === 'call') return [];
      return [new vscode.LanguageModelToolResultPart(part.key, [textPart(part.text)])];
    }),
  );
}

function assistant(parts: readonly LmPart[]): vscode.LanguageModelChatMessage {
  return vscode.LanguageModelChatMessage.Assistant(
    parts.flatMap((part): AssistantPart[] => {
      if (part.kind === 'text') return [textPart(part.text)];
      if (part.kind === 'result') return [];
      return [new vscode.LanguageModelToolCallPart(part.key, part.tool, part.input)];
    }),
  );
}

function addText(parts: LmPart[], text: string): void {
  const last = parts.at(-1);
  if (last?.kind === 'text') parts[parts.length - 1] = { kind: 'text', text: last.text + text };
  else parts.push({ kind: 'text', text });
}

/** Arguments as a vendor gives them; what is no object becomes one, or the answer could not be told. */
function asJson(input: object): Extract<LmPart, { kind: 'call' }>['input'] {
  const copy: unknown = JSON.parse(JSON.stringify(input));
  return isRecord(copy) ? copy : {};
}

const isRecord = (value: unknown): value is Extract<LmPart, { kind: 'call' }>['input'] =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const codeOf = (error: unknown): string => (error instanceof vscode.LanguageModelError ? error.code : '');

/** The error and its causes: vendors say there what it was really about. */
function messageOf(error: unknown): string {
  const said: string[] = [];
  for (let each: unknown = error; each instanceof Error && said.length < 4; each = each.cause) {
    if (each.message !== '' && !said.includes(each.message)) said.push(each.message);
  }
  return said.length === 0 ? describe(error) : said.join(' ');
}

// Answering requests: from a row's button, from a question in the quick pick, one for all of a cluster. Each answer
// is a durable row of the sidecar, keyed, so that a lost connection neither loses nor doubles it (case 246).

import * as vscode from 'vscode';
import type { ChangeRow } from '../sidecar/protocol/change.ts';
import type { RequestId } from '../sidecar/protocol/ids.ts';
import type { Answer, RequestRow } from '../sidecar/protocol/request.ts';
import type { Attention } from './attention.ts';
import type { Ctx } from './ctx.ts';
import { requestsOf, textField } from './targets.ts';
import { counted } from './words.ts';

const { t } = vscode.l10n;

/** Registers the verbs of requests. */
export function registerDecisions(ctx: Ctx, attention: Attention): void {
  const given = (target: unknown, selected: unknown): readonly RequestId[] => {
    const all = Array.isArray(selected) && 1 < selected.length ? selected : [target];
    const named = all.flatMap((each: unknown) => requestsOf(each));
    // A key was pressed in the view: the rows are those that are selected in it.
    return 0 < named.length || target !== undefined
      ? named
      : attention.selection.flatMap((node) => requestsOf(node));
  };
  ctx.command('roost.allow', (target: unknown, selected: unknown) =>
    answerAll(ctx, given(target, selected), { kind: 'allow' }),
  );
  ctx.command('roost.deny', (target: unknown, selected: unknown) =>
    answerAll(ctx, given(target, selected), { kind: 'deny', reason: textField(target, 'reason') ?? '' }),
  );
  ctx.command('roost.denyWithReason', async (target: unknown, selected: unknown) => {
    const requests = given(target, selected);
    const reason = await vscode.window.showInputBox({ prompt: t('Why not, and what to do instead?') });
    if (reason !== undefined) await answerAll(ctx, requests, { kind: 'deny', reason });
  });
  ctx.command('roost.answer', async (target: unknown, selected: unknown) => {
    const requests = given(target, selected);
    const text = textField(target, 'text');
    if (text !== undefined) return answerAll(ctx, requests, { kind: 'text', text });
    const chosen = ctx.attention.requests.find((request) => requests.includes(request.id));
    if (chosen !== undefined) return ask(ctx, chosen, requests);
    const picked = await pickRequest(ctx);
    return picked === undefined ? undefined : ask(ctx, picked, [picked.id]);
  });
  const next = new NextDecision(ctx, attention);
  ctx.command('roost.nextDecision', () => next.go());
}

/** Gives one answer to requests; says so when some were decided before. */
export async function answerAll(ctx: Ctx, requests: readonly RequestId[], answer: Answer): Promise<void> {
  const [first] = requests;
  if (first === undefined) {
    void vscode.window.showInformationMessage(t('Nothing waits for this answer any more.'));
    return;
  }
  const key = ctx.key();
  const stale =
    requests.length === 1
      ? Number(
          (await ctx.connection.call('request/answer', { request: first, answer, key })).state === 'stale',
        )
      : (await ctx.connection.call('request/answerMany', { requests, answer, key })).stale;
  if (0 < stale) {
    void vscode.window.showInformationMessage(
      counted(
        stale,
        t('It had been decided before; nothing was changed.'),
        t('{0} of these had been decided before; nothing was changed there.', stale),
      ),
    );
  }
}

/** Goes round what waits: requests first, then changes; each time the one after the last. */
class NextDecision {
  readonly #ctx: Ctx;
  readonly #attention: Attention;
  #last = '';

  constructor(ctx: Ctx, attention: Attention) {
    this.#ctx = ctx;
    this.#attention = attention;
  }

  async go(): Promise<void> {
    const { requests, reviews } = this.#ctx.attention;
    const all: readonly (readonly [string, RequestRow | ChangeRow])[] = [
      ...requests.map((request) => [`request:${request.id}`, request] as const),
      ...reviews.map((change) => [`change:${change.id}`, change] as const),
    ];
    const after = all.findIndex(([id]) => id === this.#last) + 1;
    const [id, decision] = all[after % Math.max(1, all.length)] ?? [];
    if (id === undefined || decision === undefined) {
      void vscode.window.showInformationMessage(t('Nothing waits for you.'));
      return;
    }
    this.#last = id;
    await this.#attention.show(id);
    if ('title' in decision) await ask(this.#ctx, decision, [decision.id]);
    else await vscode.commands.executeCommand('roost.review', { change: decision.id });
  }
}

type Choice = vscode.QuickPickItem & { readonly run: () => Promise<void> };

/** Puts a request to the person: its choices, or allow and deny, with what it is about as the title. */
async function ask(ctx: Ctx, request: RequestRow, requests: readonly RequestId[]): Promise<void> {
  if (request.kind === 'question' && request.choices.length === 0) return askForText(ctx, request, requests);
  const give = (answer: Answer) => (): Promise<void> => answerAll(ctx, requests, answer);
  const choices =
    request.kind === 'question'
      ? questionChoices(ctx, request, requests)
      : verdictChoices(ctx, request, give);
  const picked = await vscode.window.showQuickPick(choices, {
    title: many(`${request.agentName}: ${request.title}`, requests.length),
    placeHolder: request.detail.split('\n', 1)[0]?.slice(0, 200) ?? '',
    ignoreFocusOut: true,
  });
  await picked?.run();
}

function verdictChoices(
  ctx: Ctx,
  request: RequestRow,
  give: (answer: Answer) => () => Promise<void>,
): readonly Choice[] {
  const alike = ctx.attention.requests.filter(
    (each) => request.cluster !== null && each.cluster === request.cluster && each.kind === request.kind,
  );
  const all = (): Promise<void> =>
    answerAll(
      ctx,
      alike.map((each) => each.id),
      { kind: 'allow' },
    );
  return [
    { label: t('$(check) Allow'), run: give({ kind: 'allow' }) },
    ...(1 < alike.length
      ? [{ label: t('$(check-all) Allow all {0} like this', alike.length), run: all }]
      : []),
    { label: t('$(circle-slash) Deny'), run: give({ kind: 'deny', reason: '' }) },
    {
      label: t('$(circle-slash) Deny with a reason…'),
      run: async () => {
        const reason = await vscode.window.showInputBox({ prompt: t('Why not, and what to do instead?') });
        if (reason !== undefined) await give({ kind: 'deny', reason })();
      },
    },
    openChoice(request),
  ];
}

function questionChoices(ctx: Ctx, request: RequestRow, requests: readonly RequestId[]): readonly Choice[] {
  return [
    ...request.choices.map((text) => ({
      label: text,
      run: () => answerAll(ctx, requests, { kind: 'text', text }),
    })),
    { label: t('$(edit) Another answer…'), run: () => askForText(ctx, request, requests) },
    openChoice(request),
  ];
}

function openChoice(request: RequestRow): Choice {
  return {
    label: t('$(eye) See what it is about'),
    run: async () => {
      await vscode.commands.executeCommand('roost.openAgent', { agent: request.agent });
    },
  };
}

async function askForText(ctx: Ctx, request: RequestRow, requests: readonly RequestId[]): Promise<void> {
  const text = await vscode.window.showInputBox({
    title: many(request.agentName, requests.length),
    prompt: request.title,
    ignoreFocusOut: true,
  });
  if (text !== undefined && text !== '') await answerAll(ctx, requests, { kind: 'text', text });
}

async function pickRequest(ctx: Ctx): Promise<RequestRow | undefined> {
  const { requests } = ctx.attention;
  if (requests.length === 0) {
    void vscode.window.showInformationMessage(t('No agent asks anything.'));
    return undefined;
  }
  const items = requests.map((request) => ({
    label: request.title,
    description: request.agentName,
    request,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    placeHolder: t('Which request?'),
    matchOnDescription: true,
  });
  return picked?.request;
}

function many(title: string, count: number): string {
  return count === 1 ? title : t('{0} (answers {1} agents)', title, count);
}

// Commands about models and money: models, what one costs, which one a profile gets, what was spent.

import type { AgentId } from '../protocol/ids.ts';
import type { Result } from '../protocol/methods.ts';
import type { Context } from './context.ts';
import type { MoneyCommand } from './moneyArgs.ts';
import { findAgent } from './work.ts';

type Of<K extends MoneyCommand['kind']> = Extract<MoneyCommand, { kind: K }>;

const pageRows = 500;

export function dispatch(context: Context, command: MoneyCommand): Promise<number> {
  switch (command.kind) {
    case 'models':
      return models(context);
    case 'price':
      return price(context, command);
    case 'role':
      return role(context, command);
    case 'cost':
      return cost(context, command);
  }
}

async function models({ session, printer }: Context): Promise<number> {
  const known = await session.call('model/list', {});
  for (const model of known.models)
    await printer.print({ type: 'model', default: model.id === known.default, ...model });
  for (const [profile, model] of Object.entries(known.roles))
    await printer.print({ type: 'role', profile, model });
  return 0;
}

async function price({ session, printer }: Context, command: Of<'price'>): Promise<number> {
  const { model, price: wanted } = command;
  const set = await session.call('model/price', { model, price: wanted });
  await printer.print({ type: 'price', model, price: set.price });
  return 0;
}

async function role({ session, printer }: Context, command: Of<'role'>): Promise<number> {
  const { profile, model } = command;
  await session.call('model/role', { profile, model });
  await printer.print({ type: 'role', profile, model });
  return 0;
}

async function cost(context: Context, command: Of<'cost'>): Promise<number> {
  const { session, printer } = context;
  const agent = command.agent === null ? null : (await findAgent(context, command.agent)).id;
  if (command.ledger) return ledger(context, agent);
  const offsetMinutes = -new Date().getTimezoneOffset();
  const report = await session.call('cost/get', { agent, days: command.days, offsetMinutes });
  if (report.agent !== null) await printer.print({ type: 'agentCost', ...report.agent });
  for (const day of report.days ?? []) await printer.print({ type: 'dayCost', ...day });
  return 0;
}

async function ledger({ session, printer }: Context, agent: AgentId | null): Promise<number> {
  for (let after: number | null = 0; after !== null;) {
    const page: Result<'cost/ledger'> = await session.call('cost/ledger', {
      agent,
      after,
      limit: pageRows,
    });
    for (const row of page.rows) await printer.print({ type: 'spent', ...row });
    after = page.next;
  }
  return 0;
}

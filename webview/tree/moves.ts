// What a person does to the tree, by key or by pointer: select, open, expand, stop. Knows the model and the list;
// draws nothing, asks the extension for everything that is more than a look.

import type { TreeRow } from '../../sidecar/protocol/tree.ts';
import type { Announcer } from '../announce.ts';
import type { Bridge } from '../bridge.ts';
import type { Memory } from '../saved.ts';
import { say, sayCount } from '../strings.ts';
import { isBusy } from '../words.ts';
import type { TreeIntent } from './keys.ts';
import type { RowList } from './list.ts';
import type { TreeModel } from './model.ts';

export interface MoveParts {
  readonly model: TreeModel;
  readonly list: RowList;
  readonly bridge: Bridge;
  readonly memory: Memory;
  readonly announcer: Announcer;
  /** Something changed that is drawn or asked for. */
  readonly changed: () => void;
  /** Puts the cursor into the filter, with this text added to it. */
  readonly startFilter: (text: string) => void;
}

export class Moves {
  readonly #parts: MoveParts;

  constructor(parts: MoveParts) {
    this.#parts = parts;
  }

  act(intent: TreeIntent): void {
    const { model, list } = this.#parts;
    switch (intent.kind) {
      case 'by':
        return this.select(model.selectedRow + intent.rows);
      case 'byPage':
        return this.select(model.selectedRow + intent.pages * list.pageRows);
      case 'first':
        return this.select(0);
      case 'last':
        return this.select(model.total - 1);
      case 'open':
        return this.open(model.selectedAgent());
      case 'toggle':
        return this.toggle(model.selectedAgent());
      case 'in':
        return this.#goIn(model.selectedAgent());
      case 'out':
        return this.#goOut(model.selectedAgent());
      case 'stop':
        return this.stop(model.selectedAgent(), intent.branch);
      case 'filter':
        return this.#parts.startFilter(intent.text);
      case 'clearFilter':
        return this.setFilter('');
    }
  }

  select(index: number): void {
    const { model, list, memory, changed } = this.#parts;
    list.reveal(model.selectRow(index));
    memory.update({ selected: model.selected });
    changed();
  }

  open(row: TreeRow | undefined): void {
    if (row !== undefined) this.#parts.bridge.post({ kind: 'showAgent', agent: row.agent.id });
  }

  toggle(row: TreeRow | undefined): void {
    if (row !== undefined && 0 < row.agent.children) this.#setExpanded(row, !row.expanded);
  }

  setOrder(order: 'attention' | 'created'): void {
    this.#parts.model.setOrder(order);
    this.#parts.memory.update({ order });
    this.#parts.changed();
  }

  setFilter(filter: string): void {
    const { model, memory, changed } = this.#parts;
    model.setFilter(filter);
    memory.update({ filter: model.filter });
    changed();
  }

  stop(row: TreeRow | undefined, branch: boolean): void {
    if (row === undefined) return;
    const { agent } = row;
    const { announcer, bridge } = this.#parts;
    const running = branch ? agent.branch.running + agent.branch.waiting : Number(isBusy(agent));
    if (running === 0) return announcer.answer(say('tree.notRunning', agent.name));
    const key = crypto.randomUUID();
    void bridge.call('agent/interrupt', { agent: agent.id, branch, key }).then((answer) => {
      announcer.answer(answer.ok ? sayCount('tree.stopped', answer.result.stopped) : answer.message);
    });
  }

  #goIn(row: TreeRow | undefined): void {
    if (row === undefined || row.agent.children === 0) return;
    if (row.expanded) this.select(this.#parts.model.selectedRow + 1);
    else this.#setExpanded(row, true);
  }

  #goOut(row: TreeRow | undefined): void {
    if (row === undefined) return;
    if (row.expanded && 0 < row.agent.children) return this.#setExpanded(row, false);
    const { model, list } = this.#parts;
    const parent = model.selectParent();
    if (parent !== null) return this.select(parent);
    const next = model.seek();
    if (next !== null) list.showAtTop(next.row);
  }

  #setExpanded(row: TreeRow, expanded: boolean): void {
    const { model, memory, changed } = this.#parts;
    model.setExpanded(row.agent.id, expanded);
    memory.update({ expanded: model.expanded });
    changed();
  }
}

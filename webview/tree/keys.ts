// What a key means in the tree. Pure: a key and what is selected in, an intent out. Single letters work only
// while the tree has the focus; nothing here shadows a chord of the editor (case 237).

export type TreeIntent =
  | { readonly kind: 'by'; readonly rows: number }
  | { readonly kind: 'byPage'; readonly pages: 1 | -1 }
  | { readonly kind: 'first' }
  | { readonly kind: 'last' }
  | { readonly kind: 'open' }
  | { readonly kind: 'toggle' }
  /** Right: expand, or go to the first child. */
  | { readonly kind: 'in' }
  /** Left: collapse, or go to the parent. */
  | { readonly kind: 'out' }
  | { readonly kind: 'stop'; readonly branch: boolean }
  /** Starts or continues the filter with a typed text. */
  | { readonly kind: 'filter'; readonly text: string }
  | { readonly kind: 'clearFilter' };

export interface Key {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly isComposing: boolean;
}

const plain: ReadonlyMap<string, TreeIntent> = new Map<string, TreeIntent>([
  ['ArrowDown', { kind: 'by', rows: 1 }],
  ['ArrowUp', { kind: 'by', rows: -1 }],
  ['PageDown', { kind: 'byPage', pages: 1 }],
  ['PageUp', { kind: 'byPage', pages: -1 }],
  ['Home', { kind: 'first' }],
  ['End', { kind: 'last' }],
  ['Enter', { kind: 'open' }],
  [' ', { kind: 'toggle' }],
  ['ArrowRight', { kind: 'in' }],
  ['ArrowLeft', { kind: 'out' }],
  ['x', { kind: 'stop', branch: false }],
  ['X', { kind: 'stop', branch: true }],
  ['/', { kind: 'filter', text: '' }],
  ['Escape', { kind: 'clearFilter' }],
]);

/** The intent of a key pressed on the tree; null leaves the key to the editor. */
export function treeIntent(key: Key): TreeIntent | null {
  if (key.ctrlKey || key.metaKey || key.altKey || key.isComposing) return null;
  const intent = plain.get(key.key);
  if (intent !== undefined) return intent;
  return [...key.key].length === 1 ? { kind: 'filter', text: key.key } : null;
}

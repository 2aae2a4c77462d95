// What a call says in one line. Pure. The input is raw JSON that a model wrote, so it may be anything.

import { isRecord } from '../bridge.ts';
import { compareTexts } from '../changes/diff.ts';
import type { DiffLine } from '../changes/diff.ts';
import { limits } from '../limits.ts';
import type { CallItem } from './items.ts';

/** Fields that say what a call is about, the most telling first. Tools of MCP servers fall back to their first text. */
const telling = [
  'command',
  'pattern',
  'path',
  'query',
  'question',
  'name',
  'to',
  'task',
  'text',
  'url',
] as const;

export interface CallLine {
  /** One line, at most 200 characters. */
  readonly summary: string;
  /** The file it is about, as the model named it. */
  readonly path: string | null;
  readonly line: number;
}

/** Reads a call's input for its folded line. Input that is no JSON object is shown as it is. */
export function callLine(input: string | null): CallLine {
  if (input === null) return { summary: '', path: null, line: 1 };
  const fields = parseObject(input);
  if (fields === null) return { summary: oneLine(input), path: null, line: 1 };
  const path = fields['path'];
  const line = fields['line'] ?? fields['startLine'];
  return {
    summary: oneLine(summaryOf(fields)),
    path: typeof path === 'string' && path !== '' ? path : null,
    line: typeof line === 'number' && 1 <= line ? Math.floor(line) : 1,
  };
}

function summaryOf(fields: Record<string, unknown>): string {
  const tasks = fields['tasks'];
  if (Array.isArray(tasks)) return tasks.map(taskName).join(' · ');
  const named = telling
    .map((field) => fields[field])
    .find((value) => typeof value === 'string' && value !== '');
  const any = named ?? Object.values(fields).find((value) => typeof value === 'string' && value !== '');
  return typeof any === 'string' ? any : '';
}

function taskName(task: unknown): string {
  if (!isRecord(task)) return '';
  const said = task['name'] ?? task['task'];
  return typeof said === 'string' ? said.slice(0, 40) : '';
}

/** What an edit replaces, when the input is one of an edit and short enough to be compared. */
export function editLines(item: CallItem): readonly DiffLine[] | null {
  if (item.tool !== 'edit' || item.input === null || limits.outputChars < item.input.length) return null;
  const fields = parseObject(item.input);
  const before = fields?.['old'];
  const after = fields?.['new'];
  if (typeof before !== 'string' || typeof after !== 'string') return null;
  return compareTexts(before, after);
}

/** Tools whose `path` is a file that can be opened. */
export function opensFile(tool: string): boolean {
  return ['read', 'edit', 'write', 'rename'].includes(tool);
}

/** The input laid out for reading; what cannot be parsed stays as the model wrote it. */
export function prettyInput(input: string): string {
  const fields = parseObject(input);
  if (fields === null) return input;
  const lines = Object.entries(fields).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
    return text.includes('\n') ? `${name}:\n${text}` : `${name}: ${text}`;
  });
  return lines.join('\n');
}

/** State of a call, as the word that `call.<word>` says. */
export type CallWord = 'planned' | 'asking' | 'started' | 'ok' | 'error' | 'unknown' | 'interrupted' | 'open';

export function callWord(item: CallItem): CallWord {
  return item.result?.status ?? item.open?.state ?? 'open';
}

/** A relative path made absolute in the folder an agent works in; both kinds of separators occur. */
export function inWorkspace(workspace: string, path: string): string {
  if (path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path) || path.startsWith('\\\\')) return path;
  const separator = workspace.includes('\\') && !workspace.includes('/') ? '\\' : '/';
  return workspace.replace(/[\\/]+$/, '') + separator + path;
}

function parseObject(input: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(input);
    return isRecord(value) ? value : null;
  } catch {
    return null; // a model may write what is no JSON; it is then shown as it is
  }
}

function oneLine(text: string): string {
  return text.slice(0, 400).replace(/\s+/g, ' ').trim().slice(0, 200);
}

// The end of a command in words for the model: how it ended in the first line, then its output, whole or head
// and tail.

import { isUtf8 } from 'node:buffer';
import os from 'node:os';
import type { ToolOutcome } from '../ports.ts';
import { limits } from '../runtime/limits.ts';
import type { Output } from './command/runs.ts';
import type { CommandEnd } from './command/watched.ts';

/** What the model is told of a command that was given `runMs`. */
export function outcomeOf(
  end: CommandEnd,
  runMs: number,
  mostBytes: number = limits.resultBytes,
): ToolOutcome {
  const told = (status: ToolOutcome['status'], line: string, output: Output): ToolOutcome =>
    toldIn(mostBytes, status, { line, output });
  switch (end.kind) {
    case 'neverStarted':
      return { status: 'error', text: `${end.text} Nothing was run.` };
    case 'unknown':
      return told('unknown', `unknown: ${end.text} Check what it did before you run it again.`, end.output);
    case 'exit': {
      const left =
        end.leftGroup === null
          ? ''
          : `\n[roost: processes that it started still run; end them with: kill -- -${end.leftGroup}]`;
      return told(
        end.code === 0 && end.stopped === null ? 'ok' : 'error',
        firstLineOf(end, runMs) + left,
        end.output,
      );
    }
  }
}

function firstLineOf(end: Extract<CommandEnd, { kind: 'exit' }>, runMs: number): string {
  if (end.stopped === 'timeout') {
    return `timed out after ${runMs} ms; the command and what it had started were ended. Give a larger timeoutMs if it needs longer`;
  }
  if (end.stopped === 'interrupt') return 'interrupted; the command and what it had started were ended';
  const signal = Object.entries(os.constants.signals).find(([, number]) => number === end.code - 128)?.[0];
  return `exit code ${end.code}${signal === undefined ? '' : ` (${signal})`}`;
}

function toldIn(
  mostBytes: number,
  status: ToolOutcome['status'],
  { line, output }: { readonly line: string; readonly output: Output },
): ToolOutcome {
  if (output.totalBytes === 0) return { status, text: `${line}\n[no output]` };
  // A byte that is not UTF-8 is shown as three.
  const worst = isUtf8(output.bytes) ? 1 : 3;
  const room = Math.floor((mostBytes - Buffer.byteLength(line) - 100) / worst);
  if (output.bytes.length <= room) return { status, text: `${line}\n${shown(output.bytes)}` };
  const headBytes = Math.floor(room * limits.outputHeadShare);
  const head = wholeLines(output.bytes.subarray(0, headBytes), 'end');
  const tail = wholeLines(output.bytes.subarray(output.bytes.length - (room - headBytes)), 'start');
  const missing = output.totalBytes - head.length - tail.length;
  const text = `${line}\n${shown(head)}\n[roost: ${missing} of ${output.totalBytes} bytes left out]\n${shown(tail)}`;
  return { status, text, whole: output.bytes };
}

/** A part of an output without the line that the cut went through, unless that is all there is. */
function wholeLines(part: Buffer, cutAt: 'start' | 'end'): Buffer {
  if (cutAt === 'end') {
    const at = part.lastIndexOf(0x0a);
    return at <= 0 ? part : part.subarray(0, at);
  }
  const at = part.indexOf(0x0a);
  return at < 0 || at === part.length - 1 ? part : part.subarray(at + 1);
}

/** Output is UTF-8 or nearly; what is not becomes U+FFFD here and stays as it is in the whole. */
const shown = (bytes: Buffer): string => bytes.toString('utf8');

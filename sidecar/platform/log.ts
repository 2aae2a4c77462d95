// The sidecar's own log: one JSON object a line, in the store's directory.
//
// Bounded: at limits.logFileBytes the file becomes `.1` and a new one starts (case 21). Secrets that were named
// to it never reach the disk. Writing it can fail (a full disk); then the line is lost and nothing else happens.
// Not here: what agents said, which is in the store.

import * as fs from 'node:fs';

import { limits } from '../runtime/limits.ts';

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** From now on this text is written as `[secret]`. */
  hide(secret: string): void;
  /** A text without what was hidden: for what leaves by another way than the log. */
  redacted(text: string): string;
  close(): void;
}

/** Shorter ones are not secrets, and hiding them would hide the log. */
const shortestSecret = 8;

/** What looks like a key even if nobody named it: bearer tokens, and keys with the prefixes providers use. */
const looksSecret = /\b(Bearer\s+|sk-|xai-|gsk_|AIza|ghp_|github_pat_)[\w.~+/-]{8,}/g;

/** Opens the log for appending; a file that is too long already is rotated first. */
export function openLog(path: string, fileBytes: number = limits.logFileBytes): Log {
  const secrets = new Set<string>();
  let file: number | null = null;
  let sizeBytes = 0;

  const open = (): void => {
    file = fs.openSync(path, 'a', 0o600);
    sizeBytes = fs.fstatSync(file).size;
  };
  const rotate = (): void => {
    if (file !== null) fs.closeSync(file);
    file = null;
    fs.renameSync(path, `${path}.1`);
    open();
  };
  const write = (level: string, message: string, fields: LogFields = {}): void => {
    const whole = JSON.stringify({ at: new Date().toISOString(), level, message, ...fields });
    const line = `${redact(shorten(whole), secrets)}\n`;
    try {
      if (file === null) open();
      if (fileBytes < sizeBytes + line.length) rotate();
      if (file !== null) sizeBytes += fs.writeSync(file, line);
    } catch {
      // A log that cannot be written is no reason to stop working.
    }
  };

  return {
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
    hide: (secret) => {
      if (shortestSecret <= secret.length) secrets.add(secret);
    },
    redacted: (text) => {
      let safe = text;
      for (const secret of secrets) safe = safe.replaceAll(secret, '[secret]');
      return safe;
    },
    close: () => {
      if (file !== null) fs.closeSync(file);
      file = null;
    },
  };
}

/** Keeps the line valid JSON: a long one is wrapped as text, cut. */
function shorten(line: string): string {
  if (line.length <= limits.logLineChars) return line;
  return JSON.stringify({ cut: line.slice(0, limits.logLineChars) });
}

function redact(line: string, secrets: ReadonlySet<string>): string {
  let text = line.replaceAll(looksSecret, '$1[secret]');
  for (const secret of secrets) text = text.replaceAll(JSON.stringify(secret).slice(1, -1), '[secret]');
  return text;
}

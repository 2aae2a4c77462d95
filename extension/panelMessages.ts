// What a webview may say, checked message by message: what is not in the table of protocol/panel.ts, or has not
// its form, is dropped (case 222). A webview shows text of models; this is the door that its scripts stand at.

import type { Channel } from '../sidecar/protocol/frame.ts';
import { panelCommands, panelMethods } from '../sidecar/protocol/panel.ts';
import type { ToExtension } from '../sidecar/protocol/panel.ts';
import { field } from './targets.ts';

/** Fields that each message must have, by their type. */
const forms: Readonly<Record<ToExtension['kind'], Readonly<Record<string, Check>>>> = {
  ready: { view: oneOf(['tree', 'agent']) },
  follow: { tag: isTag, channel: isChannel },
  unfollow: { tag: isTag },
  call: { id: isNumber, method: oneOf(panelMethods), params: isObject },
  showAgent: { agent: isNumber },
  openFile: { path: isText, line: isNumber },
  reviewChange: { change: isNumber },
  openLink: { href: isText },
  command: { command: oneOf(panelCommands) },
  copy: { text: isText },
};

type Check = (value: unknown) => boolean;

export function isToExtension(value: unknown): value is ToExtension {
  const kind = field(value, 'kind');
  if (typeof kind !== 'string' || !Object.hasOwn(forms, kind)) return false;
  const form: Readonly<Record<string, Check>> | undefined = Reflect.get(forms, kind);
  return form !== undefined && Object.entries(form).every(([name, check]) => check(field(value, name)));
}

/** Links that a transcript may open in the browser; every other scheme is refused (case 222). */
export function isOpenable(href: string): boolean {
  try {
    return ['http:', 'https:', 'mailto:'].includes(new URL(href).protocol);
  } catch {
    return false;
  }
}

/** The channels that views draw; the log of everything is not one of them. */
const channels: Readonly<Record<Exclude<Channel['kind'], 'log'>, Check>> = {
  fleet: () => true,
  requests: () => true,
  tree: (channel) => isObject(field(channel, 'query')),
  agent: (channel) => isNumber(field(channel, 'agent')),
  changes: (channel) => field(channel, 'agent') === null || isNumber(field(channel, 'agent')),
};

function isChannel(value: unknown): boolean {
  const kind = field(value, 'kind');
  if (typeof kind !== 'string' || !Object.hasOwn(channels, kind)) return false;
  const check: Check | undefined = Reflect.get(channels, kind);
  return check !== undefined && check(value);
}

function oneOf(words: readonly string[]): Check {
  return (value) => typeof value === 'string' && words.includes(value);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

/** A tag is a name, not a place to keep things. */
function isTag(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 100;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

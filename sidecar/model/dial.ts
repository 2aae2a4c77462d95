// Makes one TLS connection, through a proxy where the environment names one. Used by both kinds of wire.
//
// HTTPS_PROXY, https_proxy, ALL_PROXY and NO_PROXY are read at each connection, as other programs understand them
// (case 179). A proxy that opens TLS itself signs with its own authority; authorities.ts knows where that lies.

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Authorities } from './authorities.ts';

export interface Dialling {
  readonly url: URL;
  readonly authorities: Authorities;
  readonly protocols: readonly string[];
  /** Ticket of an earlier connection to the same server, which saves it a signature. */
  readonly ticket: Buffer | undefined;
}

type Post = (socket: TLSSocket | null, error: Error | null) => void;

/** Posts a socket whose certificate has been verified, or why there is none; later, once. Returns what gives it up. */
export function dial(how: Dialling, post: Post): (reason: Error) => void {
  let current: { destroy(error?: Error): unknown } | null = null;
  let over = false;
  const end = (socket: TLSSocket | null, error: Error | null): void => {
    if (over) return void socket?.destroy();
    over = true;
    post(socket, error);
  };
  const secure = (through: Socket | null): void => {
    try {
      const socket = startTls(how, through);
      current = socket;
      const failed = (error: Error): void => end(null, error);
      const closed = (): void => end(null, new Error('it was closed while it was made'));
      socket.on('error', failed).on('close', closed);
      socket.once('secureConnect', () => {
        socket.off('error', failed).off('close', closed);
        end(socket, null);
      });
    } catch (error) {
      // caFile cannot be read, or holds no certificate.
      setImmediate(() => end(null, error instanceof Error ? error : new Error(String(error))));
    }
  };
  const proxy = proxyFor(how.url, process.env);
  if (proxy === null) secure(null);
  else {
    current = tunnel(proxy, how.url, (socket, error) => {
      if (over) socket?.destroy();
      else if (socket === null) end(null, error ?? new Error('the proxy closed the connection'));
      else secure(socket);
    });
  }
  return (reason) => {
    end(null, reason);
    current?.destroy();
  };
}

const bare = (host: string): string => host.replace(/^\[|\]$/g, '');

function startTls(how: Dialling, through: Socket | null): TLSSocket {
  const host = bare(how.url.hostname);
  const port = how.url.port === '' ? 443 : Number(how.url.port);
  return process.getBuiltinModule('node:tls').connect({
    ...(through === null ? { host, port } : { socket: through }),
    servername: process.getBuiltinModule('node:net').isIP(host) === 0 ? host : '',
    ALPNProtocols: [...how.protocols],
    secureContext: how.authorities.context(),
    ...(how.ticket === undefined ? {} : { session: how.ticket }),
  });
}

/** A connection to `to` through a proxy, by CONNECT (RFC 9110, section 9.3.6). */
function tunnel(
  proxy: URL,
  to: URL,
  post: (socket: Socket | null, error: Error | null) => void,
): { destroy(): unknown } {
  const target = `${to.hostname}:${to.port === '' ? '443' : to.port}`;
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const request = process.getBuiltinModule('node:http').request({
    host: bare(proxy.hostname),
    port: proxy.port === '' ? 80 : Number(proxy.port),
    method: 'CONNECT',
    path: target,
    agent: false,
    headers: {
      host: target,
      ...(login === ':' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` }),
    },
  });
  request.once('connect', (response, socket) => {
    if (response.statusCode === 200) return post(socket, null);
    socket.destroy();
    post(null, new Error(`the proxy ${proxy.host} answered ${response.statusCode} to CONNECT`));
  });
  request.once('response', (response) => {
    response.destroy();
    post(null, new Error(`the proxy ${proxy.host} answered ${response.statusCode} and opened no tunnel`));
  });
  request.once('error', (error) =>
    post(null, new Error(`the proxy ${proxy.host} could not be used: ${error.message}`)),
  );
  request.end();
  return request;
}

/** The proxy for a URL by the variables that nearly all programs share; null: none. */
export function proxyFor(url: URL, environment: Readonly<Record<string, string | undefined>>): URL | null {
  const named =
    environment['https_proxy'] ??
    environment['HTTPS_PROXY'] ??
    environment['all_proxy'] ??
    environment['ALL_PROXY'];
  if (named === undefined || named.trim() === '') return null;
  const without = environment['no_proxy'] ?? environment['NO_PROXY'] ?? '';
  if (without.split(/[\s,]+/).some((rule) => isExcepted(url, rule))) return null;
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(named) ? named : `http://${named}`;
  return URL.canParse(text) ? new URL(text) : null;
}

function isExcepted(url: URL, rule: string): boolean {
  if (rule === '*') return true;
  const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(rule.toLowerCase()) ?? [];
  if (name === '' || (port !== undefined && port !== (url.port === '' ? '443' : url.port))) return false;
  const suffix = name.replace(/^\*?\./, '');
  const host = bare(url.hostname.toLowerCase());
  return host === suffix || host.endsWith(`.${suffix}`);
}

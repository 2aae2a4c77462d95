// The official client of the Model Context Protocol behind our own interface. This file and what it imports are a
// bundle of their own, loaded with the first server that is started (27 MB), so a sidecar without servers does not pay.
//
// Tools are listed and called by bare requests, because the library's own calls refuse a whole list for one bad tool
// and a whole result for one odd field; what comes back is judged by us. Not here: when to connect (pool.ts).

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ErrorCode,
  ListRootsRequestSchema,
  McpError,
  ResultSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { pathToFileURL } from 'node:url';
import type { Json, JsonObject } from '../../protocol/json.ts';
import { build } from '../../protocol/version.ts';
import { limits } from '../../runtime/limits.ts';
import type { ServerStart } from '../../workspace/serverFile.ts';
import { isObject } from '../tool.ts';
import { ServerProblem, type CallOptions, type Connection, type ConnectionEvents } from './connection.ts';
import { GroupTransport } from './groupTransport.ts';
import type { ServerRecord } from './strays.ts';

/** Of servers that have resources: results name them by their addresses, and a model must be able to read them. */
const resourceTool = {
  name: 'read_resource',
  description: 'Reads a resource of this server by its uri. Without a uri it lists the resources there are.',
  inputSchema: { type: 'object', properties: { uri: { type: 'string' } } },
  annotations: { readOnlyHint: true },
};

export interface ConnectOptions {
  readonly start: ServerStart;
  /** The environment that a server is started with, besides its own variables. */
  readonly env: Readonly<Record<string, string>>;
  /** What is written down of a server that is a process; null: nothing. */
  readonly record: ServerRecord | null;
  /** The folder that the server is told it may work in; null: none. */
  readonly folder: string | null;
  /** Aborted when this process ends: a server that is still greeted is told to end, and not waited for. */
  readonly signal: AbortSignal;
  readonly events: ConnectionEvents;
}

/**
 * Starts or reaches a server and greets it, within limits.serverConnectMs.
 * @throws ServerProblem with the reason.
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const connecting = new Connecting(options);
  options.signal.addEventListener('abort', () => connecting.abandon(), { once: true });
  try {
    await connecting.greet();
    return connecting;
  } catch (error) {
    const why = connecting.whyNot(error);
    await connecting.close();
    throw new ServerProblem('notSent', why);
  }
}

class Connecting implements Connection {
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #events: ConnectionEvents;
  readonly #group: GroupTransport | null;
  #greeted = false;
  #closed = false;
  #looking = false;
  #readsResources = false;

  constructor({ start, env, record, folder, events }: ConnectOptions) {
    this.#events = events;
    const transport =
      start.kind === 'stdio'
        ? new GroupTransport({ ...start, record, env: { ...env, ...start.env } })
        : httpTransport(start);
    this.#transport = transport;
    this.#group = transport instanceof GroupTransport ? transport : null;
    this.#client = new Client(
      { name: 'roost', version: build },
      { capabilities: folder === null ? {} : { roots: {} } },
    );
    if (folder !== null) {
      const roots = [{ uri: pathToFileURL(folder).href, name: 'workspace' }];
      this.#client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }));
    }
    this.#client.setNotificationHandler(ToolListChangedNotificationSchema, () => events.listChanged());
    this.#client.onclose = () => this.#gone();
    this.#client.onerror = () => void this.#look();
  }

  get pid(): number | null {
    return this.#group?.pid ?? null;
  }

  get title(): string {
    const { name = '', version = '' } = this.#client.getServerVersion() ?? {};
    return `${name} ${version}`.trim();
  }

  async greet(): Promise<void> {
    await this.#client.connect(this.#transport, { timeout: limits.serverConnectMs });
    this.#greeted = true;
  }

  /** Why it could not be greeted, in words for a person. */
  whyNot(error: unknown): string {
    if (error instanceof Error && Reflect.get(error, 'code') === 'ENOENT' && this.#group !== null)
      return `there is no program "${this.#group.command}", or no folder "${this.#group.directory}"`;
    const said = this.#group?.said() ?? '';
    const reason = plainly(error);
    return said === '' || /timed out/i.test(reason)
      ? [reason, said].filter((part) => part !== '').join('. ')
      : said;
  }

  async list(): Promise<readonly Json[]> {
    const tools: Json[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < limits.offerPages; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const answer = await this.#request('tools/list', params, { timeout: limits.serverStartMs });
      const { tools: listed, nextCursor } = answer;
      if (Array.isArray(listed)) tools.push(...listed);
      if (typeof nextCursor !== 'string' || nextCursor === cursor) break;
      cursor = nextCursor;
    }
    const isTaken = tools.some((tool) => isObject(tool) && tool['name'] === resourceTool.name);
    this.#readsResources = !isTaken && this.#client.getServerCapabilities()?.resources !== undefined;
    return this.#readsResources ? [...tools, resourceTool] : tools;
  }

  call(tool: string, input: JsonObject, { signal, progress }: CallOptions): Promise<JsonObject> {
    const options: RequestOptions = {
      signal,
      timeout: limits.serverCallMs,
      resetTimeoutOnProgress: true,
      maxTotalTimeout: limits.serverCallLongestMs,
      onprogress: ({ progress: done, total, message }) =>
        progress(message ?? (total === undefined ? `${done}` : `${done} of ${total}`)),
    };
    if (!this.#readsResources || tool !== resourceTool.name)
      return this.#request('tools/call', { name: tool, arguments: input }, options);
    const { uri } = input;
    if (typeof uri === 'string') return this.#request('resources/read', { uri }, options);
    return this.#listResources(options);
  }

  async #listResources(options: RequestOptions): Promise<JsonObject> {
    const { resources, nextCursor } = await this.#request('resources/list', {}, options);
    const all = Array.isArray(resources) ? resources : [];
    const lines = all
      .slice(0, limits.resourcesListed)
      .map((each) => (isObject(each) ? [each['uri'], each['name'], each['description']] : [each]))
      .map((words) => words.filter((word) => typeof word === 'string').join('  '));
    const isMore = lines.length < all.length || typeof nextCursor === 'string';
    const text = [...lines, ...(isMore ? ['[there are more]'] : [])].join('\n');
    return { content: [{ type: 'text', text: text === '' ? 'There are none.' : text }] };
  }

  close(): Promise<void> {
    this.#closed = true;
    return this.#end();
  }

  abandon(): void {
    this.#closed = true;
    this.#group?.abandon();
  }

  async #end(): Promise<void> {
    // The library forgets who waits when it closes; the server's group is ended by our own transport.
    if (this.#transport instanceof StreamableHTTPClientTransport)
      await this.#transport.terminateSession().catch(() => undefined);
    await this.#client.close().catch(() => undefined);
    await this.#transport.close().catch(() => undefined);
  }

  async #request(method: string, params: JsonObject, options: RequestOptions): Promise<JsonObject> {
    try {
      const answer = await this.#client.request({ method, params }, ResultSchema, options);
      const json: JsonObject = JSON.parse(JSON.stringify(answer));
      return json;
    } catch (error) {
      throw this.#problem(error, options);
    }
  }

  #problem(error: unknown, { signal }: RequestOptions): ServerProblem {
    if (signal?.aborted === true) return new ServerProblem('lost', 'It was given up.');
    const said = this.#group?.said() ?? '';
    if (error instanceof McpError) {
      const { code, message } = error;
      if (code === Number(ErrorCode.ConnectionClosed))
        return new ServerProblem('lost', said === '' ? 'the connection ended' : said);
      if (code === Number(ErrorCode.RequestTimeout))
        return new ServerProblem('lost', 'it gave no answer in time');
      return new ServerProblem('answered', message.replace(/^MCP error -?\d+: /, ''));
    }
    if (error instanceof StreamableHTTPError) {
      // 404: the session is not known there any more, and nothing of this was done (Streamable HTTP, session management).
      if (error.code === 404) return new ServerProblem('notSent', 'it does not know this session any more');
      const kind = error.code !== undefined && 400 <= error.code && error.code < 500 ? 'answered' : 'lost';
      return new ServerProblem(kind, plainly(error));
    }
    return new ServerProblem(neverLeft(error) ? 'notSent' : 'lost', plainly(error));
  }

  /**
   * Something went wrong beside the calls. Over HTTP nobody says that a server died: it is asked, and when it does not
   * answer all that is in flight is lost. A process says so itself.
   */
  async #look(): Promise<void> {
    if (this.#group !== null || !this.#greeted || this.#closed || this.#looking) return;
    this.#looking = true;
    try {
      await this.#client.ping({ timeout: limits.serverPingMs });
    } catch {
      await this.#end();
    } finally {
      this.#looking = false;
    }
  }

  #gone(): void {
    if (this.#closed || !this.#greeted) return;
    this.#closed = true;
    this.#events.closed(this.#group?.said() ?? 'the connection ended');
  }
}

function httpTransport(start: Extract<ServerStart, { kind: 'http' }>): Transport {
  const url = new URL(start.url);
  const requestInit = { headers: start.headers };
  if (start.legacy) return new SSEClientTransport(url, { requestInit });
  // The types of the library allow `sessionId` to be undefined where the interface does not.
  return new StreamableHTTPClientTransport(url, { requestInit });
}

/** The connection was refused or never made: the request did not leave. */
function neverLeft(error: unknown): boolean {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const code: unknown = typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'code') : undefined;
  return (
    typeof code === 'string' &&
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(code)
  );
}

function plainly(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause: unknown = error.cause;
  const because = cause instanceof Error ? `: ${cause.message}` : '';
  if (error instanceof StreamableHTTPError && (error.code === 401 || error.code === 403))
    return `it wants a sign-in (HTTP ${error.code}), and Roost does not sign in to servers by itself. Get a token there and put it into the "headers" of its definition, such as "Authorization": "Bearer \${input:NAME}" with the key set as "input:NAME"`;
  return `${error.message}${because}`.replace(/^MCP error -?\d+: /, '');
}

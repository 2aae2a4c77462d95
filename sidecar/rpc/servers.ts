// Servers of tools (MCP) of a folder for clients: definitions, trust, state, and what each offers.

import { wantedServers, type Knowledge, type Server, type Trusting } from '../core/knowledge.ts';
import type { Offer } from '../core/offers.ts';
import { RoostError } from '../protocol/errors.ts';
import type { Params, Result } from '../protocol/methods.ts';
import type { ServerList, ServerRow, ServerState } from '../protocol/server.ts';
import type { OfferAnswer, Reads, ServerRef } from '../ports.ts';
import type { Peer } from './peer.ts';
import { refuseInside } from './persons.ts';
import { realFolder } from './start.ts';

/** The servers' own side: processes and sockets. */
export interface ServersNow {
  status(hash: string): {
    readonly status: ServerState;
    readonly pid: number | null;
    readonly problem: string | null;
  };
  /** Ends a server and forgets its failures; true: it ran. */
  restart(hash: string): boolean;
  /** Starts or reaches a server and asks what it offers. */
  offer(server: ServerRef): Promise<OfferAnswer>;
}

interface ServerParts {
  readonly reads: Pick<Reads, 'trust' | 'offer'>;
  readonly now: () => ServersNow;
  /** What a folder tells agents, as it is now. */
  look(workspace: string): Promise<Knowledge>;
}

type ServerHandlers = {
  readonly [M in 'mcp/list' | 'mcp/restart']: (params: Params<M>, peer: Peer) => Promise<Result<M>>;
};

export function serverHandlers({ reads, now, look }: ServerParts): ServerHandlers {
  return {
    'mcp/list': async ({ workspace: named, connect }, peer) => {
      if (connect) refuseInside(peer);
      const workspace = await realFolder(named);
      return serverList(reads, now(), { workspace, knowledge: await look(workspace), connect });
    },
    'mcp/restart': async ({ workspace, hash }) => {
      const { servers } = await look(await realFolder(workspace));
      if (servers.some((server) => server.hash === hash)) return { ended: now().restart(hash) };
      const message = 'There is no such server in this folder any more. List the servers again.';
      throw new RoostError('request/invalid', message);
    },
  };
}

interface ServerQuestion {
  readonly workspace: string;
  readonly knowledge: Knowledge;
  /** Start or reach all that are trusted, and ask them anew. */
  readonly connect: boolean;
}

/** What `mcp/list` gives of a folder that was just looked at. */
async function serverList(
  reads: Pick<Reads, 'trust' | 'offer'>,
  now: ServersNow,
  { workspace, knowledge, connect }: ServerQuestion,
): Promise<ServerList> {
  const trusting: Trusting = ({ hash, own }) => (own ? 'trusted' : (reads.trust(hash) ?? 'pending'));
  const ground = { knowledge, trusting, offers: () => undefined };
  const used = new Set(wantedServers({ servers: 'all' }, ground));
  const rows = knowledge.servers.map(async (server): Promise<ServerRow> => {
    const asked = connect && used.has(server) ? await now.offer({ ...server, workspace }) : null;
    const { status: state, pid, problem } = now.status(server.hash);
    const offer = asked?.kind === 'offer' ? asked.offer : reads.offer(server.hash);
    const { name, label, path, hash, transport, line, given } = server;
    const trust = trusting(server);
    return {
      ...{ name, label, path, hash, trust, hidden: trust === 'trusted' && !used.has(server) },
      ...{ transport, line, given, state, pid },
      problem: problem ?? (asked?.kind === 'failed' ? asked.message : null),
      tools: offer === undefined ? null : toolsOf(offer),
      dropped: offer?.dropped ?? [],
    };
  });
  const files = new Set(knowledge.servers.map(fileOf));
  const problems = knowledge.problems.filter(({ label }) => files.has(label) || /mcp\.json/.test(label));
  return { workspace, servers: await Promise.all(rows), problems };
}

const fileOf = ({ label }: Server): string => label.split(': ')[0] ?? label;

const toolsOf = ({ tools }: Offer): ServerRow['tools'] =>
  tools.map(({ name, description, reading }) => ({ name, description, reading }));

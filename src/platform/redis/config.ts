import { z } from 'zod';

/** Host and port of one Redis server or Sentinel. */
export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

interface Credentials {
  readonly username?: string;
  readonly password?: string;
}

/** The Redis of a deployment: one server, a primary that Sentinels watch, or a cluster. */
export type RedisTarget =
  | { readonly kind: 'server'; readonly url: string }
  | ({
      readonly kind: 'sentinel';
      readonly nodes: readonly RedisNode[];
      /** Name under which the Sentinels know the primary. */
      readonly name: string;
      readonly db: number;
      readonly tls: boolean;
      readonly sentinelUsername?: string;
      readonly sentinelPassword?: string;
    } & Credentials)
  | ({ readonly kind: 'cluster'; readonly nodes: readonly RedisNode[]; readonly tls: boolean } & Credentials);

const SERVER = /^(?:rediss?|unix):\/\/\S+$/;
/** `redis+sentinel://` or `redis+cluster://`, credentials, nodes, path and query. `rediss+…` uses TLS. */
const NODES = /^(rediss?)\+(sentinel|cluster):\/\/(?:([^@/?\s]*)@)?([^@/?\s]*)(?:\/([^?\s]*))?(?:\?(\S*))?$/;
const NODE = /^(?:\[([\da-f:]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i;
const DEFAULT_PORTS = { sentinel: 26_379, cluster: 6_379 } as const;

/**
 * Parses `REDIS_URL`.
 * @throws with a message that begins with "must" and contains no part of the URL, because the URL may contain a password
 */
export function parseRedisUrl(text: string): RedisTarget {
  if (SERVER.test(text)) return { kind: 'server', url: text };
  const [, scheme, kind, credentials = '', list = '', path = '', query = ''] = NODES.exec(text) ?? [];
  if (kind !== 'sentinel' && kind !== 'cluster') {
    throw new Error('must be a URL that begins with redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://');
  }
  const nodes = list.split(',').map((node) => parseNode(node, DEFAULT_PORTS[kind]));
  const shared = { nodes, tls: scheme === 'rediss', ...parseCredentials(credentials) };
  if (kind === 'cluster') {
    if (path !== '' || query !== '') throw new Error('must end after the nodes of the cluster, because a cluster has no other databases');
    return { kind, ...shared };
  }
  const [, name, db = '0'] = /^([\w.-]+)(?:\/(\d{1,4}))?$/.exec(path) ?? [];
  if (name === undefined) throw new Error('must name the primary after the Sentinels, such as redis+sentinel://host:26379/mymaster');
  return { kind, ...shared, name, db: Number(db), ...parseSentinelCredentials(query) };
}

function parseNode(text: string, defaultPort: number): RedisNode {
  const [, address, name, port = String(defaultPort)] = NODE.exec(text) ?? [];
  const host = address ?? name;
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) throw new Error('must list the nodes as host:port, separated by commas');
  return { host, port: Number(port) };
}

function parseCredentials(text: string): Credentials {
  if (text === '') return {};
  const colon = text.indexOf(':');
  if (colon < 0) throw new Error('must have a colon before the password, such as redis+cluster://:password@host:6379');
  const [username, password] = [decode(text.slice(0, colon)), decode(text.slice(colon + 1))];
  return { ...(username === '' ? {} : { username }), password };
}

/** Parses the credentials of the Sentinels, which are in the query, because the credentials before the nodes are those of Redis. */
function parseSentinelCredentials(query: string): { sentinelUsername?: string; sentinelPassword?: string } {
  const found = Object.fromEntries(new URLSearchParams(query));
  const { sentinelUsername, sentinelPassword, ...others } = found;
  if (Object.keys(others).length > 0) throw new Error('must have no other parameters than sentinelUsername and sentinelPassword');
  return { ...(sentinelUsername ? { sentinelUsername } : {}), ...(sentinelPassword ? { sentinelPassword } : {}) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('must have percent-encoded credentials');
  }
}

/** Returns the passwords of a target that is not a single server. The URL of a single server is a secret as a whole. */
export const passwordsOf = (target: RedisTarget): string[] =>
  target.kind === 'server' ? [] : [target.password ?? '', target.kind === 'sentinel' ? (target.sentinelPassword ?? '') : ''];

/** The environment variables for Redis. */
export const RedisEnvironment = {
  /** One server (`redis://`, `rediss://`, `unix://`), Sentinels with the name of the primary, or nodes of a cluster. */
  REDIS_URL: z
    .string()
    .default('redis://localhost:6379')
    .transform((text, ctx) => {
      try {
        return parseRedisUrl(text);
      } catch (error) {
        ctx.addIssue({ code: 'custom', message: Error.isError(error) ? error.message : String(error) });
        return z.NEVER;
      }
    }),
  REDIS_PREFIX: z
    .string()
    .regex(/^[a-z0-9-]+$/)
    .default('coinop'),
};

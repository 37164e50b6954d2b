import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Postgres, startPostgres } from '#dev/stack/postgres.ts';
import { startRedis } from '#dev/stack/redis.ts';
import { startRedisGroup } from '#dev/stack/redis-group/group.ts';
import type { StackPart, Supervisor } from '#dev/stack/supervisor.ts';

/** URLs of the PostgreSQL and the Redis that all tests of a run share. */
export interface ServerUrls {
  readonly database: string;
  readonly redis: string;
}

const REQUEST = 'servers';
const STOP = 'stop';

/** The Redis of the tests. */
interface TestRedis extends StackPart {
  readonly url: string;
  /** Deletes all keys. */
  clear(): Promise<void>;
}

/** The running servers. */
export interface Servers {
  readonly postgres: Postgres;
  readonly redis: TestRedis;
}

/** Starts PostgreSQL and Redis in a folder. Their data is deleted at the end, so no commit waits for the disk. */
export async function startServers(stack: Supervisor, folder: string): Promise<Servers> {
  const [postgres, redis] = await Promise.all([
    stack.start(() => startPostgres({ folder: join(folder, 'postgres'), durable: false })),
    stack.start(() => startTestRedis(join(folder, 'redis'))),
  ]);
  return { postgres, redis };
}

/** Starts one Redis server, or the group of servers that TEST_REDIS names: `sentinel` or `cluster`. */
async function startTestRedis(folder: string): Promise<TestRedis> {
  const { TEST_REDIS: kind = '' } = process.env;
  if (kind === 'sentinel' || kind === 'cluster') return await startRedisGroup(kind, folder);
  if (kind !== '') throw new Error(`TEST_REDIS must be sentinel or cluster, not ${kind}`);
  const redis = await startRedis({ folder, durable: false });
  const { name, url, died } = redis;
  return { name, url, died, stop: () => redis.stop(), clear: () => redis.restart({ empty: true }) };
}

export const urlsOf = ({ postgres, redis }: Servers): ServerUrls => ({ database: postgres.url, redis: redis.url });

/** How to answer the requests at a socket. */
export interface RequestHandlers {
  /** Returns the URLs of the running servers. The first call starts the servers. */
  readonly servers: () => Promise<ServerUrls>;
  readonly stop: () => void;
  /** Called with the number of processes that use the servers, whenever this number has changed. */
  readonly usersChanged?: (count: number) => void;
}

/** Listens at a unix socket. A process that sends `servers` gets the URLs, and counts as a user until it closes its connection. */
export async function answerRequests(socket: string, handlers: RequestHandlers): Promise<Server> {
  const users = new Set<Socket>();
  const server = createServer((connection) => {
    connection.on('error', () => connection.destroy());
    connection.on('close', () => {
      if (users.delete(connection)) handlers.usersChanged?.(users.size);
    });
    createInterface(connection).on('line', (line) => {
      if (line === STOP) handlers.stop();
      if (line !== REQUEST) return;
      // `servers` is called before the user is counted, so that the handler can tell whether there were other users.
      const reply = handlers.servers();
      users.add(connection);
      handlers.usersChanged?.(users.size);
      reply.then(
        (urls) => connection.write(`${JSON.stringify(urls)}\n`),
        (error: unknown) => connection.write(`${JSON.stringify({ error: error instanceof Error ? error.message : String(error) })}\n`),
      );
    });
  });
  server.listen(socket);
  await once(server, 'listening');
  return server;
}

/**
 * Requests the servers from the process that listens at a socket. Keeps the connection open until this process ends.
 * @throws when the servers could not be started
 */
export async function requestServers(socket: string): Promise<ServerUrls> {
  const connection = connect(socket);
  connection.write(`${REQUEST}\n`);
  const reply: { database?: string; redis?: string; error?: string } = JSON.parse(await firstLine(connection));
  connection.unref();
  if (reply.database === undefined || reply.redis === undefined) throw new Error(`the servers of the tests did not start: ${reply.error}`);
  return { database: reply.database, redis: reply.redis };
}

function firstLine(connection: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    connection.on('error', reject);
    connection.on('data', (chunk) => {
      text += String(chunk);
      if (text.includes('\n')) resolve(text);
    });
    connection.on('close', () => reject(new Error('the process that starts the servers of the tests has ended')));
  });
}

/** Returns whether a process listens at a socket. */
export async function isListening(socket: string): Promise<boolean> {
  const connection = connect(socket);
  try {
    await once(connection, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    connection.destroy();
  }
}

/** Asks the process that listens at a socket to stop its servers. Resolves when it has ended. */
export async function requestStop(socket: string): Promise<void> {
  const connection = connect(socket);
  connection.on('error', () => connection.destroy());
  connection.write(`${STOP}\n`);
  await new Promise((resolve) => connection.once('close', resolve));
}

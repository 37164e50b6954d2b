import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { COLLECTOR_OPTIONS, collectedBytes, residentBytes } from '../memory.ts';

/** A server that sends an event stream to its subscribers. */
export interface Streamer {
  readonly name: string;
  readonly port: number;
  readonly path: string;
  /** Cookies of the sessions that the subscribers use in turn; undefined if they have no sessions. */
  readonly cookies?: readonly string[];
  /** Returns the id of the process that holds the connections. */
  pid(): number;
  /** Returns the current memory of the process that holds the connections, bytes. */
  bytes(): Promise<number>;
  /** Sends texts to all subscribers, one message per text, in order. */
  publish(texts: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the minimal node:http server of `bare-stream.ts`. */
export const startBareStream = (): Promise<Streamer> => startBare('bare node:http', 'bare-stream.ts');

/** Starts the process of `bare-writer.ts`, whose latency is the limit on this machine. */
export const startBareWriter = (): Promise<Streamer> => startBare('bare writer', 'bare-writer.ts');

/** Starts a program of this folder that sends its address to this process and receives texts from it. */
async function startBare(name: string, program: string): Promise<Streamer> {
  const child = fork(join(import.meta.dirname, program), { execArgv: [COLLECTOR_OPTIONS], stdio: ['ignore', 'inherit', 'ignore', 'ipc'] });
  const port = await new Promise<number>((resolve) => {
    child.once('message', (address: AddressInfo) => resolve(address.port));
  });
  const pid = child.pid ?? 0;
  return {
    name,
    port,
    path: '/',
    pid: () => pid,
    bytes: () => collectedBytes(pid),
    publish: async (texts) => {
      for (const text of texts) child.send(text);
    },
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

const HOW_TO_INSTALL = 'not installed: apt-get install nginx libnginx-mod-nchan';

const MAX_STARTS = 5;

/**
 * Starts nginx with one worker process and the module nchan, both installed from Debian packages. nginx cannot choose a free port itself, so it is
 * started again with another port if a process binds the port before nginx does.
 * @returns the server, or installation instructions when nginx or nchan is not installed
 */
export async function startNchan(): Promise<Streamer | string> {
  const nginx = ['/usr/sbin', ...(process.env.PATH ?? '').split(delimiter)]
    .map((directory) => join(directory, 'nginx'))
    .find((path) => existsSync(path));
  const module = nginx && join(nginx, '../../lib/nginx/modules/ngx_nchan_module.so');
  if (!module || !existsSync(module)) return HOW_TO_INSTALL;
  const folder = mkdtempSync(join(tmpdir(), 'coinop-nchan-'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ');
  const conf = (port: number) => `${process.getuid?.() === 0 ? 'user root;' : ''}
    load_module ${module}; worker_processes 1; worker_rlimit_nofile 20000; daemon off; pid ${folder}/pid; error_log ${folder}/errors warn;
    events { worker_connections 19000; }
    http {
      access_log off; ${temporary} nchan_shared_memory_size 256M;
      server {
        listen 127.0.0.1:${port} backlog=4096; keepalive_requests 1000000;
        location = /events { nchan_subscriber eventsource; nchan_channel_id events; nchan_subscriber_first_message newest; }
        location = /publish { nchan_publisher; nchan_channel_id events; nchan_message_buffer_length 1000; nchan_message_timeout 1m; }
      }
    }`;
  const start = async (port: number) => {
    writeFileSync(join(folder, 'conf'), conf(port));
    const child = spawn(nginx, ['-c', join(folder, 'conf'), '-e', join(folder, 'errors')], { stdio: ['ignore', 'inherit', 'inherit'] });
    const worker = () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ')[0]);
    // nginx starts its worker process after it has bound the port, and exits if it cannot bind the port.
    while (child.exitCode === null && worker() === 0) await sleep(50);
    return { port, child, worker };
  };
  let started = await start(await unusedPort());
  for (let starts = 1; started.child.exitCode !== null && starts < MAX_STARTS; starts++) started = await start(await unusedPort());
  const { port, child, worker } = started;
  if (child.exitCode !== null) throw new Error(`nginx exited with code ${child.exitCode}; see ${folder}/errors`);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    name: 'nchan',
    port,
    path: '/events',
    pid: worker,
    bytes: async () => residentBytes(worker()),
    async publish(texts) {
      // Sends all requests over one connection, so that the messages keep their order.
      for (const text of texts) request({ port, path: '/publish', method: 'POST', agent }, (response) => response.resume()).end(text);
    },
    async stop() {
      agent.destroy();
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true });
    },
  };
}

/** Returns a port that no process uses at this moment. */
async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const closed = once(server, 'close');
  server.close();
  await closed;
  return typeof address === 'object' && address ? address.port : 0;
}

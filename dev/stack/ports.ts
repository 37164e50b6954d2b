import { once } from 'node:events';
import { createServer } from 'node:net';

const DEFAULT_PORT = 3000;
const TRIES = 200;

/** Where the API processes are to listen: consecutive ports. `moved` says that the default ones were taken. */
export interface Ports {
  readonly ports: readonly number[];
  readonly moved: boolean;
}

/** The ports for so many API processes: from PORT on if it is set (taken is an error), else the first free ones from 3000. */
export async function choosePorts(chosen: string | undefined, count: number): Promise<Ports> {
  if (chosen !== undefined && chosen !== '') {
    const first = wholeNumber('PORT', chosen, 1, 65_536 - count);
    const ports = consecutive(first, count);
    const taken = await firstTaken(ports);
    if (taken !== undefined) throw new Error(`Port ${taken} is taken (PORT=${chosen}): stop what listens there, or set another PORT`);
    return { ports, moved: false };
  }
  for (let first = DEFAULT_PORT; first < DEFAULT_PORT + TRIES; ) {
    const ports = consecutive(first, count);
    const taken = await firstTaken(ports);
    if (taken === undefined) return { ports, moved: first !== DEFAULT_PORT };
    first = taken + 1;
  }
  throw new Error(`No free port from ${DEFAULT_PORT} on: set PORT`);
}

/** A setting that has to be a whole number. */
export function wholeNumber(name: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new Error(`${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`);
}

function consecutive(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

async function firstTaken(ports: readonly number[]): Promise<number | undefined> {
  for (const port of ports) {
    // Some systems let the general address be bound beside a special one, so both are asked.
    if (!((await isFree(port)) && (await isFree(port, '127.0.0.1')))) return port;
  }
  return undefined;
}

function isFree(port: number, host?: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** A port that people expect something at, or 0, any other, while it is taken. */
export async function preferred(port: number): Promise<number> {
  return (await firstTaken([port])) === undefined ? port : 0;
}

/** Free ports wherever the system has some: for systems that nobody has to find by hand. */
export async function anyPorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.flatMap((server) => {
    const address = server.address();
    return typeof address === 'object' && address ? [address.port] : [];
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

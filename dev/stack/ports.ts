import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const DEFAULT_PORT = 3000;
const MAX_PORTS_TRIED = 200;
/** First and last port of `steadyPorts`. Linux gives the ports from 32768 on to outgoing connections. */
const FIRST_STEADY_PORT = 12_000;
const LAST_STEADY_PORT = 32_000;

/** Consecutive ports for the API processes. `moved` is true if other ports were chosen because the default ports were in use. */
export interface ApiPorts {
  readonly ports: readonly number[];
  readonly moved: boolean;
}

/**
 * Returns `count` consecutive ports for API processes. The first port is PORT (`chosen`) if it is set, else the lowest port from 3000 on for which
 * all `count` ports are free.
 * @throws when PORT is set and one of the ports is in use
 */
export async function choosePorts(chosen: string | undefined, count: number): Promise<ApiPorts> {
  if (chosen !== undefined && chosen !== '') {
    const first = wholeNumber('PORT', chosen, 1, 65_536 - count);
    const ports = consecutive(first, count);
    const taken = await firstTaken(ports);
    if (taken !== undefined) throw new Error(`Port ${taken} is in use (PORT=${chosen}): stop the process that listens there, or set another PORT`);
    return { ports, moved: false };
  }
  for (let first = DEFAULT_PORT; first < DEFAULT_PORT + MAX_PORTS_TRIED; ) {
    const ports = consecutive(first, count);
    const taken = await firstTaken(ports);
    if (taken === undefined) return { ports, moved: first !== DEFAULT_PORT };
    first = taken + 1;
  }
  throw new Error(`No port from ${DEFAULT_PORT} to ${DEFAULT_PORT + MAX_PORTS_TRIED - 1} is free: set PORT`);
}

/**
 * Returns different free ports for servers that are stopped and start again at the same port. Outgoing connections never use these ports. With another
 * port, a client that retries its connection while the server is stopped may get the port of the server as its own port. The client is then connected
 * to itself, and the server cannot start.
 */
export async function steadyPorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries === MAX_PORTS_TRIED) throw new Error(`fewer than ${count} ports from ${FIRST_STEADY_PORT} to ${LAST_STEADY_PORT} are free`);
    const port = randomInt(FIRST_STEADY_PORT, LAST_STEADY_PORT + 1);
    if ((await firstTaken([port])) === undefined) ports.add(port);
  }
  return [...ports];
}

/**
 * Parses the text of a setting as a whole number.
 * @throws when the text is not a whole number from `min` to `max`
 */
export function wholeNumber(name: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= min && number <= max) return number;
  throw new Error(`${name} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`);
}

function consecutive(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

async function firstTaken(ports: readonly number[]): Promise<number | undefined> {
  for (const port of ports) {
    // Some systems let one process listen on all addresses and another process listen on 127.0.0.1 at the same port, so both kinds of address are
    // tested.
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

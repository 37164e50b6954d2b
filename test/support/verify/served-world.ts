import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { type Answer, programHash, RpcFault } from '#packages/verify/src/index.ts';
import { CHAIN, chatParameters, entriesOf, GENESIS_HASH, TREASURY } from '#test/lib/draw/rounds.ts';
import { randomGenerator } from '../areas/board-model.ts';
import { CODE, createWorld, type World } from './world.ts';

/** The URLs of a served world. */
export interface ServedWorld {
  readonly house: string;
  readonly rpc: string;
  readonly beacon: string;
  close(): void;
}

const HOUR_MS = 3_600_000;

/** Creates a world in which a chat round closed half an hour ago, because verifiers of served worlds use the real time. */
export function createRecentWorld(entries: number, wallets: number): World {
  const closesAt = 1_000 * Math.floor((Date.now() - HOUR_MS / 2) / 1_000);
  const times = { opensAt: new Date(closesAt - HOUR_MS).toISOString(), closesAt: new Date(closesAt).toISOString() };
  const parameters = chatParameters({ ...times, maxEntriesPerWallet: entries });
  return createWorld(parameters, entriesOf(parameters, entries, wallets, randomGenerator(17)));
}

/** Returns all pins of a world. */
export const pinsOf = ({ addresses }: World) => ({
  ...{ draws: addresses.draws, treasury: TREASURY, genesisHash: GENESIS_HASH },
  ...{ beacon: CHAIN.chainHash, program: programHash(CODE) },
});

const RpcCall = z.object({ method: z.string(), params: z.array(z.unknown()) });
const MAX_BYTES = 1_000_000_000;

/** Headers with which a page of any origin can read the answers. */
const CORS = { 'access-control-allow-origin': '*', 'access-control-allow-headers': 'content-type' };

/** Starts a server on a free port of this machine. Returns its URL. */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return `http://127.0.0.1:${address.port}`;
}

/**
 * Serves the house, the node and the beacon of a world by HTTP. Each request reads the present state of the world, and its time is the real time.
 * @param proxy changes the answers of the house, as a proxy in front of the house could do
 */
export async function serveWorld(world: World, proxy: (path: string, answer: Answer) => Answer = (_path, answer) => answer): Promise<ServedWorld> {
  const { house, rpc, beacon } = world.sources;

  async function callNode(request: IncomingMessage): Promise<Answer> {
    const { method, params } = RpcCall.parse(JSON.parse(await text(request)));
    const body = await rpc(method, params).then(
      (result) => ({ result }),
      (error: unknown) => {
        if (error instanceof RpcFault) return { error: { code: error.code, message: error.message } };
        throw error;
      },
    );
    return { status: 200, text: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }) };
  }
  async function answer(request: IncomingMessage): Promise<Answer> {
    const { method, url = '/' } = request;
    if (method === 'POST' && url === '/rpc') return await callNode(request);
    if (url.startsWith('/beacon/')) return await beacon(url.slice('/beacon'.length), MAX_BYTES);
    return proxy(url, await house(url, MAX_BYTES));
  }

  const server = createServer((request, response) => {
    for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
    if (request.method === 'OPTIONS') return void response.writeHead(204).end();
    world.now = Date.now();
    answer(request).then(
      ({ status, text: body }) => response.writeHead(status).end(body),
      () => response.destroy(),
    );
  });
  const url = await listen(server);
  return { house: url, rpc: `${url}/rpc`, beacon: `${url}/beacon`, close: () => void server.close() };
}

import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { type Answer, RpcFault } from '#packages/verify/src/index.ts';
import type { World } from './world.ts';

/** The URLs of a served world. */
export interface ServedWorld {
  readonly house: string;
  readonly rpc: string;
  readonly beacon: string;
  close(): void;
}

const RpcCall = z.object({ method: z.string(), params: z.array(z.unknown()) });
const MAX_BYTES = 1_000_000_000;

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
    world.now = Date.now();
    answer(request).then(
      ({ status, text: body }) => response.writeHead(status).end(body),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  const url = `http://127.0.0.1:${address.port}`;
  return { house: url, rpc: `${url}/rpc`, beacon: `${url}/beacon`, close: () => void server.close() };
}

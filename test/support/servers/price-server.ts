import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A response of the price server, or a fault. */
export type PriceReply =
  | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  /** Closes the connection; never answers; never ends the response; sends an endless body, with the status 200 or 500. */
  | 'drops'
  | 'hangs'
  | 'stalls'
  | 'floods'
  | 'fails-endlessly';

/** A server with the API of CoinGecko's simple price and configurable faults. */
export interface PriceServer {
  /** Value of `PRICE_URL`. */
  readonly url: string;
  /** Number of requests received. */
  readonly requestCount: number;
  /** Sets the price in later responses. */
  setPrice(usd: number): void;
  /** Sets the response to later requests. */
  setReply(reply: PriceReply): void;
  /** Resolves when the client has closed the connections of all endless bodies. */
  sentEndless(): Promise<void>;
  close(): Promise<void>;
}

const json = (body: unknown): PriceReply => ({ status: 200, body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });

/** Starts a server with the price 142.31. */
export async function startPriceServer(): Promise<PriceServer> {
  let requestCount = 0;
  let current: PriceReply = json({ solana: { usd: 142.31 } });
  let endless: Promise<unknown>[] = [];
  const server = createServer((request, response) => {
    requestCount++;
    if (current === 'floods' || current === 'fails-endlessly') endless.push(once(response, 'close'));
    if (request.url !== '/simple/price?ids=solana&vs_currencies=usd') response.writeHead(404).end();
    else respond(response, current);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/simple/price?ids=solana&vs_currencies=usd`,
    get requestCount() {
      return requestCount;
    },
    setPrice: (usd) => {
      current = json({ solana: { usd } });
    },
    setReply: (reply) => {
      current = reply;
    },
    async sentEndless() {
      await Promise.all(endless);
      endless = [];
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function respond(response: ServerResponse, answer: PriceReply): void {
  switch (answer) {
    case 'drops':
      response.destroy();
      break;
    case 'hangs':
      break;
    case 'stalls':
      response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"solana":');
      break;
    case 'floods':
    case 'fails-endlessly':
      // Sends a price and then an endless field.
      response.writeHead(answer === 'floods' ? 200 : 500, { 'Content-Type': 'application/json' }).write('{"solana":{"usd":1},"more":"');
      writeEndlessly(response);
      break;
    default:
      response.writeHead(answer.status, answer.headers).end(answer.body);
  }
}

/** Writes until the client closes the connection. */
function writeEndlessly(response: ServerResponse): void {
  if (response.destroyed) return;
  if (response.write('x'.repeat(65_536))) setImmediate(writeEndlessly, response);
  else response.once('drain', () => writeEndlessly(response));
}

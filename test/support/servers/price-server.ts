import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a source of prices answers: by a status and a text, or not as it should. */
export type PriceAnswer =
  | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  /** Closes the connection; says nothing; begins and never ends; says much more than a price. */
  | 'drops'
  | 'hangs'
  | 'stalls'
  | 'floods';

/** A source of prices that speaks as CoinGecko's simple price does, and fails as told. */
export interface PriceServer {
  /** What goes into `PRICE_URL`. */
  readonly url: string;
  /** How often it was asked. */
  readonly asked: number;
  /** From now on it answers with a price. */
  say(usd: number): void;
  /** From now on it answers like this. */
  answer(answer: PriceAnswer): void;
  close(): Promise<void>;
}

const json = (body: unknown): PriceAnswer => ({ status: 200, body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });

/** Starts one that answers 142.31. */
export async function startPriceServer(): Promise<PriceServer> {
  let asked = 0;
  let present: PriceAnswer = json({ solana: { usd: 142.31 } });
  const server = createServer((request, response) => {
    asked++;
    if (request.url !== '/simple/price?ids=solana&vs_currencies=usd') response.writeHead(404).end();
    else give(response, present);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/simple/price?ids=solana&vs_currencies=usd`,
    get asked() {
      return asked;
    },
    say: (usd) => {
      present = json({ solana: { usd } });
    },
    answer: (answer) => {
      present = answer;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function give(response: ServerResponse, answer: PriceAnswer): void {
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
      // A price, and then more than anybody wants to read.
      response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"solana":{"usd":1},"more":"');
      pour(response);
      break;
    default:
      response.writeHead(answer.status, answer.headers).end(answer.body);
  }
}

/** Writes until the reader goes away. */
function pour(response: ServerResponse): void {
  if (response.destroyed) return;
  if (response.write('x'.repeat(65_536))) setImmediate(pour, response);
  else response.once('drain', () => pour(response));
}

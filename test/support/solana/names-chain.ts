import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Connection, PublicKey } from '@solana/web3.js';
import { startTestChain, type TestChain } from './chain.ts';
import { type TestAccount, TOKEN, TOKEN_2022 } from './names.ts';

/** A test cluster to which name accounts can be written. It also serves `getTokenLargestAccounts`. */
export interface NamesChain extends TestChain {
  /** Writes accounts and waits until they are finalized. */
  write(...accounts: TestAccount[]): Promise<void>;
  /** Skips to a slot. */
  skipToSlot(slot: number): Promise<void>;
}

/** Maximum slots per `skip` command. */
const MAX_SLOTS = 10_000_000;

/** Starts a cluster behind a proxy that adds `getTokenLargestAccounts`. */
export async function startNamesChain(): Promise<NamesChain> {
  const chain = await startTestChain();
  const server = createServer((request, response) => {
    answer(chain, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...chain,
    env: { ...chain.env, SOLANA_RPC_URL: `http://127.0.0.1:${port}` },
    async write(...accounts) {
      await chain.control.setAccounts(
        accounts.map(({ address, owner, data }) => ({
          address: address.toBase58(),
          account: { lamports: 10_000_000, owner: owner.toBase58(), data: data.toString('base64') },
        })),
      );
      await chain.control.advance(10);
    },
    async skipToSlot(slot) {
      for (let left = slot - (await chain.control.status()).slot; left > 0; left -= MAX_SLOTS) await chain.control.skip(Math.min(left, MAX_SLOTS));
      // Adds blocks, because skipped slots have no blocks that could be finalized.
      await chain.control.advance(20);
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await chain.close();
    },
  };
}

/** Answers `getTokenLargestAccounts`, and forwards all other calls to the cluster. */
async function answer(chain: TestChain, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString('utf8');
  const call = JSON.parse(body) as { id: unknown; method: string; params: [string] };
  if (call.method === 'getTokenLargestAccounts') {
    const result = await largestAccounts(chain.connection, new PublicKey(call.params[0]));
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: call.id, ...result }));
    return;
  }
  try {
    const forwarded = await fetch(chain.localnet.url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    response.writeHead(forwarded.status, { 'Content-Type': 'application/json' }).end(await forwarded.text());
  } catch {
    response.destroy();
  }
}

/** Returns the 20 largest accounts of a mint, largest first, in the format of RPC nodes. */
async function largestAccounts(connection: Connection, mint: PublicKey): Promise<object> {
  const minted = await connection.getAccountInfo(mint, 'finalized');
  if (!minted || !(minted.owner.equals(TOKEN) || minted.owner.equals(TOKEN_2022)) || minted.data[45] !== 1) {
    return { error: { code: -32602, message: 'Invalid param: not a Token mint' } };
  }
  const accounts = await connection.getProgramAccounts(minted.owner, {
    commitment: 'finalized',
    filters: [{ memcmp: { offset: 0, bytes: mint.toBase58() } }],
  });
  const value = accounts
    .map(({ pubkey, account }) => ({ address: pubkey.toBase58(), amount: account.data.readBigUInt64LE(64) }))
    .sort((a, b) => Number(b.amount - a.amount))
    .slice(0, 20)
    .map(({ address, amount }) => ({ address, amount: String(amount), decimals: 0, uiAmount: Number(amount), uiAmountString: String(amount) }));
  return { result: { context: { slot: await connection.getSlot('finalized') }, value } };
}

import { coalesce } from '#lib/concurrency/coalesce.ts';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import type { Address, FetchedAccount } from '#platform/solana/primitives.ts';

/** Accounts in the order of the requested keys, all read at the same slot. */
interface AccountsAtSlot {
  readonly slot: number;
  readonly accounts: readonly FetchedAccount[];
}

/** Maximum accounts per RPC request. */
const MAX_ACCOUNTS = 100;

interface AccountsRequest {
  readonly keys: readonly Address[];
}

const RENT_AGE_MS = 3_600_000;

/** Functions that join the concurrent reads of this process into shared RPC requests, one function per commitment. */
const accountReaders = perApp((app) => ({
  confirmed: coalesce((requests: readonly AccountsRequest[]) => readAll(app, 'confirmed', requests)),
  finalized: coalesce((requests: readonly AccountsRequest[]) => readAll(app, 'finalized', requests)),
}));

/** Cache of rent-exempt minimum balances in lamports, keyed by account size in bytes. */
const rents = perApp((app) => ttlCache(RENT_AGE_MS, async (bytes: number) => BigInt(await app.chain.node.rentOf(bytes))));

/**
 * Reads the accounts for several callers with as few RPC requests as possible. All accounts of one `AccountsRequest` (one caller) are read by the
 * same RPC request, so that they have the same slot.
 */
async function readAll(
  app: App,
  commitment: 'confirmed' | 'finalized',
  requests: readonly AccountsRequest[],
): Promise<Map<AccountsRequest, AccountsAtSlot>> {
  const batches: { requests: AccountsRequest[]; keys: Map<string, Address> }[] = [];
  for (const request of requests) {
    const last = batches.at(-1);
    const isNew = (key: Address) => last !== undefined && !last.keys.has(key.toBase58());
    const into =
      last && last.keys.size + request.keys.filter(isNew).length <= MAX_ACCOUNTS ? last : { requests: [], keys: new Map<string, Address>() };
    if (into !== last) batches.push(into);
    into.requests.push(request);
    for (const key of request.keys) into.keys.set(key.toBase58(), key);
  }
  const results = new Map<AccountsRequest, AccountsAtSlot>();
  await Promise.all(
    batches.map(async (batch) => {
      const { slot, accounts } = await app.chain.node.accounts([...batch.keys.values()], commitment);
      const found = new Map([...batch.keys.keys()].map((key, i) => [key, accounts[i] ?? null]));
      for (const request of batch.requests) results.set(request, { slot, accounts: request.keys.map((key) => found.get(key.toBase58()) ?? null) });
    }),
  );
  return results;
}

/**
 * Reads at most 100 accounts, all at the same slot. Concurrent calls of a class in this process share RPC requests, and wait for the class's request
 * that is in flight. So slow requests of claims do not delay roots.
 * @param priority the class of the transactions that need the accounts
 * @throws 503 when the RPC node does not answer
 */
export async function readAccounts(
  app: App,
  commitment: 'confirmed' | 'finalized',
  keys: readonly Address[],
  priority: 'roots' | 'claims' = 'roots',
): Promise<AccountsAtSlot> {
  if (keys.length > MAX_ACCOUNTS) throw new RangeError(`keys must have at most ${MAX_ACCOUNTS} entries, not ${keys.length}`);
  const request: AccountsRequest = { keys };
  const read = (await app.state(accountReaders)[commitment](priority, request)).get(request);
  if (!read) throw new Error('the RPC results do not contain the requested accounts');
  return read;
}

/** Returns the rent-exempt minimum balance of an account of `bytes` bytes, lamports. */
export const rentOf = (app: App, bytes: number): Promise<bigint> => app.state(rents).get(bytes);

import type { AccountInfo, Commitment, PublicKey } from '@solana/web3.js';
import { coalesce } from '#lib/coalesce.ts';
import { ttlCache } from '#lib/ttl-cache.ts';
import type { App } from '#platform/app.ts';
import { rpc } from '#platform/solana/solana.ts';

export type Account = AccountInfo<Buffer> | null;

/** Accounts in the order asked for, as they were at one slot. */
export interface Read {
  readonly slot: number;
  readonly accounts: readonly Account[];
}

/** The most accounts that nodes answer at once. */
const AT_ONCE = 100;

interface Ask {
  readonly keys: readonly PublicKey[];
}

/** What all of a process share: reads that are under way together are one question, and rents are asked for once an hour. */
interface Shared {
  read(commitment: Commitment, ask: Ask): Promise<Map<Ask, Read>>;
  rent: { get(bytes: number): Promise<bigint> };
}
const shared = new WeakMap<App, Shared>();
const RENT_AGE_MS = 3_600_000;

function sharedOf(app: App): Shared {
  const known = shared.get(app);
  if (known) return known;
  const readers = new Map(
    (['confirmed', 'finalized'] as const).map((commitment) => [commitment, coalesce<Ask, Map<Ask, Read>>((asks) => readAll(app, commitment, asks))]),
  );
  const made: Shared = {
    async read(commitment, ask) {
      const reader = readers.get(commitment === 'finalized' ? 'finalized' : 'confirmed');
      if (!reader) throw new Error(`accounts are not read at ${commitment}`);
      return await reader(commitment, ask);
    },
    rent: ttlCache(RENT_AGE_MS, async (bytes) => BigInt(await rpc(() => app.chain.connection.getMinimumBalanceForRentExemption(bytes)))),
  };
  shared.set(app, made);
  return made;
}

/** The accounts of one ask stay together, so that they are of one slot. */
async function readAll(app: App, commitment: Commitment, asks: readonly Ask[]): Promise<Map<Ask, Read>> {
  const questions: { asks: Ask[]; keys: Map<string, PublicKey> }[] = [];
  for (const ask of asks) {
    const last = questions.at(-1);
    const isNew = (key: PublicKey) => last !== undefined && !last.keys.has(key.toBase58());
    const into = last && last.keys.size + ask.keys.filter(isNew).length <= AT_ONCE ? last : { asks: [], keys: new Map<string, PublicKey>() };
    if (into !== last) questions.push(into);
    into.asks.push(ask);
    for (const key of ask.keys) into.keys.set(key.toBase58(), key);
  }
  const answers = new Map<Ask, Read>();
  await Promise.all(
    questions.map(async (question) => {
      const { context, value } = await rpc(() => app.chain.connection.getMultipleAccountsInfoAndContext([...question.keys.values()], commitment));
      const found = new Map([...question.keys.keys()].map((key, i) => [key, value[i] ?? null]));
      for (const ask of question.asks) answers.set(ask, { slot: context.slot, accounts: ask.keys.map((key) => found.get(key.toBase58()) ?? null) });
    }),
  );
  return answers;
}

/**
 * Reads accounts, at most a hundred, all at one slot; together with whoever else of this process reads at the moment.
 * @throws 503 when the chain cannot be asked
 */
export async function readAccounts(app: App, commitment: 'confirmed' | 'finalized', keys: readonly PublicKey[]): Promise<Read> {
  if (keys.length > AT_ONCE) throw new RangeError(`${keys.length} accounts are more than are read at once`);
  const ask: Ask = { keys };
  const read = (await sharedOf(app).read(commitment, ask)).get(ask);
  if (!read) throw new Error('accounts were not read');
  return read;
}

/** What an account of so many bytes must hold to stay, lamports. */
export const rentOf = (app: App, bytes: number): Promise<bigint> => sharedOf(app).rent.get(bytes);

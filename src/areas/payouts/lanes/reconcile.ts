import { PublicKey } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { rpc } from '#platform/solana/solana.ts';
import { decodeNonce } from './account.ts';
import { type History, historyOf } from './history.ts';
import { type Lane, selectLanes, selectStaleLanes, settleLane } from './rows.ts';
import { keepFindings, matchFindings } from './unmatched-transactions.ts';

/** How lanes stand after a look. */
export interface Tended {
  /** Whether every landing on every lane is known and in the books. */
  readonly clear: boolean;
  /** What a person, or what is yet to be owed, has to explain. */
  readonly problems: readonly string[];
}

/** The most accounts that nodes hand out at once. */
const ACCOUNTS_AT_ONCE = 100;

/**
 * Reads the nonces of lanes at finalized, and frees those whose last landing is identified. A nonce that moved without a
 * transaction that we know of is how a restored database shows itself.
 * @param which those that something may have happened to, or all
 */
export async function tendLanes(app: App, which: 'stale' | 'all'): Promise<Tended> {
  const lanes = await app.db.query(which === 'all' ? selectLanes : selectStaleLanes);
  const problems: string[] = [];
  let clear = true;
  for (let i = 0; i < lanes.length; i += ACCOUNTS_AT_ONCE) {
    const chunk = lanes.slice(i, i + ACCOUNTS_AT_ONCE);
    const addresses = chunk.map(({ address }) => new PublicKey(address));
    const { context, value } = await rpc(() => app.chain.connection.getMultipleAccountsInfoAndContext(addresses, { commitment: 'finalized' }));
    for (const [n, lane] of chunk.entries()) {
      const found = await tend(app, lane, decodeNonce(value[n] ?? null)?.value ?? null, context.slot);
      if (found !== 'clear') clear = false;
      if (Array.isArray(found)) problems.push(...found);
    }
  }
  return { clear, problems };
}

/** What is wrong with a lane, if anything; or that it cannot be told yet. */
type Look = 'clear' | 'waiting' | readonly string[];

async function tend(app: App, lane: Lane, value: string | null, slot: number): Promise<Look> {
  if (slot < lane.nonceSlot || slot < lane.landedSlot) return 'waiting';
  if (value === null) return lane.nonce === null ? 'clear' : [`the nonce account of lane ${lane.lane}, ${lane.address}, is gone`];
  if (value === lane.nonce && !lane.stale) return 'clear';
  // A person vouches for the account as it stands.
  if (value === lane.nonce || lane.accepted) return await settle(app, lane, value, slot, null);
  const history = await historyOf(app, lane, slot);
  const problems = await app.tx(async (tx) => {
    await keepFindings(tx, lane, history.fresh);
    return await matchFindings(app, tx, lane);
  });
  if (problems.length > 0) return problems;
  if (!history.complete || history.uses.some(({ by, settled }) => by === 'us' && !settled)) return 'waiting';
  // Not only the first: where a person has vouched, earlier ones are still in the history.
  if (lane.nonce === null || history.uses.some(({ nonce }) => nonce === lane.nonce)) return await settle(app, lane, value, slot, history);
  // A node's history may lag behind its accounts.
  if (lane.age < app.config.chain.landing.recheckMs) return 'waiting';
  return [`lane ${lane.lane}: the nonce ${lane.nonce} was used, and no transaction is known to have used it`];
}

/** The lane goes on with the nonce that was read, as soon as no batch has it. */
async function settle(app: App, lane: Lane, value: string, slot: number, history: History | null): Promise<Look> {
  const last = history?.uses.at(-1);
  await app.tx((tx) => tx.query(settleLane, [lane.lane, lane.address, value, slot, last?.signature ?? null, last?.slot ?? 0, lane.nonce]));
  return 'clear';
}

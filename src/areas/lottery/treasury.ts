import { type Currency, payoutBatch, sumOwedByTreasury } from '#areas/payouts';
import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Address, FetchedAccount } from '#platform/solana/primitives.ts';
import { type PendingSpend, pendingSpends } from '#platform/solana/submission/index.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';

const OPEN = `r.state in ('active', 'closing', 'committed')`;
const sumReserved = statement<{ amount: string }>(
  'sum_reserved_for_rounds',
  `select (
     coalesce((select sum((p->>'amount')::numeric) from rounds r, jsonb_array_elements(r.prizes) p where ${OPEN} and r.kind = 'chat' and p->>'mint' = $1), 0)
     + coalesce((select sum(r.ticket_price * r.entries) from rounds r where ${OPEN} and r.kind = 'legacy' and $1 = 'usdc'), 0))::text as amount`,
);

/** Returns the amount that is reserved for open rounds, base units: the prizes of started chat rounds and the ticket prices of legacy rounds. */
export async function readReserved(db: Queryable, currency: Currency): Promise<bigint> {
  return BigInt((await db.query(sumReserved, [currency]))[0]?.amount ?? 0);
}

const lock = statement('lock_treasury', `select pg_advisory_xact_lock(hashtext('coinop-treasury'))`);

/** Locks the treasury until the transaction ends, so that no two transactions reserve the same tokens. */
export async function lockTreasury(tx: Tx): Promise<void> {
  await tx.query(lock);
}

/**
 * Time just before the treasury's balance is read, and the transactions that were in-flight at this time. The balance may still contain the tokens
 * that these transactions spend.
 */
export interface OutflowMarker {
  /** Time of the marker by the database's clock, as PostgreSQL writes a timestamptz. */
  readonly at: string;
  /** In-flight transactions that spend treasury tokens, by currency. Payouts are excluded. */
  readonly outgoing: Readonly<Record<Currency, readonly PendingSpend[]>>;
}

const readClock = statement<{ at: string }>('read_clock', 'select app_now() as at');

/** Reads the outflow marker. Call it before `readHoldings`. */
export async function readOutflowMarker(app: App): Promise<OutflowMarker> {
  const [[clock], usdc, reward] = await Promise.all([
    app.db.query(readClock),
    readOutgoing(app, app.db, 'usdc'),
    readOutgoing(app, app.db, 'reward'),
  ]);
  if (!clock) throw new Error('the database returned no time');
  return { at: clock.at, outgoing: { usdc, reward } };
}

/**
 * Returns the treasury tokens that are not free, base units: tokens that are reserved for rounds, owed to wallets, or spent by other in-flight
 * transactions (for example for a reward epoch). Also counts tokens that left the treasury after `marker` was read, because the caller subtracts the
 * result from a balance that may still contain these tokens.
 * @param isOwn whether an in-flight transaction is left out
 */
export async function readObligations(
  app: App,
  db: Queryable,
  currency: Currency,
  marker: OutflowMarker,
  isOwn: (spend: PendingSpend) => boolean = () => false,
): Promise<bigint> {
  const [forRounds, owed, now] = await Promise.all([
    readReserved(db, currency),
    sumOwedByTreasury(db, currency, marker.at),
    readOutgoing(app, db, currency),
  ]);
  const others = [...marker.outgoing[currency], ...now].filter((spend) => !isOwn(spend));
  const all = new Map(others.map(({ signature, amount }) => [signature, amount]));
  return [...all.values()].reduce((sum, amount) => sum + amount, forRounds + owed);
}

/** Reads the in-flight transactions that spend treasury tokens, except payouts, because `sumOwedByTreasury` includes payouts. */
const readOutgoing = (app: App, db: Queryable, currency: Currency) => pendingSpends(db, mintOf(app, currency).toBase58(), payoutBatch);

export const mintOf = ({ chain }: Pick<App, 'chain'>, currency: Currency): Address => (currency === 'usdc' ? chain.usdcMint : chain.rewardMint);

/** Reads the treasury's finalized balance of each currency, base units. A frozen account counts as 0. @throws 503 when the RPC node does not answer */
export async function readHoldings(app: App): Promise<Readonly<Record<Currency, bigint>>> {
  const treasury = app.chain.address('treasury');
  const addresses = (['usdc', 'reward'] as const).map((currency) => associatedTokenAddress(treasury, mintOf(app, currency)));
  const { accounts } = await app.chain.node.accounts(addresses, 'finalized');
  const [usdc = 0n, reward = 0n] = accounts.map((account) => holdingOf(account, treasury));
  return { usdc, reward };
}

/** Returns the base units in a token account of the treasury. An account that is missing, frozen or of another owner counts as 0. */
export function holdingOf(account: FetchedAccount, treasury: Address): bigint {
  const tokens = decodeTokenAccount(account);
  return tokens && !tokens.frozen && tokens.owner.equals(treasury) ? tokens.amount : 0n;
}

import type { PublicKey } from '@solana/web3.js';
import { type Currency, owedByTreasury, payoutBatch } from '#areas/payouts';
import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { rpc } from '#platform/solana/solana.ts';
import { spendsUnderway, type UnderwaySpend } from '#platform/solana/submission/transactions.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';

const OPEN = `r.state in ('active', 'closing', 'committed')`;
const sumReserved = statement<{ amount: string }>(
  'sum_reserved_for_rounds',
  `select (
     coalesce((select sum((p->>'amount')::numeric) from rounds r, jsonb_array_elements(r.prizes) p where ${OPEN} and r.kind = 'chat' and p->>'mint' = $1), 0)
     + coalesce((select sum(r.ticket_price * r.entries) from rounds r where ${OPEN} and r.kind = 'legacy' and $1 = 'usdc'), 0))::text as amount`,
);

/** What the treasury holds for open rounds: prizes of chat rounds that were begun, tickets of legacy rounds; base units. */
export async function reserved(db: Queryable, currency: Currency): Promise<bigint> {
  return BigInt((await db.query(sumReserved, [currency]))[0]?.amount ?? 0);
}

const lock = statement('lock_treasury', `select pg_advisory_xact_lock(hashtext('coinop-treasury'))`);

/** Whoever promises what the treasury holds does it one after the other: until this transaction ends. */
export async function lockTreasury(tx: Tx): Promise<void> {
  await tx.query(lock);
}

/** A moment just before the chain is asked what the treasury holds: what left it after this moment may be in the answer. */
export interface Moment {
  /** By the record's clock. */
  readonly at: Date;
  /** What was leaving, other than payouts, by currency. */
  readonly leaving: Readonly<Record<Currency, readonly UnderwaySpend[]>>;
}

const readClock = statement<{ at: Date }>('read_clock', 'select app_now() as at');

/** Reads what must be known before the chain is asked what the treasury holds. */
export async function momentBefore(app: App): Promise<Moment> {
  const [[clock], usdc, reward] = await Promise.all([app.db.query(readClock), leaving(app, app.db, 'usdc'), leaving(app, app.db, 'reward')]);
  if (!clock) throw new Error('the record does not tell the time');
  return { at: clock.at, leaving: { usdc, reward } };
}

/**
 * What of the treasury's tokens is promised, base units: reserved for rounds, owed, or leaving otherwise (for a reward epoch). What left
 * since a moment is among it, so that it may be taken from a balance that was read after that moment.
 */
export async function promised(app: App, db: Queryable, currency: Currency, since: Moment): Promise<bigint> {
  const [forRounds, owed, now] = await Promise.all([reserved(db, currency), owedByTreasury(db, currency, since.at), leaving(app, db, currency)]);
  const all = new Map([...since.leaving[currency], ...now].map(({ signature, amount }) => [signature, amount]));
  return [...all.values()].reduce((sum, amount) => sum + amount, forRounds + owed);
}

/** Payouts are owed as well, and not counted twice. */
const leaving = (app: App, db: Queryable, currency: Currency) => spendsUnderway(db, mintOf(app, currency).toBase58(), payoutBatch);

export const mintOf = ({ chain }: Pick<App, 'chain'>, currency: Currency): PublicKey => (currency === 'usdc' ? chain.usdcMint : chain.rewardMint);

/** What the treasury holds of each currency, finally; what is frozen is as good as nothing. @throws 503 when the node cannot be asked */
export async function readHoldings(app: App): Promise<Readonly<Record<Currency, bigint>>> {
  const treasury = app.chain.address('treasury');
  const accounts = (['usdc', 'reward'] as const).map((currency) => associatedTokenAddress(treasury, mintOf(app, currency)));
  const found = await rpc(() => app.chain.connection.getMultipleAccountsInfo(accounts, 'finalized'));
  const [usdc = 0n, reward = 0n] = found.map((account) => {
    const tokens = decodeTokenAccount(account);
    return tokens && !tokens.frozen && tokens.owner.equals(treasury) ? tokens.amount : 0n;
  });
  return { usdc, reward };
}

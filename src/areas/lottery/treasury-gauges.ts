import { z } from 'zod';
import type { App, GaugeReader, GaugeSample } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { SOL } from '#platform/solana/submission/index.ts';
import { associatedTokenAddress } from '#platform/solana/tokens.ts';
import { holdingOf, mintOf, readObligations, readOutflowMarker } from './treasury.ts';

/** Expiry of the balances in Redis, seconds. The stored value contains the time of reading, so metrics show how old the balances are. */
const EXPIRY_SEC = 7 * 86_400;
/** The number is the version of `Balances`: a process of another release ignores balances that it cannot parse. */
const keyOf = ({ config }: App) => `${config.redis.prefix}:metrics:balances:2`;

const Balance = z.strictObject({
  role: z.enum(['fee_payer', 'treasury']),
  asset: z.enum(['sol', 'usdc', 'reward']),
  /** Lamports or base units. */
  held: z.number(),
  /** The part of `held` that is owed, reserved for rounds, or in outgoing transactions. */
  promised: z.number(),
  /** Days until `held` without `promised` is spent at the mean rate of the last seven days; null when nothing was spent. */
  daysLeft: z.number().nullable(),
});
export type Balance = z.output<typeof Balance>;
const Balances = z.strictObject({
  /** Time of reading, ms since 1970. */
  at: z.number(),
  balances: z.array(Balance),
});
export type Balances = z.output<typeof Balances>;

/**
 * Selects the mean amount per day that was spent since the start of the UTC day seven days ago, or since the first spending within this time. The
 * divisor is at least one day. Reads a few rows per day, by the primary key.
 */
const selectSpending = statement<{ asset: string; perDay: number }>(
  'read_daily_spending',
  `select asset, (sum(reserved) / greatest(1, extract(epoch from app_now()) / 86400 - min(day)))::float8 as "perDay"
   from chain_outflows where day >= (select app_day()) - 7 and asset = any($1::text[]) group by asset`,
);

/**
 * Reads the finalized balances that the service depends on, with one RPC request: SOL of the fee payer, which pays every fee and rent, and the tokens
 * of the treasury. The other keys and the payout lanes need no SOL besides the rent that the fee payer paid for them.
 * @throws 503 when the chain or the fee payer is not configured, or when the RPC node does not answer
 */
export async function readBalances(app: App): Promise<Balances> {
  const { chain, clock, db } = app;
  const treasury = chain.address('treasury');
  const currencies = ['usdc', 'reward'] as const;
  const mints = currencies.map((currency) => mintOf(app, currency));
  const addresses = [chain.key('feePayer').publicKey, ...mints.map((mint) => associatedTokenAddress(treasury, mint))];
  const marker = await readOutflowMarker(app);
  const [payer, ...tokens] = (await chain.node.accounts(addresses, 'finalized')).accounts;
  const spent = await db.query(selectSpending, [[SOL, ...mints.map((mint) => mint.toBase58())]]);
  const spending = new Map(spent.map(({ asset, perDay }) => [asset, perDay]));
  const balanceOf = (role: Balance['role'], asset: Balance['asset'], key: string, held: number, promised: number): Balance => {
    const perDay = spending.get(key) ?? 0;
    return { role, asset, held, promised, daysLeft: perDay > 0 ? Math.max(0, held - promised) / perDay : null };
  };
  const balances = [balanceOf('fee_payer', 'sol', SOL, payer?.lamports ?? 0, 0)];
  for (const [i, currency] of currencies.entries()) {
    const held = Number(holdingOf(tokens[i] ?? null, treasury));
    const promised = Number(await readObligations(app, db, currency, marker));
    balances.push(balanceOf('treasury', currency, mintOf(app, currency).toBase58(), held, promised));
  }
  return { at: clock.now().getTime(), balances };
}

/**
 * Reads the balances and stores them in Redis, where the metrics of all processes read them. One worker runs this on a schedule.
 * @throws 503 when the chain is not configured or the RPC node does not answer
 */
export async function storeBalances(app: App): Promise<void> {
  await app.redis.set(keyOf(app), JSON.stringify(await readBalances(app)), 'EX', EXPIRY_SEC);
}

/** Returns the balances that a worker last stored; null when there are none. */
export async function readStoredBalances(app: App): Promise<Balances | null> {
  const text = await app.redis.get(keyOf(app));
  return text === null ? null : Balances.parse(JSON.parse(text));
}

/** Gauges of the balances that a worker last stored. A scrape of these gauges sends no request to the RPC node. */
export const balanceGauges: GaugeReader = {
  cacheMs: 5_000,
  gauges: {
    coinop_chain_balance: 'Finalized balance of the fee payer (lamports) and the treasury (base units), by role and asset.',
    coinop_chain_obligations: 'Treasury tokens that are owed, reserved for rounds, or in outgoing transactions; base units, by asset.',
    coinop_chain_balance_days_left:
      'Days until the balance without obligations is spent at the mean rate of the last seven days, by role and asset. Left out when nothing was spent.',
    coinop_chain_balances_read_timestamp_seconds: 'Time at which a worker last read the balances.',
  },
  async read(app): Promise<GaugeSample[]> {
    const stored = await readStoredBalances(app);
    if (stored === null) return [];
    return [
      ...stored.balances.flatMap(({ role, asset, held, promised, daysLeft }) => [
        { name: 'coinop_chain_balance', labels: { role, asset }, value: held },
        ...(role === 'treasury' ? [{ name: 'coinop_chain_obligations', labels: { asset }, value: promised }] : []),
        ...(daysLeft === null ? [] : [{ name: 'coinop_chain_balance_days_left', labels: { role, asset }, value: daysLeft }]),
      ]),
      { name: 'coinop_chain_balances_read_timestamp_seconds', value: stored.at / 1_000 },
    ];
  },
};

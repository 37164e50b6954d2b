import { PublicKey } from '@solana/web3.js';
import { type Currency, type Debt, type Owed, owe, type Payment, type PaymentState } from '#areas/payouts';
import { planPayouts } from '#jobs/payouts.ts';
import { statement } from '#platform/db/sql.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { startTestApp, type TestApp } from '../app.ts';
import { startTestChain, type TestChain } from '../solana/chain.ts';
import { createWallet } from '../wallet.ts';
import { eventually } from './player.ts';

/** Landing as fast as the tests' slots. */
export const FAST_PAYOUTS = { LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '100', LANDING_DEPTH_BLOCKS: '4', LANDING_RESEND_SLOTS: '3' };

/** An application, and a cluster of its own that it pays on. */
export interface PayoutsTest extends TestApp {
  readonly chain: TestChain;
}

/** Starts both. */
export async function startPayoutsTest(options: Parameters<typeof startTestApp>[0] = {}): Promise<PayoutsTest> {
  const chain = await startTestChain();
  const t = await startTestApp({ ...options, env: { ...chain.env, ...FAST_PAYOUTS, ...options.env } });
  return {
    ...t,
    chain,
    async close() {
      await t.close();
      await chain.close();
    },
  };
}

let debts = 0;

/** Something owed to a wallet, a new one unless it is named, for a cause of its own. */
export function debt(given: Partial<Debt> = {}): Debt {
  debts++;
  return { wallet: createWallet().address, currency: 'usdc', amount: 1_000_000n, cause: { kind: 'test', id: `debt-${debts}` }, ...given };
}

/** Owes, in one transaction. */
export const oweAll = (t: Pick<TestApp, 'app'>, all: readonly Debt[]): Promise<Owed[]> => t.app.tx((tx) => owe(t.app, tx, all));

/** A payment as it is stored. */
export interface Stored {
  id: string;
  wallet: string;
  currency: Currency;
  amount: string;
  state: PaymentState;
  signature: string | null;
  reason: string | null;
  lane: number | null;
}
const selectStored = statement<Stored>(
  'test_stored_payments',
  `select id::text, wallet, currency, amount::text, state, signature, reason, lane::int from payments where id = any($1::uuid[]) order by id`,
);

/** Payments as they are stored, in the order asked for. */
export async function storedPayments(t: Pick<TestApp, 'app'>, owed: readonly (Owed | Payment)[]): Promise<Stored[]> {
  const rows = await t.app.db.query(selectStored, [owed.map(({ id }) => id)]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return owed.flatMap(({ id }) => byId.get(id) ?? []);
}

/** Waits until all of these payments are in a state. */
export async function untilPaid(
  t: Pick<TestApp, 'app'>,
  owed: readonly (Owed | Payment)[],
  state: PaymentState = 'completed',
  withinMs = 15_000,
): Promise<Stored[]> {
  let rows: Stored[] = [];
  await eventually(async () => {
    rows = await storedPayments(t, owed);
    const other = rows.find((row) => row.state !== state);
    if (other)
      throw new Error(
        `payment ${other.id} is ${other.state} (${other.reason}), not ${state}; ${rows.filter((row) => row.state === state).length} of ${rows.length} are`,
      );
  }, withinMs);
  return rows;
}

export const mintOf = (t: PayoutsTest, currency: Currency): PublicKey =>
  (currency === 'usdc' ? t.chain.keys.usdcMint : t.chain.keys.rewardMint).publicKey;

/** Where a wallet's token account is. */
export const accountOf = (t: PayoutsTest, wallet: string, currency: Currency = 'usdc'): PublicKey =>
  associatedTokenAddress(new PublicKey(wallet), mintOf(t, currency));

/** What wallets have been paid, finally; 0 where there is no token account. */
export async function balancesOf(t: PayoutsTest, wallets: readonly string[], currency: Currency = 'usdc'): Promise<bigint[]> {
  const found: bigint[] = [];
  for (let i = 0; i < wallets.length; i += 100) {
    const addresses = wallets.slice(i, i + 100).map((wallet) => accountOf(t, wallet, currency));
    const accounts = await t.chain.connection.getMultipleAccountsInfo(addresses, 'finalized');
    found.push(...accounts.map((account) => decodeTokenAccount(account)?.amount ?? 0n));
  }
  return found;
}

export const balanceOf = async (t: PayoutsTest, wallet: string, currency: Currency = 'usdc'): Promise<bigint> =>
  (await balancesOf(t, [wallet], currency))[0] ?? 0n;

/** Opens wallets' token accounts, at somebody else's cost, and waits until they are confirmed. */
export async function openAccounts(t: PayoutsTest, wallets: readonly string[], currency: Currency = 'usdc'): Promise<void> {
  const { mintAuthority } = t.chain.keys;
  await Promise.all(
    wallets.map((wallet) =>
      t.chain.send([createAssociatedTokenAccount(mintAuthority.publicKey, new PublicKey(wallet), mintOf(t, currency))], [mintAuthority]),
    ),
  );
  await eventually(async () => {
    const accounts = await t.chain.connection.getMultipleAccountsInfo(
      wallets.map((wallet) => accountOf(t, wallet, currency)),
      'confirmed',
    );
    if (accounts.includes(null)) throw new Error('not all accounts are there');
  });
}

const makeDue = statement('test_make_payments_due', `update payments set next_at = app_now() where id = any($1::uuid[]) and state = 'pending'`);

/** Has payments that wait looked at again now. */
export async function lookAgain(t: Pick<TestApp, 'app'>, owed: readonly (Owed | Payment)[]): Promise<void> {
  await t.app.tx(async (tx) => {
    await tx.query(makeDue, [owed.map(({ id }) => id)]);
    tx.enqueue(planPayouts, {});
  });
}

/** What of the events about a payment was emitted, oldest first. */
const selectEvents = statement<{ type: string; wallet: string | null; payload: Record<string, unknown> }>(
  'test_payout_events',
  `select type, wallet, payload from outbox where payload->>'paymentId' = $1 order by id`,
);
export const eventsOf = (t: Pick<TestApp, 'app'>, { id }: Owed) => t.app.db.query(selectEvents, [id]);

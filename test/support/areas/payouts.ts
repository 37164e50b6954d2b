import { type CreatedPayment, type Currency, createPayments, type Payment, type PaymentRequest, type PaymentState } from '#areas/payouts';
import { planPayouts } from '#jobs/payouts.ts';
import { statement } from '#platform/db/sql.ts';
import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { startTestApp, type TestApp } from '../app.ts';
import { asOwner } from '../database.ts';
import { startTestChain, type TestChain } from '../solana/chain.ts';
import { createWallet } from '../wallet.ts';
import { retryUntilPass } from './player.ts';

/** Submission settings for the short slots of test clusters. */
export const FAST_PAYOUTS = { LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '100', LANDING_DEPTH_BLOCKS: '4', LANDING_RESEND_SLOTS: '3' };

/** An application with its own test cluster. */
export interface PayoutsTest extends TestApp {
  readonly chain: TestChain;
}

/** Starts an application and a test cluster. */
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

let requests = 0;

/** Builds a payment request with a unique cause, by default for a new wallet. */
export function paymentRequest(given: Partial<PaymentRequest> = {}): PaymentRequest {
  requests++;
  return { wallet: createWallet().address, currency: 'usdc', amount: 1_000_000n, cause: { kind: 'test', id: `payment-${requests}` }, ...given };
}

/** Creates payments in one transaction. */
export const createAllPayments = (t: Pick<TestApp, 'app'>, all: readonly PaymentRequest[]): Promise<CreatedPayment[]> =>
  t.app.tx((tx) => createPayments(t.app, tx, all));

/** A row of `payments`. */
interface StoredPayment {
  id: string;
  wallet: string;
  currency: Currency;
  amount: string;
  state: PaymentState;
  signature: string | null;
  reason: string | null;
  lane: number | null;
}
const selectStored = statement<StoredPayment>(
  'test_stored_payments',
  `select id::text, wallet, currency, amount::text, state, signature, reason, lane::int from payments where id = any($1::uuid[]) order by id`,
);

/** Reads the rows of payments, in the given order. */
export async function storedPayments(t: Pick<TestApp, 'app'>, owed: readonly (CreatedPayment | Payment)[]): Promise<StoredPayment[]> {
  const rows = await t.app.db.query(selectStored, [owed.map(({ id }) => id)]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return owed.flatMap(({ id }) => byId.get(id) ?? []);
}

/** Waits until all payments have a state. */
export async function untilPaid(
  t: Pick<TestApp, 'app'>,
  owed: readonly (CreatedPayment | Payment)[],
  state: PaymentState = 'completed',
  withinMs = 15_000,
): Promise<StoredPayment[]> {
  let rows: StoredPayment[] = [];
  await retryUntilPass(async () => {
    rows = await storedPayments(t, owed);
    const other = rows.find((row) => row.state !== state);
    if (other)
      throw new Error(
        `payment ${other.id} is ${other.state} (${other.reason}), not ${state}; ${rows.filter((row) => row.state === state).length} of ${rows.length} are`,
      );
  }, withinMs);
  return rows;
}

export const mintOf = (t: PayoutsTest, currency: Currency): Address =>
  (currency === 'usdc' ? t.chain.keys.usdcMint : t.chain.keys.rewardMint).publicKey;

/** Returns the address of a wallet's token account. */
export const accountOf = (t: PayoutsTest, wallet: string, currency: Currency = 'usdc'): Address =>
  associatedTokenAddress(parseAddress(wallet), mintOf(t, currency));

/** Reads the finalized balances of wallets; 0 when a wallet has no token account. */
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

/**
 * Opens token accounts of wallets and waits until they are confirmed. The mint authority pays the rent. A transaction whose blockhash ends before it
 * lands, which happens on a busy machine, is sent anew.
 */
export async function openAccounts(t: PayoutsTest, wallets: readonly string[], currency: Currency = 'usdc'): Promise<void> {
  const { connection, keys, send } = t.chain;
  const selectMissing = async () => {
    const accounts = await connection.getMultipleAccountsInfo(
      wallets.map((wallet) => accountOf(t, wallet, currency)),
      'confirmed',
    );
    return wallets.filter((_, i) => accounts[i] === null);
  };
  const open = (wallet: string) =>
    send([createAssociatedTokenAccount(keys.mintAuthority.publicKey, parseAddress(wallet), mintOf(t, currency))], [keys.mintAuthority]);
  await retryUntilPass(async () => {
    await Promise.all((await selectMissing()).map(open));
    await retryUntilPass(async () => {
      if ((await selectMissing()).length > 0) throw new Error('a token account does not exist yet');
    }, 2_000);
  });
}

const makeDue = statement('test_make_payments_due', `update payments set next_at = app_now() where id = any($1::uuid[]) and state = 'pending'`);

/** Makes delayed payments due and enqueues the planner. */
export async function planNow(t: Pick<TestApp, 'app'>, owed: readonly (CreatedPayment | Payment)[]): Promise<void> {
  await t.app.tx(async (tx) => {
    await tx.query(makeDue, [owed.map(({ id }) => id)]);
    tx.enqueue(planPayouts, {});
  });
}

const selectEvents = statement<{ type: string; wallet: string | null; payload: Record<string, unknown> }>(
  'test_payout_events',
  `select type, wallet, payload from outbox where payload->>'paymentId' = $1 order by id`,
);
/** Reads the emitted events of a payment, oldest first. */
export const eventsOf = (t: Pick<TestApp, 'app'>, { id }: CreatedPayment) => t.app.db.query(selectEvents, [id]);

const PAYOUT_TABLES = [
  'payments',
  'payout_lanes',
  'payout_lane_scans',
  'payout_batches',
  'payout_batch_members',
  'payout_findings',
  'payout_watch',
  'chain_transactions',
  'chain_attempts',
  'chain_outflows',
  'chain_pauses',
  'token_accounts_opened',
];

/** Copies the payout tables to another schema. */
export async function snapshotPayouts(t: Pick<TestApp, 'app'>): Promise<void> {
  await asOwner(t.app, async (tx) => {
    await tx.query({ text: 'drop schema if exists snapshot cascade; create schema snapshot' });
    for (const table of PAYOUT_TABLES) await tx.query({ text: `create table snapshot.${table} as table public.${table}` });
  });
}

/** Restores the payout tables from the copy, as a restored backup would. Precondition: no worker is running. */
export async function restorePayouts(t: Pick<TestApp, 'app'>): Promise<void> {
  await asOwner(t.app, async (tx) => {
    await tx.query({ text: 'set local session_replication_role = replica' });
    for (const table of PAYOUT_TABLES) await tx.query({ text: `delete from public.${table}` });
    for (const table of PAYOUT_TABLES) await tx.query({ text: `insert into public.${table} select * from snapshot.${table}` });
  });
  // Redis is emptied too, because a restore does not keep its queues.
  for (const queue of t.app.queues.all.values()) await queue.obliterate({ force: true });
}

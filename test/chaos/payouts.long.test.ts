import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { FAST_PAYOUTS } from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { createWallet, send } from '#test/support/wallet.ts';

/** Time during which workers are killed and payments are created, ms. */
const KILLING_MS = Number(process.env.CHAOS_KILLING_MS ?? 8_000);
const WALLETS = 15;

let chain: TestChain;
let system: System;
beforeAll(async () => {
  chain = await startTestChain({ slotMs: 20 });
  system = await startSystem({ workers: 2, env: { ...chain.env, ...FAST_PAYOUTS, PAYOUT_LANES: '3', LANDING_GIVE_UP_MS: '1500' } });
}, 120_000);
afterAll(async () => {
  await system?.stop();
  await chain?.close();
}, 60_000);

interface Payment {
  wallet: string;
  amount: bigint;
  reference: string;
}
let references = 0;
const newPayment = (wallets: readonly string[]): Payment => ({
  wallet: wallets[randomInt(wallets.length)] ?? '',
  amount: BigInt(randomInt(1, 1_000_000)),
  reference: `chaos-${++references}`,
});

/** Creates a payment through the admin endpoint, and retries until there is a response. */
async function createPayment({ wallet, amount, reference }: Payment): Promise<void> {
  await retryUntilPass(async () => {
    const answer = await send({ url: system.urls[0] ?? '' }, '/admin/payments', {
      method: 'POST',
      headers: { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}` },
      json: { wallet, currency: 'usdc', amount: String(amount), reference },
    });
    expect([200, 201]).toContain(answer.status);
  });
}

test('every payment is made exactly once while workers are killed repeatedly', async () => {
  const wallets = Array.from({ length: WALLETS }, () => createWallet().address);
  const payments: Payment[] = [];
  const end = performance.now() + KILLING_MS;
  let kills = 0;
  const killing = system.workers.map(async (worker) => {
    while (performance.now() < end) {
      await sleep(randomInt(300, 2_500));
      await worker.kill();
      kills++;
      await worker.start();
    }
  });
  const paying = (async () => {
    while (performance.now() < end) {
      const one = newPayment(wallets);
      payments.push(one);
      await createPayment(one);
      await sleep(randomInt(60));
    }
  })();
  await Promise.all([...killing, paying]);
  expect(kills).toBeGreaterThan(2);

  const db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
  try {
    await retryUntilPass(async () => {
      // Makes queued transactions due at once. After an outage their backoff is up to a minute.
      await db.query(`update chain_transactions set next_at = app_now() where state = 'queued' and next_at > app_now()`);
      const { rows } = await db.query('select state, reason, count(*)::int as n from payments group by 1, 2');
      expect(rows).toEqual([{ state: 'completed', reason: null, n: payments.length }]);
    }, 60_000);
    const { rows: twice } = await db.query(
      `select m.payment from payout_batch_members m join payout_batches b on b.id = m.batch where b.state = 'paid' group by 1 having count(*) > 1`,
    );
    expect(twice).toEqual([]);
  } finally {
    await db.end();
  }
  const mint = chain.keys.usdcMint.publicKey;
  const accounts = await chain.connection.getMultipleAccountsInfo(
    wallets.map((wallet) => associatedTokenAddress(parseAddress(wallet), mint)),
    'finalized',
  );
  const expected = wallets.map((wallet) => payments.filter((one) => one.wallet === wallet).reduce((sum, { amount }) => sum + amount, 0n));
  expect(accounts.map((account) => decodeTokenAccount(account)?.amount ?? 0n)).toEqual(expected);
}, 120_000);

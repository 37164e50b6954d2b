import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PublicKey } from '@solana/web3.js';
import pg from 'pg';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { FAST_PAYOUTS } from '#test/support/areas/payouts.ts';
import { eventually } from '#test/support/areas/player.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { createWallet, send } from '#test/support/wallet.ts';

/** How long workers are killed, ms; and how many debts there are meanwhile. */
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

interface Debt {
  wallet: string;
  amount: bigint;
  reference: string;
}
let references = 0;
const newDebt = (wallets: readonly string[]): Debt => ({
  wallet: wallets[randomInt(wallets.length)] ?? '',
  amount: BigInt(randomInt(1, 1_000_000)),
  reference: `chaos-${++references}`,
});

/** Owes by hand, as often as it takes to be answered. */
async function owe({ wallet, amount, reference }: Debt): Promise<void> {
  await eventually(async () => {
    const answer = await send({ url: system.urls[0] ?? '' }, '/admin/payments', {
      method: 'POST',
      headers: { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}` },
      json: { wallet, currency: 'usdc', amount: String(amount), reference },
    });
    expect([200, 201]).toContain(answer.status);
  });
}

test('workers that are killed all the time pay everybody what is owed, once', async () => {
  const wallets = Array.from({ length: WALLETS }, () => createWallet().address);
  const debts: Debt[] = [];
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
  const owing = (async () => {
    while (performance.now() < end) {
      const one = newDebt(wallets);
      debts.push(one);
      await owe(one);
      await sleep(randomInt(60));
    }
  })();
  await Promise.all([...killing, owing]);
  expect(kills).toBeGreaterThan(2);

  const db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
  try {
    await eventually(async () => {
      // After an outage everything waits a while; nobody has to wait for that here.
      await db.query(`update chain_transactions set next_at = app_now() where state = 'queued' and next_at > app_now()`);
      const { rows } = await db.query('select state, reason, count(*)::int as n from payments group by 1, 2');
      expect(rows).toEqual([{ state: 'completed', reason: null, n: debts.length }]);
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
    wallets.map((wallet) => associatedTokenAddress(new PublicKey(wallet), mint)),
    'finalized',
  );
  const owed = wallets.map((wallet) => debts.filter((one) => one.wallet === wallet).reduce((sum, { amount }) => sum + amount, 0n));
  expect(accounts.map((account) => decodeTokenAccount(account)?.amount ?? 0n)).toEqual(owed);
}, 120_000);

import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { PaymentRequest } from '#areas/payouts';
import type { FaultRule } from '#dev/localnet/control/commands.ts';
import { statement } from '#platform/db/sql.ts';
import { startWorker } from '#test/support/app.ts';
import {
  accountOf,
  balancesOf,
  createAllPayments,
  openAccounts,
  type PayoutsTest,
  paymentRequest,
  startPayoutsTest,
  storedPayments,
  untilPaid,
} from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: PayoutsTest;
let second: Awaited<ReturnType<typeof startWorker>>;
beforeAll(async () => {
  t = await startPayoutsTest({ env: { PAYOUT_LANES: '3', LANDING_GIVE_UP_MS: '300', DAILY_USDC_LIMIT: '10000000000000' } });
  second = await startWorker({ ...t.env }, t.clock);
});
afterAll(async () => {
  await second.close();
  await t.close();
});

const REQUESTS = 120;
/** Duration of the faults, ms. */
const TROUBLE_MS = 4_000;

const retryAll = statement(
  'test_retry_payments',
  `update payments set state = 'pending', refusals = 0, next_at = app_now() where id = any($1::uuid[]) and state = 'manual' returning id`,
);
/** Makes all queued transactions due, because the backoff after faults would slow the test down. */
const makeDue = statement('test_make_all_due', `update chain_transactions set next_at = app_now() where state = 'queued' and next_at > app_now()`);
const selectContradictions = statement<{ what: string }>(
  'test_payout_contradictions',
  `select 'a payment has been paid by two batches' as what from payout_batch_members m join payout_batches b on b.id = m.batch
   where b.state = 'paid' group by m.payment having count(*) > 1
   union all select 'a member of a batch that is over is live' from payout_batch_members m join payout_batches b on b.id = m.batch where m.live <> (b.state = 'live')
   union all select 'two batches have landed with one nonce' from payout_batches where state = 'paid' group by address, nonce having count(*) > 1
   union all select 'a paid batch and its payment name different transactions' from payout_batch_members m join payout_batches b on b.id = m.batch
     join payments p on p.id = m.payment where b.state = 'paid' and p.signature is distinct from b.signature
   union all select 'a lane has a batch that is not live' from payout_lanes l join payout_batches b on b.id = l.batch where b.state <> 'live'`,
);

/** Builds payment requests with random wallets, amounts and currencies; several requests have the same wallet. */
function randomRequests(wallets: readonly string[]): PaymentRequest[] {
  return Array.from({ length: REQUESTS }, () =>
    paymentRequest({
      wallet: wallets[randomInt(wallets.length)] ?? '',
      amount: BigInt(randomInt(1, 1_000_000_000)),
      currency: randomInt(4) === 0 ? 'reward' : 'usdc',
    }),
  );
}

/** Switches on a random set of cluster faults with random parameters. @returns the faults as JSON */
async function trouble(): Promise<string[]> {
  const mint = t.chain.keys.usdcMint.publicKey.toBase58();
  const seed = () => randomInt(1 << 30);
  const all: FaultRule[] = [
    { kind: 'drop', probability: 0.3, seed: seed() },
    { kind: 'loseReply', probability: 0.2, seed: seed(), methods: ['sendTransaction'] },
    { kind: 'late', slots: randomInt(5, 60), probability: 0.3, seed: seed() },
    { kind: 'fork', slots: randomInt(1, 6), probability: 0.2, seed: seed(), mentions: mint },
    { kind: 'cut', probability: 0.02, seed: seed() },
    { kind: 'fail', probability: 0.02, seed: seed() },
    { kind: 'rateLimit', probability: 0.02, seed: seed() },
    { kind: 'delay', ms: 60, probability: 0.1, seed: seed() },
  ];
  const chosen = all.filter(() => randomInt(3) > 0);
  for (const fault of chosen) await t.chain.control.fault(fault);
  return chosen.map((fault) => JSON.stringify(fault));
}

test('under random cluster faults and with two workers, each payment is made exactly once', async () => {
  const wallets = Array.from({ length: 40 }, () => createWallet().address);
  const [open, closed] = [wallets.slice(0, 20), wallets.slice(20)];
  await openAccounts(t, open);
  const frozen = open.slice(0, 3).map((wallet) => accountOf(t, wallet).toBase58());
  for (const account of frozen) await t.chain.control.freeze(account);
  const requests = randomRequests([...open, ...closed]);

  const faults = await trouble();
  const end = performance.now() + TROUBLE_MS;
  const owed = (
    await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        await new Promise((resolve) => setTimeout(resolve, i * 150));
        return await createAllPayments(t, requests.slice((i * REQUESTS) / 10, ((i + 1) * REQUESTS) / 10));
      }),
    )
  ).flat();
  await retryUntilPass(() => expect(performance.now()).toBeGreaterThan(end));
  await t.chain.control.clear();
  for (const account of frozen) await t.chain.control.freeze(account, false);
  const settled = async () => {
    await t.app.tx(async (tx) => {
      await tx.query(makeDue);
      await tx.query(retryAll, [owed.map(({ id }) => id)]);
    });
    const left = (await storedPayments(t, owed)).filter(({ state }) => state !== 'completed');
    expect({ faults, left }).toEqual({ faults, left: [] });
  };
  await retryUntilPass(settled, 40_000);
  await untilPaid(t, owed);

  for (const currency of ['usdc', 'reward'] as const) {
    const sums = wallets.map((wallet) =>
      requests.filter((one) => one.wallet === wallet && one.currency === currency).reduce((sum, { amount }) => sum + amount, 0n),
    );
    expect({ faults, paid: await balancesOf(t, wallets, currency) }).toEqual({ faults, paid: sums });
  }
  expect(await t.app.db.query(selectContradictions)).toEqual([]);
}, 60_000);

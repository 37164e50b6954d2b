import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { sql } from '../areas/boards.ts';
import { createAllPayments, openAccounts, paymentRequest, untilPaid } from '../areas/payouts.ts';
import { createWallet } from '../wallet.ts';
import { claimBody, newEpoch, type RewardsTest } from './claims.ts';

/** Sizes of a test in which strangers send transactions that name all accounts of the service. */
export interface StrangersTest {
  /** Number of transactions of strangers. Half of them are on the chain before the payments, and the others land meanwhile. */
  readonly strangers: number;
  readonly payments: number;
  readonly claims: number;
  /** Maximum duration of each of the two runs, ms. */
  readonly withinMs: number;
}

/** What was measured while payments and claims went out. Times in ms. */
export interface Measured {
  readonly payment: number;
  readonly claim: number;
  /** Number of requests per payment and claim that read a history of an address, and that read a transaction or a block. */
  readonly histories: number;
  readonly reads: number;
  readonly heapMb: number;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Maximum wallets that the payments go to. */
const WALLETS = 50;

/** Makes payments and claims, and measures them. Half of `strangers` transactions land before, and the others meanwhile. */
async function measure(t: RewardsTest, test: StrangersTest, strangers: number): Promise<Measured> {
  const { epoch, players } = await newEpoch(t, test.claims);
  const wallets = Array.from({ length: Math.min(WALLETS, test.payments) }, () => createWallet().address);
  const all = Array.from({ length: test.payments }, (_, i) => paymentRequest({ wallet: wallets[i % wallets.length] ?? '' }));
  await openAccounts(t, wallets);
  const stored = await sql<{ address: string }>(t.app, 'select address from payout_lanes union all select address from epoch_accounts');
  const vaults = await sql<{ vault: string }>(t.app, 'select vault from epoch_accounts where epoch = $1', [epoch.epoch]);
  const roles = [t.chain.keys.feePayer, t.chain.keys.treasury].map(({ publicKey }) => publicKey.toBase58());
  const addresses = [...roles, ...stored.map(({ address }) => address), ...vaults.map(({ vault }) => vault)];
  const count = (methods: string[]) => t.chain.control.fault({ kind: 'delay', ms: 0, methods });
  const histories = await count(['getSignaturesForAddress']);
  const reads = await count(['getTransaction', 'getBlock']);
  await addStrangers(t, addresses, Math.ceil(strangers / 2), 0);
  const spam = addStrangers(t, addresses, Math.floor(strangers / 2), PAUSE_MS);
  const owed = await createAllPayments(t, all);
  const claimed = await Promise.all(
    players.map(async (player) => {
      const start = performance.now();
      const request = () => player.fetch('/api/rewards/claim', { json: claimBody(epoch, player.wallet), headers: { Prefer: 'wait=60' } });
      let answer = await request();
      // A loaded machine answers 503, or 202 when the time to wait is over; the time of the repetition counts.
      for (let i = 0; [202, 503].includes(answer.status) && i < 10; i += 1) answer = await sleep(500).then(request);
      expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ status: expect.stringMatching(/confirmed|claimed/) })]);
      return performance.now() - start;
    }),
  );
  await untilPaid(t, owed, 'completed', test.withinMs);
  await spam;
  const times = await sql<{ ms: number }>(
    t.app,
    'select extract(epoch from completed_at - created_at)::float8 * 1000 as ms from payments where id = any($1::uuid[])',
    [owed.map(({ id }) => id)],
  );
  const requests = await Promise.all([histories.hits(), reads.hits()]);
  await Promise.all([histories.clear(), reads.clear()]);
  const number = test.payments + test.claims;
  return {
    payment: median(times.map(({ ms }) => ms)),
    claim: median(claimed),
    histories: (requests[0] ?? 0) / number,
    reads: (requests[1] ?? 0) / number,
    heapMb: process.memoryUsage().heapUsed / 2 ** 20,
  };
}

/** Maximum transactions of strangers that are added at once. */
const SLICE = 500;
/**
 * Time between two of these additions, ms. The cluster runs in the process of the service, so the additions must not use the CPU that the service
 * needs.
 */
const PAUSE_MS = 100;

async function addStrangers(t: RewardsTest, addresses: readonly string[], count: number, pauseMs: number): Promise<void> {
  for (let sent = 0; sent < count; sent += SLICE) {
    await t.chain.control.strangers(addresses, Math.min(SLICE, count - sent));
    await sleep(pauseMs);
  }
}

/** Makes payments and claims first without and then with transactions of strangers. */
export async function compareWithStrangers(t: RewardsTest, test: StrangersTest): Promise<{ quiet: Measured; busy: Measured }> {
  // Opens all lanes.
  await untilPaid(
    t,
    await createAllPayments(
      t,
      Array.from({ length: 24 }, () => paymentRequest()),
    ),
    'completed',
    test.withinMs,
  );
  const quiet = await measure(t, test, 0);
  return { quiet, busy: await measure(t, test, test.strangers) };
}

import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { asOwner } from '#test/support/database.ts';
import {
  accountOf,
  claimAsStranger,
  claimBody,
  leafOf,
  newEpoch,
  type RewardsTest,
  rewardOf,
  startRewardsTest,
  storedClaims,
  type TestEpoch,
  untilClaim,
} from '#test/support/solana/claims.ts';
import type { SignedIn } from '#test/support/wallet.ts';

let t: RewardsTest;
let worker: Awaited<ReturnType<typeof startWorker>> | undefined;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
});
afterEach(async () => {
  await stop();
  await t.chain.control.clear();
});
afterAll(() => t.close());

async function start(): Promise<void> {
  worker = await startWorker({ ...t.env }, t.clock);
}
async function stop(): Promise<void> {
  await worker?.close();
  worker = undefined;
}

const TABLES = ['claims', 'epoch_accounts', 'chain_transactions', 'chain_attempts', 'chain_outflows', 'token_accounts_opened'];

/** Copies the tables of claims to another schema. */
async function backUp(): Promise<void> {
  await asOwner(t.app, async (tx) => {
    await tx.query({ text: 'drop schema if exists backup cascade; create schema backup' });
    for (const table of TABLES) await tx.query({ text: `create table backup.${table} as table public.${table}` });
  });
}

/** Restores the tables of claims. Precondition: no worker is running. */
async function restore(): Promise<void> {
  await asOwner(t.app, async (tx) => {
    await tx.query({ text: 'set local session_replication_role = replica' });
    for (const table of TABLES) await tx.query({ text: `delete from public.${table}` });
    for (const table of TABLES) await tx.query({ text: `insert into public.${table} select * from backup.${table}` });
  });
  // Redis is emptied too, because a restore does not keep its queues.
  for (const queue of t.app.queues.all.values()) await queue.obliterate({ force: true });
}

const request = (by: SignedIn, epoch: TestEpoch, wait: number) =>
  by.fetch('/api/rewards/claim', { json: claimBody(epoch, by.wallet), headers: { Prefer: `wait=${wait}` } });
const claimedOf = async (epoch: number) =>
  (await sql<{ claimed: string; claims: number }>(t.app, 'select claimed::text, claims from epoch_accounts where epoch = $1', [epoch]))[0];

test('claims that were requested, paid or in flight after the backup are paid once, also when they are requested again', async () => {
  await start();
  const { epoch, players } = await newEpoch(t, 4, (i) => BigInt(10 * (i + 1)));
  const [paid, inFlight, foreign, forgotten] = players as [SignedIn, SignedIn, SignedIn, SignedIn];
  await backUp();
  expect((await request(paid, epoch, 20)).status).toBe(200);
  expect((await request(forgotten, epoch, 20)).status).toBe(200);
  const before = await storedClaims(t, epoch.epoch);
  const signature = await claimAsStranger(t, epoch, [leafOf(epoch, foreign.wallet)]);
  // The cluster has accepted the transaction, but it is in no block when the database is restored.
  const late = await t.chain.control.fault({ kind: 'late', slots: 100, times: 1, mentions: accountOf(t, epoch.epoch).toBase58() });
  const dropping = await t.chain.control.fault({ kind: 'drop', mentions: accountOf(t, epoch.epoch).toBase58() });
  expect((await request(inFlight, epoch, 0)).status).toBe(202);
  await retryUntilPass(async () => expect(await late.hits()).toBe(1));
  await stop();
  await restore();
  expect(await storedClaims(t, epoch.epoch)).toEqual([]);

  await dropping.clear();
  await start();
  const again = await Promise.all([request(paid, epoch, 20), request(inFlight, epoch, 20), request(foreign, epoch, 20)]);
  for (const answer of again) expect([200, 409]).toContain(answer.status);
  for (const { index } of epoch.leaves) await untilClaim(t, epoch.epoch, index, 'claimed');
  await t.chain.control.advance(150);
  expect(await Promise.all(epoch.leaves.map(({ wallet }) => rewardOf(t, wallet)))).toEqual([10n, 20n, 30n, 40n]);
  expect(await claimedOf(epoch.epoch)).toEqual({ claimed: '100', claims: 4 });
  const signatures = new Map((await storedClaims(t, epoch.epoch)).map((claim) => [claim.index, claim.signature]));
  for (const { index, signature } of before) expect([index, signatures.get(index)]).toEqual([index, signature]);
  expect(signatures.get(leafOf(epoch, foreign.wallet).index)).toBe(signature);
}, 60_000);

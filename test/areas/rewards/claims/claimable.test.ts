import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { listClaimable } from '#areas/rewards/claims/claimable.ts';
import { finishLeaves } from '#areas/rewards/claims/settlement.ts';
import { computeEpoch } from '#areas/rewards/epochs/compute.ts';
import { readProof } from '#areas/rewards/epochs/proofs.ts';
import { RewardRules } from '#areas/rewards/rules.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { insertClosedDay, randomWallet } from '#test/support/areas/epochs.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';
import { insertComputedEpoch } from '#test/support/solana/claims.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const page = { limit: 10, offset: 0 };

test('a reward without a claim and a reward with a failed claim are claimable; a confirmed or finalized claim is not listed', async () => {
  const wallet = randomWallet();
  const states = [null, 'queued', 'failed', 'confirmed', 'claimed'];
  for (const [i, state] of states.entries()) {
    const epoch = 30_000 + i;
    await insertComputedEpoch(t.app, epoch, [[wallet, BigInt(10 + i)]]);
    if (state === null) continue;
    await sql(t.app, `insert into claims (epoch, index, wallet, amount, state, proof) values ($1, 0, $2, $3, $4, '')`, [
      epoch,
      wallet,
      10 + i,
      state,
    ]);
  }
  for (const which of ['all', 'unsettled'] as const) {
    const { rewards, total } = await listClaimable(t.app.db, which, wallet, page);
    expect([total, rewards.map(({ epoch, amount }) => [epoch, amount])]).toEqual([
      3,
      [
        [30_000, '10'],
        [30_001, '11'],
        [30_002, '12'],
      ],
    ]);
    expect(await listClaimable(t.app.db, which, randomWallet(), page)).toEqual({ rewards: [], total: 0 });
  }
});

test('a claim whose transaction is found after the claim was counted gets its signature, and is counted once', async () => {
  const epoch = 30_010;
  await insertComputedEpoch(t.app, epoch, [[randomWallet(), 7n]]);
  await sql(
    t.app,
    `insert into epoch_accounts (epoch, address, program, authority, mint, vault, expires_at) values ($1, 'a', 'b', 'c', 'd', 'e', app_now())`,
    [epoch],
  );
  const finish = (signature: string | null) => t.app.tx((tx) => finishLeaves(tx, epoch, [{ index: 0, signature }]));
  const signature = randomSignature();
  expect([await finish(null), await finish(signature), await finish(randomSignature()), await finish(null)]).toEqual([1, 0, 0, 0]);
  expect(await sql(t.app, 'select state, signature from claims where epoch = $1', [epoch])).toEqual([{ state: 'claimed', signature }]);
  expect(await sql(t.app, 'select claimed::text, claims from epoch_accounts where epoch = $1', [epoch])).toEqual([{ claimed: '7', claims: 1 }]);
});

test('each epoch is computed with its own pool while several epochs wait', async () => {
  const pools = [500, 900, 700];
  const wallet = randomWallet();
  for (const [i, pool] of pools.entries()) {
    await insertClosedDay(t.app, 20_000 + i, [{ wallet, points: 5 }]);
    await sql(
      t.app,
      `insert into epochs (epoch, source, pool, cap, dust, expiry_days, rules_version, formula) values ($1, 'computed', $2, null, 0, 90, 0, 1)`,
      [20_000 + i, pool],
    );
  }
  for (const i of [1, 2, 0]) {
    await computeEpoch(t.app, 20_000 + i);
    expect(await sql(t.app, 'select state, total::text from epochs where epoch = $1', [20_000 + i])).toEqual([
      { state: 'computed', total: String(pools[i]) },
    ]);
  }
});

test('no proof is returned when the stored tree does not have the root of the epoch', async () => {
  const wallet = randomWallet();
  const epoch = 30_020;
  await insertClosedDay(t.app, epoch - 9_000, [{ wallet, points: 5 }]);
  await sql(
    t.app,
    `insert into epochs (epoch, source, pool, cap, dust, expiry_days, rules_version, formula) values ($1, 'computed', 100, null, 0, 90, 0, 1)`,
    [epoch - 9_000],
  );
  await computeEpoch(t.app, epoch - 9_000);
  await sql(t.app, 'update epochs set root = $2 where epoch = $1', [epoch - 9_000, Buffer.alloc(32, 1)]);
  await expect(readProof(t.app, epoch - 9_000, wallet)).rejects.toThrow('does not have the stored root');
});

test('rewards can be claimed for 90 days unless the rules say otherwise', () => {
  expect(RewardRules.parse({ pool: '5' })).toMatchObject({ pool: '5', cap: null, dust: '0', expiryDays: 90, automatic: true });
});

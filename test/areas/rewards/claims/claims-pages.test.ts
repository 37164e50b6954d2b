import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { claim } from '#areas/rewards/claims/transaction-type.ts';
import { statement } from '#platform/db/sql.ts';
import { sql } from '#test/support/areas/boards.ts';
import { claimBody, newClaimant, openEpoch, type RewardsTest, startRewardsTest, type TestEpoch } from '#test/support/solana/claims.ts';
import type { SignedIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest();
});
afterAll(() => t.close());

const requestClaim = (by: SignedIn, epoch: TestEpoch, headers: Record<string, string> = {}) =>
  by.fetch('/api/rewards/claim', { json: claimBody(epoch, by.wallet), headers });

test('six claims on one bitmap page reserve the rent of the page once', async () => {
  const players = await Promise.all(Array.from({ length: 6 }, () => newClaimant(t)));
  const epoch = await openEpoch(
    t,
    209,
    players.map(({ wallet }) => [wallet, 5n]),
  );
  const fees = async () => BigInt((await t.app.db.query(readSol))[0]?.reserved ?? '0');
  const before = await fees();
  await Promise.all(players.map((player) => requestClaim(player, epoch)));
  const page = BigInt(await t.chain.connection.getMinimumBalanceForRentExemption(48 + 1));
  // A transaction that was signed again offers a small priority fee.
  const priority = (await fees()) - before - page - 6n * 5_000n;
  expect(priority).toBeGreaterThanOrEqual(0n);
  expect(priority).toBeLessThan(6n * 1_000n);
});
const readSol = statement<{ reserved: string }>(
  'test_sol_spent',
  `select coalesce(sum(reserved), 0)::text as reserved from chain_outflows where asset = 'sol'`,
);

test('of six claims that are composed together, one may create the bitmap page, and the others wait', async () => {
  const players = await Promise.all(Array.from({ length: 6 }, () => newClaimant(t)));
  const epoch = await openEpoch(
    t,
    210,
    players.map(({ wallet }) => [wallet, 5n]),
  );
  await sql(t.app, `insert into chain_pauses (scope, reason) values ('claims', 'test')`);
  try {
    await Promise.all(players.map((player) => requestClaim(player, epoch, { Prefer: 'wait=0' })));
    const ids = await sql<{ id: string }>(t.app, 'select id::text from claims where epoch = 210');
    const composed = await Promise.all(ids.map(({ id }) => claim.compose(t.app, id)));
    expect(composed.map((one) => one.do).sort()).toEqual(['sign', 'wait', 'wait', 'wait', 'wait', 'wait']);
  } finally {
    await sql(t.app, `delete from chain_pauses where scope = 'claims'`);
  }
});

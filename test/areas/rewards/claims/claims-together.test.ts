import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { requestClaim } from '#areas/rewards/claims/request.ts';
import { createWithOthers } from '#areas/rewards/claims/together.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { holdTransaction, untilBlocked } from '#test/support/locks.ts';
import { claimBody, insertComputedEpoch, storedClaims, type TestEpoch } from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  // Without workers no claim is signed, so each stays as its request stored it.
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

let day = 300;
/** Stores a committed epoch with a reward for each wallet. */
async function newEpochFor(wallets: readonly string[]): Promise<TestEpoch> {
  const epoch = await insertComputedEpoch(
    t.app,
    day++,
    wallets.map((wallet) => [wallet, 5n]),
  );
  await sql(t.app, `update epochs set state = 'committed', committed_at = app_now(), expires_at = app_now() + interval '1 day' where epoch = $1`, [
    epoch.epoch,
  ]);
  return epoch;
}
const wallets = (n: number) => Array.from({ length: n }, () => createWallet().address);

/** The request of a wallet as the route passes it on. */
function requestOf(epoch: TestEpoch, wallet: string) {
  const { proof } = claimBody(epoch, wallet);
  return { wallet, epoch: epoch.epoch, proof: proof.map((node) => Buffer.from(node, 'hex')) };
}

test('claims that are requested together are stored in one transaction, each with its own caller', async () => {
  const callers = wallets(6);
  const epoch = await newEpochFor(callers);
  const ids = await Promise.all(callers.map((wallet) => createWithOthers(t.app, requestOf(epoch, wallet))));
  const stored = await sql<{ id: string; wallet: string; xmin: string }>(
    t.app,
    `select c.id::text, wallet, c.xmin::text from claims c join chain_transactions x on x.kind = 'claim' and x.subject = c.id::text
     where c.epoch = $1 and x.caller = c.wallet and x.state = 'queued' and x.rank = 1 and x.priority = 'claims' and c.requested_by = c.wallet`,
    [epoch.epoch],
  );
  expect(new Map(stored.map(({ id, wallet }) => [wallet, id]))).toEqual(new Map(callers.map((wallet, i) => [wallet, ids[i]])));
  expect(new Set(stored.map(({ xmin }) => xmin)).size).toBe(1);
});

test('a claim that exists, a wrong proof, a wallet without a leaf, a settled epoch and a full wallet do not disturb a new claim', async () => {
  const [fresh = '', claimed = '', wrong = '', stranger = '', late = '', full = ''] = wallets(6);
  const epoch = await newEpochFor([fresh, claimed, wrong, full]);
  const settled = await newEpochFor([late, fresh]);
  await sql(t.app, `update epochs set state = 'settled' where epoch = $1`, [settled.epoch]);
  const earlier = await t.app.tx((tx) => requestClaim(tx, claimed, requestOf(epoch, claimed)));
  await sql(
    t.app,
    `insert into chain_transactions (kind, subject, priority, caller) select 'claim', 'full ' || i, 'claims', $1 from generate_series(1, 100) i`,
    [full],
  );
  const created = await Promise.all(
    [
      requestOf(epoch, claimed),
      { ...requestOf(epoch, fresh), wallet: wrong },
      { ...requestOf(epoch, fresh), wallet: stranger },
      requestOf(settled, late),
      requestOf(epoch, full),
      requestOf(epoch, fresh),
    ].map((request) => createWithOthers(t.app, request)),
  );
  expect(created).toEqual([null, null, null, null, null, expect.any(String)]);
  expect((await storedClaims(t, epoch.epoch)).map(({ id }) => id).sort()).toEqual([earlier, created[5]].sort());
  expect(await storedClaims(t, settled.epoch)).toEqual([]);
});

test('if another process inserts one of the claims, none is stored, and each gets a transaction of its own', async () => {
  const [first = '', second = ''] = wallets(2);
  const epoch = await newEpochFor([first, second]);
  let other = '';
  const commit = await holdTransaction(t.app, async (tx) => {
    other = await requestClaim(tx, first, requestOf(epoch, first));
  });
  const created = Promise.all([first, second].map((wallet) => createWithOthers(t.app, requestOf(epoch, wallet))));
  await untilBlocked(t.app, created);
  await commit();
  expect(await created).toEqual([null, null]);
  expect((await storedClaims(t, epoch.epoch)).map(({ id }) => id)).toEqual([other]);
});

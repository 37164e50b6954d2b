import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { computeEpoch } from '#areas/rewards';
import { epochRoot } from '#areas/rewards/chain/root.ts';
import { excludeWallets } from '#areas/rewards/review/review.ts';
import { postRelease } from '#areas/rewards/review/routes.ts';
import { decodeEpoch } from '#platform/solana/distributor/index.ts';
import { sql } from '#test/support/areas/boards.ts';
import { DAY, epochOf, insertClosedDay, randomWallet, setRules, trigger } from '#test/support/areas/epochs.ts';
import { adminOf } from '#test/support/http/client.ts';
import { accountOf, type RewardsTest, startRewardsTest, untilEpoch } from '#test/support/solana/claims.ts';

let t: RewardsTest;
beforeAll(async () => {
  // The roots are signed, but no worker computes epochs, so that the tests decide when an allocation is computed.
  t = await startRewardsTest({ env: { QUEUES: 'sign-roots,polling', REVIEW_HOURS: '1' } });
  await setRules(t);
});
afterAll(() => t.close());

/** Computes the first allocation of an epoch of three wallets. */
async function newEpoch(epoch: number): Promise<string[]> {
  const wallets = Array.from({ length: 3 }, randomWallet);
  await insertClosedDay(
    t.app,
    epoch,
    wallets.map((wallet, i) => ({ wallet, points: i + 1 })),
  );
  await trigger(t, epoch, { Prefer: 'wait=0' });
  await computeEpoch(t.app, epoch);
  return wallets;
}
const exclude = (epoch: number, wallet: string) => t.app.tx((tx) => excludeWallets(tx, epoch, [wallet], 'a bot', 'test'));
const endReview = (epoch: number) => sql(t.app, 'update epochs set review_ends_at = app_now() where epoch = $1', [epoch]);

test('a draft that was composed before an exclusion is not signed after the new allocation', async () => {
  const [wallet = ''] = await newEpoch(DAY);
  await endReview(DAY);
  const draft = await epochRoot.compose(t.app, String(DAY));
  if (draft.do !== 'sign') throw new Error(`the draft is ${JSON.stringify(draft)}`);
  await exclude(DAY, wallet);
  expect(await epochRoot.compose(t.app, String(DAY))).toMatchObject({ do: 'wait' });
  await computeEpoch(t.app, DAY);
  const sign = t.app.tx(async (tx) => await epochRoot.signed?.(tx, [{ subject: String(DAY), draft, signature: '' }]));
  await expect(sign).rejects.toThrow('the allocation of epoch 20217 changed after the transaction was composed');
});

test('after the release, the chain gets the root and the total of the allocation in force', async () => {
  const epoch = DAY + 1;
  const [wallet = ''] = await newEpoch(epoch);
  const first = await epochOf(t, epoch);
  await exclude(epoch, wallet);
  await adminOf(t).ok(postRelease, { params: { epoch: String(epoch) } });
  await computeEpoch(t.app, epoch);
  await untilEpoch(t, epoch, 'committed');
  const { root, total, leaves, allocation } = await epochOf(t, epoch);
  expect(root).not.toBe(first.root);
  expect([allocation, leaves]).toEqual([2, 2]);
  const account = decodeEpoch(t.chain.keys.program.publicKey, await t.chain.connection.getAccountInfo(accountOf(t, epoch), 'finalized'));
  expect(account).toMatchObject({ root: Buffer.from(root ?? '', 'hex'), total: BigInt(total ?? 0), leaves: 2 });
  await expect(exclude(epoch, wallet)).rejects.toMatchObject({ status: 409 });
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { computeEpoch, sweepEpochs } from '#areas/rewards';
import { epochRoot } from '#areas/rewards/chain/root.ts';
import { postRelease } from '#areas/rewards/review/routes.ts';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { DAY, epochOf, insertClosedDay, leavesOf, randomWallet, trigger } from '#test/support/areas/epochs.ts';
import { adminOf } from '#test/support/http/client.ts';
import { reviewSteps, startReviews } from './steps.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startReviews();
});
afterAll(() => t.close());
const { newEpoch, params, exclude, readmit, exclusionsOf, paidIn, ban, rootTransactions, signRoot } = reviewSteps(() => t);

test('an epoch that is empty because its wallets are banned gets its leaves back when a ban is lifted after the review', async () => {
  const { epoch, wallets } = await newEpoch(2);
  await adminOf(t).ok(postRelease, params(epoch));
  await ban(wallets);
  await sweepEpochs(t.app);
  await computeEpoch(t.app, epoch);
  expect(await epochOf(t, epoch)).toMatchObject({ status: 'empty', allocation: 2 });
  expect(await epochRoot.compose(t.app, String(epoch))).toMatchObject({ do: 'fail', error: { name: 'Empty' } });
  await sql(t.app, `update chain_transactions set state = 'failed' where kind = 'epoch-root' and subject = $1`, [String(epoch)]);
  await ban(wallets.slice(0, 1), false);
  await sweepEpochs(t.app);
  await computeEpoch(t.app, epoch);
  expect(await epochOf(t, epoch)).toMatchObject({ status: 'computed', allocation: 3, leaves: 1 });
  expect(await rootTransactions(epoch)).toEqual([{ state: 'queued' }]);
});

test('a wallet that is banned before the computation is in no allocation, and its exclusion does not show the note of the operator', async () => {
  const epoch = DAY - 1;
  const [banned = '', other = ''] = [randomWallet(), randomWallet()];
  await ban([banned, randomWallet()]);
  await insertClosedDay(t.app, epoch, [
    { wallet: banned, points: 5 },
    { wallet: other, points: 5 },
  ]);
  await trigger(t, epoch, { Prefer: 'wait=0' });
  await computeEpoch(t.app, epoch);
  expect(await paidIn(epoch)).toEqual([other]);
  expect(await exclusionsOf(epoch)).toMatchObject([{ wallet: banned, cause: 'ban', reason: 'the wallet is banned' }]);
});

test('a ban during the review excludes the wallet, and an undone ban takes it back without loss', async () => {
  const { epoch, wallets } = await newEpoch(3);
  const before = await leavesOf(t, epoch);
  const [cheat = ''] = wallets;
  await exclude(epoch, [cheat], 'watched');
  await ban([cheat]);
  await sweepEpochs(t.app);
  await computeEpoch(t.app, epoch);
  expect(await paidIn(epoch)).toEqual(wallets.slice(1).sort());
  expect((await exclusionsOf(epoch)).map(({ cause }) => cause)).toEqual(['ban', 'operator']);
  await ban([cheat], false);
  await sweepEpochs(t.app);
  expect((await exclusionsOf(epoch)).map(({ cause }) => cause)).toEqual(['operator']);
  await readmit(epoch, cheat);
  await computeEpoch(t.app, epoch);
  expect((await leavesOf(t, epoch)).lines).toEqual(before.lines);
});

test('a ban after the review and before the signature keeps the root from being signed until the next allocation', async () => {
  const { epoch, wallets } = await newEpoch(3);
  await adminOf(t).ok(postRelease, params(epoch));
  await ban(wallets.slice(0, 1));
  await expect(signRoot(epoch)(t.app)).rejects.toThrow(`the bans of wallets of epoch ${epoch} changed`);
  await sweepEpochs(t.app);
  await expect(signRoot(epoch)(t.app)).rejects.toThrow('its review is not over');
  await computeEpoch(t.app, epoch);
  await signRoot(epoch)(t.app);
  expect(await paidIn(epoch)).toEqual(wallets.slice(1).sort());
  await ban(wallets.slice(1, 2));
  await sweepEpochs(t.app);
  expect(await epochOf(t, epoch)).toMatchObject({ allocation: 2, allocationPending: false });
});

test('a ban after the first attempt of a root does not keep a further attempt from being signed', async () => {
  const { epoch, wallets } = await newEpoch(2);
  await adminOf(t).ok(postRelease, params(epoch));
  await signRoot(epoch)(t.app);
  await sql(t.app, `update chain_attempts set state = 'dead' where signature = 'signature ' || $1::int`, [epoch]);
  await ban(wallets.slice(0, 1));
  await sweepEpochs(t.app);
  expect(await epochOf(t, epoch)).toMatchObject({ allocation: 1, allocationPending: false });
  const draft = { do: 'sign', feePayer: 'feePayer', signers: [], instructions: [] } as const;
  await t.app.tx(async (tx) => await epochRoot.signed?.(tx, [{ subject: String(epoch), draft, signature: '' }]));
});

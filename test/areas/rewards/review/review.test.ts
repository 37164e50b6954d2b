import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweepEpochs } from '#areas/rewards';
import { excludeWallets } from '#areas/rewards/review/review.ts';
import { postRelease } from '#areas/rewards/review/routes.ts';
import { readConfig } from '#config';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { closeDays, DAY, epochOf, insertPastPoints, randomWallet, trigger } from '#test/support/areas/epochs.ts';
import { adminOf } from '#test/support/http/client.ts';
import { expectToWait } from '#test/support/locks.ts';
import { PRODUCTION } from '#test/support/production.ts';
import { reviewSteps, startReviews } from './steps.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startReviews();
});
afterAll(() => t.close());
const { newEpoch, params, exclude, readmit, exclusionsOf, rootTransactions, signRoot } = reviewSteps(() => t);

test('the review lasts 6 hours in production and is off elsewhere, unless REVIEW_HOURS says otherwise', () => {
  expect([readConfig(PRODUCTION), readConfig({}), readConfig({ REVIEW_HOURS: '24' })].map(({ reviewHours }) => reviewHours)).toEqual([6, 0, 24]);
  expect(() => readConfig({ REVIEW_HOURS: '169' })).toThrow('REVIEW_HOURS');
});

test('the root of a computed epoch is submitted after its review, and not before', async () => {
  const { epoch } = await newEpoch(3);
  const { timestamp, reviewEndsAt } = await epochOf(t, epoch);
  expect(Date.parse(reviewEndsAt ?? '') - Date.parse(timestamp)).toBe(6 * 3_600_000);
  await sweepEpochs(t.app);
  expect(await rootTransactions(epoch)).toEqual([]);
  await expect(signRoot(epoch)(t.app)).rejects.toThrow('its review is not over');
  await t.clock.set(new Date(Date.parse(reviewEndsAt ?? '') + 1_000));
  await sweepEpochs(t.app);
  await sweepEpochs(t.app);
  expect(await rootTransactions(epoch)).toEqual([{ state: 'queued' }]);
  await t.clock.set(new Date());
});

test('an operator ends the review early, and the root is submitted at once', async () => {
  const { epoch } = await newEpoch(3);
  const { body } = await adminOf(t).ok(postRelease, params(epoch));
  expect(Date.parse(body.reviewEndsAt ?? '')).toBeLessThanOrEqual(t.clock.now().getTime());
  expect(await rootTransactions(epoch)).toEqual([{ state: 'queued' }]);
  expect((await adminOf(t).ok(postRelease, params(epoch))).body).toEqual(body);
});

test('an exclusion names only wallets with points, at most 1,000, and a reason', async () => {
  const { epoch, wallets } = await newEpoch(2);
  const [stranger, revoked] = [randomWallet(), randomWallet()];
  await insertPastPoints(t.app, epoch, [
    { wallet: revoked, points: 9 },
    { wallet: revoked, points: -9 },
  ]);
  expect(await exclude(epoch, [...wallets, stranger, revoked])).toMatchObject({
    status: 400,
    body: { error: `wallets must have points in epoch ${epoch}, but these have none: ${stranger}, ${revoked}` },
  });
  expect((await exclude(epoch, Array.from({ length: 1_001 }, randomWallet))).status).toBe(400);
  expect((await exclude(epoch, wallets, '')).status).toBe(400);
  expect(await exclusionsOf(epoch)).toEqual([]);
});

test('exclusions and releases of an epoch that does not exist, is computing or was imported are refused', async () => {
  const epoch = DAY - 1;
  for (const call of [
    () => exclude(epoch, [randomWallet()]),
    () => readmit(epoch, randomWallet()),
    () => adminOf(t).call(postRelease, params(epoch)),
  ]) {
    expect((await call()).status).toBe(404);
  }
  await insertPastPoints(t.app, epoch, [{ wallet: randomWallet(), points: 1 }]);
  await trigger(t, epoch);
  expect(await adminOf(t).call(postRelease, params(epoch))).toMatchObject({ status: 409, body: { error: `epoch ${epoch} is still being computed` } });
  await closeDays(t.app, epoch);
  await sql(t.app, `update epochs set source = 'import' where epoch = $1`, [epoch]);
  expect((await adminOf(t).call(postRelease, params(epoch))).status).toBe(409);
  await sql(t.app, 'delete from epochs where epoch = $1', [epoch]);
});

test('after the root was signed, exclusions and releases are refused', async () => {
  const { epoch, wallets } = await newEpoch(2);
  await adminOf(t).ok(postRelease, params(epoch));
  await signRoot(epoch)(t.app);
  const error = `the transaction with the root of epoch ${epoch} was signed already`;
  expect(await exclude(epoch, wallets)).toMatchObject({ status: 409, body: { error } });
  expect(await readmit(epoch, wallets[0] ?? '')).toMatchObject({ status: 409, body: { error } });
  expect(await adminOf(t).call(postRelease, params(epoch))).toMatchObject({ status: 409, body: { error } });
});

test('of an exclusion and a signature at the same time, the second waits for the first and is then refused', async () => {
  const excludeOne = (epoch: number, wallet: string) => (app: TestApp['app']) => app.tx((tx) => excludeWallets(tx, epoch, [wallet], 'a bot', 'test'));
  const first = await newEpoch(2);
  await adminOf(t).ok(postRelease, params(first.epoch));
  const signedFirst = await expectToWait(t.app, 'lock_epochs_to_commit', signRoot(first.epoch), excludeOne(first.epoch, first.wallets[0] ?? ''));
  expect(signedFirst).toMatchObject([{ status: 'fulfilled' }, { reason: { status: 409 } }]);

  const second = await newEpoch(2);
  await adminOf(t).ok(postRelease, params(second.epoch));
  const excludedFirst = await expectToWait(
    t.app,
    'insert_operator_exclusions',
    excludeOne(second.epoch, second.wallets[0] ?? ''),
    signRoot(second.epoch),
  );
  expect(excludedFirst).toMatchObject([{ status: 'fulfilled' }, { reason: { message: expect.stringContaining('its review is not over') } }]);
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { computeEpoch } from '#areas/rewards';
import { epochGauges } from '#areas/rewards/gauges.ts';
import { getAllocations, postRelease } from '#areas/rewards/review/routes.ts';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { epochOf, leavesOf } from '#test/support/areas/epochs.ts';
import { adminOf, clientOf } from '#test/support/http/client.ts';
import { send } from '#test/support/wallet.ts';
import { reviewSteps, startReviews } from './steps.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startReviews();
});
afterAll(() => t.close());
const { newEpoch, params, exclude, readmit, exclusionsOf, paidIn } = reviewSteps(() => t);

test('excluded wallets have no leaf in the next allocation, and their shares go to the other wallets', async () => {
  const { epoch, wallets } = await newEpoch(4);
  const [one = '', two = '', three = '', four = ''] = wallets;
  const before = await leavesOf(t, epoch);
  const { body } = await exclude(epoch, [three, four, four], 'two bots');
  expect(body).toMatchObject({ allocation: 1, allocationPending: true, root: before.header.root });
  await computeEpoch(t.app, epoch);
  const epochNow = await epochOf(t, epoch);
  expect(epochNow).toMatchObject({ allocation: 2, allocationPending: false, wallets: 2, leaves: 2, points: 3, total: '1000000' });
  const { lines } = await leavesOf(t, epoch);
  expect(Object.fromEntries(lines.map(({ wallet, amount }) => [wallet, amount]))).toEqual({ [one]: '333333', [two]: '666667' });
  expect((await exclusionsOf(epoch)).map(({ wallet, cause, reason }) => [wallet, cause, reason])).toEqual(
    [three, four].sort().map((wallet) => [wallet, 'operator', 'two bots']),
  );
  expect((await send(t, `/api/rewards/epoch/${epoch}/proof/${three}`)).status).toBe(404);
  const events = await sql<{ payload: object }>(
    t.app,
    `select payload from outbox where type = 'epoch_computed' and payload->>'epoch' = $1 order by id`,
    [String(epoch)],
  );
  expect(events).toMatchObject([{ payload: { allocation: 1, leaves: 4 } }, { payload: { allocation: 2, leaves: 2, root: epochNow.root } }]);
});

test('metrics show the epochs in review, and how long a new allocation has been pending', async () => {
  const gauges = async () =>
    Object.fromEntries((await epochGauges.read(t.app)).map(({ name, value, labels }) => [`${name} ${labels?.state ?? ''}`, value]));
  const before = await gauges();
  const { epoch, wallets } = await newEpoch(2);
  const reviewed = await gauges();
  expect((reviewed['coinop_epochs_in_review '] ?? 0) - (before['coinop_epochs_in_review '] ?? 0)).toBe(1);
  await exclude(epoch, wallets.slice(0, 1));
  await sql(t.app, `update epochs set exclusions_changed_at = app_now() - interval '1 hour' where epoch = $1`, [epoch]);
  expect((await gauges())['coinop_allocation_pending_seconds ']).toBeGreaterThanOrEqual(3_600);
  await computeEpoch(t.app, epoch);
  expect((await gauges())['coinop_allocation_pending_seconds ']).toBe(0);
  await adminOf(t).ok(postRelease, params(epoch));
  const released = await gauges();
  expect(released['coinop_epochs_in_review ']).toBe(before['coinop_epochs_in_review ']);
  expect(released['coinop_epoch_unfinished_seconds computed']).toBeLessThan(3_600);
});

test('each allocation of an epoch stays readable, with its root, its reason, its leaves and its exclusions', async () => {
  const { epoch, wallets } = await newEpoch(3);
  const [one = '', two = ''] = wallets;
  const first = await leavesOf(t, epoch);
  await exclude(epoch, [one]);
  await computeEpoch(t.app, epoch);
  await exclude(epoch, [two]);
  await readmit(epoch, one);
  await computeEpoch(t.app, epoch);
  expect(await leavesOf(t, epoch, '?allocation=1')).toEqual(first);
  expect(await paidIn(epoch, '?allocation=2')).toEqual(wallets.slice(1).sort());
  expect(await leavesOf(t, epoch, '?allocation=3')).toEqual(await leavesOf(t, epoch));
  const { body: allocations, headers } = await clientOf(t).ok(getAllocations, params(epoch));
  expect(allocations).toMatchObject([
    { allocation: 1, root: first.header.root, leaves: 3, reason: 'the epoch was computed' },
    { allocation: 2, leaves: 2, reason: 'wallets excluded: 1; wallets readmitted: 0' },
    { allocation: 3, leaves: 2, reason: 'wallets excluded: 1; wallets readmitted: 1' },
  ]);
  expect(headers.get('X-Total-Count')).toBe('3');
  expect([await exclusionsOf(epoch, 1), await exclusionsOf(epoch, 2), await exclusionsOf(epoch)]).toMatchObject([
    [],
    [{ wallet: one }],
    [{ wallet: two }],
  ]);
  expect((await send(t, `/api/rewards/epoch/${epoch}/leaves?allocation=4`)).status).toBe(404);
});

test('the leaves of an allocation that is named can be cached without a limit, and the leaves and proofs in force only after the root is on the chain', async () => {
  const { epoch, wallets } = await newEpoch(2);
  const cached = async () => {
    const paths = ['leaves?allocation=1', 'leaves', `proof/${wallets[0]}`];
    const responses = await Promise.all(paths.map((path) => send(t, `/api/rewards/epoch/${epoch}/${path}`)));
    return responses.map(({ headers }) => headers.get('Cache-Control')?.includes('immutable'));
  };
  expect(await cached()).toEqual([true, false, false]);
  await sql(t.app, `update epochs set state = 'committed', committed_at = app_now(), expires_at = app_now() + interval '1 day' where epoch = $1`, [
    epoch,
  ]);
  expect(await cached()).toEqual([true, true, true]);
});

test('an exclusion that is undone before the next allocation is computed leaves no trace', async () => {
  const { epoch, wallets } = await newEpoch(3);
  const before = await leavesOf(t, epoch);
  await exclude(epoch, wallets.slice(0, 1));
  await readmit(epoch, wallets[0] ?? '');
  expect(await exclusionsOf(epoch)).toEqual([]);
  await computeEpoch(t.app, epoch);
  expect((await leavesOf(t, epoch)).lines).toEqual(before.lines);
  expect((await readmit(epoch, wallets[0] ?? '')).status).toBe(404);
});

test('an epoch whose wallets are all excluded is empty, and a readmission brings its leaves back', async () => {
  const { epoch, wallets } = await newEpoch(2);
  const before = await leavesOf(t, epoch);
  await exclude(epoch, wallets);
  await computeEpoch(t.app, epoch);
  expect(await epochOf(t, epoch)).toMatchObject({ status: 'empty', allocation: 2, root: null, total: '0' });
  for (const wallet of wallets) await readmit(epoch, wallet);
  await computeEpoch(t.app, epoch);
  expect(await epochOf(t, epoch)).toMatchObject({ status: 'computed', allocation: 3, root: before.header.root });
});

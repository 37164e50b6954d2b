import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { computeEpoch } from '#areas/rewards';
import { meetsGates } from '#areas/rewards/review/gates.ts';
import { getExclusions } from '#areas/rewards/review/routes.ts';
import { ProjectedView, RewardsConfig } from '#areas/rewards/schemas.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { givePoints, sql } from '#test/support/areas/boards.ts';
import { closeDays, DAY, insertPastPoints, leavesOf, randomWallet, setRules, trigger } from '#test/support/areas/epochs.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { clientOf } from '#test/support/http/client.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ env: { QUEUES: 'maintenance' } });
});
afterAll(() => t.close());

/** Computes an epoch and returns the paid wallets and the reasons of the excluded ones. */
async function compute(epoch: number) {
  await closeDays(t.app, epoch);
  await trigger(t, epoch, { Prefer: 'wait=0' });
  await computeEpoch(t.app, epoch);
  const { lines } = await leavesOf(t, epoch);
  const { body } = await clientOf(t).ok(getExclusions, { params: { epoch: String(epoch) } });
  return { paid: lines.map(({ wallet }) => wallet).sort(), excluded: body.map(({ wallet, cause, reason }) => [wallet, cause, reason]) };
}

test('the conditions for wallets are off by default, and the public rules show them', async () => {
  expect(await jsonOf(send(t, '/config/rewards'), RewardsConfig)).toMatchObject({ minPlayDays: 0, minAcceptedScores: 0, reviewHours: 0 });
  await setRules(t, { minPlayDays: 2, minAcceptedScores: 4 });
  expect(await jsonOf(send(t, '/config/rewards'), RewardsConfig)).toMatchObject({ minPlayDays: 2, minAcceptedScores: 4 });
});

test('rules that an earlier release stored without the conditions leave them off', async () => {
  await sql(
    t.app,
    `insert into settings (name, version, value) select 'rewards', max(version) + 1, '{"pool":"7","cap":null,"dust":"0","expiryDays":90,"automatic":true}'
    from settings where name = 'rewards'`,
  );
  expect(await jsonOf(send(t, '/config/rewards'), RewardsConfig)).toMatchObject({ pool: '7', minPlayDays: 0, minAcceptedScores: 0 });
});

test('minPlayDays excludes wallets that got points from games on fewer of the 30 days up to the epoch', async () => {
  await setRules(t, { minPlayDays: 2 });
  const [regular = '', long = '', newcomer = '', quests = '', beta = ''] = Array.from({ length: 5 }, randomWallet);
  const all = [regular, long, newcomer, quests, beta];
  await insertPastPoints(
    t.app,
    DAY,
    all.map((wallet) => ({ wallet, points: 10 })),
  );
  await insertPastPoints(t.app, DAY - 29, [
    { wallet: regular, points: 1 },
    { wallet: quests, points: 1, kind: 'quest' },
    { wallet: beta, points: 1, mode: 'beta' },
  ]);
  await insertPastPoints(t.app, DAY - 30, [{ wallet: long, points: 1 }]);
  const reason = 'the wallet got points from games on fewer than 2 of the last 30 days';
  const excluded = [long, newcomer, quests, beta].sort().map((wallet) => [wallet, 'rule', reason]);
  expect(await compute(DAY)).toEqual({ paid: [regular], excluded });
  const gates = { minPlayDays: 2, minAcceptedScores: 0 };
  const met = await Promise.all(all.map((wallet) => meetsGates(t.app.db, wallet, DAY, gates)));
  expect(met).toEqual(all.map((wallet) => wallet === regular));
});

test('a wallet that got no points from games on any of the 30 days is excluded with this reason', async () => {
  await setRules(t, { minPlayDays: 1 });
  const [player = '', quests = ''] = [randomWallet(), randomWallet()];
  await insertPastPoints(t.app, DAY + 60, [
    { wallet: player, points: 10 },
    { wallet: quests, points: 10, kind: 'quest' },
  ]);
  const reason = 'the wallet got points from games on fewer than 1 of the last 30 days';
  expect(await compute(DAY + 60)).toEqual({ paid: [player], excluded: [[quests, 'rule', reason]] });
});

test('minAcceptedScores excludes wallets with fewer accepted scores over all games', async () => {
  await setRules(t, { minAcceptedScores: 3 });
  const [enough = '', few = '', none = ''] = Array.from({ length: 3 }, randomWallet);
  const tallies = [
    [enough, { regular: { a: { scores: 1, points: 1 }, b: { scores: 2, points: 2 } } }],
    [few, { regular: { a: { scores: 2, points: 1 } }, beta: { a: { scores: 9, points: 1 } } }],
  ] as const;
  for (const [wallet, tally] of tallies) await sql(t.app, 'insert into players (wallet, tally) values ($1, $2)', [wallet, JSON.stringify(tally)]);
  await insertPastPoints(
    t.app,
    DAY + 40,
    [enough, few, none].map((wallet) => ({ wallet, points: 10 })),
  );
  const reason = 'the wallet has fewer than 3 accepted scores';
  expect(await compute(DAY + 40)).toEqual({ paid: [enough], excluded: [few, none].sort().map((wallet) => [wallet, 'rule', reason]) });
});

test('the projection of the current day leaves out banned wallets and wallets that do not meet the rules', async () => {
  await setRules(t, { minAcceptedScores: 1 });
  const [good = '', banned = '', newcomer = ''] = Array.from({ length: 3 }, randomWallet);
  const tally = JSON.stringify({ regular: { a: { scores: 1, points: 1 } } });
  for (const wallet of [good, banned, newcomer]) {
    await sql(t.app, `insert into players (wallet, tally, banned_at) values ($1, $2, case when $3 then app_now() end)`, [
      wallet,
      wallet === newcomer ? '{}' : tally,
      wallet === banned,
    ]);
    await givePoints(t.app, { wallet, points: 10 });
  }
  const projected = (wallet: string) => jsonOf(send(t, `/api/rewards/wallet/${wallet}/projected`), ProjectedView);
  // The service caches the projection of the day for some seconds.
  await retryUntilPass(async () => {
    expect(await projected(good)).toMatchObject({ amount: '1000000', points: 10, breakdown: { participants: 1 } });
  }, 30_000);
  expect(await projected(banned)).toMatchObject({ amount: '0', points: 0 });
  expect(await projected(newcomer)).toMatchObject({ amount: '0', points: 0 });
});

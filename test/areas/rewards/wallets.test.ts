import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { computeEpoch } from '#areas/rewards';
import { ClaimableView, PoolView, ProjectedView, RewardsConfig } from '#areas/rewards/schemas.ts';
import { ADMIN_TOKEN, type TestApp } from '#test/support/app.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { givePoints, sql } from '#test/support/areas/boards.ts';
import {
  asAdmin,
  closeDays,
  DAY,
  epochOf,
  insertPastPoints,
  leavesOf,
  type PointsRow,
  randomWallet,
  setRules,
  startRewards,
  statusAndBody,
  trigger,
} from '#test/support/areas/epochs.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { PATIENCE } from '#test/support/patience.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startRewards('epochs,maintenance');
  await setRules(t);
});
afterAll(() => t.close());

const claimable = (wallet: string) => jsonOf(send(t, `/api/rewards/wallet/${wallet}/claimable`), z.array(ClaimableView));
const claimableEpochs = async (wallet: string) =>
  (await jsonOf(send(t, `/api/rewards/wallet/${wallet}/claimable-epochs`), z.array(ClaimableView))).map(({ epoch }) => epoch);
const projected = (wallet: string) => jsonOf(send(t, `/api/rewards/wallet/${wallet}/projected`), ProjectedView);
const pool = () => jsonOf(send(t, '/api/rewards/pool/today'), PoolView);
const config = () => jsonOf(send(t, '/config/rewards'), RewardsConfig);

test('unclaimed rewards are listed by epoch until they are claimed or expire, and settled rewards only in the list claimable', async () => {
  const wallet = randomWallet();
  const days = Array.from({ length: 6 }, (_, i) => DAY + i);
  // Inserts the points of all days first: after one day is closed, a job closes the days after it.
  for (const [i, day] of days.entries()) {
    await insertPastPoints(t.app, day, [
      { wallet, points: i + 1 },
      { wallet: randomWallet(), points: 9 - i },
    ]);
  }
  await closeDays(t.app, ...days);
  for (const day of days) {
    await trigger(t, day);
    // On a slow machine, the request returns before the epoch is computed.
    await retryUntilPass(async () => expect((await epochOf(t, day)).status).toBe('computed'));
  }
  const [computed = 0, committed = 0, expired = 0, settled = 0, claimed = 0, claiming = 0] = days;
  const states: [number, string, string | null][] = [
    [committed, 'committed', '1 day'],
    [expired, 'committed', '-1 s'],
    [settled, 'settled', null],
    [claimed, 'committed', '1 day'],
    [claiming, 'committed', '1 day'],
  ];
  for (const [epoch, state, expiry] of states) {
    await sql(
      t.app,
      `update epochs set state = $2, expires_at = app_now() + $3::interval, settled_at = case when $2 = 'settled' then app_now() end where epoch = $1`,
      [epoch, state, expiry],
    );
  }
  const indexOf = async (epoch: number) => (await leavesOf(t, epoch)).lines.find((line) => line.wallet === wallet)?.index ?? null;
  for (const [epoch, state] of [
    [claimed, 'claimed'],
    [claiming, 'submitted'],
  ] as const) {
    await sql(t.app, `insert into claims (epoch, index, wallet, amount, state, proof) values ($1, $2, $3, 1, $4, '')`, [
      epoch,
      await indexOf(epoch),
      wallet,
      state,
    ]);
  }
  const rewards = await claimable(wallet);
  expect(rewards.map(({ epoch, status, amount }) => [epoch, status, amount])).toEqual([
    [computed, 'upcoming', '100000'],
    [committed, 'claimable', '200000'],
    [settled, 'settled', '400000'],
    [claiming, 'claimable', '600000'],
  ]);
  expect(rewards[1]).toEqual({
    epoch: committed,
    status: 'claimable',
    claiming: false,
    amount: '200000',
    index: await indexOf(committed),
    expiresAt: expect.stringMatching(/Z$/),
  });
  expect(rewards[0]?.expiresAt).toBeNull();
  expect(await claimableEpochs(wallet)).toEqual([computed, committed, claiming]);

  const page = async (query: string) => {
    const response = await send(t, `/api/rewards/wallet/${wallet}/claimable?${query}`);
    return [
      response.headers.get('X-Total-Count'),
      z
        .array(ClaimableView)
        .parse(await response.json())
        .map(({ epoch }) => epoch),
    ];
  };
  expect(await page('limit=2&offset=1')).toEqual(['4', [committed, settled]]);
  expect(await page('offset=9')).toEqual(['4', []]);
  // A claim is refused from the request of the settlement on.
  await sql(t.app, 'update epochs set settle_requested_at = app_now() where epoch = $1', [claiming]);
  expect((await claimable(wallet)).map(({ status, claiming }) => [status, claiming])).toEqual([
    ['upcoming', false],
    ['claimable', false],
    ['settled', false],
    ['settled', true],
  ]);
  expect(await claimableEpochs(wallet)).toEqual([computed, committed]);
  expect(await claimable(randomWallet())).toEqual([]);
});

test('a malformed wallet address is 404', async () => {
  for (const path of ['claimable', 'claimable-epochs', 'projected']) {
    const error = 'no such resource: wallet must be a wallet address (base58 of 32 bytes)';
    expect(await statusAndBody(send(t, `/api/rewards/wallet/nobody/${path}`))).toEqual([404, { error }]);
  }
});

test('before the first points of the day, the whole pool is undistributed and each projected reward is 0', async () => {
  expect(await projected(randomWallet())).toMatchObject({
    amount: '0',
    points: 0,
    breakdown: { pool: '1000000', cap: null, totalPoints: 0, participants: 0, shareOfPoints: 0, capped: false, belowDust: false, formulaVersion: 1 },
  });
  const now = await pool();
  expect(now).toMatchObject({ pool: '1000000', participants: 0, points: 0, total: '0', undistributed: '1000000', distribution: [] });
  expect(now.endsAt).toBe(new Date((now.epoch + 1) * 86_400_000).toISOString());
});

test('projected rewards and pool follow changes of points and rules, and equal the computed epoch', async () => {
  const random = randomGenerator(5);
  await setRules(t, { cap: '9000', dust: '300' });
  const given: (PointsRow & { kind: 'game' | 'quest' })[] = Array.from({ length: 180 }, (_, i) => ({
    wallet: randomWallet(),
    points: random.int(1, i < 4 ? 20_000 : 600),
    kind: i % 2 ? 'game' : 'quest',
  }));
  let day = 0;
  for (const one of given) day = await givePoints(t.app, one);
  const banned = given[7]?.wallet ?? '';
  await givePoints(t.app, { wallet: banned, points: -(given[7]?.points ?? 0), reason: 'void' });
  await givePoints(t.app, { wallet: randomWallet(), points: 5_000, rewards: false });
  await givePoints(t.app, { wallet: randomWallet(), points: 5_000, mode: 'beta' });

  const sum = given.reduce((all, { points }, i) => all + (i === 7 ? 0 : points), 0);
  const settled = async () => {
    let seen = await projected(given[0]?.wallet ?? '');
    const deadline = performance.now() + PATIENCE * 5_000;
    while (seen.breakdown.totalPoints !== sum && performance.now() < deadline) seen = await projected(given[0]?.wallet ?? '');
    return seen;
  };
  expect((await settled()).breakdown).toMatchObject({ pool: '1000000', cap: '9000', dust: '300', participants: 179 });
  const before = new Map<string, string>();
  for (const { wallet } of given) before.set(wallet, (await projected(wallet)).amount);
  const shown = await pool();
  expect(before.get(banned)).toBe('0');

  await closeDays(t.app, day);
  await sql(
    t.app,
    `insert into epochs (epoch, source, pool, cap, dust, expiry_days, rules_version, formula) values ($1, 'computed', 1000000, 9000, 300, 90, 1, 1)`,
    [day],
  );
  await computeEpoch(t.app, day);
  const { header, lines } = await leavesOf(t, day);
  expect(new Map(lines.map(({ wallet, amount }) => [wallet, amount]))).toEqual(new Map([...before].filter(([wallet]) => wallet !== banned)));
  expect(new Set(before.values()).has('9000')).toBe(true);
  expect(shown).toMatchObject({ epoch: day, participants: 179, points: header.points, total: header.total, undistributed: header.undistributed });

  const amounts = lines.map(({ amount }) => BigInt(amount)).sort((a, b) => (a > b ? -1 : 1));
  for (const { top, wallets, amount, share } of shown.distribution) {
    const best = amounts.slice(0, Math.ceil((179 * top) / 100));
    const together = best.reduce((all, own) => all + own, 0n);
    expect([wallets, amount, share]).toEqual([best.length, String(together), Number((together * 10_000n) / 1_000_000n) / 100]);
  }
  expect(shown.distribution.map(({ top }) => top)).toEqual([1, 5, 10, 25, 50, 75, 100]);
});

test('new points of a wallet count immediately in its projected reward', async () => {
  const wallet = randomWallet();
  await givePoints(t.app, { wallet, points: 100_000_000 });
  const seen = await projected(wallet);
  expect(seen).toMatchObject({ points: 100_000_000, amount: '9000', breakdown: { capped: true, belowDust: false } });
});

test('GET /config/rewards returns the rules and the formula', async () => {
  await setRules(t);
  const response = await send(t, '/config/rewards');
  expect([response.status, response.headers.get('Cache-Control')]).toEqual([200, 'public, max-age=5']);
  expect(RewardsConfig.parse(await response.json())).toMatchObject({
    pool: '1000000',
    cap: null,
    dust: '0',
    expiryDays: 90,
    automatic: true,
    formulaVersion: 1,
    distribution: { period: 'day' },
  });
  expect((await send(t, '/config/rewards', { headers: { 'If-None-Match': response.headers.get('ETag') ?? '' } })).status).toBe(304);
});

test('equal rules keep their version, a stale If-Match is refused, and one of several concurrent changes succeeds', async () => {
  const { version } = await config();
  const put = (pool: string, headers: Record<string, string> = {}) => asAdmin(t, '/admin/config/rewards', { method: 'PUT', json: { pool }, headers });
  const first = await put('123');
  expect([first.status, first.headers.get('ETag')]).toEqual([200, `"${version + 1}"`]);
  expect(await first.json()).toMatchObject({ version: version + 1, pool: '123', cap: null, dust: '0', expiryDays: 90, automatic: true });
  expect((await put('123')).headers.get('ETag')).toBe(`"${version + 1}"`);
  expect(await statusAndBody(put('124', { 'If-Match': `"${version}"` }))).toEqual([412, { error: 'If-Match must be the current ETag' }]);
  const all = await Promise.all(Array.from({ length: 8 }, (_, i) => put(String(200 + i), { 'If-Match': `"${version + 1}"` })));
  expect(all.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412, 412, 412, 412]);
  expect((await config()).version).toBe(version + 2);
  const kept = await sql<{ pool: string }>(
    t.app,
    `select value->>'pool' as pool from settings where name = 'rewards' and version > $1 order by version`,
    [version],
  );
  expect(kept.map(({ pool }) => pool)).toEqual(['123', (await config()).pool]);
});

test('invalid rules are refused with the name of the field', async () => {
  const put = (json: object) => statusAndBody(asAdmin(t, '/admin/config/rewards', { method: 'PUT', json }));
  const cases: [object, string][] = [
    [{}, 'pool is required and must be text'],
    [{ pool: '-1' }, 'pool must be a whole number of base units as text'],
    [{ pool: '1.5' }, 'pool must be a whole number of base units as text'],
    [{ pool: '007' }, 'pool must be a whole number of base units as text'],
    [{ pool: '18446744073709551616' }, 'pool must be at most 18446744073709551615'],
    [{ pool: '10', cap: 'x', dust: '6' }, 'cap must be a whole number of base units as text'],
    [{ pool: '10', cap: '5', dust: '6' }, 'cap must be at least dust'],
    [{ pool: '10', expiryDays: 1 }, 'expiryDays must be at least 2'],
    [{ pool: '10', expiryDays: 400 }, 'expiryDays must be at most 399'],
    [{ pool: '10', minPlayDays: -1 }, 'minPlayDays must be at least 0'],
    [{ pool: '10', minPlayDays: 31 }, 'minPlayDays must be at most 30'],
    [{ pool: '10', minAcceptedScores: -1 }, 'minAcceptedScores must be at least 0'],
    [{ pool: '10', minAcceptedScores: 1_000_001 }, 'minAcceptedScores must be at most 1000000'],
    [{ pool: '10', bonus: true }, 'bonus is not a known field'],
  ];
  for (const [json, error] of cases) expect(await put(json)).toEqual([400, { error }]);
  const narrow = await send(t, '/admin/config/rewards', { method: 'PUT', json: { pool: '1' }, headers: { Authorization: `Bearer ${ADMIN_TOKEN}y` } });
  expect(narrow.status).toBe(403);
});

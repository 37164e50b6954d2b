import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { computeEpoch } from '#areas/rewards';
import { newId } from '#lib/ids.ts';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  asAdmin,
  closeDays,
  DAY,
  epochOf,
  insertClosedDay,
  leavesOf,
  randomWallet,
  setRules,
  startRewards,
  statusAndBody,
  trigger,
} from '#test/support/areas/epochs.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startRewards();
  await setRules(t, { pool: '1000000', cap: '700000', dust: '5' });
});
afterAll(() => t.close());

const [a = '', b = '', c = ''] = Array.from({ length: 3 }, randomWallet).sort();

/** Downloads the points file of an epoch. */
async function pointsOf(epoch: number) {
  const response = await send(t, `/api/rewards/epoch/${epoch}/points`);
  const text = await response.text();
  const [header, ...lines] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { response, text, header, lines };
}
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** A ledger row: wallet, kind, source, reason, points, and the game of its score. */
type Row = readonly [wallet: string, kind: string, source: string, reason: string, points: number, game?: string];

async function insertRows(day: number, rows: readonly Row[]): Promise<void> {
  for (const [wallet, kind, source, reason, points, game] of rows) {
    const id = newId();
    if (game !== undefined) {
      await sql(
        t.app,
        `insert into scores (id, wallet, game_id, game_version, body_hash, score, normalized, points, personal_best, status, mode, day, at)
         values ($1, $2, $3, 1, sha256('x'), 1, 1, 1, true, 'accepted', 'regular', $4, app_now())`,
        [id, wallet, game, day],
      );
    }
    await sql(
      t.app,
      `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
       values ($1, 'regular', $2, $3, $4, $5, $6, true, $7, app_now(), 0)`,
      [wallet, kind, reason, source, id, points, day],
    );
  }
}

test('the points file lists the points of each wallet by source, and their sums are the points of the leaves', async () => {
  await insertRows(DAY, [
    [b, 'game', 'score', 'score', 300, 'snake'],
    [b, 'game', 'score', 'score', 40, 'snake'],
    [b, 'game', 'score', 'score', 11, 'asteroids'],
    [b, 'game', 'score', 'void', -40, 'snake'],
    [b, 'quest', 'quest', 'quest', 25],
    [a, 'referral', 'score', 'referral', 7],
    [a, 'adjustment', 'adjustment', 'adjustment', 90],
    [c, 'quest', 'quest', 'quest', 10],
    [c, 'quest', 'quest', 'revoke', -10],
    [c, 'conversion', 'conversion', 'conversion', 500],
  ]);
  await closeDays(t.app, DAY);
  expect((await trigger(t, DAY)).status).toBe(201);
  const { response, text, header, lines } = await pointsOf(DAY);
  const epoch = await epochOf(t, DAY);
  expect(header).toEqual({
    type: 'coinop/points/1',
    epoch: DAY,
    day: '2025-05-09',
    formulaVersion: 1,
    rulesVersion: epoch.rulesVersion,
    pool: '1000000',
    cap: '700000',
    dust: '5',
    wallets: 2,
    points: 433,
  });
  expect(lines).toEqual([
    { wallet: a, points: 97, sources: { 'adjustment:adjustment': 90, 'referral:referral': 7 } },
    { wallet: b, points: 336, sources: { 'game:score:asteroids': 11, 'game:score:snake': 340, 'game:void:snake': -40, 'quest:quest': 25 } },
  ]);
  expect(Object.keys(lines[1].sources)).toEqual(Object.keys(lines[1].sources).sort());
  const leaves = await leavesOf(t, DAY);
  expect(new Map(leaves.lines.map(({ wallet, points }) => [wallet, points]))).toEqual(new Map(lines.map(({ wallet, points }) => [wallet, points])));

  expect(epoch.pointsHash).toBe(sha256(text));
  expect(response.headers.get('etag')).toBe(`"${epoch.pointsHash}"`);
  expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(response.headers.get('content-type')).toContain('application/x-ndjson');
  const cached = await send(t, `/api/rewards/epoch/${DAY}/points`, { headers: { 'If-None-Match': `"${epoch.pointsHash}"` } });
  expect([cached.status, await cached.text()]).toEqual([304, '']);
  const head = await send(t, `/api/rewards/epoch/${DAY}/points`, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(text))]);
});

test('a points file of many pages has each wallet once, in ascending order of the addresses', async () => {
  const given = Array.from({ length: 9_000 }, (_, i) => ({ wallet: randomWallet(), points: i + 1 }));
  await insertClosedDay(t.app, DAY + 1, given);
  await trigger(t, DAY + 1);
  const { header, lines } = await pointsOf(DAY + 1);
  expect(header).toMatchObject({ wallets: 9_000, points: (9_000 * 9_001) / 2 });
  expect(lines.map(({ wallet }) => wallet)).toEqual(given.map(({ wallet }) => wallet).sort());
});

test('a day without points has a points file without lines', async () => {
  await closeDays(t.app, DAY + 2);
  await trigger(t, DAY + 2);
  const { header, lines } = await pointsOf(DAY + 2);
  expect([header.wallets, header.points, lines]).toEqual([0, 0, []]);
  expect(await epochOf(t, DAY + 2)).toMatchObject({ status: 'empty', pointsHash: expect.any(String) });
});

test('an epoch without a points file has none to download, and the error names the reason', async () => {
  await asAdmin(t, '/api/rewards/epoch/import', { json: { epoch: DAY + 3, distribution: [{ wallet: a, amount: '500' }] } });
  expect(await epochOf(t, DAY + 3)).toMatchObject({ source: 'import', pointsHash: null });
  const file = (epoch: number) => statusAndBody(send(t, `/api/rewards/epoch/${epoch}/points`));
  expect(await file(DAY + 3)).toEqual([404, { error: `epoch ${DAY + 3} was imported, so it has no points` }]);
  expect(await file(DAY + 4)).toEqual([404, { error: `epoch ${DAY + 4} does not exist` }]);
  await sql(t.app, `insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values ($1, 'computed', 1, 0, 90, 0, 1)`, [
    DAY + 4,
  ]);
  expect(await file(DAY + 4)).toEqual([404, { error: `epoch ${DAY + 4} is still being computed` }]);
  await sql(t.app, `update epochs set points_hash = null, points_bytes = null where epoch = $1`, [DAY + 2]);
  expect(await file(DAY + 2)).toEqual([404, { error: `epoch ${DAY + 2} has no points file, because an earlier version of the service computed it` }]);
});

test('a computation that is repeated after a crash, or runs several times at once, stores the same points file', async () => {
  const epoch = DAY + 5;
  await insertClosedDay(t.app, epoch, [{ wallet: a, points: 3 }]);
  await sql(t.app, `insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values ($1, 'computed', 9, 0, 90, 0, 1)`, [
    epoch,
  ]);
  const failing = { ...t.app, storage: { ...t.app.storage, put: () => Promise.reject(new Error('killed')) } };
  await expect(computeEpoch(failing, epoch)).rejects.toThrow('killed');
  await Promise.all([computeEpoch(t.app, epoch), computeEpoch(t.app, epoch), computeEpoch(t.app, epoch)]);
  const { text } = await pointsOf(epoch);
  expect(await epochOf(t, epoch)).toMatchObject({ status: 'computed', pointsHash: sha256(text) });
});

test('while the media storage fails, an epoch stays computing, and the next run computes it', async () => {
  const epoch = DAY + 6;
  await insertClosedDay(t.app, epoch, [{ wallet: a, points: 3 }]);
  await sql(t.app, `insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values ($1, 'computed', 9, 0, 90, 0, 1)`, [
    epoch,
  ]);
  const broken = { ...t.app, storage: { ...t.app.storage, draft: () => Promise.reject(new Error('the disk is full')) } };
  await expect(computeEpoch(broken, epoch)).rejects.toThrow('the disk is full');
  expect(await epochOf(t, epoch)).toMatchObject({ status: 'computing', pointsHash: null });
  await computeEpoch(t.app, epoch);
  expect(await epochOf(t, epoch)).toMatchObject({ status: 'computed', pointsHash: expect.any(String) });
});

test('each version of the reward rules can be read, also after the rules changed', async () => {
  await setRules(t, { pool: '5000', cap: '70' });
  const { rulesVersion } = await epochOf(t, DAY);
  const [status, body] = await statusAndBody(send(t, `/api/rewards/rules/${rulesVersion}`));
  expect([status, body]).toEqual([
    200,
    {
      ...{ version: rulesVersion, pool: '1000000', cap: '700000', dust: '5', expiryDays: 90, automatic: true, minPlayDays: 0, minAcceptedScores: 0 },
      storedAt: expect.any(String),
    },
  ]);
  expect(await statusAndBody(send(t, '/api/rewards/rules/0'))).toMatchObject([200, { version: 0, pool: '100000000000', storedAt: null }]);
  expect(await statusAndBody(send(t, '/api/rewards/rules/999'))).toEqual([404, { error: 'the reward rules have no version 999' }]);
  expect((await send(t, `/api/rewards/rules/${rulesVersion}`)).headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
});

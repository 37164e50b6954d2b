import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { v7 } from 'uuid';
import { finishBan, readBestScores } from '#areas/arcade';
import { decideScores } from '#areas/arcade/moderation/bulk.ts';
import { holdAgain } from '#areas/arcade/moderation/held.ts';
import { recomputeBests } from '#areas/arcade/scores/bests.ts';
import { appendActivities, appendPoints, ensurePlayer, openDay, readArchivedBefore, readPlayerPoints } from '#areas/points';
import { historyGauges } from '#areas/points/history/gauges.ts';
import { isOfOpenMonth, keepHistory, monthText } from '#areas/points/history/index.ts';
import { firstId } from '#areas/points/history/months.ts';
import { hasVerifiedScore } from '#areas/referrals/verification.ts';
import { readConfig } from '#config';
import { bucketOf, bucketStart, dayNumber, dayStart } from '#lib/periods.ts';
import { toHttpError } from '#platform/http/errors.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { insertScores, sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';
import { DEFAULT_SCOPE, runChecks } from '#tools/audit/audit.ts';
import type { Scope } from '#tools/audit/check.ts';
import { CHECKS } from '#tools/audit/checks.ts';
import { describeMonths, dropMonth, reopenMonth } from '#tools/history/months.ts';

/** Small slices and files, so that a partition of some blocks has several. */
const LIMITS = { runMs: 60_000, sliceBlocks: 1, fileBlocks: 2, closesWhenShifted: true };
const ROWS = 120;
const GAME = 'gem-drop';

let t: TestApp;
let first: number;
const wallet = createWallet().address;
const scoreIds: string[] = [];

/** Runs the checks of the audit that compare the ledger with its sums, and returns their differences. */
async function audit(scope: Partial<Scope> = {}): Promise<string[]> {
  const names = ['standings', 'point-totals', 'tallies', 'game-boards', 'closed-months', 'closed-rows'];
  const config = readConfig({ ...t.env, NODE_ENV: 'test' });
  const results = await runChecks(
    config,
    CHECKS.filter(({ name }) => names.includes(name)),
    { scope: { ...DEFAULT_SCOPE, ...scope } },
  );
  return results.flatMap(({ check, failure, listed }) => [...(failure === null ? [] : [`${check.name}: ${failure}`]), ...listed]);
}

/** Sets the clock to the tenth day of a month, counted from the first month. */
const goTo = (months: number) => t.clock.set(new Date(dayStart(bucketStart('month', first + months) + 9).getTime() + 43_200_000));
/** Changes rows of closed months, without the triggers that refuse this. */
const change = (text: string) => sql(t.app, `set local session_replication_role = replica; ${text}`);
const partitions = () =>
  sql<{ relation: string; closed: boolean; detached: boolean; rows: number }>(
    t.app,
    `select relation, closed_at is not null as closed, detached_at is not null as detached, row_count::int as rows from closed_partitions
     where month = ${first} order by relation`,
  );
const points = (sourceId: string, reason: 'score' | 'void') => ({
  wallet,
  mode: 'regular' as const,
  kind: 'game' as const,
  source: 'score' as const,
  sourceId,
  reason,
  points: reason === 'void' ? -10 : 10,
  rewards: true,
  // Characters that end a line in some programs.
  factors: { note: 'a\u2028b\r\u0085c', emoji: '🎮' },
});

/** Returns the values of the history gauges, by their names without `coinop_history_`. */
const gauges = async () =>
  Object.fromEntries((await historyGauges.read(t.app)).map(({ name, value }) => [name.replace('coinop_history_', ''), value]));

beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { HISTORY_MONTHS: '13' } });
  first = bucketOf('month', dayNumber(new Date()));
  await goTo(0);
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  for (let i = 0; i < ROWS; i++) scoreIds.push(v7({ msecs: t.clock.now().getTime() }));
  await t.app.tx(async (tx) =>
    appendPoints(
      tx,
      await openDay(tx),
      scoreIds.map((id) => points(id, 'score')),
    ),
  );
  await insertScores(t.app, { wallet, gameId: GAME, ids: scoreIds, at: t.clock.now() });
});
afterAll(() => t?.close());

test('partitions exist for the three months after the present one', async () => {
  await keepHistory(t.app, LIMITS);
  const [newest] = await sql<{ name: string }>(
    t.app,
    `select max(inhrelid::regclass::text) as name from pg_inherits where inhparent = 'ledger'::regclass and inhrelid::regclass::text ~ '[0-9]$'`,
  );
  const month = first + 3;
  expect(newest?.name).toBe(`ledger_${Math.floor(month / 12)}_${String((month % 12) + 1).padStart(2, '0')}`);
});

test('a month stays open for two further months, while a void of its scores is in a queue, and while its rows are newer than the previous month', async () => {
  await goTo(2);
  await keepHistory(t.app, LIMITS);
  expect(await partitions()).toEqual([]);
  await t.app.tx(async (tx) => appendPoints(tx, await openDay(tx), [points(scoreIds[0] ?? '', 'void')]));
  await goTo(3);
  // The void of a score of the month, which no consumer has received yet.
  await t.app.tx((tx) => appendActivities(tx, [{ kind: 'void', sourceId: scoreIds[0] ?? '', wallet, gameId: GAME, amount: -50 }]));
  await keepHistory(t.app, LIMITS);
  expect(await partitions()).toEqual([]);
  await sql(t.app, 'delete from activity_batches');
  await Promise.all([keepHistory(t.app, LIMITS), keepHistory(t.app, LIMITS)]);
  expect(await partitions()).toContainEqual({ relation: 'ledger', closed: false, detached: false, rows: ROWS + 1 });
  await goTo(4);
  await keepHistory(t.app, LIMITS);
  expect(await partitions()).toContainEqual({ relation: 'ledger', closed: true, detached: false, rows: ROWS + 1 });
});

test('metrics count the days with partitions, the ended months that are open, and the months that are to be detached', async () => {
  const daysAhead = bucketStart('month', first + 8) - dayNumber(t.clock.now());
  // Four months ended. The second one is closed, because it has no rows. The first one is open, because its void was written in the fourth month.
  expect(await gauges()).toEqual({ days_ahead: daysAhead, open_months: 3, months_to_detach: 0 });
});

test('the sums of a closed month equal its rows, and no row of the month can be added or changed', async () => {
  const sums = await sql(
    t.app,
    `select reason, row_count::int as rows, points::int from closed_sums where relation = 'ledger' and month = ${first} order by reason`,
  );
  expect(sums).toEqual([
    { reason: 'score', rows: ROWS, points: 10 * ROWS },
    { reason: 'void', rows: 1, points: -10 },
  ]);
  const carried = await sql(
    t.app,
    `select paid_month - month as later, row_count::int as rows, points::int from carried_points where wallet = '${wallet}' order by 1`,
  );
  expect(carried).toEqual([
    { later: 0, rows: ROWS, points: 10 * ROWS },
    { later: 2, rows: 1, points: -10 },
  ]);
  const games = await sql(
    t.app,
    `select plays::int, scores::int, points::int, best, best_score::int as score, normalized::int from carried_games where wallet = '${wallet}'`,
  );
  // Each score without a play counts as a play, also a rejected one.
  expect(games).toEqual([{ plays: 4, scores: 2, points: 10, best: 70, score: 700, normalized: 120 }]);
  const late = t.app.tx(async (tx) => appendPoints(tx, await openDay(tx), [points(scoreIds[1] ?? '', 'void')]));
  await expect(late).rejects.toMatchObject({ code: 'CP001' });
  expect(toHttpError(await late.catch((error: unknown) => error))).toMatchObject({ status: 409 });
  expect(await audit({ month: first })).toEqual([]);
});

test('a ban ends although a score that it rejected is of a closed month, and a decision in bulk leaves the scores of closed months out', async () => {
  const [, , rejected] = scoreIds;
  const asBan = (by: string) => change(`update scores set decided_by = '${by}' where id = '${rejected}'`);
  await asBan('ban');
  await t.app.tx((tx) => holdAgain(tx, wallet));
  expect(await sql(t.app, `select status from scores where id = '${rejected}'`)).toEqual([{ status: 'rejected' }]);
  await asBan('test');
  const request = { decision: 'void' as const, reason: 'bot' };
  expect(await decideScores(t.app, { ...request, filter: { wallet } }, 'test')).toEqual({ decided: 0, skipped: [], left: 0 });
  const { skipped } = await decideScores(t.app, { ...request, ids: scoreIds.slice(0, 1) }, 'test');
  expect(skipped).toEqual([{ scoreId: scoreIds[0], error: 'the month of this cause is closed, so its points cannot change' }]);
  const isOpen = async (id = '') => (await sql<{ open: boolean }>(t.app, `select ${isOfOpenMonth('$1::uuid')} as open`, [id]))[0]?.open;
  // The second month is closed too.
  const firstIds = [0, 1, 2].map((month) => firstId(bucketStart('month', first + month)));
  expect(await Promise.all([scoreIds[0], ...firstIds].map(isOpen))).toEqual([false, false, false, true]);
});

test('a month whose files lack counted rows stays attached, and the run fails', async () => {
  // A run makes the partitions of the next three months only.
  for (const months of [7, 10, 13]) await goTo(months).then(() => keepHistory(t.app, LIMITS));
  await goTo(14);
  const setRows = (rows: number) => change(`update closed_partitions set row_count = ${rows} where relation = 'activities' and month = ${first}`);
  const [activities] = (await partitions()).filter(({ relation }) => relation === 'activities');
  await setRows((activities?.rows ?? 0) + 1);
  await expect(keepHistory(t.app, LIMITS)).rejects.toThrow(`the files of activities in ${monthText(first)} do not have the counted rows`);
  expect((await gauges()).months_to_detach).toBe(1);
  expect(await sql(t.app, 'select relation from closed_partitions where exported_at is not null')).toEqual([]);
  expect(await readArchivedBefore(t.app.db)).toBeNull();
  await setRows(activities?.rows ?? 0);
});

test('a month older than HISTORY_MONTHS is exported, and its tables are detached with all rows', async () => {
  await goTo(13);
  await keepHistory(t.app, LIMITS);
  expect(await partitions()).toContainEqual({ relation: 'ledger', closed: true, detached: false, rows: ROWS + 1 });
  await goTo(14);
  const { db } = t.app;
  const query: typeof db.query = async (statement, values) => {
    if (statement.text.includes('row_to_json')) throw new Error('connection lost');
    return await db.query(statement, values);
  };
  await expect(keepHistory(Object.create(t.app, { db: { value: { query } } }), LIMITS)).rejects.toThrow('connection lost');
  await t.clock.set(new Date(t.clock.now().getTime() + 660_000));
  // The process dies after the storage has the second file and before the database knows it.
  let stored = 0;
  const dying = {
    ...t.app.storage,
    put: async (...args: Parameters<typeof t.app.storage.put>) => {
      await t.app.storage.put(...args);
      if (++stored === 2) throw new Error('killed');
    },
  };
  await expect(keepHistory(Object.create(t.app, { storage: { value: dying } }), LIMITS)).rejects.toThrow('killed');
  await keepHistory(t.app, LIMITS);
  expect(await partitions()).toContainEqual({ relation: 'ledger', closed: true, detached: false, rows: ROWS + 1 });
  await t.clock.set(new Date(t.clock.now().getTime() + 660_000));
  // A transaction that uses the ledger delays the detachment, and the run does not fail.
  await t.app.tx(async (tx) => {
    await tx.query({ text: 'select 1 from ledger limit 1' });
    await keepHistory(t.app, LIMITS);
  });
  expect(await partitions()).toContainEqual({ relation: 'ledger', closed: true, detached: false, rows: ROWS + 1 });
  // No key names a score that is not in the table.
  expect(await sql(t.app, 'select key from score_keys')).toEqual([]);
  await Promise.allSettled([keepHistory(t.app, LIMITS), keepHistory(t.app, LIMITS)]);
  await keepHistory(t.app, LIMITS);
  expect(await partitions()).toContainEqual({ relation: 'ledger', closed: true, detached: true, rows: ROWS + 1 });
  const files = await sql<{ rows: number; verified: boolean }>(
    t.app,
    `select row_count::int as rows, verified_at is not null as verified from history_files where relation = 'ledger' and month = ${first} order by part`,
  );
  expect(files.length).toBeGreaterThan(1);
  expect(await readArchivedBefore(t.app.db)).toBe(`${monthText(first + 1)}-01`);
  expect(files.every(({ verified }) => verified)).toBe(true);
  expect(files.reduce((sum, { rows }) => sum + rows, 0)).toBe(ROWS + 1);
  expect(await sql(t.app, `select count(*)::int as n from ledger where wallet = '${wallet}'`)).toEqual([{ n: 0 }]);
  // Each run closes one month.
  for (let month = 1; month < 12; month++) await keepHistory(t.app, LIMITS);
  expect(await gauges()).toMatchObject({ open_months: 2, months_to_detach: 0 });
  expect(await audit()).toEqual([]);
  expect(await audit({ all: true })).toEqual([]);
});

test('the best score of a detached month stays on the board of its game, also after the bests of the wallet are computed again', async () => {
  const [best] = await readBestScores(t.app.db, GAME, { first: 0, last: 2 ** 31 - 1 }, [{ wallet, score: 70 }]);
  expect(best).toEqual({ rawScore: 700, at: expect.stringMatching(/T13:10:/) });
  await t.app.tx((tx) => recomputeBests(tx, GAME, 'regular', wallet));
  expect(await sql(t.app, `select total::int from standings where board = 'game:${GAME}'`)).toEqual([{ total: 70 }]);
});

test('a wallet stays verified by a score of a detached month, if a version of the game verifies scores', async () => {
  const isVerified = async () =>
    (await sql<{ verified: boolean }>(t.app, `select ${hasVerifiedScore('$1::text')} as verified`, [wallet]))[0]?.verified;
  const setVerification = (verification: string) =>
    sql(t.app, `update game_versions set definition = definition || jsonb_build_object('verification', $2::text) where game_id = $1`, [
      GAME,
      verification,
    ]);
  await setVerification('play');
  expect(await isVerified()).toBe(true);
  await setVerification('none');
  expect(await isVerified()).toBe(false);
});

test('the points that operators gave in a detached month stay among the points of the wallet', async () => {
  await sql(t.app, `insert into carried_points values (${first}, $1, 'regular', 'adjustment', ${first}, '', 7, 1)`, [wallet]);
  const found = await readPlayerPoints(t.app.db, wallet, []);
  expect(found?.adjustments).toEqual([{ mode: 'regular', day: bucketStart('month', first), points: 7 }]);
  await sql(t.app, `delete from carried_points where kind = 'adjustment'`);
});

test('a ban whose activity is in a detached month is not announced a second time', async () => {
  await sql(t.app, 'update players set banned_at = $2, scores_voided_at = $2 where wallet = $1', [wallet, dayStart(bucketStart('month', first) + 9)]);
  await finishBan(t.app, wallet);
  expect(await sql(t.app, `select 1 from activities where kind = 'ban'`)).toEqual([]);
  await sql(t.app, 'update players set banned_at = null, scores_voided_at = null where wallet = $1', [wallet]);
});

test('the audit finds a changed sum of a wallet, a changed row and a changed file of a closed month', async () => {
  await change(`update carried_points set points = points + 1 where paid_month = month`);
  expect((await audit()).join()).toMatch(/standings.*the wallets have 1191 points/s);
  await change(`update carried_points set points = points - 1 where paid_month = month`);
  const table = `detached.ledger_${monthText(first).replace('-', '_')}`;
  await change(`update ${table} set points = 11 where source_id = '${scoreIds[2]}'`);
  expect(await audit()).toEqual([]);
  expect((await audit({ month: first })).join()).toContain('but the table has 121 rows with');
  await change(`update ${table} set points = 10 where source_id = '${scoreIds[2]}'`);
  await change(`update history_files set sha256 = sha256(id::text::bytea) where relation = 'ledger' and part = 0`);
  expect((await audit({ month: first })).join()).toMatch(/the file [0-9a-f-]+ differs from the file that was stored/);
});

test('an operator lists the months, and can neither drop nor open a month in a wrong state', async () => {
  const owner = new pg.Client({ connectionString: (t.env.DATABASE_URL ?? '').replace(/[?&]options=.*$/, '') });
  await owner.connect();
  try {
    expect((await describeMonths(owner)).join('\n')).toMatch(new RegExp(`${monthText(first)} {2}ledger +${ROWS + 1} rows {2}\\d+ files {2}detached`));
    await expect(reopenMonth(owner, t.app.storage, first)).rejects.toThrow('only the newest closed month can be opened again');
    await expect(dropMonth(owner, t.app.storage, first + 1)).rejects.toThrow('is not detached');
    await expect(dropMonth(owner, t.app.storage, first)).rejects.toThrow('differs from the file that was stored');
    await owner.query(`delete from history_files where relation = 'ledger' and part = 0`);
    await expect(dropMonth(owner, t.app.storage, first)).rejects.toThrow('the files of ledger have');
  } finally {
    await owner.end();
  }
});

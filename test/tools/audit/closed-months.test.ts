import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { ensurePlayer } from '#areas/points';
import { keepHistory } from '#areas/points/history/index.ts';
import { readConfig } from '#config';
import { bucketOf, bucketStart, dayNumber, dayStart } from '#lib/periods.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';
import { runChecks } from '#tools/audit/audit.ts';
import type { Check } from '#tools/audit/check.ts';
import { CHECKS } from '#tools/audit/checks.ts';

/** Checks without a snapshot that read the database only. */
const LIVE = ['orphans', 'epoch-points'];
/** Runs of a check: other connections may report rows that they read before the check. */
const RUNS = 3;

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  const month = bucketOf('month', dayNumber(new Date()));
  const goTo = (months: number) => t.clock.set(dayStart(bucketStart('month', month + months) + 9));
  await goTo(0);
  const wallet = createWallet().address;
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  const [play, score] = [v7({ msecs: t.clock.now().getTime() }), v7({ msecs: t.clock.now().getTime() + 1 })];
  await sql(t.app, `insert into plays (id, wallet, game_id, started_at) values ($1, $2, 'gem-drop', app_now())`, [play, wallet]);
  await sql(
    t.app,
    `insert into scores (id, wallet, game_id, game_version, play_id, body_hash, score, normalized, points, personal_best, status, mode, duration_ms, day, at)
     values ($1, $2, 'gem-drop', 1, $3, sha256('x'), 70, 70, 10, true, 'accepted', 'regular', 60000, app_day(), app_now())`,
    [score, wallet, play],
  );
  await sql(
    t.app,
    `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
     values ($1, 'regular', 'game', 'score', 'score', $2, 10, true, app_day(), app_now(), app_day())`,
    [wallet, score],
  );
  await sql(
    t.app,
    `insert into activities (kind, source_id, wallet, game_id, amount, day, at, batch, cause_day)
     values ('score', $1, $2, 'gem-drop', 70, app_day(), app_now(), 1, app_day())`,
    [score, wallet],
  );
  await goTo(3);
  await keepHistory(t.app, { runMs: 60_000, sliceBlocks: 1, fileBlocks: 1, closesWhenShifted: true });
});
afterAll(() => t?.close());

/** Returns the rows of closed months that PostgreSQL has read so far. */
async function rowsRead(): Promise<number> {
  const [found] = await sql<{ rows: number }>(
    t.app,
    `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as rows from pg_stat_all_tables s
     join closed_partitions k on s.relname = k.relation || to_char(make_date(k.month / 12, k.month % 12 + 1, 1), '_YYYY_MM')`,
  );
  return found?.rows ?? 0;
}

async function readsClosedMonths(check: Check): Promise<boolean> {
  const config = readConfig({ ...t.env, NODE_ENV: 'test' });
  for (let i = 0; i < RUNS; i++) {
    const before = await rowsRead();
    const [result] = await runChecks(config, [check], { recheck: { attempts: 1, intervalMs: 0 } });
    expect(result?.failure).toBeNull();
    if ((await rowsRead()) === before) return false;
  }
  return true;
}

test('the audit reads no row of a closed month, so its cost does not grow with the years', async () => {
  const closed = await sql<{ relation: string }>(
    t.app,
    'select relation from closed_partitions where closed_at is not null and row_count > 0 order by 1',
  );
  expect(closed.map(({ relation }) => relation)).toEqual(['activities', 'ledger', 'plays', 'score_plays', 'scores']);
  const readers: string[] = [];
  for (const check of CHECKS.filter(({ name, live }) => !live || LIVE.includes(name))) if (await readsClosedMonths(check)) readers.push(check.name);
  // These two read the days of open months by an index. PostgreSQL reads the whole table instead while it is as small as here.
  expect(readers).toEqual(['referral-days', 'epoch-points']);
}, 60_000);

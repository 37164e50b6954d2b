import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { ensurePlayer } from '#areas/points';
import { keepHistory } from '#areas/points/history/index.ts';
import { bucketOf, bucketStart, dayNumber, dayStart } from '#lib/periods.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t?.close());

test('when a month is closed, the seeds of its plays stay only for replays that are stored', async () => {
  const month = bucketOf('month', dayNumber(new Date()));
  const goTo = (months: number) => t.clock.set(dayStart(bucketStart('month', month + months) + 9));
  await goTo(0);
  const wallet = createWallet().address;
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  const newIdThen = () => v7({ msecs: t.clock.now().getTime() });
  const [replayed, purged, unfinished] = [newIdThen(), newIdThen(), newIdThen()];
  const [kept, deleted] = [newIdThen(), newIdThen()];
  await sql(t.app, `insert into plays (id, wallet, game_id, started_at) select id, $2, 'block-cascade', app_now() from unnest($1::uuid[]) id`, [
    [replayed, purged, unfinished],
    wallet,
  ]);
  await sql(t.app, 'insert into score_plays (play_id, score_id) values ($1, $2), ($3, $4)', [replayed, kept, purged, deleted]);
  await sql(t.app, `insert into score_replays (score_id, play_id, log, at) values ($1, $2, '', app_now())`, [kept, replayed]);
  await sql(
    t.app,
    `insert into play_seeds (play_id, simulation, seed) select id, hash, decode(repeat('00', 16), 'hex') from unnest($1::uuid[]) id, simulations`,
    [[replayed, purged, unfinished]],
  );
  await goTo(3);
  await keepHistory(t.app, { runMs: 60_000, sliceBlocks: 1, fileBlocks: 1, closesWhenShifted: true });
  expect(await sql(t.app, 'select play_id as id from play_seeds')).toEqual([{ id: replayed }]);
});

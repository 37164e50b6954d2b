import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { advanceBattles } from '#areas/battles';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { advanceClock, createPlayers, GAME, registerGames, submission, submit } from '#test/support/areas/battles.ts';
import { sql } from '#test/support/areas/boards.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGames(t);
});
afterAll(() => t.close());

test('hundreds of open battles expire after an hour', async () => {
  await sql(
    t.app,
    `insert into battles (id, game_id, created_by, max_players, duration_sec, created_at, due_at)
     select gen_random_uuid(), $1, '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin', 2, 60, app_now(), app_now() + interval '1 hour' from generate_series(1, 250)`,
    [GAME],
  );
  const open = async () => (await sql<{ n: number }>(t.app, `select count(*)::int as n from battles where state = 'open'`))[0]?.n;
  await advanceClock(t, 3_590);
  await advanceBattles(t.app);
  expect(await open()).toBeGreaterThanOrEqual(250);
  await advanceClock(t, 20);
  await Promise.all([advanceBattles(t.app), advanceBattles(t.app)]);
  expect(await open()).toBe(0);
});

test('hundreds of battles that end at the same time all get their result', async () => {
  const wallets = await createPlayers(t.app, 2);
  const [a = '', b = ''] = wallets;
  await sql(
    t.app,
    `with b as (
       insert into battles (id, game_id, created_by, max_players, duration_sec, state, created_at, started_at, due_at)
       select gen_random_uuid(), $1, $2, 2, 60, 'running', app_now(), app_now(), app_now() + interval '1 minute' from generate_series(1, 250) returning id)
     insert into battle_seats (battle_id, seat, wallet, joined_at) select id, n, w, app_now() from b, unnest(array[$2, $3]) with ordinality as u(w, n)`,
    [GAME, a, b],
  );
  const due = await sql<{ id: string }>(t.app, `select id from battles where created_by = $1`, [a]);
  await submit(
    t.app,
    due.map(({ id }, i) => submission(t.app, { wallet: i % 2 === 0 ? a : b, battleId: id, score: i })),
  );
  await advanceClock(t, 61);
  await Promise.all([advanceBattles(t.app), advanceBattles(t.app), advanceBattles(t.app)]);
  await advanceBattles(t.app);
  const results = await sql<{ id: string; winner: string }>(
    t.app,
    `select payload ->> 'battleId' as id, payload -> 'winners' ->> 0 as winner from outbox where type = 'battle_result' and payload ->> 'battleId' = any($1)`,
    [due.map(({ id }) => id)],
  );
  expect(results).toHaveLength(250);
  expect(new Map(results.map(({ id, winner }) => [id, winner]))).toEqual(new Map(due.map(({ id }, i) => [id, i % 2 === 0 ? a : b])));
});

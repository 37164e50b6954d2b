import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { loadGames } from '#areas/arcade/games/registry.ts';
import { hasRecentBatch } from '#areas/arcade/mixed-load.ts';
import { startPlay } from '#areas/arcade/plays/start-play.ts';
import { startPlays } from '#areas/arcade/plays/start-plays.ts';
import { PlayReceipt } from '#areas/arcade/schemas.ts';
import { choosePlayerMode } from '#areas/points';
import { newId } from '#lib/ids.ts';
import { declaredStatements, statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { NEW_ID } from '#test/support/database.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { createWallet, type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let player: SignedIn;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { PUBLIC_URL: 'https://arcade.test' } });
  player = await signIn(t);
});
afterAll(() => t.close());

const play = (who: SignedIn, game: string, headers: Record<string, string> = {}) => who.fetch(`/game/${game}/play`, { method: 'POST', headers });

const countPlays = statement<{ plays: number; activities: number }>(
  'test_count_plays',
  `select (select count(*)::int from plays where wallet = $1) as plays,
          (select count(*)::int from activity_batches, json_array_elements(activities) a where a ->> 2 = $1 and a ->> 0 = 'play') as activities`,
);
const count = async (wallet: string) => (await t.app.db.query(countPlays, [wallet]))[0];

test('POST /game/{id}/play starts a play, counts it and appends an activity', async () => {
  const response = await play(player, 'gem-drop');
  expect(response.status).toBe(201);
  const receipt = await jsonOf(response, PlayReceipt);
  expect(receipt).toEqual({
    playId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/),
    gameId: 'gem-drop',
    startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    heartbeatUrl: null,
    seed: null,
    simulation: null,
  });
  const rows = await t.app.db.query(
    statement<{ game_id: string; amount: number }>(
      'test_activity',
      `select a ->> 3 as game_id, (a ->> 4)::int as amount from plays p join activity_batches b on b.id = p.batch, json_array_elements(b.activities) a
       where p.id = $1 and a ->> 0 = 'play' and a ->> 1 = p.id::text`,
    ),
    [receipt.playId],
  );
  expect(rows).toEqual([{ game_id: 'gem-drop', amount: 0 }]);
  expect(await (await send(t, '/game/gem-drop/stats')).json()).toMatchObject({ totalPlays: 1 });
});

test('a game with heartbeat verification returns a heartbeat URL with the public address', async () => {
  const receipt = await jsonOf(play(player, 'star-raiders'), PlayReceipt);
  expect(receipt.heartbeatUrl).toBe(`wss://arcade.test/game/star-raiders/session?playId=${receipt.playId}`);
});

test('a play requires a session, an existing game and an allowed origin', async () => {
  expect((await send(t, '/game/gem-drop/play', { method: 'POST' })).status).toBe(401);
  for (const id of ['nowhere', 'referral', 'Not_An_Id']) {
    const unknown = await play(player, id);
    expect([unknown.status, await unknown.json()]).toEqual([404, { error: expect.stringMatching(/^no such (?:game|resource: id must .+)$/) }]);
  }
  expect((await play(player, 'gem-drop', { Origin: 'https://evil.test' })).status).toBe(403);
  expect((await player.fetch('/game/gem-drop/play', { json: { extra: 1 } })).status).toBe(400);
});

test('two concurrent requests with the same idempotency key start one play', async () => {
  const other = await signIn(t);
  const key = { 'Idempotency-Key': 'one-play-please' };
  const answers = await Promise.all(Array.from({ length: 8 }, () => play(other, 'star-raiders', key)));
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201));
  const receipts = await Promise.all(answers.map((answer) => jsonOf(answer, PlayReceipt)));
  expect(new Set(receipts.map((receipt) => receipt.playId)).size).toBe(1);
  expect(await count(other.wallet)).toEqual({ plays: 1, activities: 1 });
});

test('the same idempotency key starts a separate play per game and per wallet', async () => {
  const [a, b] = [await signIn(t), await signIn(t)];
  const key = { 'Idempotency-Key': 'shared' };
  const receipts = await Promise.all([play(a, 'star-raiders', key), play(a, 'gem-drop', key), play(b, 'star-raiders', key)]);
  const ids = await Promise.all(receipts.map(async (receipt) => (await jsonOf(receipt, PlayReceipt)).playId));
  expect(new Set(ids).size).toBe(3);
});

test('a wallet can start at most 200 plays without a score within an hour, even with concurrent requests', async () => {
  const eager = await signIn(t);
  const fill = statement(
    'test_fill_plays',
    `insert into plays (id, wallet, game_id, started_at) select ${NEW_ID}, $1, 'token-pusher', app_now() - interval '50 minutes' from generate_series(1, 190)`,
  );
  await t.app.tx((tx) => tx.query(fill, [eager.wallet]));
  const answers = await Promise.all(Array.from({ length: 20 }, () => play(eager, 'gem-drop')));
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(10);
  const refused = answers.find((answer) => answer.status === 429);
  const retryAfter = Number(refused?.headers.get('Retry-After'));
  expect(retryAfter).toBeGreaterThan(500);
  expect(retryAfter).toBeLessThanOrEqual(600);
  expect(await count(eager.wallet)).toEqual({ plays: 200, activities: 10 });
  expect((await play(player, 'gem-drop')).status).toBe(201);

  // A play with a score does not count for the limit.
  const use = statement(
    'test_use_play',
    `insert into scores (id, wallet, game_id, game_version, play_id, body_hash, score, normalized, points, personal_best, status, mode, day, at)
     select ${NEW_ID}, wallet, game_id, 1, id, '', 1, 1, 0, false, 'accepted', 'regular', 1, app_now() from plays where wallet = $1 limit 1`,
  );
  await t.app.tx((tx) => tx.query(use, [eager.wallet]));
  expect((await play(eager, 'gem-drop')).status).toBe(201);
  expect((await play(eager, 'gem-drop')).status).toBe(429);
});

test('each play stores a bound of the plays without a score, which are counted when the bound reaches the limit', async () => {
  const eager = await signIn(t);
  const read = async () =>
    (await sql<{ unfinished: number | null }>(t.app, 'select unfinished from plays where wallet = $1 order by started_at, id', [eager.wallet])).map(
      ({ unfinished }) => unfinished,
    );
  for (let i = 0; i < 2; i++) expect((await play(eager, 'gem-drop')).status).toBe(201);
  const { wallet } = eager;
  await startTogether([1, 2].map(() => ({ wallet, gameId: 'gem-drop' })));
  expect(await read()).toEqual([1, 2, 4, 4]);
  // As if the wallet had started many more plays that have a score by now, and after a play of an earlier release.
  for (const bound of [200, null]) {
    await sql(t.app, `update plays set unfinished = $2 where wallet = $1`, [eager.wallet, bound]);
    const before = (await read()).length;
    expect((await play(eager, 'gem-drop')).status).toBe(201);
    expect((await read()).at(-1)).toBe(before + 1);
  }
});

test('a wallet’s plays without a score are counted by index-only scans, and only near the limit', async () => {
  const text = declaredStatements().get('select_unfinished_plays')?.text ?? '';
  const plan = await t.app.tx(async (tx) => {
    await tx.query({ text: 'set local enable_seqscan = off' });
    await tx.query({ text: `prepare test_unfinished as ${text}` });
    const rows = await tx.query<Record<'QUERY PLAN', string>>({ text: `explain execute test_unfinished('{a}', '{1}', '${newId()}', '${newId()}')` });
    await tx.query({ text: 'deallocate test_unfinished' });
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  });
  expect(plan).toMatch(
    /Limit.*Index Scan using plays_.* on plays_.*One-Time Filter.*Index Only Scan using plays_.* on plays_.*Index Only Scan using score_plays_/s,
  );
  expect(plan).not.toMatch(/Seq Scan|Bitmap/);
});

/** Starts plays in one transaction. */
async function startTogether(requests: readonly { wallet: string; gameId: string }[]) {
  const games = await loadGames(t.app);
  return await t.app.tx((tx) =>
    startPlays(
      tx,
      requests.map(({ wallet, gameId }) => {
        const game = games.get(gameId);
        if (!game) throw new Error(`${gameId} is not registered`);
        return { wallet, game };
      }),
    ),
  );
}

const countersOf = async (gameId: string) =>
  (
    await t.app.db.query(
      statement<{ plays: number; players: number }>(
        'test_play_counters',
        'select coalesce(sum(plays), 0)::int as plays, coalesce(sum(players), 0)::int as players from game_counters where game_id = $1',
      ),
      [gameId],
    )
  )[0];

test('plays that are started in one transaction are counted one by one, and a beta play is not counted', async () => {
  const [a, b, beta] = [createWallet().address, createWallet().address, await signIn(t)];
  await t.app.tx((tx) => choosePlayerMode(tx, beta.wallet, 'beta'));
  const before = await countersOf('gem-drop');
  const outcomes = await startTogether([a, b, a, beta.wallet].map((wallet) => ({ wallet, gameId: 'gem-drop' })));
  expect(new Set(outcomes.map((outcome) => ('playId' in outcome ? outcome.playId : null))).size).toBe(4);
  expect(await countersOf('gem-drop')).toEqual({ plays: (before?.plays ?? 0) + 3, players: (before?.players ?? 0) + 2 });
  expect(await count(a)).toEqual({ plays: 2, activities: 2 });
  expect(await count(beta.wallet)).toEqual({ plays: 1, activities: 1 });
});

test('a wallet that reaches its limit of plays in a shared transaction gets 429, and the other wallets get their plays', async () => {
  const [full, other] = [createWallet().address, createWallet().address];
  const fill = statement(
    'test_fill_most_plays',
    `insert into plays (id, wallet, game_id, started_at) select ${NEW_ID}, $1, 'gem-drop', app_now() from generate_series(1, 199)`,
  );
  await t.app.tx((tx) => tx.query(fill, [full]));
  const outcomes = await startTogether([full, full, other].map((wallet) => ({ wallet, gameId: 'gem-drop' })));
  expect(outcomes.map((outcome) => ('status' in outcome ? outcome.status : 'started'))).toEqual(['started', 429, 'started']);
  expect(await count(full)).toEqual({ plays: 200, activities: 1 });
});

test('each play of a shared transaction ends at most one play, and none is left out', async () => {
  const wallet = createWallet().address;
  const ids = async (times: number) =>
    (await startTogether(Array.from({ length: times }, () => ({ wallet, gameId: 'star-raiders' })))).map((outcome) => {
      if (!('playId' in outcome)) throw outcome;
      return outcome;
    });
  const [first] = await ids(1);
  const both = await ids(2);
  const [last] = await ids(1);
  expect(first?.ended).toBeNull();
  const all = [...both, last].map((play) => play?.ended);
  expect(new Set(all)).toEqual(new Set([first?.playId, ...both.map(({ playId }) => playId)]));
});

test('concurrent requests of a process share transactions', async () => {
  const commits = statement<{ n: number }>('test_play_batches', `select count(distinct xmin::text)::int as n from plays where wallet = $1`);
  const eager = await signIn(t);
  const answers = await Promise.all(Array.from({ length: 12 }, () => play(eager, 'gem-drop')));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  expect((await t.app.db.query(commits, [eager.wallet]))[0]?.n).toBeLessThan(12);
});

test('a play that the database rejects fails alone', async () => {
  const games = await loadGames(t.app);
  const game = games.get('gem-drop');
  if (!game) throw new Error('gem-drop is not registered');
  // PostgreSQL rejects text with NUL.
  const requests = [createWallet().address, 'NUL\0', createWallet().address].map((wallet) => startPlay(t.app, { wallet, game }));
  const settled = await Promise.allSettled(requests);
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  // The request of the rejected play fails with the error of the database, from which its status follows.
  expect(settled[1]).toHaveProperty('reason.code', '22021');
});

test('a batch of plays is recent for a tenth of a second, so that further batches of scores are large meanwhile', async () => {
  await sleep(150);
  expect(hasRecentBatch(t.app, 'plays')).toBe(false);
  const game = (await loadGames(t.app)).get('gem-drop');
  if (!game) throw new Error('the game is missing');
  await startPlay(t.app, { wallet: createWallet().address, game });
  expect(hasRecentBatch(t.app, 'plays')).toBe(true);
  expect(hasRecentBatch(t.app, 'scores')).toBe(false);
  await sleep(150);
  expect(hasRecentBatch(t.app, 'plays')).toBe(false);
});

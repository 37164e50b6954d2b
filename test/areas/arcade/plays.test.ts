import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PlayReceipt } from '#areas/arcade/schemas.ts';
import { statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

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
          (select count(*)::int from activities where wallet = $1 and kind = 'play') as activities`,
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
      `select game_id, amount::int as amount from activities where kind = 'play' and source_id = $1`,
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
    `insert into plays (id, wallet, game_id, started_at) select gen_random_uuid(), $1, 'token-pusher', app_now() - interval '50 minutes' from generate_series(1, 190)`,
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
     select gen_random_uuid(), wallet, game_id, 1, id, '', 1, 1, 0, false, 'accepted', 'regular', 1, app_now() from plays where wallet = $1 limit 1`,
  );
  await t.app.tx((tx) => tx.query(use, [eager.wallet]));
  expect((await play(eager, 'gem-drop')).status).toBe(201);
  expect((await play(eager, 'gem-drop')).status).toBe(429);
});

test('counting a wallet’s plays without a score uses index-only scans', async () => {
  const plan = await t.app.tx(async (tx) => {
    await tx.query(statement('test_no_seqscan', 'set local enable_seqscan = off'));
    return await tx.query(
      statement<Record<'QUERY PLAN', string>>(
        'test_explain_plays',
        `explain select p.started_at from plays p where p.wallet = 'a' and p.started_at > (select app_now() - interval '1 hour')
         and (select s.play_id from scores s where s.play_id = p.id) is null order by p.started_at desc limit 200`,
      ),
    );
  });
  expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toMatch(/Index Only Scan using plays_wallet.*Index Only Scan using scores_play/s);
});

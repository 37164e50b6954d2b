import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

interface Score {
  scoreId: string;
  status: string;
  score: number;
  gameId: string;
  pointsAwarded: number;
  noPointsReason: string | null;
}

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp();
  await registerGame(t.url, ADMIN_TOKEN, 'own-game', { ...TEST_GAME, verification: 'none' });
  await registerGame(t.url, ADMIN_TOKEN, 'own-other', { ...TEST_GAME, verification: 'none' });
});
afterAll(() => t.close());

async function score(player: SignedIn, gameId: string, raw: number): Promise<string> {
  const response = await player.fetch('/arcade/score', { json: { gameId, score: raw } });
  expect(response.status).toBe(200);
  return ((await response.json()) as { scoreId: string }).scoreId;
}
async function list<T>(player: SignedIn, path: string): Promise<{ total: string | null; rows: T[] }> {
  const response = await player.fetch(path);
  expect(response.status).toBe(200);
  return { total: response.headers.get('X-Total-Count'), rows: (await response.json()) as T[] };
}
const idOf = ({ scoreId }: Score) => scoreId;

test('GET /me/scores lists the scores of the caller in pages, newest first, with their present state', async () => {
  const [player, stranger] = [await signIn(t), await signIn(t)];
  expect(await list(player, '/me/scores')).toEqual({ total: '0', rows: [] });
  const ids: string[] = [];
  for (const [game, raw] of [
    ['own-game', 900],
    ['own-other', 500],
    ['own-game', 700],
  ] as const)
    ids.unshift(await score(player, game, raw));
  await score(stranger, 'own-game', 800);
  const all = await list<Score>(player, '/me/scores');
  expect([all.total, all.rows.map(idOf)]).toEqual(['3', ids]);
  expect(all.rows[0]).toMatchObject({
    gameId: 'own-game',
    status: 'accepted',
    score: 700,
    normalizedScore: 700,
    pointsAwarded: 7,
    personalBest: false,
  });
  expect((await list<Score>(player, '/me/scores?limit=1&offset=1')).rows.map(idOf)).toEqual([ids[1]]);
  expect(await list(player, '/me/scores?offset=3')).toEqual({ total: '3', rows: [] });
  const ofGame = await list<Score>(player, '/me/scores?gameId=own-other');
  expect([ofGame.total, ofGame.rows.map(idOf)]).toEqual(['1', [ids[1]]]);
  await send(t, `/admin/scores/${ids[1]}/void`, { json: { reason: 'a test' }, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  expect((await list<Score>(player, '/me/scores')).rows[1]).toMatchObject({ status: 'voided', pointsAwarded: 0, noPointsReason: 'voided' });
  expect((await fetch(`${t.url}/me/scores`)).status).toBe(401);
});

test('GET /arcade/score/{id} answers an accepted score to everybody, and a voided score to its wallet only', async () => {
  const [player, stranger] = [await signIn(t), await signIn(t)];
  const id = await score(player, 'own-game', 600);
  const seen = await (await fetch(`${t.url}/arcade/score/${id}`)).json();
  expect(seen).toMatchObject({ scoreId: id, wallet: player.wallet, score: 600, status: 'accepted' });
  expect((await list<Score>(player, '/me/scores')).rows[0]).toEqual(seen);
  await send(t, `/admin/scores/${id}/void`, { json: { reason: 'a test' }, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  expect((await fetch(`${t.url}/arcade/score/${id}`)).status).toBe(404);
  expect((await stranger.fetch(`/arcade/score/${id}`)).status).toBe(404);
  expect(await (await player.fetch(`/arcade/score/${id}`)).json()).toMatchObject({ status: 'voided' });
  expect((await fetch(`${t.url}/arcade/score/${crypto.randomUUID()}`)).status).toBe(404);
});

test('GET /game/{id}/records lists the records of the caller in a game in pages, newest first, with their content', async () => {
  const [player, stranger] = [await signIn(t), await signIn(t)];
  const receipts: object[] = [];
  for (let level = 1; level <= 3; level++) {
    const response = await player.fetch('/game/own-game/record', { json: { level } });
    receipts.unshift((await response.json()) as object);
  }
  const { total, rows } = await list<{ record: unknown }>(player, '/game/own-game/records');
  expect(total).toBe('3');
  expect(rows).toMatchObject(receipts);
  expect(rows.map(({ record }) => record)).toEqual([{ level: 3 }, { level: 2 }, { level: 1 }]);
  const page = await list<{ record: unknown }>(player, '/game/own-game/records?limit=1&offset=2');
  expect([page.total, page.rows]).toEqual(['3', [rows[2]]]);
  expect(await list(player, '/game/own-game/records?offset=3')).toEqual({ total: '3', rows: [] });
  expect(await list(player, '/game/own-other/records')).toEqual({ total: '0', rows: [] });
  expect(await list(stranger, '/game/own-game/records')).toEqual({ total: '0', rows: [] });
  expect((await player.fetch('/game/no-such-game/records')).status).toBe(404);
});

test('GET /me/battles lists the battles in which the caller has a seat, newest first', async () => {
  const [player, stranger] = [await signIn(t), await signIn(t)];
  const open = async (by: SignedIn) => ((await (await by.fetch('/battle/create', { json: { gameId: 'own-game' } })).json()) as { id: string }).id;
  const own = await open(player);
  const joined = await open(stranger);
  await open(stranger);
  await player.fetch(`/battle/${joined}/join`, { method: 'POST' });
  const { total, rows } = await list<{ id: string; status: string }>(player, '/me/battles');
  expect([total, rows.map(({ id, status }) => [id, status])]).toEqual([
    '2',
    [
      [joined, 'running'],
      [own, 'open'],
    ],
  ]);
  expect((await list<{ id: string }>(player, '/me/battles?limit=1&offset=1')).rows.map(({ id }) => id)).toEqual([own]);
  expect(await list(await signIn(t), '/me/battles')).toEqual({ total: '0', rows: [] });
});

test('GET /me/claims is empty for a wallet without claims, and requires a session', async () => {
  expect(await list(await signIn(t), '/me/claims')).toEqual({ total: '0', rows: [] });
  expect((await fetch(`${t.url}/me/claims`)).status).toBe(401);
});

test('GET /api/lobby answers what the screen of a game shows', async () => {
  const player = await signIn(t);
  await score(player, 'own-game', 9_999);
  const lobby = (await (await player.fetch('/api/lobby?game=own-game')).json()) as { leaderboard: object[]; battles: object[] };
  expect(lobby).toMatchObject({
    game: { id: 'own-game' },
    stats: { gameId: 'own-game' },
    rank: { rank: 1, score: 9_999 },
    activeEvents: expect.any(Array),
  });
  expect(lobby.leaderboard).toEqual(await (await fetch(`${t.url}/game/own-game/leaderboard?limit=10`)).json());
  expect(lobby.battles).toEqual(await (await fetch(`${t.url}/battle/active?gameId=own-game&limit=10`)).json());
  expect(await (await fetch(`${t.url}/api/lobby?game=own-game`)).json()).toMatchObject({ rank: null });
  expect((await fetch(`${t.url}/api/lobby?game=no-such-game`)).status).toBe(404);
  expect((await fetch(`${t.url}/api/lobby?game=No_Game!`)).status).toBe(400);
  expect((await fetch(`${t.url}/api/lobby`)).status).toBe(400);
});

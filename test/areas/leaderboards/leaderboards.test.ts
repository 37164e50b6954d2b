import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { closeEndedPeriods, type RankedLine, rebuildBoard } from '#areas/points';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { createGame, givePoints, loseBoards, scoreBest } from '#test/support/areas/boards.ts';
import { createWallet, type SignedIn, signIn } from '#test/support/wallet.ts';

const DAY = '2032-05-12';
const BOARDS = ['global', 'quests', 'game:alpha-run'];

let t: TestApp;
let me: SignedIn;
/** Three other wallets. The caller shares rank 2 with the wallet whose address is listed after its own. */
let others: string[];

beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await t.clock.set(new Date(`${DAY}T08:00:00Z`));
  await createGame(t.app, 'alpha-run');
  me = await signIn(t);
  others = Array.from({ length: 3 }, () => createWallet().address);
  const scores: [string | undefined, number][] = [
    [others[0], 500],
    [me.wallet, 300],
    [others[1], 300],
    [others[2], 40],
  ];
  for (const [wallet = '', value] of scores) {
    await givePoints(t.app, { wallet, points: value, kind: 'quest' });
    await givePoints(t.app, { wallet, points: 7, kind: 'referral' });
    await scoreBest(t.app, { wallet, gameId: 'alpha-run', value });
  }
  await givePoints(t.app, { wallet: others[2] ?? '', points: 1_000, kind: 'conversion' });
  await givePoints(t.app, { wallet: others[2] ?? '', points: 9_000, mode: 'beta' });
  for (const board of BOARDS) await rebuildBoard(t.app, board);
});
afterAll(() => t.close());

const get = (path: string) => fetch(`${t.url}${path}`);
const error = async (response: Response) => [response.status, ((await response.json()) as { error: string }).error];

const PAGES = [
  ['/leaderboard/global', 7],
  ['/leaderboard/quests', 0],
  ['/game/alpha-run/leaderboard', 0],
] as const;
const PATHS = PAGES.map(([path]) => path);

test.each(PAGES)('GET %s lists wallets best first, with one rank for equal scores', async (path, more) => {
  const response = await get(`${path}?period=day`);
  expect(response.status).toBe(200);
  expect(response.headers.get('X-Total-Count')).toBe('4');
  expect(response.headers.get('Cache-Control')).toBe('no-cache');
  const tied = [me.wallet, others[1] ?? ''].sort().reverse();
  const list = [
    { rank: 1, wallet: others[0], score: 500 + more },
    { rank: 2, wallet: tied[0], score: 300 + more },
    { rank: 2, wallet: tied[1], score: 300 + more },
    { rank: 4, wallet: others[2], score: 40 + more },
  ];
  expect(await response.json()).toMatchObject(list);
  const page = await get(`${path}?period=year&limit=2&offset=2`);
  expect(page.headers.get('X-Total-Count')).toBe('4');
  expect(await page.json()).toMatchObject(list.slice(2));
  const past = await get(`${path}?period=day&offset=4`);
  expect(await past.json()).toEqual([]);
});

test('converted points count for all time only, and beta points do not count', async () => {
  const list = (await (await get('/leaderboard/global')).json()) as RankedLine[];
  expect(list[0]).toMatchObject({ rank: 1, wallet: others[2], score: 1_047 });
});

test('stats return the sums of granted points', async () => {
  const response = await get('/leaderboard/global/stats');
  expect(response.status).toBe(200);
  const quests = 500 + 300 + 300 + 40;
  expect(await response.json()).toEqual({
    totalParticipants: 4,
    totalPointsDistributed: quests + 28 + 1_000,
    pointsBySource: { games: 0, quests, referrals: 28, adjustments: 0, conversions: 1_000 },
    topScore: 1_047,
    participantsToday: 4,
    pointsToday: quests + 28,
  });
  expect(await (await get('/leaderboard/quests/stats')).json()).toEqual({
    totalParticipants: 4,
    totalPointsDistributed: quests,
    topScore: 500,
    participantsToday: 4,
    pointsToday: quests,
  });
});

test('period stats are of the current day by default', async () => {
  const day = await (await get('/leaderboard/global/period-stats')).json();
  expect(day).toEqual({ period: 'day', from: DAY, to: DAY, participants: 4, points: 1_168, topScore: 507, averageScore: 292 });
  const week = await (await get(`/leaderboard/global/period-stats?period=week&at=${DAY}`)).json();
  expect(week).toMatchObject({ period: 'week', from: '2032-05-10', to: '2032-05-16', participants: 4, points: 1_168 });
  const before = await (await get('/leaderboard/global/period-stats?period=month&at=2032-02-11')).json();
  expect(before).toEqual({ period: 'month', from: '2032-02-01', to: '2032-02-29', participants: 0, points: 0, topScore: null, averageScore: null });
  expect((await get('/leaderboard/global/period-stats?period=hour')).status).toBe(400);
  expect((await get('/leaderboard/global/period-stats?at=2032-05-13')).status).toBe(400);
});

test('stats of a period sum the points of the listed wallets, also when points of an earlier period are taken back in it', async () => {
  const quiet = await startTestApp({ workers: false });
  try {
    await quiet.clock.set(new Date('2032-05-11T12:00:00Z'));
    const [winner, loser] = [createWallet().address, createWallet().address];
    await givePoints(quiet.app, { wallet: loser, points: 900 });
    const read = async (path: string) => (await (await fetch(`${quiet.url}${path}`)).json()) as Record<string, unknown>;
    const before = await read('/leaderboard/global/period-stats?period=month');
    expect(before).toMatchObject({ participants: 1, points: 900, topScore: 900, averageScore: 900 });
    await quiet.clock.set(new Date('2032-05-12T12:00:00Z'));
    await givePoints(quiet.app, { wallet: winner, points: 100 });
    await givePoints(quiet.app, { wallet: loser, points: -600 });
    for (const boards of ['incomplete', 'complete']) {
      expect({ boards, ...(await read('/leaderboard/global/period-stats?period=day')) }).toMatchObject({
        ...{ boards, participants: 1, points: 100, topScore: 100, averageScore: 100 },
      });
      expect(await read('/leaderboard/global/period-stats?period=month')).toMatchObject({ participants: 2, points: 400, averageScore: 200 });
      expect(await read('/leaderboard/global/stats')).toMatchObject({ participantsToday: 1, pointsToday: 100, totalPointsDistributed: 400 });
      await rebuildBoard(quiet.app, 'global');
    }
    await givePoints(quiet.app, { wallet: winner, points: -100 });
    const empty = { participants: 0, points: 0, topScore: null, averageScore: null };
    expect(await read('/leaderboard/global/period-stats?period=day')).toMatchObject(empty);
    expect(await read('/leaderboard/global/period-stats?period=day&at=2032-05-11')).toMatchObject({
      participants: 1,
      points: 900,
      averageScore: 900,
    });
    await quiet.clock.set(new Date('2032-05-13T12:00:00Z'));
    for (const finals of ['missing', 'stored']) {
      expect({ finals, ...(await read('/leaderboard/global/period-stats?period=day&at=2032-05-12')) }).toMatchObject({ finals, ...empty });
      expect(await read('/leaderboard/global/period-stats?period=day&at=2032-05-11')).toMatchObject({ participants: 1, points: 900, topScore: 900 });
      await closeEndedPeriods(quiet.app);
    }
  } finally {
    await quiet.close();
  }
});

test.each(PATHS)('GET %s answers 304 for an unchanged page and 200 after a change', async (path) => {
  const tag = (await get(path)).headers.get('ETag') ?? '';
  const again = await fetch(`${t.url}${path}`, { headers: { 'If-None-Match': tag } });
  expect(again.status).toBe(304);
  const { address } = createWallet();
  await givePoints(t.app, { wallet: address, points: 1, kind: 'quest' });
  await scoreBest(t.app, { wallet: address, gameId: 'alpha-run', value: 1 });
  const changed = await fetch(`${t.url}${path}`, { headers: { 'If-None-Match': tag } });
  expect(changed.status).toBe(200);
});

test.each(PATHS)('GET %s centres the page on the caller with around=me', async (path) => {
  const whole = (await (await get(path)).json()) as RankedLine[];
  const place = whole.findIndex((line) => line.wallet === me.wallet);
  const response = await me.fetch(`${path}?around=me&limit=2&offset=3`);
  expect(response.headers.get('Cache-Control')).toBe('private, no-cache');
  expect(await response.json()).toEqual(whole.slice(place - 1, place + 1));
  const stranger = await signIn(t);
  expect(await (await stranger.fetch(`${path}?around=me&limit=2&offset=3`)).json()).toEqual(whole.slice(0, 2));
});

test.each(PATHS)('GET %s refuses invalid queries with an error that names the field', async (path) => {
  expect(await error(await get(`${path}?around=me`))).toEqual([401, 'around requires a session, sign in first']);
  expect(await error(await get(`${path}?limit=0`))).toEqual([400, 'limit must be at least 1']);
  expect(await error(await get(`${path}?limit=501`))).toEqual([400, 'limit must be at most 500']);
  expect(await error(await get(`${path}?offset=-1`))).toEqual([400, 'offset must be at least 0']);
  expect(await error(await get(`${path}?offset=10000001`))).toEqual([400, 'offset must be at most 10000000']);
  expect(await error(await get(`${path}?around=you`))).toEqual([400, 'around must be me']);
  expect(await error(await get(`${path}?period=decade`))).toEqual([400, 'period must be one of day, week, month, year']);
  expect(await error(await get(`${path}?at=${DAY}`))).toEqual([400, 'at must come with a period']);
  expect(await error(await get(`${path}?period=day&at=yesterday`))).toEqual([400, 'at must be a day as YYYY-MM-DD']);
  expect(await error(await get(`${path}?period=month&at=2032-05-13`))).toEqual([400, 'at must not be in the future']);
});

test('a period before the first data is empty', async () => {
  const response = await get('/leaderboard/global?period=year&at=1984-01-01');
  expect([response.headers.get('X-Total-Count'), await response.json()]).toEqual(['0', []]);
});

const RANKS = ['/leaderboard/global/rank', '/leaderboard/quests/rank', '/game/alpha-run/rank'] as const;

test.each(RANKS)('GET %s returns the same rank as the list, from Redis and by SQL', async (path) => {
  const list = (await (await get(`${path.replace('/rank', path.startsWith('/game') ? '/leaderboard' : '')}?period=day`)).json()) as RankedLine[];
  const own = list.find((line) => line.wallet === me.wallet);
  const response = await me.fetch(`${path}?period=day`);
  expect(response.headers.get('Cache-Control')).toBe('no-store');
  const place = await response.json();
  expect(place).toMatchObject({ rank: 2, score: own?.score, pointsToNext: 200 });
  expect(place).toEqual(await (await me.fetch(`${path}?period=day&at=${DAY}`)).json());
  const allTime = await (await me.fetch(path)).json();
  await loseBoards(t.app, 'ready');
  expect(await (await me.fetch(`${path}?period=day`)).json()).toEqual(place);
  expect(await (await me.fetch(path)).json()).toEqual(allTime);
  for (const board of BOARDS) await rebuildBoard(t.app, board);
});

test.each(RANKS)('GET %s returns rank null for a wallet without points', async (path) => {
  const stranger = await signIn(t);
  const response = await stranger.fetch(path);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ rank: null, score: 0, percentile: null, pointsToNext: null, neighbours: [] });
});

test.each(RANKS)('GET %s requires a session, and refuses a day in the future', async (path) => {
  expect((await get(path)).status).toBe(401);
  expect(await error(await me.fetch(`${path}?at=${DAY}`))).toEqual([400, 'at must come with a period']);
  expect(await error(await me.fetch(`${path}?period=day&at=2032-05-13`))).toEqual([400, 'at must not be in the future']);
});

test('leaderboards of unknown games get 404', async () => {
  expect(await error(await get('/game/no-such-game/leaderboard'))).toEqual([404, 'no such game']);
  expect(await error(await me.fetch('/game/no-such-game/rank'))).toEqual([404, 'no such game']);
  expect((await get('/game/No%20Game/leaderboard')).status).toBe(404);
});

test('every read that begins after a write shows it, even with many concurrent reads', async () => {
  const { address } = createWallet();
  let reading = true;
  const readers = Array.from({ length: 8 }, async () => {
    while (reading) await (await get('/leaderboard/global?limit=1')).arrayBuffer();
  });
  for (let i = 1; i <= 25; i++) {
    await givePoints(t.app, { wallet: address, points: 10_000 });
    const [top] = (await (await get('/leaderboard/global?limit=1')).json()) as RankedLine[];
    expect(top).toMatchObject({ rank: 1, wallet: address, score: 10_000 * i });
  }
  reading = false;
  await Promise.all(readers);
});

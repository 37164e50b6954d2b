import { expect } from '@jest/globals';
import { readGameStats } from '#areas/arcade/games/stats.ts';
import { bucketOf, bucketStart, dayStart, PERIODS, type Span } from '#lib/periods.ts';
import { retryUntilPass } from '../areas/player.ts';
import type { History } from './history.ts';
import { call, type Player, readAll } from './requests.ts';
import { GAME_IDS, GAMES, type GameId, type Row, sum } from './rows.ts';

type Line = { rank: number; wallet: string; score: number };
const dayText = (day: number) => dayStart(day).toISOString().slice(0, 10);

/** Paths of the boards, by the name of the board in the model. */
const BOARDS: readonly { board: string; list: string; rank: string; gameId: GameId | null }[] = [
  { board: 'global', list: '/leaderboard/global', rank: '/leaderboard/global/rank', gameId: null },
  { board: 'quests', list: '/leaderboard/quests', rank: '/leaderboard/quests/rank', gameId: null },
  { board: 'referrals', list: '/game/referral/leaderboard', rank: '/game/referral/rank', gameId: null },
  ...GAME_IDS.map((gameId) => ({ board: `game:${gameId}`, list: `/game/${gameId}/leaderboard`, rank: `/game/${gameId}/rank`, gameId })),
];

/** Compares all boards, ranks and stats. Precondition: the history is settled. */
export async function compareBoards(history: History): Promise<void> {
  const { model } = history;
  const lists = model.lister();
  const choices: { span: Span; day: number; query: string }[] = [{ span: 'all', day: model.today, query: '?' }];
  for (const period of PERIODS) {
    const first = bucketOf(period, model.firstDay);
    for (let bucket = first; bucket <= bucketOf(period, model.today); bucket++) {
      const [start, end] = [bucketStart(period, bucket), Math.min(bucketStart(period, bucket + 1) - 1, model.today)];
      const day = history.random.int(start, end);
      choices.push({ span: period, day, query: `?period=${period}&at=${dayText(day)}&` });
    }
  }
  for (const choice of choices) {
    await Promise.all(BOARDS.map((board) => compareBoard(history, board, choice, lists(board.board, choice.span, choice.day))));
    if (choice.span !== 'all') await compareStats(history, choice, lists('global', choice.span, choice.day));
  }
  await compareGlobalStats(history, lists('global', 'all', model.today), lists('global', 'day', model.today));
  await compareQuestStats(history, lists('quests', 'all', model.today), lists('quests', 'day', model.today));
  await compareGameStats(history);
}

async function compareBoard(
  { admin, players, random, isBanned }: History,
  { list, rank, gameId }: (typeof BOARDS)[number],
  { span, query }: { span: Span; query: string },
  expected: readonly Line[],
): Promise<void> {
  // The wallet is chosen before the first request, so that the seed determines it.
  const { wallet } = random.pick(players as [Player, ...Player[]]);
  const lines = await readAll<Line & { rawScore: number | null }>(admin, `${list}${query.replace(/[?&]$/, '')}`, span === 'all' ? 2 : 500);
  const shown = lines.map((line) => ({ rank: line.rank, wallet: line.wallet, score: line.score, rawScore: line.rawScore }));
  const rawOf = (score: number) => (gameId === null ? null : GAMES[gameId].direction === 'higher' ? score : 10_000 - score);
  expect({ list, query, lines: shown }).toEqual({ list, query, lines: expected.map((line) => ({ ...line, rawScore: rawOf(line.score) })) });

  const caller = players.find((player) => !isBanned(player));
  if (!caller) return;
  const own = expected.find((line) => line.wallet === wallet);
  const better = expected.filter((line) => own && line.score > own.score).at(-1);
  const place = {
    rank: own?.rank ?? null,
    score: own?.score ?? 0,
    percentile: own ? Math.round((10_000 * (expected.length - own.rank + 1)) / expected.length) / 100 : null,
    pointsToNext: own && better ? better.score - own.score : null,
  };
  const isShown = expected.some((line) => line.wallet === caller.wallet);
  const around = await call<Line[]>(caller.fetch, `${list}${query}around=me&limit=2`);
  expect({ query, around: around.length, isShown: around.some((line) => line.wallet === caller.wallet) }).toEqual({
    ...{ query, isShown, around: Math.min(2, expected.length) },
  });
  expect({ query, wallet, ...(await call<object>(caller.fetch, `${rank}${query}wallet=${wallet}`)) }).toMatchObject({ query, wallet, ...place });
}

async function compareStats({ admin }: History, { span, query }: { span: Span; query: string }, list: readonly Line[]): Promise<void> {
  const points = list.reduce((all, { score }) => all + score, 0);
  expect({ query, ...(await call<object>(admin, `/leaderboard/global/period-stats${query}`)) }).toMatchObject({
    ...{ query, period: span, participants: list.length, points, topScore: list[0]?.score ?? null },
    averageScore: list.length === 0 ? null : Math.round((100 * points) / list.length) / 100,
  });
}

const headOf = (all: readonly Line[], today: readonly Line[]) => ({
  ...{ totalParticipants: all.length, topScore: all[0]?.score ?? null, participantsToday: today.length },
  pointsToday: today.reduce((points, { score }) => points + score, 0),
});

async function compareGlobalStats({ admin, model }: History, all: readonly Line[], today: readonly Line[]): Promise<void> {
  const regular = model.rows.filter(({ mode }) => mode === 'regular');
  const of = (kind: Row['kind']) => sum(regular.filter((row) => row.kind === kind));
  const pointsBySource = {
    games: of('game'),
    quests: of('quest'),
    referrals: of('referral'),
    adjustments: of('adjustment'),
    conversions: of('conversion'),
  };
  const stats = await call(admin, '/leaderboard/global/stats');
  expect(stats).toEqual({ ...headOf(all, today), totalPointsDistributed: sum(regular), pointsBySource });
}

async function compareQuestStats({ admin, model }: History, all: readonly Line[], today: readonly Line[]): Promise<void> {
  const rows = model.rows.filter(({ kind }) => kind === 'quest');
  const stats = await call(admin, '/leaderboard/quests/stats');
  expect(stats).toEqual({ ...headOf(all, today), totalPointsDistributed: sum(rows.filter(({ mode }) => mode === 'regular')) });
  const quests = await readAll<{ id: string; completions: number; pointsAwarded: number }>(admin, '/admin/quests');
  for (const { id, completions, pointsAwarded } of quests) {
    const ofQuest = rows.filter(({ cause }) => cause.startsWith(`${id}:`));
    const expected = { id, completions: ofQuest.filter(({ reason }) => reason === 'quest').length, pointsAwarded: sum(ofQuest) };
    expect({ id, completions, pointsAwarded }).toEqual(expected);
    expect(await call(admin, `/quests/${id}`)).toMatchObject(expected);
  }
}

/** Returns the stats of a game as its definitions say. */
function statsOf({ scores, plays, banned }: History['model'], gameId: GameId) {
  const values = scores.flatMap((one) =>
    one.gameId === gameId && one.mode === 'regular' && one.status === 'accepted' && !banned.has(one.wallet) ? [one.normalized] : [],
  );
  const ofGame = plays.filter((play) => play.startsWith(`${gameId} `));
  const average = values.reduce((all, value) => all + value, 0) / values.length;
  return {
    ...{ totalPlays: ofGame.length, uniquePlayers: new Set(ofGame).size, totalScores: values.length },
    averageScore: values.length === 0 ? null : expect.closeTo(average, 1),
    bestScore: values.length === 0 ? null : Math.max(...values),
  };
}

/** Compares the stats of all games, as the database has them. */
async function compareGameStats({ t, model }: History): Promise<void> {
  for (const gameId of GAME_IDS) expect({ gameId, ...(await readGameStats(t.app.db, gameId)) }).toEqual({ gameId, ...statsOf(model, gameId) });
}

/** Compares the lobbies and the stats of all games. The API caches stats for two seconds, so this function may take as long. */
export async function compareLobbies({ admin, model, players, isBanned }: History): Promise<void> {
  const caller = players.find((player) => !isBanned(player));
  for (const gameId of GAME_IDS) {
    const list = model.lister()(`game:${gameId}`, 'all', model.today);
    const stats = { gameId, ...statsOf(model, gameId) };
    await retryUntilPass(async () => expect(await call(admin, `/game/${gameId}/stats`)).toEqual(stats), 2_500);
    if (!caller) continue;
    const own = list.find(({ wallet }) => wallet === caller.wallet);
    expect(await call(caller.fetch, `/api/lobby?game=${gameId}`)).toMatchObject({
      ...{ stats, players: list.length, rank: { rank: own?.rank ?? null, score: own?.score ?? 0 }, leaderboard: list.slice(0, 10) },
    });
  }
}

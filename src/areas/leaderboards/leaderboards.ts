import { findGame } from '#areas/arcade';
import { gameBoard, type PageRequest, readPage, readPointTotals, readRank, readSummary } from '#areas/points';
import { coalesce } from '#lib/concurrency/coalesce.ts';
import { fail } from '#lib/errors.ts';
import { bucketOf, bucketStart, dayNumber, dayStart, type Period, parseDay } from '#lib/periods.ts';
import { type App, perApp } from '#platform/app.ts';
import { CachedBody } from '#platform/http/cached-body.ts';
import { reply } from '#platform/http/route.ts';
import { type BoardLine, describeLines } from './lines.ts';
import type { BoardQuery, GlobalStats, OptionalPeriodQuery, PeriodStats, QuestStats } from './schemas.ts';

/**
 * Cache-Control of a board of the current period. Clients must revalidate their copy before each use, so that they see a new score in the next read.
 */
export const REVALIDATE = 'no-cache';
/** Cache-Control of a page that is centred on the wallet of the caller. */
const PRIVATE = 'private, no-cache';
/** Cache-Control of an ended period, whose final ranks are stored. A ban of a wallet, or the end of a ban, can still change it. */
const FINAL = 'public, max-age=300';

/** Returns the period that a query selects. Without `at`, it is the period of the current day, also when midnight passes during the request. */
const periodChoiceOf = (app: App, { period, at }: OptionalPeriodQuery) =>
  ({ span: period ?? 'all', at: at === undefined ? dayNumber(app.clock.now()) : parseDay(at) }) as const;

/** A page of a board as a response. */
interface ListedPage {
  body: CachedBody<BoardLine[]>;
  headers: Record<string, string>;
}

async function readListedPage(app: App, board: string, request: PageRequest & { at: number }): Promise<ListedPage> {
  const { entries, total, final } = await readPage(app, board, request);
  const cacheControl = request.around === undefined ? (final ? FINAL : REVALIDATE) : PRIVATE;
  const lines = await describeLines(app, board, { span: request.span, day: request.at }, entries);
  return { body: new CachedBody(lines), headers: { 'X-Total-Count': String(total), 'Cache-Control': cacheControl } };
}

/** Shares one read among concurrent requests for the same page. */
const sharedPages = perApp((app) =>
  coalesce<{ board: string; request: PageRequest & { at: number } }, ListedPage>(([{ board, request }]) => readListedPage(app, board, request)),
);

/**
 * Returns a page of a board as a response.
 * @throws 400 when `at` is in the future
 * @throws 401 when `around` is used without a session
 */
export async function listBoard(app: App, board: string, query: BoardQuery, wallet: string | null) {
  if (query.around !== undefined && wallet === null) throw fail(401, 'around requires a session, sign in first');
  const { limit, offset } = query;
  const choice = periodChoiceOf(app, query);
  const request = { ...choice, limit, offset, around: query.around === undefined ? undefined : (wallet ?? undefined) };
  const { body, headers } = request.around
    ? await readListedPage(app, board, request)
    : await app.state(sharedPages)(`${board} ${choice.span} ${choice.at} ${limit} ${offset}`, { board, request });
  return reply(200, body, headers);
}

/**
 * Returns a wallet's rank on a board and the lines next to it.
 * @throws 400 when `at` is in the future
 */
export async function readBoardRank(app: App, board: string, query: OptionalPeriodQuery, wallet: string) {
  const { span, at } = periodChoiceOf(app, query);
  const { neighbours, ...place } = await readRank(app, board, { span, at, wallet });
  return { ...place, neighbours: await describeLines(app, board, { span, day: at }, neighbours) };
}

/**
 * Returns the name of a game's board.
 * @throws 404 when the game does not exist
 */
export async function boardOfGame(app: App, gameId: string): Promise<string> {
  if (!(await findGame(app, gameId))) throw fail(404, 'no such game');
  return gameBoard(gameId);
}

/** Reads the stats that the global board and the quest board both have, and all points that wallets have got. */
async function readTotals(app: App, board: 'global' | 'quests') {
  const [all, today, given] = await Promise.all([
    readSummary(app, board, { span: 'all' }),
    readSummary(app, board, { span: 'day' }),
    readPointTotals(app.reads),
  ]);
  const { participants: totalParticipants, topScore } = all;
  return { given, stats: { totalParticipants, topScore, participantsToday: today.participants, pointsToday: today.points } };
}

const sharedGlobalStats = perApp((app) =>
  coalesce<null, CachedBody<GlobalStats>>(async () => {
    const { given, stats } = await readTotals(app, 'global');
    return new CachedBody({
      ...stats,
      totalPointsDistributed: given.game + given.quest + given.referral + given.adjustment + given.conversion,
      pointsBySource: {
        games: given.game,
        quests: given.quest,
        referrals: given.referral,
        adjustments: given.adjustment,
        conversions: given.conversion,
      },
    });
  }),
);

/** Reads the stats of the global board. Concurrent requests share one read. */
export const globalStats = (app: App): Promise<CachedBody<GlobalStats>> => app.state(sharedGlobalStats)('global', null);

const sharedQuestStats = perApp((app) =>
  coalesce<null, CachedBody<QuestStats>>(async () => {
    const { given, stats } = await readTotals(app, 'quests');
    return new CachedBody({ ...stats, totalPointsDistributed: given.quest });
  }),
);

/** Reads the stats of the quest board. Concurrent requests share one read. */
export const questStats = (app: App): Promise<CachedBody<QuestStats>> => app.state(sharedQuestStats)('quests', null);

interface PeriodRequest {
  period: Period;
  /** A UTC day in the period, YYYY-MM-DD; the current day by default. */
  at?: string | undefined;
}

interface PeriodResponse {
  body: CachedBody<PeriodStats>;
  headers: Record<string, string>;
}

const sharedPeriodStats = perApp((app) => coalesce<PeriodRequest, PeriodResponse>(([request]) => readPeriodStats(app, request)));

/**
 * Reads the stats of one period of the global board. Concurrent requests share one read.
 * @throws 400 when `at` is in the future
 */
export const periodStats = (app: App, request: PeriodRequest): Promise<PeriodResponse> =>
  app.state(sharedPeriodStats)(`${request.period} ${request.at}`, request);

async function readPeriodStats(app: App, { period, at }: PeriodRequest): Promise<PeriodResponse> {
  const day = at === undefined ? dayNumber(app.clock.now()) : parseDay(at);
  const bucket = bucketOf(period, day);
  const first = bucketStart(period, bucket);
  const last = bucketStart(period, bucket + 1) - 1;
  const { participants, points, topScore, final } = await readSummary(app, 'global', { span: period, at: day });
  const averageScore = participants === 0 ? null : Math.round((100 * points) / participants) / 100;
  return {
    body: new CachedBody({ period, from: dayText(first), to: dayText(last), participants, points, topScore, averageScore }),
    headers: { 'Cache-Control': final ? FINAL : REVALIDATE },
  };
}

const dayText = (day: number) => dayStart(day).toISOString().slice(0, 10);

import { findGame } from '#areas/arcade';
import { gameBoard, type PageRequest, type RankedLine, readPage, readPointTotals, readRank } from '#areas/points';
import { coalesce } from '#lib/coalesce.ts';
import { fail } from '#lib/errors.ts';
import { bucketOf, bucketStart, dayNumber, dayStart, type Period, parseDay } from '#lib/periods.ts';
import type { Neighbourhood } from '#lib/ranking.ts';
import { type App, perApp } from '#platform/app.ts';
import { CachedBody } from '#platform/http/cached-body.ts';
import { reply } from '#platform/http/route.ts';
import type { BoardQuery, GlobalStats, OptionalPeriodQuery, PeriodStats, QuestStats } from './schemas.ts';

/**
 * Cache-Control of a board of the current period. Clients must revalidate their copy before each use, so that they see a new score in the next read.
 */
export const REVALIDATE = 'no-cache';
/** Cache-Control of a page that is centred on the wallet of the caller. */
const PRIVATE = 'private, no-cache';
/** Cache-Control of the stored final ranks of an ended period, which never change. */
const IMMUTABLE = 'public, max-age=86400, immutable';

const periodChoiceOf = ({ period, at }: OptionalPeriodQuery) => ({ span: period ?? 'all', at: at === undefined ? undefined : parseDay(at) }) as const;

/** A page of a board as a response. */
interface ListedPage {
  body: CachedBody<RankedLine[]>;
  headers: Record<string, string>;
}

async function readListedPage(app: App, board: string, request: PageRequest): Promise<ListedPage> {
  const { entries, total, final } = await readPage(app, board, request);
  const cacheControl = request.around === undefined ? (final ? IMMUTABLE : REVALIDATE) : PRIVATE;
  return { body: new CachedBody(entries), headers: { 'X-Total-Count': String(total), 'Cache-Control': cacheControl } };
}

/** Shares one read among concurrent requests for the same page. */
const sharedPages = perApp((app) =>
  coalesce<{ board: string; request: PageRequest }, ListedPage>(([{ board, request }]) => readListedPage(app, board, request)),
);

/**
 * Returns a page of a board as a response.
 * @throws 400 when `at` is in the future
 * @throws 401 when `around` is used without a session
 */
export async function listBoard(app: App, board: string, query: BoardQuery, wallet: string | null) {
  if (query.around !== undefined && wallet === null) throw fail(401, 'around requires a session, sign in first');
  const { limit, offset } = query;
  const choice = periodChoiceOf(query);
  const request = { ...choice, limit, offset, around: query.around === undefined ? undefined : (wallet ?? undefined) };
  const { body, headers } = request.around
    ? await readListedPage(app, board, request)
    : await app.state(sharedPages)(`${board} ${choice.span} ${choice.at ?? ''} ${limit} ${offset}`, { board, request });
  return reply(200, body, headers);
}

/**
 * Returns a wallet's rank on a board and the lines next to it.
 * @throws 400 when `at` is in the future
 */
export function readBoardRank(app: App, board: string, query: OptionalPeriodQuery, wallet: string): Promise<Neighbourhood> {
  return readRank(app, board, { ...periodChoiceOf(query), wallet });
}

/**
 * Returns the name of a game's board.
 * @throws 404 when the game does not exist
 */
export async function boardOfGame(app: App, gameId: string): Promise<string> {
  if (!(await findGame(app, gameId))) throw fail(404, 'no such game');
  return gameBoard(gameId);
}

/** Reads the number of wallets on a board and the best score, for all time or one period. */
async function summarize(app: App, board: string, choice: Pick<PageRequest, 'span' | 'at'>) {
  const { entries, total, final } = await readPage(app, board, { ...choice, limit: 1, offset: 0 });
  return { participants: total, topScore: entries[0]?.score ?? null, final };
}

/** Reads the stats that the global board and the quest board both have. */
async function readTotals(app: App, board: 'global' | 'quests') {
  const today = dayNumber(app.clock.now());
  const [all, day, given, givenToday] = await Promise.all([
    summarize(app, board, { span: 'all' }),
    summarize(app, board, { span: 'day' }),
    readPointTotals(app.db),
    readPointTotals(app.db, today, today),
  ]);
  return { totalParticipants: all.participants, topScore: all.topScore, participantsToday: day.participants, given, givenToday };
}

const sharedGlobalStats = perApp((app) =>
  coalesce<null, CachedBody<GlobalStats>>(async () => {
    const { given, givenToday, ...stats } = await readTotals(app, 'global');
    return new CachedBody({
      ...stats,
      totalPointsDistributed: given.game + given.quest + given.referral + given.conversion,
      pointsBySource: { games: given.game, quests: given.quest, referrals: given.referral, conversions: given.conversion },
      pointsToday: givenToday.game + givenToday.quest + givenToday.referral + givenToday.conversion,
    });
  }),
);

/** Reads the stats of the global board. Concurrent requests share one read. */
export const globalStats = (app: App): Promise<CachedBody<GlobalStats>> => app.state(sharedGlobalStats)('global', null);

const sharedQuestStats = perApp((app) =>
  coalesce<null, CachedBody<QuestStats>>(async () => {
    const { given, givenToday, ...stats } = await readTotals(app, 'quests');
    return new CachedBody({ ...stats, totalPointsDistributed: given.quest, pointsToday: givenToday.quest });
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
  const { participants, topScore, final } = await summarize(app, 'global', { span: period, at: day });
  const given = await readPointTotals(app.db, first, last);
  const points = given.game + given.quest + given.referral;
  const averageScore = participants === 0 ? null : Math.round((100 * points) / participants) / 100;
  return {
    body: new CachedBody({ period, from: dayText(first), to: dayText(last), participants, points, topScore, averageScore }),
    headers: { 'Cache-Control': final ? IMMUTABLE : REVALIDATE },
  };
}

const dayText = (day: number) => dayStart(day).toISOString().slice(0, 10);

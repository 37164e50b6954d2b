import { findGame } from '#areas/arcade';
import { gameBoard, type PageAsk, type Ranked, readPage, readPointTotals, readRank } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { bucketOf, bucketStart, dayNumber, dayStart, type Period, parseDay } from '#lib/periods.ts';
import type { Neighbourhood } from '#lib/ranking.ts';
import type { App } from '#platform/app.ts';
import { SharedBody } from '#platform/http/cached-body.ts';
import { reply } from '#platform/http/route.ts';
import type { BoardQuery, GlobalStats, PeriodStats, QuestStats, WhenQuery } from './schemas.ts';
import { sharing } from './sharing.ts';

/** Own writes must show in the next read: a page is kept, but asked for anew. Stored finals never change. */
export const FRESH = 'no-cache';
const OWN = 'private, no-cache';
const FOREVER = 'public, max-age=86400, immutable';

const whenOf = ({ period, at }: WhenQuery) => ({ span: period ?? 'all', at: at === undefined ? undefined : parseDay(at) }) as const;

/** A page as it is answered. */
interface Listed {
  body: SharedBody<Ranked[]>;
  headers: Record<string, string>;
}

async function list(app: App, board: string, ask: PageAsk): Promise<Listed> {
  const { entries, total, final } = await readPage(app, board, ask);
  const kept = ask.around === undefined ? (final ? FOREVER : FRESH) : OWN;
  return { body: new SharedBody(entries), headers: { 'X-Total-Count': String(total), 'Cache-Control': kept } };
}

const sharedList = sharing<Listed>();

/**
 * Answers with a page of a board.
 * @throws 400 when `at` is in the future; 401 when `around` is asked for without a session
 */
export async function listBoard(app: App, board: string, query: BoardQuery, wallet: string | null) {
  if (query.around !== undefined && wallet === null) throw fail(401, 'around requires a session, sign in first');
  const { limit, offset } = query;
  const when = whenOf(query);
  const ask = { ...when, limit, offset, around: query.around === undefined ? undefined : (wallet ?? undefined) };
  const { body, headers } = ask.around
    ? await list(app, board, ask)
    : await sharedList(app, `${board} ${when.span} ${when.at ?? ''} ${limit} ${offset}`, () => list(app, board, ask));
  return reply(200, body, headers);
}

/**
 * A wallet's place on a board.
 * @throws 400 when `at` is in the future
 */
export function placeOn(app: App, board: string, query: WhenQuery, wallet: string): Promise<Neighbourhood> {
  return readRank(app, board, { ...whenOf(query), wallet });
}

/**
 * The board of a game that exists.
 * @throws 404 no such game
 */
export async function boardOfGame(app: App, gameId: string): Promise<string> {
  if (!(await findGame(app, gameId))) throw fail(404, 'no such game');
  return gameBoard(gameId);
}

/** How many wallets a part of a board lists, and the best score. */
async function summarize(app: App, board: string, when: Pick<PageAsk, 'span' | 'at'>) {
  const { entries, total, final } = await readPage(app, board, { ...when, limit: 1, offset: 0 });
  return { participants: total, topScore: entries[0]?.score ?? null, final };
}

/** What the global board and the quest board have in common. */
async function totalsOf(app: App, board: 'global' | 'quests') {
  const today = dayNumber(app.clock.now());
  const [all, day, given, givenToday] = await Promise.all([
    summarize(app, board, { span: 'all' }),
    summarize(app, board, { span: 'day' }),
    readPointTotals(app.db),
    readPointTotals(app.db, today, today),
  ]);
  return { totalParticipants: all.participants, topScore: all.topScore, participantsToday: day.participants, given, givenToday };
}

const sharedGlobal = sharing<SharedBody<GlobalStats>>();
const sharedQuests = sharing<SharedBody<QuestStats>>();

/** What the global board amounts to, and all that was given. */
export function globalStats(app: App): Promise<SharedBody<GlobalStats>> {
  return sharedGlobal(app, 'global', async () => {
    const { given, givenToday, ...stats } = await totalsOf(app, 'global');
    return new SharedBody({
      ...stats,
      totalPointsDistributed: given.game + given.quest + given.referral + given.conversion,
      pointsBySource: { games: given.game, quests: given.quest, referrals: given.referral, conversions: given.conversion },
      pointsToday: givenToday.game + givenToday.quest + givenToday.referral + givenToday.conversion,
    });
  });
}

/** What the quest board amounts to. */
export function questStats(app: App): Promise<SharedBody<QuestStats>> {
  return sharedQuests(app, 'quests', async () => {
    const { given, givenToday, ...stats } = await totalsOf(app, 'quests');
    return new SharedBody({ ...stats, totalPointsDistributed: given.quest, pointsToday: givenToday.quest });
  });
}

const dayText = (day: number) => dayStart(day).toISOString().slice(0, 10);

const sharedPeriod = sharing<{ body: SharedBody<PeriodStats>; headers: Record<string, string> }>();

/**
 * What the global board of one period amounts to.
 * @throws 400 when `at` is in the future
 */
export function periodStats(app: App, period: Period, at: string | undefined) {
  return sharedPeriod(app, `${period} ${at}`, async () => {
    const day = at === undefined ? dayNumber(app.clock.now()) : parseDay(at);
    const bucket = bucketOf(period, day);
    const first = bucketStart(period, bucket);
    const last = bucketStart(period, bucket + 1) - 1;
    const { participants, topScore, final } = await summarize(app, 'global', { span: period, at: day });
    const given = await readPointTotals(app.db, first, last);
    const points = given.game + given.quest + given.referral;
    const averageScore = participants === 0 ? null : Math.round((100 * points) / participants) / 100;
    return {
      body: new SharedBody({ period, from: dayText(first), to: dayText(last), participants, points, topScore, averageScore }),
      headers: { 'Cache-Control': final ? FOREVER : FRESH },
    };
  });
}

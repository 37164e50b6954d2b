import { fail } from '#lib/errors.ts';
import { bucketOf, dayNumber, type Span } from '#lib/periods.ts';
import type { Neighbourhood } from '#lib/ranking.ts';
import { type App, perApp } from '#platform/app.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { hasFinals, isBeforeFirstDay } from '../finals.ts';
import { readFinals } from '../shown-finals.ts';
import { boardKeys } from './boards.ts';
import { type BoardPositions, neighbourhoodAt, type PageEntries, type PositionQuery, pageOf, positionOf } from './positions.ts';
import { enqueueRebuilds } from './rebuild.ts';
import { boardPage, boardRank, neighbourhoodOf, rankedWindow } from './scripts.ts';
import { openSqlBoards, type SqlBoards } from './sql.ts';
import type { BoardScope } from './values.ts';

/** Selects all time or one period of a board. `at`: any UTC day number in the period; by default, the current day. */
export interface PeriodChoice {
  span: Span;
  at?: number | undefined;
}

export interface PageRequest extends PeriodChoice {
  limit: number;
  offset: number;
  /**
   * Centres the page on this wallet and ignores `offset`. Near the ends of the board, the page has more lines on the other side. If the wallet is not on
   * the board, the page begins at the top.
   */
  around?: string | undefined;
}

/** A page of a board. */
export interface BoardPage extends PageEntries {
  /** Whether the page comes from the stored final ranks of an ended period, which never change. */
  final: boolean;
}

/** Minimum interval between two rebuild requests for one board by one process, ms. */
const REBUILD_REQUEST_INTERVAL_MS = 1_000;

const sqlBoards = perApp(openSqlBoards);
/** Time of the last rebuild request by board, ms since 1970. */
const rebuildRequests = perApp(() => new Map<string, number>());

/**
 * Returns the part of the board that a request selects: all time, the current period or an ended period.
 * @throws 400 when `at` is in the future
 */
export function scopeOf(app: App, board: string, { span, at }: PeriodChoice): BoardScope {
  const today = dayNumber(app.clock.now());
  if (at !== undefined && at > today) throw fail(400, 'at must not be in the future');
  if (span === 'all') return { board, span, bucket: 0, past: false };
  const bucket = bucketOf(span, at ?? today);
  return { board, span, bucket, past: bucket < bucketOf(span, today) };
}

/**
 * Reads a page of a board. The page of an ended period comes from the stored final ranks; any other page comes from Redis. Reads by SQL when no final
 * ranks are stored yet, or when the board in Redis is not complete.
 * @throws 400 when `at` is in the future
 */
export async function readPage(app: App, board: string, request: PageRequest): Promise<BoardPage> {
  const scope = scopeOf(app, board, request);
  if (!scope.past) {
    const page = await readRedisPage(app, scope, request);
    if (page) return { ...page, final: false };
  }
  const { limit, around } = request;
  const window = { offset: around === undefined ? request.offset : 0, limit };
  const queries: PositionQuery[] = around === undefined ? [window] : [window, { wallet: around, reach: limit }];
  const { found, final } = await readPositions(app, scope, queries, around === undefined ? (sql) => sql.page(scope, window) : undefined);
  const own = around === undefined ? null : positionOf(found, around);
  // A page around a wallet near the end of the board begins earlier, so that it is full.
  const offset = own ? Math.max(Math.min(own.position - 1 - Math.floor(limit / 2), found.total - limit), 0) : window.offset;
  return { ...pageOf(found, offset, limit), final };
}

/**
 * Reads a wallet's rank on a board, and the lines above and below it.
 * @throws 400 when `at` is in the future
 */
export async function readRank(app: App, board: string, request: PeriodChoice & { wallet: string }): Promise<Neighbourhood> {
  const scope = scopeOf(app, board, request);
  if (!scope.past) {
    const found = await readRedis(app, board, () => boardRank(app.redis, redisKeys(app, scope), [request.wallet]));
    if (found) return neighbourhoodOf(found[2], found[1]);
  }
  const { found } = await readPositions(app, scope, [{ wallet: request.wallet, reach: 2 }]);
  return neighbourhoodAt(found, request.wallet);
}

export function redisKeys(app: App, { board, span, bucket }: BoardScope): [ready: string, set: string] {
  const keys = boardKeys(app.config.redis.prefix, board);
  return [keys.ready, keys.span(span, bucket)];
}

async function readRedisPage(app: App, scope: BoardScope, { offset, limit, around }: PageRequest): Promise<PageEntries | null> {
  const found = await readRedis(app, scope.board, () => boardPage(app.redis, redisKeys(app, scope), [offset, limit, around ?? '']));
  if (!found) return null;
  const [, total, from, first, window] = found;
  return { entries: rankedWindow(window, first, from), total };
}

/**
 * Reads a board from Redis with `read`. Requests a rebuild of the board if the board is not complete.
 * @param read function whose result begins with 1 when the board is complete
 * @returns null when Redis is down or the board is not complete
 */
export async function readRedis<T extends [complete: 0 | 1, ...unknown[]]>(app: App, board: string, read: () => Promise<T>): Promise<T | null> {
  try {
    const found = await read();
    if (found[0] === 1) return found;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return null;
  }
  requestRebuild(app, board);
  return null;
}

function requestRebuild(app: App, board: string): void {
  const requests = app.state(rebuildRequests);
  const now = app.clock.now().getTime();
  if (now - (requests.get(board) ?? Number.NEGATIVE_INFINITY) < REBUILD_REQUEST_INTERVAL_MS) return;
  requests.set(board, now);
  enqueueRebuilds(app, [board]).catch((err: unknown) =>
    app.log.warn({ err, board }, 'the rebuild of a board cannot be enqueued; the next read of the board tries again'),
  );
}

/**
 * Reads positions from the stored final ranks of an ended period, or by SQL while no final ranks are stored.
 * @param readBySql function that reads the positions by SQL (for example, through the page cache); by default, it sends a new query
 */
async function readPositions(
  app: App,
  scope: BoardScope,
  queries: readonly PositionQuery[],
  readBySql: (sql: SqlBoards) => Promise<BoardPositions> = (sql) => sql.read(scope, queries),
): Promise<{ found: BoardPositions; final: boolean }> {
  if (scope.past) {
    if (await isBeforeFirstDay(app, scope.span, scope.bucket)) return { found: { total: 0, rows: new Map() }, final: false };
    if (await hasFinals(app, scope.span, scope.bucket)) return { found: await readFinals(app, scope, queries), final: true };
  }
  return { found: await readBySql(app.state(sqlBoards)), final: false };
}

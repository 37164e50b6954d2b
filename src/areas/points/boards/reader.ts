import { fail } from '#lib/errors.ts';
import { bucketOf, dayNumber, type Span } from '#lib/periods.ts';
import type { Neighbourhood } from '#lib/ranking.ts';
import type { App } from '#platform/app.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { hasFinals, isBeforeTime, readFinals } from '../finals.ts';
import { boardKeys } from './boards.ts';
import { type Ask, neighbourhoodAt, type Page, type Placed, pageOf, placeOf } from './positions.ts';
import { ringRebuilds } from './rebuild.ts';
import { lifeOf } from './redis-run-id.ts';
import { boardPage, boardRank, boardRanks, neighbourhoodOf, rankedWindow } from './scripts.ts';
import { openSqlBoards, type SqlBoards } from './sql.ts';
import type { Spot } from './values.ts';

/** Which part of a board: all time or a period; `at` is a UTC day number of the period meant, the current one by default. */
export interface When {
  span: Span;
  at?: number | undefined;
}

export interface PageAsk extends When {
  limit: number;
  offset: number;
  /** Centres the page on this wallet; `offset` counts for nothing then. A wallet that is not listed gets the top. */
  around?: string | undefined;
}

/** A page that was read, and whether it is stored for good. */
export interface ReadPage extends Page {
  final: boolean;
}

/** How often a process asks for one board's rebuild, ms. */
const RING_EVERY_MS = 1_000;

interface Reader {
  sql: SqlBoards;
  /** When a rebuild was last asked for, by board. */
  rung: Map<string, number>;
}

const readers = new WeakMap<App, Reader>();
function readerOf(app: App): Reader {
  const reader = readers.get(app) ?? { sql: openSqlBoards(app), rung: new Map() };
  readers.set(app, reader);
  return reader;
}

/** @throws 400 when `at` is a day that has not begun */
function spotOf(app: App, board: string, { span, at }: When): Spot {
  const today = dayNumber(app.clock.now());
  if (at !== undefined && at > today) throw fail(400, 'at must not be in the future');
  if (span === 'all') return { board, span, bucket: 0, past: false };
  const bucket = bucketOf(span, at ?? today);
  return { board, span, bucket, past: bucket < bucketOf(span, today) };
}

/**
 * Reads a page of a board: from Redis while the board is complete there, else by SQL; ended periods from their stored finals.
 * @throws 400 when `at` is in the future
 */
export async function readPage(app: App, board: string, ask: PageAsk): Promise<ReadPage> {
  const spot = spotOf(app, board, ask);
  if (!spot.past) {
    const page = await redisPage(app, spot, ask);
    if (page) return { ...page, final: false };
  }
  const { limit, around } = ask;
  const window = { offset: around === undefined ? ask.offset : 0, limit };
  const asks: Ask[] = around === undefined ? [window] : [window, { wallet: around, reach: limit }];
  const { found, final } = await readPlaced(app, spot, asks, around === undefined ? (sql) => sql.page(spot, window) : undefined);
  const place = around === undefined ? null : placeOf(found, around);
  const offset = place ? Math.max(place.position - 1 - Math.floor(limit / 2), 0) : window.offset;
  return { ...pageOf(found, offset, limit), final };
}

/**
 * Reads a wallet's place on a board and who is next to it.
 * @throws 400 when `at` is in the future
 */
export async function readRank(app: App, board: string, ask: When & { wallet: string }): Promise<Neighbourhood> {
  const spot = spotOf(app, board, ask);
  if (!spot.past) {
    const found = await fromRedis(app, board, () => boardRank(app.redis, redisKeys(app, spot), [ask.wallet]));
    if (found) return neighbourhoodOf(found[2], found[1]);
  }
  const { found } = await readPlaced(app, spot, [{ wallet: ask.wallet, reach: 2 }]);
  return neighbourhoodAt(found, ask.wallet);
}

/** The all-time ranks of wallets: null for the unlisted, and for all of them while the board is not complete in Redis. */
export async function rankOf(app: App, board: string, wallets: readonly string[]): Promise<(number | null)[]> {
  if (wallets.length === 0) return [];
  const keys = redisKeys(app, { board, span: 'all', bucket: 0, past: false });
  const found = await fromRedis(app, board, () => boardRanks(app.redis, keys, wallets));
  return wallets.map((_, i) => found?.[1][i] || null);
}

function redisKeys(app: App, { board, span, bucket }: Spot): [ready: string, set: string] {
  const keys = boardKeys(app.config.redis.prefix, board);
  return [keys.ready, keys.span(span, bucket)];
}

async function redisPage(app: App, spot: Spot, { offset, limit, around }: PageAsk): Promise<Page | null> {
  const found = await fromRedis(app, spot.board, () => boardPage(app.redis, redisKeys(app, spot), [offset, limit, around ?? '']));
  if (!found) return null;
  const [, total, from, first, window] = found;
  return { entries: rankedWindow(window, first, from), total };
}

/** What Redis tells of a board; null when the board is not complete there, which is then being seen to, or when Redis is down. */
async function fromRedis<T extends [ready: string, ...unknown[]]>(app: App, board: string, ask: () => Promise<T>): Promise<T | null> {
  try {
    const [life, found] = await Promise.all([lifeOf(app.redis), ask()]);
    if (found[0] === life) return found;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return null;
  }
  ring(app, board);
  return null;
}

function ring(app: App, board: string): void {
  const { rung } = readerOf(app);
  const now = app.clock.now().getTime();
  if (now - (rung.get(board) ?? Number.NEGATIVE_INFINITY) < RING_EVERY_MS) return;
  rung.set(board, now);
  ringRebuilds(app, [board]).catch((err: unknown) => app.log.warn({ err, board }, 'a board waits for its rebuild, but the bell did not ring'));
}

/** Answers from finals or by SQL. @param shared what may answer instead of a read of its own where SQL is to be asked */
async function readPlaced(
  app: App,
  spot: Spot,
  asks: readonly Ask[],
  shared?: (sql: SqlBoards) => Promise<Placed>,
): Promise<{ found: Placed; final: boolean }> {
  if (spot.past && spot.span !== 'all') {
    if (await isBeforeTime(app, spot.span, spot.bucket)) return { found: { total: 0, rows: new Map() }, final: false };
    if (await hasFinals(app, spot.span, spot.bucket)) return { found: await readFinals(app, spot, asks), final: true };
  }
  const { sql } = readerOf(app);
  return { found: await (shared ? shared(sql) : sql.read(spot, asks)), final: false };
}

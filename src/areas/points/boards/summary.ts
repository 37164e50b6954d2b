import { coalesce } from '#lib/concurrency/coalesce.ts';
import { PERIODS, type Span } from '#lib/periods.ts';
import { type App, perApp } from '#platform/app.ts';
import { type Statement, statement } from '#platform/db/sql.ts';
import { hasFinals, isBeforeFirstDay } from '../finals.ts';
import { readFinalSummary } from '../shown-finals.ts';
import { boardKeys } from './boards.ts';
import { type PeriodChoice, readRedis, redisKeys, scopeOf } from './reader.ts';
import { boardSummary } from './scripts.ts';
import { type BoardScope, boardKindOf, POINT_BOARDS, type PointBoard, valueParams, valuesSql } from './values.ts';

/** The size of a board of points, for all time or one period. All values are of one moment, so they never contradict one another. */
export interface BoardSummary {
  /** Number of wallets on the board. */
  participants: number;
  /** Sum of the points of these wallets. */
  points: number;
  /** Points of the best of these wallets; null for an empty board. */
  topScore: number | null;
}

const EMPTY: BoardSummary = { participants: 0, points: 0, topScore: null };

/** @param part kind of an ended board whose values are recomputed; null for the stored values of any current board */
const declareSummary = (part: PointBoard | null, span: Span) =>
  statement<BoardSummary>(
    `summarize_${part ?? 'current'}_${span}`,
    `select count(*)::int as participants, coalesce(sum(value), 0)::float8 as points, max(value)::float8 as "topScore"
     from (${valuesSql(part ?? 'global', span, part !== null, 2)}) v`,
  );
const current = new Map<Span, Statement<BoardSummary>>((['all', ...PERIODS] as const).map((span) => [span, declareSummary(null, span)]));
const past = new Map<string, Statement<BoardSummary>>(
  POINT_BOARDS.flatMap((kind) => PERIODS.map((period) => [`${kind} ${period}`, declareSummary(kind, period)] as const)),
);

// Reads the whole board. One process runs at most one of these queries at a time for each part of a board.
const summaryBySql = perApp((app) =>
  coalesce<BoardScope, BoardSummary>(async ([scope]) => {
    const found = scope.past ? past.get(`${boardKindOf(scope.board)} ${scope.span}`) : current.get(scope.span);
    if (!found) throw new Error(`no SQL statement is declared that sums the board ${scope.board} by ${scope.span}`);
    return (await app.db.query(found, [scope.board, ...valueParams(scope)]))[0] ?? EMPTY;
  }),
);

/**
 * Reads the size of a board of points. An ended period is read from its stored final ranks, any other part from Redis. Reads by SQL when no final
 * ranks are stored yet, or when the board in Redis is not complete.
 * @returns the size, and whether it comes from final ranks, which never change
 * @throws 400 when `at` is in the future
 */
export async function readSummary(app: App, board: PointBoard, choice: PeriodChoice): Promise<BoardSummary & { final: boolean }> {
  const scope = scopeOf(app, board, choice);
  const { span, bucket } = scope;
  if (scope.past) {
    if (await isBeforeFirstDay(app, scope.span, bucket)) return { ...EMPTY, final: false };
    if (await hasFinals(app, scope.span, bucket)) return { ...(await readFinalSummary(app, board, scope.span, bucket)), final: true };
  } else {
    const sum = boardKeys(app.config.redis.prefix, board).sum(span, bucket);
    const found = await readRedis(app, board, () => boardSummary(app.redis, [...redisKeys(app, scope), sum], []));
    if (found) return { participants: found[1], points: Number(found[2]), topScore: found[3] === '' ? null : Number(found[3]), final: false };
  }
  return { ...(await app.state(summaryBySql)(`${board} ${span} ${bucket}`, scope)), final: false };
}

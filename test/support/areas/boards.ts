import { randomUUID } from 'node:crypto';
import {
  appendPoints,
  applyToBoard,
  boardKeys,
  gameBoard,
  type LedgerEntry,
  openDay,
  raiseBests,
  refreshLater,
  type StandingRow,
} from '#areas/points';
import type { App } from '#platform/app.ts';
import { type Statement, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

const insertGame = statement('test_insert_game', `insert into games (id, version, definition) values ($1, 1, $2) on conflict (id) do nothing`);

/** A game in the registry. */
export async function createGame(app: App, id: string): Promise<void> {
  const definition = {
    name: id,
    category: 'test',
    normalization: { method: 'linear', min: 0, max: 10_000, direction: 'higher' },
    pointsPer10000: 100,
    caps: { dailyPoints: 1_000, minDurationMs: 0, maxDurationMs: 1_000_000 },
    verification: 'none',
  };
  await app.tx((tx) => tx.query(insertGame, [id, JSON.stringify(definition)]));
}

/** How a write reaches Redis: with the answer, as scores do, or by the refresh job. */
export type Way = 'apply' | 'refresh';

async function write(app: App, way: Way, work: (tx: Tx) => Promise<{ rows: StandingRow[]; day: number }>): Promise<number> {
  const { rows, day } = await app.tx(async (tx) => {
    const written = await work(tx);
    if (way === 'refresh') await refreshLater(tx, written.rows);
    return written;
  });
  if (way === 'apply') for (const board of new Set(rows.map((row) => row.board))) await applyToBoard(app, board, day, rows);
  return day;
}

/** Gives points, or takes them back. @returns the UTC day number that they belong to */
export function givePoints(app: App, entry: Pick<LedgerEntry, 'wallet' | 'points'> & Partial<LedgerEntry>, way: Way = 'apply'): Promise<number> {
  return write(app, way, async (tx) => {
    const open = await openDay(tx);
    const full = { mode: 'regular', kind: 'game', reason: 'test', source: 'test', sourceId: randomUUID(), rewards: true, ...entry } as const;
    return { rows: await appendPoints(tx, open, [full]), day: open.day };
  });
}

const insertScore = statement(
  'test_insert_score',
  `insert into scores (id, wallet, game_id, game_version, body_hash, score, normalized, points, personal_best, status, mode, day, at)
   values ($1, $2, $3, 1, '', $4::int, $4::int, 0, false, 'accepted', $5, $6, $7)`,
);

/** Records an accepted score. @returns the UTC day number that it belongs to */
export function scoreBest(
  app: App,
  score: { wallet: string; gameId: string; value: number; mode?: 'regular' | 'beta' },
  way: Way = 'apply',
): Promise<number> {
  const { wallet, gameId, value, mode = 'regular' } = score;
  return write(app, way, async (tx) => {
    const open = await openDay(tx);
    await tx.query(insertScore, [randomUUID(), wallet, gameId, value, mode, open.day, open.at.toISOString()]);
    return { rows: await raiseBests(tx, open.day, [{ board: gameBoard(gameId), mode, wallet, value }]), day: open.day };
  });
}

/** Runs a statement that only tests need. */
export function sql<Row>(app: App, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  const once: Statement<Row> = { text };
  return app.tx((tx) => tx.query(once, values));
}

/** Makes Redis forget all boards, or only that it has them complete. */
export async function loseBoards(app: App, what: 'all' | 'ready'): Promise<void> {
  const keys = await app.redis.keys(`*${app.config.redis.prefix}:board:*${what === 'ready' ? ':ready' : ''}`);
  if (keys.length > 0) await app.redis.unlink(...keys);
}

/** Whether Redis says that it has a board complete, and in which of its lives. */
export const readyOf = (app: App, board: string): Promise<string | null> => app.redis.get(boardKeys(app.config.redis.prefix, board).ready);

import { randomUUID } from 'node:crypto';
import {
  appendPoints,
  applyToBoard,
  type BoardStanding,
  boardKeys,
  gameBoard,
  LEDGER_CAUSES,
  type LedgerEntry,
  openDay,
  raiseBests,
  scheduleRefresh,
} from '#areas/points';
import { newId } from '#lib/ids.ts';
import { bucketOf, dayNumber, PERIODS } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { type Statement, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { asOwner } from '../database.ts';
import { deleteKeys } from '../redis-keys.ts';

const insertGame = statement('test_insert_game', `insert into games (id, version, definition) values ($1, 1, $2) on conflict (id) do nothing`);

/** Inserts a game into the registry. */
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

/** How a write reaches the boards in Redis: `apply` = after the commit, like a score; `refresh` = by the refresh job. */
export type BoardUpdate = 'apply' | 'refresh';

async function write(app: App, way: BoardUpdate, work: (tx: Tx) => Promise<{ rows: BoardStanding[]; day: number }>): Promise<number> {
  const { rows, day } = await app.tx(async (tx) => {
    const written = await work(tx);
    if (way === 'refresh') await scheduleRefresh(tx, written.rows);
    return written;
  });
  if (way === 'apply') for (const board of new Set(rows.map((row) => row.board))) await applyToBoard(app, board, day, rows);
  return day;
}

/** Grants points, or takes points back. Appends points of games with `areNew`, as the recording of scores does. @returns UTC day number of the entry */
export function givePoints(
  app: App,
  { kind = 'game', reason, ...entry }: Pick<LedgerEntry, 'wallet' | 'points'> & Partial<Pick<LedgerEntry, 'kind' | 'reason' | 'mode' | 'rewards'>>,
  way: BoardUpdate = 'apply',
): Promise<number> {
  return write(app, way, async (tx) => {
    const open = await openDay(tx);
    const cause = LEDGER_CAUSES.find((one) => one.kind === kind && (reason === undefined || one.reason === reason));
    if (!cause) throw new Error(`no ledger entry of the kind ${kind} has the reason ${reason}`);
    const full = { mode: 'regular', sourceId: randomUUID(), rewards: true, ...cause, ...entry } as const;
    return { rows: await appendPoints(tx, open, [full], { areNew: kind === 'game' }), day: open.day };
  });
}

const insertScore = statement(
  'test_insert_score',
  `insert into scores (id, wallet, game_id, game_version, body_hash, score, normalized, points, personal_best, status, mode, day, at)
   values ($1, $2, $3, 1, '', $4::int, $4::int, 0, false, 'accepted', $5, $6, $7)`,
);

/** Inserts an accepted score. @returns UTC day number of the score */
export function scoreBest(
  app: App,
  score: { wallet: string; gameId: string; value: number; mode?: 'regular' | 'beta' },
  way: BoardUpdate = 'apply',
): Promise<number> {
  const { wallet, gameId, value, mode = 'regular' } = score;
  return write(app, way, async (tx) => {
    const open = await openDay(tx);
    await tx.query(insertScore, [newId(), wallet, gameId, value, mode, open.day, open.at.toISOString()]);
    return { rows: await raiseBests(tx, open.day, [{ board: gameBoard(gameId), mode, wallet, value }]), day: open.day };
  });
}

/** Runs an SQL statement of a test in its own transaction, with the rights of the owner of the tables. */
export function sql<Row>(app: App, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  const once: Statement<Row> = { text };
  return asOwner(app, (tx) => tx.query(once, values));
}

/**
 * Inserts a play, two accepted scores and a rejected one of a player, with the tally and the standing of the wallet. The best score is the later one.
 * @param ids ids of the scores, then of the play
 */
export async function insertScores(app: App, given: { wallet: string; gameId: string; ids: readonly string[]; at: Date }): Promise<void> {
  const { wallet, gameId, ids, at } = given;
  const day = dayNumber(at);
  const begin = at.toISOString();
  await sql(app, `insert into plays (id, wallet, game_id, started_at) values ($1, $2, $3, $4)`, [ids[3], wallet, gameId, begin]);
  await sql(
    app,
    `insert into scores (id, idempotency_key, wallet, game_id, game_version, body_hash, score, normalized, points, personal_best, status, mode, day, at, decided_at, decided_by)
     select id, 'key-' || value, $2, $3, 1, '', 10 * value, value, case status when 'accepted' then 5 else 0 end, false, status, 'regular', $4,
       $5::timestamptz + value * interval '1 minute', case status when 'rejected' then $5::timestamptz end, case status when 'rejected' then 'test' end
     from unnest($1::uuid[], $6::int[], $7::text[]) s(id, value, status)`,
    [ids.slice(0, 3), wallet, gameId, day, begin, [50, 70, 90], ['accepted', 'accepted', 'rejected']],
  );
  await sql(app, `update players set tally = '{"regular":{"${gameId}":{"scores":2,"points":10}}}' where wallet = $1`, [wallet]);
  const spans = PERIODS.flatMap((period) => [`${bucketOf(period, day)} as ${period}`, `70 as ${period}_value`]).join(', ');
  const columns = PERIODS.flatMap((period) => [period, `${period}_value`]).join(', ');
  await sql(app, `insert into standings (board, mode, wallet, version, total, ${columns}) select 'game:${gameId}', 'regular', $1, 1, 70, ${spans}`, [
    wallet,
  ]);
}

/** Deletes all boards from Redis (`all`), or only the marks that they are complete (`ready`). */
export async function loseBoards(app: App, what: 'all' | 'ready'): Promise<void> {
  await deleteKeys(app.redis, `*${app.config.redis.prefix}:board:*${what === 'ready' ? ':complete' : ''}`);
}

/** Reads the run id under which a board was completed; null for an incomplete board. */
export const readRunId = (app: App, board: string): Promise<string | null> => app.redis.get(boardKeys(app.config.redis.prefix, board).ready);

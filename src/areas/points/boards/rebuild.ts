import { randomUUID } from 'node:crypto';
import { rebuildBoard as rebuildJob } from '#jobs/points.ts';
import { bucketOf, PERIODS } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { STANDING_COLUMNS, type StandingRow } from '../standings.ts';
import { applyToBoard, boardKeys } from './boards.ts';
import { knownBoards } from './list-boards.ts';
import { lifeOf } from './redis-run-id.ts';
import { beginRebuild, doubtBoard, finishRebuild } from './scripts.ts';

/** How many standings are read at once. Redis takes them in the order of their totals: neighbours in a sorted set are cheap to add. */
const CHUNK = 20_000;
/** How many standings one Redis call takes: a call keeps Redis from everybody else for as long as it lasts. */
const CALL = 200;

// The day is read after the rows, so that none of them is of a later day than the keys they are written to.
const selectChunk = statement<StandingRow & { today: number }>(
  'select_board_chunk',
  `select ${STANDING_COLUMNS}, (select app_day()) as today from standings s
   where s.board = $1 and s.mode = 'regular' and s.wallet > $2 order by s.wallet limit ${CHUNK}`,
);

const selectToday = statement<{ day: number }>('select_today', 'select app_day() as day');

/** The current UTC day number of the record. */
export async function today(app: App): Promise<number> {
  const row = (await app.db.query(selectToday))[0];
  if (!row) throw new Error('the database told no time');
  return row.day;
}

/**
 * Fills a board in Redis from its standings while scores go on: what is newer wins, whoever writes it. The board counts as
 * complete only if Redis lived through the whole of it. Does nothing when it is complete already.
 * @throws when Redis forgot the board meanwhile: to be tried again
 */
export async function rebuildBoard(app: App, board: string): Promise<void> {
  const started = performance.now();
  const keys = boardKeys(app.config.redis.prefix, board);
  const token = randomUUID();
  const day = await today(app);
  const parts = [keys.versions, keys.span('all', 0), ...PERIODS.map((period) => keys.span(period, bucketOf(period, day)))];
  const claim = [keys.ready, `${keys.ready}:rebuilding`];
  if ((await beginRebuild(app.redis, [...claim, ...parts], [token])) === 0) return;

  let wallets = 0;
  let next = app.db.query(selectChunk, [board, '']);
  for (;;) {
    const rows = await next;
    const last = rows.at(-1);
    if (!last) break;
    // The next chunk is read while Redis takes this one.
    next = app.db.query(selectChunk, [board, last.wallet]);
    next.catch(() => undefined);
    rows.sort((a, b) => a.total - b.total);
    for (let i = 0; i < rows.length; i += CALL) await applyToBoard(app, board, last.today, rows.slice(i, i + CALL));
    wallets += rows.length;
  }
  const outcome = await finishRebuild(app.redis, claim, [token]);
  if (outcome === 'lost') throw new Error(`Redis forgot the board ${board} during its rebuild`);
  // 'taken': another rebuild began later and owns the board now.
  if (outcome === 'done') app.log.info({ board, wallets, ms: Math.round(performance.now() - started) }, 'board is rebuilt');
}

/** Asks for rebuilds; those that wait or run already are not asked for twice. */
export async function ringRebuilds(app: App, boards: readonly string[]): Promise<void> {
  await app.queues.add(boards.map((board) => ({ job: rebuildJob, payload: { board } })));
}

/** Finds the boards that Redis lost, or kept from an earlier life, and has them rebuilt. */
export async function detectLostBoards(app: App): Promise<void> {
  const life = await lifeOf(app.redis);
  const boards = await knownBoards(app.db);
  const incomplete = await Promise.all(boards.map((board) => doubtBoard(app.redis, [boardKeys(app.config.redis.prefix, board).ready], [life])));
  const lost = boards.filter((_, i) => incomplete[i] === 1);
  if (lost.length > 0) await ringRebuilds(app, lost);
}

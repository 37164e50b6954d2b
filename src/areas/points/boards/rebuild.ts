import { randomUUID } from 'node:crypto';
import { rebuildBoard as rebuildJob } from '#jobs/points.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Progress } from '#platform/jobs/job.ts';
import { SHOWN_COLUMNS, type StandingRow } from '../standings.ts';
import { applyToBoard, boardKeys, spanKeys } from './boards.ts';
import { listBoards } from './list-boards.ts';
import { beginRebuild, checkBoard, finishRebuild } from './scripts.ts';

/**
 * Standings per database query. They are sorted by total before they are sent to Redis, because Redis inserts sorted entries into a sorted set
 * faster.
 */
const ROWS_PER_QUERY = 20_000;
/** Standings per Redis call. The number is small, because Redis serves no other client during a call. */
const ROWS_PER_CALL = 200;

// Reads the current day (`currentDay`) after the rows, so that no row has a later day. The Redis keys are chosen by this day.
const selectChunk = statement<StandingRow & { currentDay: number }>(
  'select_board_chunk',
  `select ${SHOWN_COLUMNS}, (select app_day()) as "currentDay" from standings s
   where s.board = $1 and s.mode = 'regular' and s.wallet > $2 order by s.wallet limit ${ROWS_PER_QUERY}`,
);

const countStandings = statement<{ wallets: number }>(
  'count_standings_of_board',
  `select count(*)::int as wallets from standings where board = $1 and mode = 'regular'`,
);

const selectToday = statement<{ day: number }>('select_today', 'select app_day() as day');

/** Returns the current UTC day number of the database. */
export async function readToday(app: App): Promise<number> {
  const row = (await app.db.query(selectToday))[0];
  if (!row) throw new Error('the statement select_today returned no row');
  return row.day;
}

/**
 * Fills a board in Redis from its standings, and marks the board as complete. Does nothing if the board is complete already. Scores may be recorded
 * during the rebuild: Redis keeps the newer version of each standing.
 * @throws when Redis lost the board during the rebuild, for example by a restart; the job that called this function then retries
 */
export async function rebuildBoard(app: App, board: string, progress: Progress = () => undefined): Promise<void> {
  const started = performance.now();
  const keys = boardKeys(app.config.redis.prefix, board);
  const token = randomUUID();
  const day = await readToday(app);
  const parts = [keys.versions, ...spanKeys(app.config.redis.prefix, board, day)];
  const claim = [keys.ready, `${keys.ready}:rebuilding`];
  if ((await beginRebuild(app.redis, [...claim, ...parts], [token])) === 0) return;

  let wallets = 0;
  const total = (await app.db.query(countStandings, [board]))[0]?.wallets ?? 0;
  let next = app.db.query(selectChunk, [board, '']);
  for (;;) {
    const rows = await next;
    const last = rows.at(-1);
    if (!last) break;
    // The database reads the next chunk while Redis stores this one.
    next = app.db.query(selectChunk, [board, last.wallet]);
    next.catch(() => undefined);
    rows.sort((a, b) => a.total - b.total);
    for (let i = 0; i < rows.length; i += ROWS_PER_CALL) await applyToBoard(app, board, last.currentDay, rows.slice(i, i + ROWS_PER_CALL));
    wallets += rows.length;
    // Standings that were added since the count can make it exceed the total.
    progress(Math.min(100, (100 * wallets) / Math.max(1, total)));
  }
  const outcome = await finishRebuild(app.redis, claim, [token]);
  if (outcome === 'lost') throw new Error(`Redis lost the board ${board} during its rebuild`);
  // Logs nothing for the outcome 'taken', because another rebuild owns or completed the board.
  if (outcome === 'done') app.log.info({ board, wallets, ms: Math.round(performance.now() - started) }, 'a board in Redis is rebuilt');
}

/** Enqueues rebuilds of boards. The queue deduplicates the jobs by board. */
export async function enqueueRebuilds(app: App, boards: readonly string[]): Promise<void> {
  await app.queues.add(boards.map((board) => ({ job: rebuildJob, payload: { board } })));
}

/**
 * Finds boards that are missing in Redis, or that were completed before their server last restarted, failed over or changed. Enqueues their rebuilds.
 */
export async function detectLostBoards(app: App): Promise<void> {
  const boards = await listBoards(app.db);
  const complete = await Promise.all(boards.map((board) => checkBoard(app.redis, [boardKeys(app.config.redis.prefix, board).ready])));
  const lost = boards.filter((_, i) => complete[i] === 0);
  if (lost.length > 0) await enqueueRebuilds(app, lost);
}

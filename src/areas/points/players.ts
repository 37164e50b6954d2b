import { sql } from 'kysely';
import { fail } from '#lib/errors.ts';
import { run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from './build.ts';
import type { Tally } from './earnings.ts';
import { isDetached } from './history/detach.ts';
import { recheckQuests } from './quest-checks.ts';
import { type Mode, STANDING_COLUMNS, type StandingRow } from './standings.ts';

const insertPlayer = statement('insert_player', 'insert into players (wallet) values ($1) on conflict do nothing');
// Locks the wallet's row in shared mode, so that a ban waits for this transaction and then sees every row that this transaction wrote.
const findPlayer = statement<{ banned: boolean }>(
  'find_player_to_join',
  'select banned_at is not null as banned from players where wallet = $1 for share',
);

/**
 * Creates the wallet's row if it is missing, and locks it until the transaction ends.
 * @returns whether the wallet is banned
 */
export async function ensurePlayer(tx: Tx, wallet: string): Promise<{ banned: boolean }> {
  await tx.query(insertPlayer, [wallet]);
  const [player] = await tx.query(findPlayer, [wallet]);
  if (!player) throw new Error('the row of a player is missing');
  return player;
}

/**
 * Locks the row of a wallet until the transaction ends, so that a ban waits for this transaction.
 * @returns whether the wallet is banned
 * @throws 404 when the wallet never signed in
 */
export async function requirePlayer(tx: Tx, wallet: string): Promise<{ banned: boolean }> {
  const [player] = await tx.query(findPlayer, [wallet]);
  if (!player) throw fail(404, 'the wallet has never signed in');
  return player;
}

/** Returns the mode that a wallet plays in; null for a wallet that never signed in. */
export async function readPlayerMode(db: Queryable, wallet: string): Promise<Mode | null> {
  return (await run(db, build.selectFrom('players').select('mode').where('wallet', '=', wallet)))[0]?.mode ?? null;
}

const otherMode = sql<Mode>`case mode when 'beta' then 'regular' else 'beta' end`;

/**
 * Changes the mode that a wallet plays in. Waits for scores of the wallet that are being recorded; these scores keep the old mode.
 * @param mode the mode to set; null switches to the other mode
 * @returns the new mode; null for a wallet that never signed in
 */
export async function choosePlayerMode(tx: Tx, wallet: string, mode: Mode | null): Promise<Mode | null> {
  const update = build
    .updateTable('players')
    .set({ mode: mode ?? otherMode })
    .where('wallet', '=', wallet);
  const [player] = await run(tx, update.returning('mode'));
  // Completions of quests are per mode, so a quest that the wallet completed in the other mode may be open in this mode.
  if (player) await recheckQuests(tx, [wallet]);
  return player?.mode ?? null;
}

/** A wallet's mode, tally, conversions, standings and adjustments, read in one snapshot. */
export interface PlayerPoints {
  mode: Mode;
  /** Time of the first sign-in, ms since 1970. */
  since: number;
  tally: Tally;
  /** Number of converted beta points, and number of regular points that the wallet received for them. */
  convertedBeta: number;
  convertedPoints: number;
  /** Standings on the requested boards, in both modes. */
  standings: StandingRow[];
  /** Points that operators gave (or took, if negative), by mode and UTC day number; those of a detached month on the first day of the month of their entry. */
  adjustments: { mode: Mode; day: number; points: number }[];
}

const selectPlayerPoints = statement<PlayerPoints>(
  'select_holder',
  // `offset 0` forces one index lookup per board and mode, even in a plan that PostgreSQL cached while the table was small.
  `select p.mode, (extract(epoch from p.created_at) * 1000)::float8 as since, p.tally, p.converted_beta::float8 as "convertedBeta",
          p.converted_points::float8 as "convertedPoints", (
     select coalesce(json_agg(s), '[]') from unnest($2::text[]) as k(board), unnest(array['regular', 'beta']) as m(mode), lateral (
       select ${STANDING_COLUMNS} from standings s where s.board = k.board and s.mode = m.mode and s.wallet = $1 offset 0) s) as standings, (
     select coalesce(json_agg(a), '[]') from (
       select mode, day, sum(points)::float8 as points from (
         select mode, day, points from ledger where wallet = $1 and kind = 'adjustment'
         union all select mode, make_date(paid_month / 12, paid_month % 12 + 1, 1) - date '1970-01-01', points from carried_points c
           where wallet = $1 and kind = 'adjustment' and ${isDetached('c.month')}) l
       group by mode, day) a) as adjustments
   from players p where p.wallet = $1`,
);

/**
 * Reads a wallet's points.
 * @param boards names of the boards whose standings are returned
 * @returns null for a wallet that never signed in
 */
export async function readPlayerPoints(db: Queryable, wallet: string, boards: readonly string[]): Promise<PlayerPoints | null> {
  return (await db.query(selectPlayerPoints, [wallet, boards]))[0] ?? null;
}

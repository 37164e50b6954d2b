import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Tally } from './earnings.ts';
import { type Mode, STANDING_COLUMNS, type StandingRow } from './standings.ts';

const insertPlayer = statement('insert_player', 'insert into players (wallet) values ($1) on conflict do nothing');
// Shared lock: a ban waits for this transaction, and so sees all that it did.
const findPlayer = statement<{ banned: boolean }>(
  'find_player_to_join',
  'select banned_at is not null as banned from players where wallet = $1 for share',
);

/**
 * Makes sure that a wallet has its row, and holds it until the transaction ends.
 * @returns whether the wallet is banned
 */
export async function ensurePlayer(tx: Tx, wallet: string): Promise<{ banned: boolean }> {
  await tx.query(insertPlayer, [wallet]);
  const [player] = await tx.query(findPlayer, [wallet]);
  if (!player) throw new Error('the row of a player is gone');
  return player;
}

const selectMode = statement<{ mode: Mode }>('select_player_mode', 'select mode from players where wallet = $1');

/** The mode that a wallet plays in; null for one that never signed in. */
export async function readPlayerMode(db: Queryable, wallet: string): Promise<Mode | null> {
  return (await db.query(selectMode, [wallet]))[0]?.mode ?? null;
}

const chooseMode = statement<{ mode: Mode }>(
  'choose_player_mode',
  `update players set mode = coalesce($2, case mode when 'beta' then 'regular' else 'beta' end) where wallet = $1 returning mode`,
);

/**
 * Has a wallet play in a mode, without one in the other than now. Whatever it is scoring is done first, wholly in the mode it began in.
 * @returns the mode from now on; null for a wallet that never signed in
 */
export async function choosePlayerMode(tx: Tx, wallet: string, mode: Mode | null): Promise<Mode | null> {
  return (await tx.query(chooseMode, [wallet, mode]))[0]?.mode ?? null;
}

/** All that is known of a wallet's points, as of one moment. */
export interface Holder {
  mode: Mode;
  /** When it first signed in, ms since 1970. */
  since: number;
  tally: Tally;
  /** Beta points that were converted, and the regular points that they became. */
  convertedBeta: number;
  convertedPoints: number;
  /** Its standings on the boards asked for, in either mode. */
  standings: StandingRow[];
}

const selectHolder = statement<Holder>(
  'select_holder',
  // One look into the index per board and mode.
  `select p.mode, (extract(epoch from p.created_at) * 1000)::float8 as since, p.tally, p.converted_beta::float8 as "convertedBeta",
          p.converted_points::float8 as "convertedPoints", (
     select coalesce(json_agg(s), '[]') from unnest($2::text[]) as k(board), unnest(array['regular', 'beta']) as m(mode), lateral (
       select ${STANDING_COLUMNS} from standings s where s.board = k.board and s.mode = m.mode and s.wallet = $1 offset 0) s) as standings
   from players p where p.wallet = $1`,
);

/** Reads a wallet's points; null for one that never signed in. @param boards whose standings are wanted */
export async function readHolder(db: Queryable, wallet: string, boards: readonly string[]): Promise<Holder | null> {
  return (await db.query(selectHolder, [wallet, boards]))[0] ?? null;
}

import { columnArrays } from '#platform/db/column-arrays.ts';
import { milliseconds, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { OpenDay } from './ledger.ts';
import type { Mode } from './standings.ts';

/** Number of a wallet's accepted scores, and the points from these scores, by mode and game. */
export type Tally = Partial<Record<Mode, Record<string, { scores: number; points: number }>>>;

/** A wallet's mode, its tally of all scores, and its points from games on `earnedDay`, the last day on which the wallet earned points. */
export interface Player {
  wallet: string;
  mode: Mode;
  banned: boolean;
  /** UTC day number on which `earned` and `earnedByGame` were earned. */
  earnedDay: number;
  /** Points earned on `earnedDay`: in all games together, and by game. */
  earned: number;
  earnedByGame: Record<string, number>;
  tally: Tally;
  /** Time of the last score that names a play, ms since 1970; null before it. */
  lastScoreAt: number | null;
  /** Time by which the plays of the wallet, up to that score, were longer than the time that passed, ms. */
  overlapMs: number;
}

const lock = statement<Player>(
  'lock_players',
  `select wallet, mode, banned_at is not null as banned, earned_day as "earnedDay", earned, earned_by_game as "earnedByGame", tally,
     ${milliseconds('last_score_at')} as "lastScoreAt", overlap_ms::float8 as "overlapMs"
   from players where wallet = any($1::text[]) order by wallet for no key update`,
);

/** Locks the rows of wallets, ordered by address, until the transaction ends. So only one transaction at a time changes the scores of a wallet. */
export async function lockPlayers(tx: Tx, wallets: readonly string[]): Promise<Map<string, Player>> {
  const rows = await tx.query(lock, [[...new Set(wallets)]]);
  return new Map(rows.map((row) => [row.wallet, row]));
}

/** Returns the entry of a game. Ignores inherited members, because the id of a game may be `constructor`. */
const ownEntry = <T>(byGame: Record<string, T>, gameId: string): T | undefined => (Object.hasOwn(byGame, gameId) ? byGame[gameId] : undefined);

/** Points of a player per UTC day: `game` in one game, `all` in all games together. */
export interface DailyPoints {
  game: number;
  all: number;
}

/**
 * Returns the points that the caps still allow a player to earn on a day. `game` is at most `all`.
 * @param caps the player's maximum points per day
 */
export function pointsLeft(player: Player, open: OpenDay, gameId: string, caps: DailyPoints): DailyPoints {
  const isToday = player.earnedDay >= open.day;
  const all = Math.max(0, caps.all - (isToday ? player.earned : 0));
  const game = Math.max(0, caps.game - ((isToday && ownEntry(player.earnedByGame, gameId)) || 0));
  return { game: Math.min(game, all), all };
}

/**
 * Grants points to a locked player and adds them to the player's earnings of the day.
 * @param points the points of the score before the daily caps are applied
 * @param caps the player's maximum points per day
 * @returns the part of `points` that both caps allow
 */
export function grantPoints(player: Player, open: OpenDay, gameId: string, points: number, caps: DailyPoints): number {
  const granted = Math.min(points, pointsLeft(player, open, gameId, caps).game);
  if (player.earnedDay < open.day) Object.assign(player, { earnedDay: open.day, earned: 0, earnedByGame: {} });
  player.earned += granted;
  player.earnedByGame[gameId] = (ownEntry(player.earnedByGame, gameId) ?? 0) + granted;
  return granted;
}

/**
 * Gives back to a locked player what a score took from the daily caps, if the score is of the last day on which the player earned points. The points
 * of earlier days are not stored, because their caps are no longer used.
 * @param day UTC day number on which the score counted
 */
export function returnPoints(player: Player, day: number, gameId: string, points: number): void {
  if (player.earnedDay !== day) return;
  const byGame = ownEntry(player.earnedByGame, gameId) ?? 0;
  const returned = Math.min(points, byGame, player.earned);
  player.earned -= returned;
  player.earnedByGame[gameId] = byGame - returned;
}

/** Takes returned points from a locked player's daily caps again, if the day of the score is the last day on which the player earned points. */
export function retakePoints(player: Player, day: number, gameId: string, points: number): void {
  if (player.earnedDay !== day) return;
  player.earned += points;
  player.earnedByGame[gameId] = (ownEntry(player.earnedByGame, gameId) ?? 0) + points;
}

/** Returns the number of a player's accepted scores in a game. */
export const scoresOf = ({ tally }: Player, mode: Mode, gameId: string): number => ownEntry(tally[mode] ?? {}, gameId)?.scores ?? 0;

/** Returns whether a player's tally has an entry for a game, which the first accepted score creates. */
export function hasTally({ tally }: Player, mode: Mode, gameId: string): boolean {
  return Object.hasOwn(tally[mode] ?? {}, gameId);
}

/** Adds scores and their points to a locked player's tally. `scores` and `points` are negative for voided scores. */
export function countScores({ tally }: Player, mode: Mode, gameId: string, scores: number, points: number): void {
  tally[mode] ??= {};
  const before = ownEntry(tally[mode], gameId);
  tally[mode][gameId] = { scores: (before?.scores ?? 0) + scores, points: (before?.points ?? 0) + points };
}

const save = statement(
  'save_earnings',
  `update players p set earned_day = e.day, earned = e.earned, earned_by_game = e.by_game, tally = e.tally,
     last_score_at = to_timestamp(e.last_score_ms / 1000), overlap_ms = e.overlap_ms
   from unnest($1::text[], $2::int[], $3::int[], $4::jsonb[], $5::jsonb[], $6::float8[], $7::int8[])
     as e(wallet, day, earned, by_game, tally, last_score_ms, overlap_ms) where p.wallet = e.wallet`,
);

const savedColumns = columnArrays<Player>(
  (p) => p.wallet,
  (p) => p.earnedDay,
  (p) => p.earned,
  (p) => JSON.stringify(p.earnedByGame),
  (p) => JSON.stringify(p.tally),
  (p) => p.lastScoreAt,
  (p) => Math.round(p.overlapMs),
);

/** Saves the earnings and tallies of locked players. */
export async function saveEarnings(tx: Tx, players: readonly Player[]): Promise<void> {
  if (players.length === 0) return;
  await tx.query(save, savedColumns(players));
}

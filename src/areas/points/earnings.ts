import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { OpenDay } from './ledger.ts';
import type { Mode } from './standings.ts';

/** What a wallet has from games, by mode and game: its accepted scores, and the points that they gave. */
export type Tally = Partial<Record<Mode, Record<string, { scores: number; points: number }>>>;

/** What a wallet has earned from games, also on the day that it last did, and in which mode it plays. */
export interface Player {
  wallet: string;
  mode: Mode;
  banned: boolean;
  /** The UTC day number of what follows. */
  earnedDay: number;
  /** Points earned on that day, over all games and by game. */
  earned: number;
  earnedByGame: Record<string, number>;
  tally: Tally;
}

const lock = statement<Player>(
  'lock_players',
  `select wallet, mode, banned_at is not null as banned, earned_day as "earnedDay", earned, earned_by_game as "earnedByGame", tally
   from players where wallet = any($1::text[]) order by wallet for no key update`,
);

/** Locks wallets, in key order, for the rest of the transaction: whatever a wallet scores happens one after the other. */
export async function lockPlayers(tx: Tx, wallets: readonly string[]): Promise<Map<string, Player>> {
  const rows = await tx.query(lock, [[...new Set(wallets)]]);
  return new Map(rows.map((row) => [row.wallet, row]));
}

/** Of a game that may be called `constructor`. */
const own = <T>(byGame: Record<string, T>, gameId: string): T | undefined => (Object.hasOwn(byGame, gameId) ? byGame[gameId] : undefined);

/** What of `points` a wallet may earn in a game today, within both of its daily caps; takes it off them. */
export function earn(player: Player, open: OpenDay, gameId: string, points: number, caps: { game: number; all: number }): number {
  if (player.earnedDay < open.day) Object.assign(player, { earnedDay: open.day, earned: 0, earnedByGame: {} });
  const byGame = own(player.earnedByGame, gameId) ?? 0;
  const granted = Math.max(0, Math.min(points, caps.game - byGame, caps.all - player.earned));
  player.earned += granted;
  player.earnedByGame[gameId] = byGame + granted;
  return granted;
}

/** Counts scores of a locked player, and the points that they gave; taken back, both are negative. */
export function countScores({ tally }: Player, mode: Mode, gameId: string, scores: number, points: number): void {
  tally[mode] ??= {};
  const before = own(tally[mode], gameId);
  tally[mode][gameId] = { scores: (before?.scores ?? 0) + scores, points: (before?.points ?? 0) + points };
}

const save = statement(
  'save_earnings',
  `update players p set earned_day = e.day, earned = e.earned, earned_by_game = e.by_game, tally = e.tally
   from unnest($1::text[], $2::int[], $3::int[], $4::jsonb[], $5::jsonb[]) as e(wallet, day, earned, by_game, tally) where p.wallet = e.wallet`,
);

/** Writes back what locked players have earned, and what was counted. */
export async function saveEarnings(tx: Tx, players: readonly Player[]): Promise<void> {
  if (players.length === 0) return;
  await tx.query(save, [
    players.map((p) => p.wallet),
    players.map((p) => p.earnedDay),
    players.map((p) => p.earned),
    players.map((p) => JSON.stringify(p.earnedByGame)),
    players.map((p) => JSON.stringify(p.tally)),
  ]);
}

import { statement } from '../../db/sql.ts';
import type { Tx } from '../../tx.ts';
import type { OpenDay } from './ledger.ts';
import type { Mode } from './standings.ts';

/** What a wallet has earned from games on the day that it last did, and in which mode it plays. */
export interface Player {
  wallet: string;
  mode: Mode;
  banned: boolean;
  /** The UTC day number of what follows. */
  earnedDay: number;
  /** Points earned on that day, over all games and by game. */
  earned: number;
  earnedByGame: Record<string, number>;
}

const lock = statement<Player>(
  'lock_players',
  `select wallet, mode, banned_at is not null as banned, earned_day as "earnedDay", earned, earned_by_game as "earnedByGame"
   from players where wallet = any($1::text[]) order by wallet for no key update`,
);

/** Locks wallets, in key order, for the rest of the transaction: whatever a wallet scores happens one after the other. */
export async function lockPlayers(tx: Tx, wallets: readonly string[]): Promise<Map<string, Player>> {
  const rows = await tx.query(lock, [[...new Set(wallets)]]);
  return new Map(rows.map((row) => [row.wallet, row]));
}

/** What of `points` a wallet may earn in a game today, within both of its daily caps; takes it off them. */
export function earn(player: Player, open: OpenDay, gameId: string, points: number, caps: { game: number; all: number }): number {
  if (player.earnedDay < open.day) Object.assign(player, { earnedDay: open.day, earned: 0, earnedByGame: {} });
  const byGame = player.earnedByGame[gameId] ?? 0;
  const granted = Math.max(0, Math.min(points, caps.game - byGame, caps.all - player.earned));
  player.earned += granted;
  player.earnedByGame[gameId] = byGame + granted;
  return granted;
}

const save = statement(
  'save_earnings',
  `update players p set earned_day = e.day, earned = e.earned, earned_by_game = e.by_game
   from unnest($1::text[], $2::int[], $3::int[], $4::jsonb[]) as e(wallet, day, earned, by_game) where p.wallet = e.wallet`,
);

/** Writes back what locked players have earned. */
export async function saveEarnings(tx: Tx, players: readonly Player[]): Promise<void> {
  if (players.length === 0) return;
  await tx.query(save, [
    players.map((p) => p.wallet),
    players.map((p) => p.earnedDay),
    players.map((p) => p.earned),
    players.map((p) => JSON.stringify(p.earnedByGame)),
  ]);
}

import { statement } from '../../db/sql.ts';
import type { Tx } from '../../tx.ts';
import type { OpenDay } from './ledger.ts';
import type { Mode } from './standings.ts';

/** What a wallet may still earn from games today, and in which mode it plays. */
export interface Player {
  wallet: string;
  mode: Mode;
  banned: boolean;
  /** Points earned today, over all games and by game. */
  earned: number;
  earnedByGame: Record<string, number>;
}

const lock = statement<{ wallet: string; mode: Mode; banned: boolean; earned_day: number; earned: number; earned_by_game: Record<string, number> }>(
  'lock_players',
  `select wallet, mode, banned_at is not null as banned, earned_day, earned, earned_by_game
   from players where wallet = any($1::text[]) order by wallet for no key update`,
);

/**
 * Locks wallets, in key order, for the rest of the transaction: whatever a wallet scores happens one after the other.
 * What it earned on an earlier day is forgotten.
 */
export async function lockPlayers(tx: Tx, open: OpenDay, wallets: readonly string[]): Promise<Map<string, Player>> {
  const rows = await tx.query(lock, [wallets]);
  return new Map(
    rows.map((row) => {
      const today = row.earned_day >= open.day;
      return [
        row.wallet,
        {
          wallet: row.wallet,
          mode: row.mode,
          banned: row.banned,
          earned: today ? row.earned : 0,
          earnedByGame: today ? row.earned_by_game : {},
        },
      ];
    }),
  );
}

/** What of `points` a wallet may earn in a game today, within both of its daily caps; takes it off them. */
export function earn(player: Player, gameId: string, points: number, caps: { game: number; all: number }): number {
  const byGame = player.earnedByGame[gameId] ?? 0;
  const granted = Math.max(0, Math.min(points, caps.game - byGame, caps.all - player.earned));
  player.earned += granted;
  player.earnedByGame[gameId] = byGame + granted;
  return granted;
}

const save = statement(
  'save_earnings',
  `update players p set earned_day = greatest(p.earned_day, $1::int), earned = e.earned, earned_by_game = e.by_game
   from unnest($2::text[], $3::int[], $4::jsonb[]) as e(wallet, earned, by_game) where p.wallet = e.wallet`,
);

/** Writes back what locked players have earned. */
export async function saveEarnings(tx: Tx, open: OpenDay, players: readonly Player[]): Promise<void> {
  if (players.length === 0) return;
  await tx.query(save, [open.day, players.map((p) => p.wallet), players.map((p) => p.earned), players.map((p) => JSON.stringify(p.earnedByGame))]);
}

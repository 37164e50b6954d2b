import { daysBefore, tomorrow } from '#lib/ids.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Game } from '../games/definition.ts';
import { endOfPlay } from './end-of-play.ts';

/** Returns the WebSocket URL for the heartbeats of a play. */
export function heartbeatUrl(publicUrl: URL, gameId: string, playId: string): string {
  const url = new URL(`/game/${gameId}/session?playId=${playId}`, publicUrl);
  url.protocol = publicUrl.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}

/** A play of the wallet that sends the request. */
interface OwnPlay {
  id: string;
  /** Start of the play, ms since 1970. */
  startedAt: number;
  ageMs: number;
  /** Whether a score names this play already. Only one score can name a play. */
  used: boolean;
  /** Whether the wallet started as many newer plays as the game allows at once. */
  ended: boolean;
}

const selectOwnPlay = statement<OwnPlay>(
  'select_own_play',
  `select p.id, extract(epoch from p.started_at)::float8 * 1000 as "startedAt", extract(epoch from app_now() - p.started_at)::float8 * 1000 as "ageMs",
          exists (select from score_plays s where s.play_id = p.id) as used, ${endOfPlay('p', '$4::int', '$5', '$6')} is not null as ended
   from plays p where p.id = $1 and p.wallet = $2 and p.game_id = $3`,
);

/** Finds a play by its id, wallet and game; null when no play matches all three. */
export async function findOwnPlay(db: Queryable, id: string, wallet: string, game: Game): Promise<OwnPlay | null> {
  return (await db.query(selectOwnPlay, [id, wallet, game.id, game.maxLivePlays, daysBefore(id, 1), tomorrow()]))[0] ?? null;
}

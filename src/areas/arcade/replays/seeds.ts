import { randomBytes } from 'node:crypto';
import type { HttpError } from '#lib/errors.ts';
import { daysBefore, newId, tomorrow } from '#lib/ids.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { idBetween, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Game } from '../games/definition.ts';

/** Maximum plays of a wallet and game within 24 hours that have a seed and no score, so that a wallet cannot look for a seed that suits it. */
export const MAX_UNFINISHED_SEEDS = 50;

interface Unfinished {
  count: number;
  readonly retryAfterSec: number | null;
}

/** SQL: conditions on the id of a play of the last 24 hours, so that PostgreSQL skips the partitions of other months. */
const isRecent = (id: string) => idBetween(id, '$3::uuid', '$4::uuid');

const selectUnfinished = statement<{ wallet: string; gameId: string; count: number; retryAfterSec: number | null }>(
  'select_unfinished_seeds',
  `select k.wallet, k.game_id as "gameId", r.count, r."retryAfterSec" from unnest($1::text[], $2::text[]) as k(wallet, game_id), lateral (
     select count(*)::int as count, ceil(extract(epoch from min(started_at) + interval '24 hours' - (select app_now())))::int as "retryAfterSec" from (
       select p.started_at from plays p
       where p.wallet = k.wallet and ${isRecent('p.id')}
         and p.started_at > (select app_now() - interval '24 hours') and p.game_id = k.game_id
         and exists (select from play_seeds where play_id = p.id) and (select s.play_id from score_plays s where s.play_id = p.id and ${isRecent('s.play_id')}) is null
       order by p.started_at desc limit ${MAX_UNFINISHED_SEEDS}) as recent) as r`,
);

/** A wallet and the game in which the wallet starts a play. */
interface Player {
  readonly wallet: string;
  readonly game: Game;
}

const keyOf = ({ wallet, game }: Player) => `${game.id} ${wallet}`;

/** The numbers of plays that have a seed and no score, by wallet and game. Draws the seeds of new plays and counts them. */
export class UnfinishedSeeds {
  readonly #counts: ReadonlyMap<string, Unfinished>;

  private constructor(counts: ReadonlyMap<string, Unfinished>) {
    this.#counts = counts;
  }

  /** Reads the numbers of some wallets in their games. Precondition: the transaction holds the locks of the wallets' plays. */
  static async read(tx: Tx, players: readonly Player[]): Promise<UnfinishedSeeds> {
    const seeded = [...new Map(players.filter(({ game }) => game.simulation !== undefined).map((player) => [keyOf(player), player])).values()];
    if (seeded.length === 0) return new UnfinishedSeeds(new Map());
    const rows = await tx.query(selectUnfinished, [
      seeded.map(({ wallet }) => wallet),
      seeded.map(({ game }) => game.id),
      daysBefore(newId(), 2),
      tomorrow(),
    ]);
    return new UnfinishedSeeds(new Map(rows.map(({ wallet, gameId, ...row }) => [`${gameId} ${wallet}`, row])));
  }

  /** Returns the seed of a new play; null in a game without a simulation; 'too-many' when the wallet has too many plays with a seed and no score. */
  draw(player: Player): Buffer | null | 'too-many' {
    if (player.game.simulation === undefined) return null;
    const own = this.#counts.get(keyOf(player));
    if (!own) throw new Error('the unfinished plays of a wallet in a game were not read');
    if (own.count >= MAX_UNFINISHED_SEEDS) return 'too-many';
    own.count += 1;
    return randomBytes(16);
  }

  /** Returns the time until the wallet may start another play of the game, seconds; null when none of its plays was read. */
  retryAfterSec(player: Player): number | null {
    return this.#counts.get(keyOf(player))?.retryAfterSec ?? null;
  }
}

export const tooManySeeds = (retryAfterSec: number | null): HttpError =>
  tooManyRequests(
    `this wallet started ${MAX_UNFINISHED_SEEDS} plays of this game in the last 24 hours that have no score: submit their scores, or wait`,
    {
      ...{ name: 'unfinished-plays-of-game', quota: MAX_UNFINISHED_SEEDS, windowMs: 86_400_000, waitMs: 1_000 * Math.max(1, retryAfterSec ?? 1) },
    },
  );

const insertSeeds = statement(
  'insert_play_seeds',
  `insert into play_seeds (play_id, simulation, seed) select * from unnest($1::uuid[], $2::bytea[], $3::bytea[])`,
);

/** Stores the seeds of new plays. Skips the plays without a seed. */
export async function storeSeeds(
  tx: Tx,
  plays: readonly { readonly playId: string; readonly game: Game; readonly seed: Buffer | null }[],
): Promise<void> {
  const seeded = plays.flatMap(({ playId, game: { simulation }, seed }) =>
    seed === null || simulation === undefined ? [] : [{ playId, simulation, seed }],
  );
  if (seeded.length === 0) return;
  await tx.query(insertSeeds, [
    seeded.map(({ playId }) => playId),
    seeded.map(({ simulation }) => Buffer.from(simulation, 'hex')),
    seeded.map(({ seed }) => seed),
  ]);
}

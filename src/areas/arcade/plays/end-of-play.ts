import { idBetween } from '#platform/db/sql.ts';

/**
 * SQL expression: the time at which a play ended, because its wallet had started as many newer plays of the game as the game allows at once; null for
 * a live play.
 * @param play alias of the play: a relation with the columns id, wallet, game_id and started_at
 * @param maxLivePlays SQL expression of `maxLivePlays` of the game
 * @param first parameter: the first UUID of the day before the play, or before the oldest of several plays, as `daysBefore` returns it
 * @param last parameter: the first UUID of tomorrow, as `tomorrow` returns it
 */
// The conditions on `newer.id` let PostgreSQL skip the partitions of other months. Ids of two processes differ from their times by less than a day.
export const endOfPlay = (play: string, maxLivePlays: string, first: string, last: string): string => `(
  select newer.started_at from plays newer
  where newer.wallet = ${play}.wallet and newer.game_id = ${play}.game_id and newer.started_at >= ${play}.started_at
    and ${idBetween('newer.id', `${first}::uuid`, `${last}::uuid`)}
    and (newer.started_at, newer.id) > (${play}.started_at, ${play}.id)
  order by newer.started_at offset ${maxLivePlays} - 1 limit 1)`;

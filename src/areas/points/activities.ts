import { statement } from '../../db/sql.ts';
import type { Tx } from '../../tx.ts';

export const ACTIVITY_KINDS = ['play', 'score', 'void', 'clip', 'burn', 'link', 'follow', 'repost', 'mention', 'bind'] as const;

/** Something that a wallet did. `kind` and `sourceId` are its unique cause. */
export interface Activity {
  kind: (typeof ACTIVITY_KINDS)[number];
  sourceId: string;
  wallet: string;
  gameId: string | null;
  /** What consumers may sum up: the normalized score of a score, the base units of a burn, 0 for a play. At most 2^63 - 1. */
  amount: number | bigint;
  /** The battle that a score names. */
  battleId?: string | null;
}

const insertActivities = statement(
  'insert_activities',
  `insert into activities (kind, source_id, wallet, game_id, amount, battle_id, day, at)
   select a.kind, a.source_id, a.wallet, a.game_id, a.amount, a.battle_id, (select app_day()), (select app_now())
   from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::uuid[]) as a(kind, source_id, wallet, game_id, amount, battle_id)
   on conflict do nothing`,
);

/** Appends activities in the transaction of what caused them; a cause that is there already is left alone. */
export async function appendActivities(tx: Tx, activities: readonly Activity[]): Promise<void> {
  if (activities.length === 0) return;
  await tx.query(insertActivities, [
    activities.map((a) => a.kind),
    activities.map((a) => a.sourceId),
    activities.map((a) => a.wallet),
    activities.map((a) => a.gameId),
    activities.map((a) => a.amount),
    activities.map((a) => a.battleId ?? null),
  ]);
}

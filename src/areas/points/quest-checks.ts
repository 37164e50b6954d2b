import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** A request to evaluate quests for a wallet. */
export interface QuestCheck {
  readonly wallet: string;
  /** Id of the quest; empty for all quests that the service completes without a request of the wallet. */
  readonly questId: string;
  /** UTC day number whose windows are evaluated. */
  readonly day: number;
  /** Time at which the requirement may have been met, ms since 1970. */
  readonly at: number;
}

// Updates an existing row, which locks the row. So a worker that evaluates the row either sees the changes of this transaction, or deletes the row
// before this statement inserts it again.
const insertChecks = statement(
  'insert_quest_checks',
  `insert into quest_checks as c (wallet, quest_id, day, first_at, last_at)
   select wallet, quest_id, day, to_timestamp(min(at) / 1000), to_timestamp(max(at) / 1000)
   from unnest($1::text[], $2::text[], $3::int[], $4::float8[]) as k(wallet, quest_id, day, at) group by 1, 2, 3 order by 1, 2, 3
   on conflict (wallet, quest_id, day) do update
   set first_at = least(c.first_at, excluded.first_at), last_at = greatest(c.last_at, excluded.last_at)`,
);

/** Asks the quest area to evaluate quests for wallets, normally within about a second after the commit. */
export async function requestQuestChecks(tx: Tx, checks: readonly QuestCheck[]): Promise<void> {
  if (checks.length === 0) return;
  await tx.query(insertChecks, [
    checks.map(({ wallet }) => wallet),
    checks.map(({ questId }) => questId),
    checks.map(({ day }) => day),
    checks.map(({ at }) => at),
  ]);
}

const insertNow = statement(
  'insert_quest_checks_of_wallets',
  `insert into quest_checks as c (wallet, quest_id, day, first_at, last_at)
   select wallet, '', app_day(), app_now(), app_now() from unnest($1::text[]) as k(wallet) order by 1
   on conflict (wallet, quest_id, day) do update set last_at = excluded.last_at`,
);

/**
 * Asks the quest area to evaluate all quests for wallets, because their state changed without an activity: another mode, a new link, a repeated
 * follow, the end of a ban.
 */
export async function recheckQuests(tx: Tx, wallets: readonly string[]): Promise<void> {
  if (wallets.length > 0) await tx.query(insertNow, [wallets]);
}

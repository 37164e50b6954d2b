import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** Maximum messages that one call deletes. */
const MAX_BATCH_SIZE = 2_000;
const purge = statement<{ count: number }>(
  'purge_chat_messages',
  `with deleted as (
     delete from chat_messages where seq = any(array(
       select seq from chat_messages where entry is null and at <= (select app_now()) - make_interval(days => $1::int)
       order by at limit ${MAX_BATCH_SIZE} for update skip locked)) returning 1)
   select count(*)::int as count from deleted`,
);

/**
 * Deletes a batch of messages that are older than `days`. Keeps the messages that made entries of rounds, because they are evidence about prizes.
 * @param days 0 keeps all messages
 * @returns whether more rows may be left
 */
export async function purgeChat(tx: Tx, days: number): Promise<boolean> {
  if (days === 0) return false;
  return ((await tx.query(purge, [days]))[0]?.count ?? 0) === MAX_BATCH_SIZE;
}

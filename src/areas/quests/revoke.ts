import { type OpenDay, type Operation, revokeEntries, type StoredEntry } from '#areas/points';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { QuestCompletionsTable } from './entities.ts';

const build = queryBuilder([QuestCompletionsTable]);

/**
 * Takes the points of a completion back. The completion stays, with 0 points, so the wallet cannot complete the quest in this window again.
 * @param entry the ledger entry of the completion
 * @throws 409 when the completion is revoked already
 */
export async function revokeCompletion(tx: Tx, open: OpenDay, entry: StoredEntry, operation: Operation): Promise<void> {
  await revokeEntries(tx, open, [entry], operation);
  const [questId = '', windowKey = ''] = entry.sourceId.split(':');
  const completion = build.updateTable('quest_completions').set({ points: 0 }).where('wallet', '=', entry.wallet).where('mode', '=', entry.mode);
  await run(tx, completion.where('window_key', '=', windowKey).where('quest_id', '=', questId));
}

import {
  appendAdjustment,
  ledgerId,
  type Operation,
  openDay,
  REVOKE,
  readLedgerEntry,
  requirePlayer,
  revokeEntries,
  type StoredEntry,
} from '#areas/points';
import { revokeConversion } from '#areas/profile';
import { revokeCompletion } from '#areas/quests';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { Tx } from '#platform/db/transaction.ts';

/**
 * Gives points to a wallet, or takes points from it if `points` is negative.
 * @throws 404 when the wallet never signed in; 409 when a banned wallet would get points
 */
export async function adjustPoints(
  tx: Tx,
  wallet: string,
  { points, mode, rewards }: { points: number; mode: 'regular' | 'beta'; rewards: boolean },
  operation: Operation,
): Promise<StoredEntry> {
  const open = await openDay(tx);
  if ((await requirePlayer(tx, wallet)).banned && points > 0) throw fail(409, 'wallet must not be banned');
  return await readLedgerEntry(tx, await appendAdjustment(tx, open, newId(), { wallet, points, mode, rewards, ...operation }));
}

/**
 * Compensates a ledger entry of a quest, a conversion or an adjustment, once.
 * @param id the id of the ledger entry
 * @returns the compensating entry
 * @throws 404 when there is no such entry; 409 when the entry is revoked already or cannot be revoked
 */
export async function revokeEntry(tx: Tx, id: string, operation: Operation): Promise<StoredEntry> {
  const open = await openDay(tx);
  const entry = await readLedgerEntry(tx, id);
  if (entry.reason === REVOKE) throw fail(409, 'a compensating entry cannot be revoked');
  if (entry.source === 'ban') throw fail(409, 'the entry is undone when the ban that it names begins or ends');
  if (entry.source === 'quest' && entry.reason !== 'quest') throw fail(409, 'only the entry that gave the points of a completion can be revoked');
  if (entry.source === 'quest') await revokeCompletion(tx, open, entry, operation);
  else if (entry.source === 'conversion') await revokeConversion(tx, open, entry, operation);
  else if (entry.source === 'adjustment') {
    if ((await requirePlayer(tx, entry.wallet)).banned && entry.points < 0) throw fail(409, 'wallet must not be banned');
    await revokeEntries(tx, open, [entry], operation);
  } else throw fail(409, `the points of a score are taken back when the score is voided: POST /admin/scores/${entry.sourceId}/void`);
  return await readLedgerEntry(tx, ledgerId({ ...entry, reason: REVOKE }));
}

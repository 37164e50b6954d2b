import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { BANS_DIFFER } from './bans.ts';
import { applyBans } from './exclusions.ts';
import { isRootSigned, MAY_CHANGE } from './openness.ts';
import { markChanged } from './review.ts';
import { submitReviewed } from './submit.ts';

/** Maximum epochs to which one sweep applies bans. */
const MAX_EPOCHS = 10;

const selectDifferent = statement<{ epoch: number }>(
  'select_epochs_to_apply_bans',
  `select epoch from epochs e where e.state in ('computed', 'empty') and ${MAY_CHANGE} and ${BANS_DIFFER} order by epoch limit ${MAX_EPOCHS}`,
);
const lockUnlocked = statement<{ allocation: number }>(
  'lock_epoch_to_apply_bans',
  `select allocation from epochs e where epoch = $1 and ${MAY_CHANGE} for update of e skip locked`,
);

/**
 * Applies the present bans to the epochs whose root was not signed, and submits the roots of epochs whose review is over. Skips epochs that another
 * worker has locked.
 */
export async function sweepReviews(tx: Tx): Promise<void> {
  for (const { epoch } of await tx.query(selectDifferent)) {
    const locked = (await tx.query(lockUnlocked, [epoch]))[0];
    if (!locked || (await isRootSigned(tx, epoch))) continue;
    if ((await applyBans(tx, epoch, locked.allocation + 1)) > 0) await markChanged(tx, epoch);
  }
  await submitReviewed(tx, null);
}

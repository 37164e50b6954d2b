import { computeEpoch } from '#jobs/epochs.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { readRules } from '../config.ts';
import { sweepReviews } from '../review/sweep.ts';
import { IS_DAY_CLOSED } from './compute.ts';
import { createEpochs, currentDay, readEpoch } from './epochs.ts';

/** Maximum epochs that one sweep creates, and maximum computations that one sweep enqueues. */
const MAX_PER_SWEEP = 10;

const selectClosed = statement<{ closed: boolean }>('select_epoch_closed', `select ${IS_DAY_CLOSED} as closed from epochs e where e.epoch = $1`);

/**
 * Creates an epoch, if it does not exist, and enqueues the computation of the epoch from the points of its day.
 * @param requested number of the epoch; by default the latest day that has ended
 * @returns `begun`: whether this call created the epoch; `closed`: whether the points of its day are final, so that the job can compute it at once
 * @throws 400 when the day has not ended; 409 when the epoch was imported
 */
export async function triggerEpoch(tx: Tx, requested: number | undefined): Promise<{ epoch: number; begun: boolean; closed: boolean }> {
  const today = await currentDay(tx);
  const epoch = requested ?? today - 1;
  if (epoch >= today) throw fail(400, 'epoch must be a day that has ended');
  const created = (await createEpochs(tx, [epoch], 'computed')).length > 0;
  // An epoch in a state other than `computing` is not computed again, because the points of a closed day never change.
  const existing = created ? null : await readEpoch(tx, epoch);
  if (existing?.source === 'import') throw fail(409, `epoch ${epoch} was imported, so it cannot be computed from points`);
  if (created || existing?.status === 'computing') tx.enqueue(computeEpoch, { epoch });
  return { epoch, begun: created, closed: (await tx.query(selectClosed, [epoch]))[0]?.closed ?? false };
}

const selectDue = statement<{ epoch: number }>(
  'select_due_epochs',
  `select c.bucket as epoch from closed_periods c
   where c.period = 'day' and not exists (select from epochs e where e.epoch = c.bucket) order by c.bucket limit ${MAX_PER_SWEEP}`,
);

const selectUnfinished = statement<{ epoch: number }>(
  'select_unfinished_epochs',
  `select epoch from epochs where state = 'computing' or state in ('computed', 'empty') and exclusions_changed_at is not null
   order by state = 'computing', epoch limit ${MAX_PER_SWEEP}`,
);

/**
 * Creates the epochs of closed days, oldest day first, and looks after the reviews. Also enqueues the computation of epochs that are in the state
 * `computing` or whose exclusions changed, because their earlier job may be lost.
 */
export async function sweepEpochs(app: App): Promise<void> {
  await app.tx(async (tx) => {
    if ((await readRules(tx)).rules.automatic) {
      const due = await tx.query(selectDue);
      if (due.length > 0) {
        await createEpochs(
          tx,
          due.map(({ epoch }) => epoch),
          'computed',
        );
      }
    }
    await sweepReviews(tx);
    for (const { epoch } of await tx.query(selectUnfinished)) tx.enqueue(computeEpoch, { epoch });
  });
}

import { computeEpoch } from '#jobs/epochs.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { readRules } from '../config.ts';
import { IS_DAY_CLOSED } from './compute.ts';
import { createEpochs, currentDay, readEpoch } from './epochs.ts';

/** Maximum epochs per sweep. */
const MAX_PER_SWEEP = 10;

const selectClosed = statement<{ closed: boolean }>('select_epoch_closed', `select ${IS_DAY_CLOSED} as closed from epochs e where e.epoch = $1`);

/**
 * Creates an epoch, if it does not exist, and enqueues its computation from the points of its day.
 * @param requested the epoch; by default the latest ended day
 * @returns `begun`: whether this call created the epoch; `closed`: whether its day is closed, so that it is computed at once
 * @throws 400 when the day has not ended; 409 when the epoch was imported
 */
export async function triggerEpoch(tx: Tx, requested: number | undefined): Promise<{ epoch: number; begun: boolean; closed: boolean }> {
  const today = await currentDay(tx);
  const epoch = requested ?? today - 1;
  if (epoch >= today) throw fail(400, 'epoch must be a day that has ended');
  const created = (await createEpochs(tx, [epoch], 'computed')).length > 0;
  // A computed epoch is not computed again, because the points of a closed day never change.
  const existing = created ? null : await readEpoch(tx, epoch);
  if (existing?.source === 'import') throw fail(409, `epoch ${epoch} was imported`);
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
  `select epoch from epochs where state = 'computing' order by epoch limit ${MAX_PER_SWEEP}`,
);

/**
 * Creates the epochs of closed days, oldest first, at most `MAX_PER_SWEEP`. Enqueues the computation of all epochs in the
 * state `computing` again, in case a job was lost.
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
    for (const { epoch } of await tx.query(selectUnfinished)) tx.enqueue(computeEpoch, { epoch });
  });
}

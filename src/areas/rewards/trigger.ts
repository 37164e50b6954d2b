import { computeEpoch } from '#jobs/epochs.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { CLOSED } from './compute.ts';
import { readRules } from './config.ts';
import { beginEpochs, readEpoch, runningDay } from './epochs.ts';

/** Days that one sweep begins; the next goes on. */
const MOST_BEGUN = 10;

const selectClosed = statement<{ closed: boolean }>('select_epoch_closed', `select ${CLOSED} as closed from epochs e where e.epoch = $1`);

/**
 * Has an epoch computed from the points of its day.
 * @param asked by default the last day that has ended
 * @returns the epoch, whether it was begun by this, and whether its day is closed, so that it is computed at once
 * @throws 400 a day that has not ended; 409 an epoch that was imported
 */
export async function triggerEpoch(tx: Tx, asked: number | undefined): Promise<{ epoch: number; begun: boolean; closed: boolean }> {
  const today = await runningDay(tx);
  const epoch = asked ?? today - 1;
  if (epoch >= today) throw fail(400, 'epoch must be a day that has ended');
  const begun = (await beginEpochs(tx, [epoch], 'computed')).length > 0;
  // A day's points never change once it is closed: what was computed of them is what would be computed again.
  const known = begun ? null : await readEpoch(tx, epoch);
  if (known?.source === 'import') throw fail(409, `epoch ${epoch} was imported`);
  if (begun || known?.status === 'computing') tx.enqueue(computeEpoch, { epoch });
  return { epoch, begun, closed: (await tx.query(selectClosed, [epoch]))[0]?.closed ?? false };
}

const selectDue = statement<{ epoch: number }>(
  'select_due_epochs',
  `select c.bucket as epoch from closed_periods c
   where c.period = 'day' and not exists (select from epochs e where e.epoch = c.bucket) order by c.bucket limit ${MOST_BEGUN}`,
);
const selectUnfinished = statement<{ epoch: number }>(
  'select_unfinished_epochs',
  `select epoch from epochs where state = 'computing' order by epoch limit ${MOST_BEGUN}`,
);

/**
 * Begins the epochs of closed days, oldest first, a bounded number, and rings for those that are not finished: days that
 * passed while nothing ran, and work whose bell was lost.
 */
export async function sweepEpochs(app: App): Promise<void> {
  await app.tx(async (tx) => {
    if ((await readRules(tx)).rules.automatic) {
      const due = await tx.query(selectDue);
      if (due.length > 0) {
        await beginEpochs(
          tx,
          due.map(({ epoch }) => epoch),
          'computed',
        );
      }
    }
    for (const { epoch } of await tx.query(selectUnfinished)) tx.enqueue(computeEpoch, { epoch });
  });
}

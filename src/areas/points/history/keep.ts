import { bucketOf } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { makePartitions } from '#platform/db/partitions.ts';
import { statement } from '#platform/db/sql.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { countClosedMonths, sealNextMonth } from './close.ts';
import { detachNext, exportNext } from './detach.ts';
import { LIMITS, type Limits } from './limits.ts';

const purgeScoreKeys = statement<{ purged: number }>('purge_score_keys', 'select purge_score_keys($1) as purged');
/** Maximum idempotency keys of scores that one transaction deletes. */
const KEYS_PER_BATCH = 10_000;
const readToday = statement<{ today: number }>('read_day', 'select app_day() as today');

/**
 * Makes the partitions of the next months, closes the months that ended long ago, and exports and detaches the months that are older than
 * `HISTORY_MONTHS`. A killed run loses nothing: the next run continues from the rows of `closed_partitions` and `history_files`.
 */
export async function keepHistory(app: App, limits: Limits = LIMITS): Promise<void> {
  const end = performance.now() + limits.runMs;
  const isTimeUp = () => performance.now() > end;
  await app.tx(makePartitions);
  await sealNextMonth(app, limits.closesWhenShifted);
  await countClosedMonths(app, limits.sliceBlocks, isTimeUp);
  const { historyMonths } = app.config;
  const [day] = await app.db.query(readToday);
  if (historyMonths === 0 || !day) return;
  const until = bucketOf('month', day.today) - historyMonths;
  while (!isTimeUp()) if (!(await exportNext(app, until, limits.fileBlocks, isTimeUp))) break;
  // Deletes the keys before the scores are detached, because a key whose score is not in the table makes the insertion of a repeated score fail, and with it
  // the scores of other wallets in the same batch.
  for (let purged = KEYS_PER_BATCH; purged === KEYS_PER_BATCH; ) {
    if (isTimeUp()) return;
    purged = (await app.tx((tx) => tx.query(purgeScoreKeys, [KEYS_PER_BATCH])))[0]?.purged ?? 0;
  }
  try {
    while (!isTimeUp()) if (!(await detachNext(app, until))) break;
  } catch (err) {
    if (!isUnavailable(err)) throw err;
    app.log.info({ err }, 'a month could not be detached, because its tables are in use; the next run tries again');
  }
}

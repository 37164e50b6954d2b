import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { freeLeased, leaseCarried } from '../carry.ts';
import { outflowLeft, SOL } from '../outflows.ts';
import { selectPauseOfType } from '../pauses.ts';
import type { TransactionRow } from '../rows.ts';
import { hasSeveralLive, selectLive } from '../siblings.ts';
import type { TransactionType } from '../transaction-type.ts';
import { signAttempt } from './attempt.ts';
import { MINIMUM_FEE, recentBlockhash } from './fees.ts';

/** Delay before a further attempt is considered again after none was signed, ms. */
const RETRY_MS = 2_000;

const postponeFurther = statement(
  'postpone_further_attempt',
  `update chain_transactions set next_at = app_now() + make_interval(secs => $3::float8 / 1000) where id = $1 and state = 'live' and attempts = $2`,
);

/**
 * Signs a further attempt with a higher fee for a transaction whose live attempts have not landed. Whatever composing finds out changes nothing else:
 * the live attempts decide about the transaction. Does nothing while the price of recent slots does not call for a higher fee than the live attempts
 * have, or while the transaction has its maximum number of live attempts.
 */
export async function signFurther(app: App, type: TransactionType, row: TransactionRow): Promise<void> {
  let isSent = false;
  try {
    isSent = await trySign(app, type, row);
  } catch (err) {
    app.log.warn({ err, type: type.name, subject: row.subject }, 'a further attempt of a transaction could not be signed; the live attempts stay');
  }
  if (!isSent) await app.tx((tx) => tx.query(postponeFurther, [row.id, row.attempts, RETRY_MS]));
}

async function trySign(app: App, type: TransactionType, row: TransactionRow): Promise<boolean> {
  if (!hasSeveralLive(type) || (await app.db.query(selectPauseOfType, [type.scope, type.name])).length > 0) return false;
  const live = await app.db.query(selectLive, [[row.id]]);
  const [newest] = live;
  if (newest === undefined || live.length >= (type.maxLive ?? 1)) return false;
  // Checked here too, because two polls may enqueue the signing of the same attempt.
  if ((await recentBlockhash(app)).slot - newest.signed_slot < app.config.chain.submission.raiseSlots) return false;
  // While the limit of SOL is reached, nothing is composed, as for a queued transaction.
  if ((await outflowLeft(app, SOL, row.priority)) < MINIMUM_FEE) return false;
  const claimed = await leaseCarried(app, [...new Set(live.flatMap(({ carried }) => carried))]);
  try {
    const composed = await type.compose(app, row.subject, claimed);
    return composed.do === 'sign' && (await signAttempt(app, type, row, composed, live)).is === 'sent';
  } finally {
    if (claimed !== null) await freeLeased(app, claimed);
  }
}

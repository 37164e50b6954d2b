import { expireAuth } from '#areas/auth';
import { expireSocial } from '#areas/social';
import type { purgeExpired as job } from '#jobs/maintenance.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { expireOutbox } from '#platform/events/outbox.ts';
import { expireIdempotencyKeys } from '#platform/http/idempotency.ts';
import { expireDeliveries } from '#platform/webhooks/inbox.ts';
import { PROCESSED_SOURCES } from '#platform/webhooks/jobs.ts';
import type { Handler } from './handler.ts';

/** Batches of one kind in one run; what is left waits for the next. */
const MOST_BATCHES = 50;

/** Removes what has had its time, in transactions of bounded size. */
export const purgeExpired: Handler<typeof job> = async (app) => {
  await repeat(app, async (tx) => (await expireAuth(tx)).more);
  await repeat(app, expireOutbox);
  await repeat(app, expireIdempotencyKeys);
  await repeat(app, expireSocial);
  for (const source of PROCESSED_SOURCES) await repeat(app, (tx) => expireDeliveries(tx, source));
};

/** @param batch removes a bounded number of rows; returns whether there may be more */
async function repeat(app: App, batch: (tx: Tx) => Promise<boolean>): Promise<void> {
  for (let i = 0; i < MOST_BATCHES; i++) if (!(await app.tx(batch))) return;
}

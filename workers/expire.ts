import type { expire as job } from '../jobs/upkeep.ts';
import { WORKED_SOURCES } from '../jobs/webhooks.ts';
import { expireAuth } from '../src/areas/auth/auth.ts';
import { expireSocial } from '../src/areas/social/social.ts';
import type { App } from '../src/context.ts';
import { expireOutbox } from '../src/events/outbox.ts';
import { expireDeliveries } from '../src/http/deliveries.ts';
import { expireIdempotencyKeys } from '../src/http/idempotency.ts';
import type { Tx } from '../src/tx.ts';
import type { Handler } from './handler.ts';

/** Batches of one kind in one run; what is left waits for the next. */
const MOST_BATCHES = 50;

/** Removes what has had its time, in transactions of bounded size. */
export const expire: Handler<typeof job> = async (app) => {
  await repeat(app, async (tx) => (await expireAuth(tx)).more);
  await repeat(app, expireOutbox);
  await repeat(app, expireIdempotencyKeys);
  await repeat(app, expireSocial);
  for (const source of WORKED_SOURCES) await repeat(app, (tx) => expireDeliveries(tx, source));
};

/** @param batch removes a bounded number of rows; returns whether there may be more */
async function repeat(app: App, batch: (tx: Tx) => Promise<boolean>): Promise<void> {
  for (let i = 0; i < MOST_BATCHES; i++) if (!(await app.tx(batch))) return;
}

import type { expire as job } from '../jobs/upkeep.ts';
import { expireAuth } from '../src/areas/auth/auth.ts';
import { expireOutbox } from '../src/events/outbox.ts';
import { expireIdempotencyKeys } from '../src/http/idempotency.ts';
import type { Handler } from './handler.ts';

/** Removes what has had its time, each kind in a transaction of its own. */
export const expire: Handler<typeof job> = async (app) => {
  await app.tx(expireAuth);
  await app.tx(expireOutbox);
  await app.tx(expireIdempotencyKeys);
};

import { purgeReplays } from '#areas/arcade';
import { purgeExpiredAuth } from '#areas/auth';
import { purgeChat } from '#areas/chat';
import { purgeExpiredSocial } from '#areas/social';
import type { purgeExpired as job } from '#jobs/maintenance.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { purgeOutbox } from '#platform/events/outbox.ts';
import { purgeIdempotencyKeys } from '#platform/http/idempotency.ts';
import { purgeAttemptBytes } from '#platform/solana/submission/index.ts';
import { WEBHOOK_SOURCES } from '#platform/webhooks/config.ts';
import { purgeDeliveries } from '#platform/webhooks/inbox.ts';
import type { Handler } from './handler.ts';

/** Maximum batches per kind of row in one run. The next run deletes the rest. */
const MAX_BATCHES = 50;

/** Deletes expired rows in transactions of bounded size. */
export const purgeExpired: Handler<typeof job> = async (app) => {
  await repeat(app, async (tx) => (await purgeExpiredAuth(tx)).more);
  await repeat(app, purgeOutbox);
  await repeat(app, purgeAttemptBytes);
  await repeat(app, purgeIdempotencyKeys);
  await repeat(app, purgeExpiredSocial);
  await repeat(app, (tx) => purgeReplays(tx, app.config.replayDays));
  await repeat(app, (tx) => purgeChat(tx, app.config.chat.days));
  for (const source of WEBHOOK_SOURCES) await repeat(app, (tx) => purgeDeliveries(tx, source));
};

/**
 * Deletes batches until no expired row is left, at most MAX_BATCHES.
 * @param batch deletes a bounded number of rows; returns whether more rows may be left
 */
async function repeat(app: App, batch: (tx: Tx) => Promise<boolean>): Promise<void> {
  for (let i = 0; i < MAX_BATCHES; i++) if (!(await app.tx(batch))) return;
}

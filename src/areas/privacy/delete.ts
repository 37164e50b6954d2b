import { sql } from 'kysely';
import { forgetAppealsOf } from '#areas/appeals';
import { deleteSavedStates, eraseRecordsOf } from '#areas/arcade';
import { endSessionsUntil } from '#areas/auth';
import { chatModeration, forgetMessagesOf } from '#areas/chat';
import { removeClipsOf } from '#areas/clips';
import { unlinkAll } from '#areas/social';
import { chooseName } from '#areas/wallets';
import { deleteAccounts } from '#jobs/maintenance.ts';
import type { App } from '#platform/app.ts';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { privacyTables } from './entities.ts';

/** Maximum rows that one transaction changes, and maximum accounts that one run of the job deletes. */
const CHUNK_SIZE = 200;
const MAX_ACCOUNTS = 20;
const CAUSE = { by: 'owner', reason: 'the wallet deleted its account' } as const;

const build = queryBuilder(privacyTables);

const insertRequest = statement<{ requestedAt: string }>(
  'insert_account_deletion',
  `insert into account_deletions (wallet, requested_at) values ($1, app_now())
   on conflict (wallet) do update set requested_at = excluded.requested_at, completed_at = null
   returning requested_at::text as "requestedAt"`,
);
const deleteNotifications = statement('delete_notifications', 'delete from notifications where wallet = $1');

/**
 * Requests the deletion of a wallet's account. Deletes at once the data of which a wallet has few rows: names, linked accounts, saved states, notifications. A job
 * deletes the rest.
 */
export async function requestDeletion(tx: Tx, wallet: string): Promise<void> {
  await tx.query(insertRequest, [wallet]);
  await deleteSavedStates(tx, wallet, null);
  await unlinkAll(tx, wallet);
  await chooseName(tx, wallet, null);
  await tx.query(deleteNotifications, [wallet]);
  tx.enqueue(deleteAccounts, {});
}

interface Request {
  wallet: string;
  /** As PostgreSQL writes it, with microseconds. */
  requestedAt: string;
}
const selectOpen = statement<Request>(
  'select_open_account_deletions',
  `select wallet, requested_at::text as "requestedAt" from account_deletions where completed_at is null order by requested_at limit ${MAX_ACCOUNTS}`,
);

/** Deletes the accounts whose deletion was requested, up to `MAX_ACCOUNTS` per run. Idempotent; a crash at any point is safe. */
export async function deleteRequestedAccounts(app: App): Promise<void> {
  const errors: unknown[] = [];
  for (const request of await app.db.query(selectOpen)) {
    // Continues after a failure, so that one account does not keep the others from being deleted.
    await deleteAccount(app, request).catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} accounts could not be deleted; the next run tries again`);
}

/** Deletes the data that a wallet stored up to the time of its request. Data that the wallet stores after a new sign-in stays. */
async function deleteAccount(app: App, { wallet, requestedAt }: Request): Promise<void> {
  await endSessionsUntil(app, wallet, requestedAt);
  await repeat(app, (tx) => eraseRecordsOf(tx, wallet, requestedAt, CHUNK_SIZE, CAUSE));
  await repeat(app, (tx) => removeClipsOf(tx, wallet, requestedAt, CHUNK_SIZE));
  await repeat(app, async (tx) => {
    const ids = await forgetMessagesOf(tx, wallet, requestedAt, CHUNK_SIZE);
    tx.emitAll(
      chatModeration,
      ids.map((messageId) => ({ action: 'delete' as const, messageId, wallet: null, until: null })),
    );
    return ids.length;
  });
  await app.tx(async (tx) => {
    await forgetAppealsOf(tx, wallet, requestedAt);
    // A later request of the wallet keeps the row open.
    const done = build.updateTable('account_deletions').set({ completed_at: sql`app_now()` });
    await run(tx, done.where('wallet', '=', wallet).where('requested_at', '=', requestedAt));
  });
}

/** Runs a step in transactions of bounded size. @param step returns the number of changed rows; 0 when nothing is left */
async function repeat(app: App, step: (tx: Tx) => Promise<number>): Promise<void> {
  while ((await app.tx(step)) > 0);
}

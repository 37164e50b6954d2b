import { sql } from 'kysely';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import { CLAIMS_PER_PAGE, type EpochAccount } from '#platform/solana/distributor/index.ts';
import { submit } from '#platform/solana/submission/index.ts';
import { build } from '../query-builder.ts';
import { epochClose, epochPageClose, pageSubject } from './end.ts';
import type { FollowedEpoch } from './epoch-accounts.ts';
import { markSettled } from './settlement.ts';

// Locks the row of the epoch. A settlement request needs the same lock, so no settlement request can be stored between this statement and the commit.
const lockEpoch = statement<{ settling: boolean }>(
  'lock_epoch_to_finish',
  'select settle_requested_at is not null as settling from epochs where epoch = $1 for update',
);

/**
 * Settles or expires an epoch in the database, and submits the transactions that close its accounts on the chain.
 * Precondition: the finalized epoch account is settled or closed, and the database has all claims of the epoch.
 */
export async function finishEpoch(app: App, row: FollowedEpoch, account: EpochAccount): Promise<void> {
  if (row.ended && account.state === 'settled') return;
  const openAccount = build.updateTable('epoch_accounts').where('epoch', '=', row.epoch).where('closed_at', 'is', null);
  await app.tx(async (tx) => {
    const settling = (await tx.query(lockEpoch, [row.epoch]))[0]?.settling === true;
    const end = openAccount.set({ ended_at: sql`coalesce(ended_at, app_now())` }).where('claimed', '=', String(account.claimed));
    if ((await run(tx, end.returning('epoch'))).length === 0) return;
    if (account.state === 'settled' || settling) await markSettled(tx, [row.epoch]);
    else await run(tx, build.updateTable('epochs').set({ state: 'expired' }).where('epoch', '=', row.epoch).where('state', '=', 'committed'));
    if (account.state === 'settled') return await submit(tx, epochClose, [String(row.epoch)]);
    await run(tx, openAccount.set({ closed_at: sql`app_now()` }));
    const pages = Array.from({ length: Math.ceil(account.leaves / CLAIMS_PER_PAGE) }, (_, page) => pageSubject(row.epoch, page));
    await submit(tx, epochPageClose, pages);
  });
}

import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { CLAIMS_PER_PAGE, type EpochAccount } from '#platform/solana/distributor/index.ts';
import { submit } from '#platform/solana/submission/index.ts';
import { epochClose, epochPageClose, pageSubject } from './end.ts';
import type { FollowedEpoch } from './epoch-accounts.ts';
import { markSettled } from './settlement.ts';

// Locks the row of the epoch. A settlement request needs the same lock, so no settlement request can be stored between this statement and the commit.
const lockEpoch = statement<{ settling: boolean }>(
  'lock_epoch_to_finish',
  'select settle_requested_at is not null as settling from epochs where epoch = $1 for update',
);
const endEpoch = statement<{ epoch: number }>(
  'end_epoch_account',
  `update epoch_accounts set ended_at = coalesce(ended_at, app_now()) where epoch = $1 and claimed = $2::numeric and closed_at is null returning epoch`,
);
const closeAccount = statement('close_epoch_account', 'update epoch_accounts set closed_at = app_now() where epoch = $1 and closed_at is null');
const expire = statement('expire_closed_epoch', `update epochs set state = 'expired' where epoch = $1 and state = 'committed'`);

/**
 * Settles or expires an epoch in the database, and submits the transactions that close its accounts on the chain.
 * Precondition: the finalized epoch account is settled or closed, and the database has all claims of the epoch.
 */
export async function finishEpoch(app: App, row: FollowedEpoch, account: EpochAccount): Promise<void> {
  if (row.ended && account.state === 'settled') return;
  await app.tx(async (tx) => {
    const settling = (await tx.query(lockEpoch, [row.epoch]))[0]?.settling === true;
    if ((await tx.query(endEpoch, [row.epoch, String(account.claimed)])).length === 0) return;
    if (account.state === 'settled' || settling) await markSettled(tx, [row.epoch]);
    else await tx.query(expire, [row.epoch]);
    if (account.state === 'settled') return await submit(tx, epochClose, [String(row.epoch)]);
    await tx.query(closeAccount, [row.epoch]);
    const pages = Array.from({ length: Math.ceil(account.leaves / CLAIMS_PER_PAGE) }, (_, page) => pageSubject(row.epoch, page));
    await submit(tx, epochPageClose, pages);
  });
}

import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { EpochAccount } from '#platform/solana/distributor/index.ts';
import type { EpochAddresses } from './epoch-accounts.ts';
import { findOpening } from './history.ts';
import { compareMemo } from './opening-memo.ts';
import { epochRoot } from './root.ts';

const lockEpoch = statement<{ root: Buffer | null; total: string | null; leaves: number | null; state: string }>(
  'lock_epoch_to_adopt',
  `select root, total::text, leaves, state from epochs where epoch = $1 for update`,
);
/** Stores the addresses of an account that was found on the chain. `$9` to `$11` are null when the account has the root of the epoch. */
const storeAccount = statement<{ epoch: number }>(
  'store_found_epoch_account',
  `insert into epoch_accounts as a (epoch, program, authority, mint, address, vault, expires_at, opened_at, other_root, other_total, other_leaves)
   values ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8), case when $8 then app_now() end, $9::bytea, $10::numeric, $11::int)
   on conflict (epoch) do update set program = excluded.program, authority = excluded.authority, mint = excluded.mint, address = excluded.address,
     vault = excluded.vault, expires_at = excluded.expires_at, opened_at = excluded.opened_at, other_root = excluded.other_root,
     other_total = excluded.other_total, other_leaves = excluded.other_leaves
   where a.opened_at is null returning epoch`,
);

/**
 * Stores the finalized account of an epoch that the database does not have, for example because the database was restored. If the account has the
 * root of the epoch, the epoch becomes `committed`, with the points file that the memo on the chain names. Otherwise only the account is stored, so that
 * it is followed until it is closed. Idempotent.
 */
export async function adoptAccount(app: App, addresses: EpochAddresses, account: EpochAccount): Promise<void> {
  const { epoch, program, authority, mint, vault } = addresses;
  const opening = await findOpening(app, addresses);
  await app.tx(async (tx) => {
    const [row] = await tx.query(lockEpoch, [epoch]);
    if (!row) return;
    const isSame = row.root !== null && account.root.equals(row.root) && account.total === BigInt(row.total ?? 0) && account.leaves === row.leaves;
    const other = isSame ? [null, null, null] : [account.root, String(account.total), account.leaves];
    const keys = [program, authority, mint, addresses.account, vault].map((key) => key.toBase58());
    const stored = await tx.query(storeAccount, [epoch, ...keys, account.expiry, !isSame, ...other]);
    if (!isSame || stored.length === 0) return;
    await compareMemo(tx, app.log, epoch, opening);
    await epochRoot.finalized(tx, [{ subject: String(epoch), signature: opening?.signature ?? null, slot: opening?.slot ?? null }]);
  });
  app.log.warn({ epoch, root: account.root.toString('hex') }, 'an account of an epoch was found on the chain that the database did not have');
}

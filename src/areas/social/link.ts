import { appendActivities, lockPlayers } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type Account, type LinkedAccount, linkAccount } from './accounts.ts';
import { lockAccounts, takeKept } from './engagement/pending-engagement.ts';
import { notification } from './events.ts';

/** How long an account that was unlinked stays out of reach of other wallets, so that it does not go round among them. */
export const REST_DAYS = 30;

const NAMES: Readonly<Record<string, string>> = { x: 'X' };
const nameOf = (platform: string): string => NAMES[platform] ?? platform;

const findFormer = statement<{ until: string }>(
  'find_former_wallet_of_account',
  `select to_char((unlinked_at + interval '${REST_DAYS} days') at time zone 'UTC', 'YYYY-MM-DD') as until from unlinked_accounts
   where platform = $1 and account_id = $2 and wallet <> $3 and unlinked_at > app_now() - interval '${REST_DAYS} days'`,
);
const remove = statement<{ accountId: string; handle: string }>(
  'unlink_account',
  `with gone as (delete from linked_accounts where wallet = $1 and platform = $2 returning account_id, handle),
     noted as (
       insert into unlinked_accounts (platform, account_id, wallet, unlinked_at) select $2, account_id, $1, app_now() from gone
       on conflict (platform, account_id) do update set wallet = excluded.wallet, unlinked_at = excluded.unlinked_at)
   select account_id as "accountId", handle from gone`,
);

/**
 * Links an account to a wallet that has shown that it is its own, appends the activity `link`, once per account, and credits what the
 * account did before. Again the same changes nothing but the handle.
 * @throws 403 the wallet is banned, 409 either is linked otherwise, or the account was another wallet's a short while ago
 */
export async function confirmLink(tx: Tx, account: Omit<LinkedAccount, 'linkedAt'>): Promise<LinkedAccount> {
  const { platform, accountId, handle, wallet } = account;
  await lockAccounts(tx, platform, [accountId]);
  if ((await lockPlayers(tx, [wallet])).get(wallet)?.banned) throw fail(403, 'this wallet is banned');
  const { linkedAt, isNew } = await linkAccount(tx, account);
  if (isNew) {
    const [former] = await tx.query(findFormer, [platform, accountId, wallet]);
    if (former) throw fail(409, `this account was linked to another wallet until lately, and can be linked to this one from ${former.until} on`);
    const kept = await takeKept(tx, account, wallet);
    await appendActivities(tx, [{ kind: 'link', sourceId: `${platform}:${accountId}`, wallet, gameId: null, amount: 0 }, ...kept]);
    tx.emit(notification, { text: `Your account @${handle} of ${nameOf(platform)} is linked to this wallet.` }, wallet);
  }
  return { ...account, linkedAt };
}

/**
 * Unlinks a wallet's account of a platform. What it did stays credited, and is not credited again, wherever it is linked later.
 * @throws 404 where there is none
 */
export async function unlink(tx: Tx, wallet: string, platform: Account['platform']): Promise<void> {
  const [gone] = await tx.query(remove, [wallet, platform]);
  if (!gone) throw fail(404, `this wallet has no account of ${nameOf(platform)} linked`);
  tx.emit(notification, { text: `Your account @${gone.handle} of ${nameOf(platform)} is no longer linked to this wallet.` }, wallet);
}

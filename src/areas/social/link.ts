import { appendActivities, lockPlayers, recheckQuests } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type LinkedAccount, linkAccount, listLinkedAccounts, type SocialAccount } from './accounts.ts';
import { lockAccounts, takePending } from './engagement/pending-engagement.ts';
import { notification } from './events.ts';

/** Days after unlinking during which no other wallet can link the account, so that several wallets cannot use one account in turn. */
export const RELINK_COOLDOWN_DAYS = 30;

const PLATFORM_NAMES: Readonly<Record<string, string>> = { x: 'X' };
const platformName = (platform: string): string => PLATFORM_NAMES[platform] ?? platform;

const selectCooldown = statement<{ until: string }>(
  'select_relink_cooldown',
  `select to_char((unlinked_at + interval '${RELINK_COOLDOWN_DAYS} days') at time zone 'UTC', 'YYYY-MM-DD') as until from unlinked_accounts
   where platform = $1 and account_id = $2 and wallet <> $3 and unlinked_at > (select app_now()) - interval '${RELINK_COOLDOWN_DAYS} days'`,
);
const deleteLinkedAccount = statement<{ accountId: string; handle: string }>(
  'unlink_account',
  `with deleted as (delete from linked_accounts where wallet = $1 and platform = $2 returning account_id, handle),
     remembered as (
       insert into unlinked_accounts (platform, account_id, wallet, unlinked_at) select $2, account_id, $1, app_now() from deleted
       on conflict (platform, account_id) do update set wallet = excluded.wallet, unlinked_at = excluded.unlinked_at)
   select account_id as "accountId", handle from deleted`,
);

/**
 * Links an account to a wallet. For a new link, appends the activity `link` (once per account) and credits the pending engagements of the account. A
 * repeated call only updates the handle. Precondition: the owner of the wallet has proven ownership of the account.
 * @throws 403 when the wallet is banned; 409 when the account is linked to another wallet, the wallet is linked to another account, or another wallet
 * unlinked the account within the cooldown
 */
export async function confirmLink(tx: Tx, account: Omit<LinkedAccount, 'linkedAt'>): Promise<LinkedAccount> {
  const { platform, accountId, handle, wallet } = account;
  await lockAccounts(tx, platform, [accountId]);
  if ((await lockPlayers(tx, [wallet])).get(wallet)?.banned) throw fail(403, 'this wallet is banned');
  const { linkedAt, isNew } = await linkAccount(tx, account);
  if (isNew) {
    const [cooldown] = await tx.query(selectCooldown, [platform, accountId, wallet]);
    if (cooldown) throw fail(409, `another wallet unlinked the account recently; it can be linked to this wallet from ${cooldown.until} on`);
    const engagements = await takePending(tx, account, wallet);
    await appendActivities(tx, [{ kind: 'link', sourceId: `${platform}:${accountId}`, wallet, gameId: null, amount: 0 }, ...engagements]);
    // A repeated link of an account that follows the arcade is no new activity, but it may complete a quest.
    await recheckQuests(tx, [wallet]);
    tx.emit(notification, { text: `Your account @${handle} of ${platformName(platform)} is linked to this wallet.` }, wallet);
  }
  return { ...account, linkedAt };
}

const deleteLinkAttempts = statement('delete_link_attempts', 'delete from link_attempts where wallet = $1');

/** Unlinks all accounts of a wallet, and deletes the links that it started. Idempotent. */
export async function unlinkAll(tx: Tx, wallet: string): Promise<void> {
  for (const { platform } of await listLinkedAccounts(tx, wallet)) await tx.query(deleteLinkedAccount, [wallet, platform]);
  await tx.query(deleteLinkAttempts, [wallet]);
}

/**
 * Unlinks a wallet's account of a platform. Engagements of the account stay credited, and a later link does not credit them again. The wallet counts
 * as a follower of the arcade only while the account is linked.
 * @throws 404 when the wallet has no linked account of the platform
 */
export async function unlink(tx: Tx, wallet: string, platform: SocialAccount['platform']): Promise<void> {
  const [unlinked] = await tx.query(deleteLinkedAccount, [wallet, platform]);
  if (!unlinked) throw fail(404, `the wallet has no linked account of ${platformName(platform)}`);
  tx.emit(notification, { text: `Your account @${unlinked.handle} of ${platformName(platform)} is no longer linked to this wallet.` }, wallet);
}

import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** A report that an account began or stopped to follow the arcade's account. */
export interface FollowReport {
  readonly accountId: string;
  readonly following: boolean;
  /** Time of the change, ms since 1970. */
  readonly at: number;
}

// Stores states only of accounts that are linked, or that were linked and have a state, because other accounts can complete no quest.
const saveStates = statement<{ accountId: string }>(
  'save_follow_states',
  `insert into follow_states as f (platform, account_id, following, at)
   select $1, r.account_id, r.following, to_timestamp(r.at / 1000)
   from (select distinct on (account_id) * from unnest($2::text[], $3::bool[], $4::float8[]) as r(account_id, following, at)
         order by account_id, at desc, following desc) r
   where exists (select from linked_accounts l where l.platform = $1 and l.account_id = r.account_id)
     or exists (select from follow_states s where s.platform = $1 and s.account_id = r.account_id)
   order by 2
   on conflict (platform, account_id) do update set following = excluded.following, at = excluded.at where f.at < excluded.at
   returning account_id as "accountId"`,
);
const deletePending = statement(
  'delete_pending_follows',
  `delete from kept_engagements k using unnest($2::text[], $3::float8[]) as r(account_id, at)
   where k.platform = $1 and k.account_id = r.account_id and k.kind = 'follow' and k.at <= to_timestamp(r.at / 1000)`,
);

/**
 * Stores which accounts follow the arcade's account; the newest report per account wins. An unfollow also deletes the pending follow of an account
 * that is not linked. Precondition: the accounts are locked.
 * @returns the accounts whose stored state this call set
 */
export async function saveFollows(tx: Tx, platform: string, reports: readonly FollowReport[]): Promise<Set<string>> {
  if (reports.length === 0) return new Set();
  const ended = reports.filter(({ following }) => !following);
  const [saved] = await Promise.all([
    tx.query(saveStates, [
      platform,
      reports.map(({ accountId }) => accountId),
      reports.map(({ following }) => following),
      reports.map(({ at }) => at),
    ]),
    ended.length > 0 && tx.query(deletePending, [platform, ended.map(({ accountId }) => accountId), ended.map(({ at }) => at)]),
  ]);
  return new Set(saved.map(({ accountId }) => accountId));
}

// An account's follow counts for the wallet to which it was credited, so that several wallets cannot use one account in turn. `offset 0` forces one
// index lookup per wallet.
const selectFollowers = statement<{ wallet: string }>(
  'select_followers',
  `select k.wallet from unnest($1::text[]) as k(wallet), lateral (
     select from linked_accounts l
     join activities a on a.source_id = l.platform || ':' || l.account_id and a.kind = 'follow' and a.cause_day = 0 and a.wallet = l.wallet
     left join follow_states f on f.platform = l.platform and f.account_id = l.account_id
     where l.wallet = k.wallet and coalesce(f.following, true) limit 1 offset 0) f`,
);

/** Returns the wallets whose linked account follows the arcade's account. */
export async function findFollowers(db: Queryable, wallets: readonly string[]): Promise<Set<string>> {
  if (wallets.length === 0) return new Set();
  return new Set((await db.query(selectFollowers, [[...new Set(wallets)]])).map(({ wallet }) => wallet));
}

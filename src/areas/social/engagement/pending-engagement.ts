import { type Activity, appendActivities } from '#areas/points';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Account, LinkedAccount } from '../accounts.ts';

/** What accounts do that counts. */
export type DeedKind = 'follow' | 'repost' | 'mention';

/** What an account did. `kind` and `sourceId` are its cause, whoever tells of it, and how often. */
export interface Deed {
  readonly kind: DeedKind;
  readonly accountId: string;
  readonly sourceId: string;
}

/** How much of an account that is not linked is kept, and for how long. */
export const MOST_KEPT = 100;
export const KEPT_DAYS = 90;

// In one order, so that those who lock several do not meet.
const lock = statement(
  'lock_social_accounts',
  `select pg_advisory_xact_lock(hashtext('coinop-social'), k.key)
   from (select distinct hashtext($1 || ':' || id) as key from unnest($2::text[]) as a(id) order by 1) k`,
);
const keep = statement<{ kind: DeedKind }>(
  'keep_engagements',
  `insert into kept_engagements (platform, account_id, kind, source_id)
   select $1, d.account_id, d.kind, d.source_id
   from (select *, row_number() over (partition by account_id order by n) as nth
         from unnest($2::text[], $3::text[], $4::text[]) with ordinality as u(account_id, kind, source_id, n)) d,
     lateral (select count(*) as n from kept_engagements where platform = $1 and account_id = d.account_id offset 0) k
   where k.n + d.nth <= ${MOST_KEPT}
   on conflict do nothing returning kind`,
);
const take = statement<{ kind: DeedKind; sourceId: string; fresh: boolean }>(
  'take_kept_engagements',
  `delete from kept_engagements where platform = $1 and account_id = $2
   returning kind, source_id as "sourceId", at > (select app_now() - interval '${KEPT_DAYS} days') as fresh`,
);

/**
 * Has whoever links an account and whoever tells of what it did come one after the other: so one of the two sees what the other has
 * committed, and nothing is kept for an account that is linked.
 */
export async function lockAccounts(tx: Tx, platform: string, accountIds: readonly string[]): Promise<void> {
  if (accountIds.length > 0) await tx.query(lock, [platform, accountIds]);
}

/** What a deed is among activities. Its cause is the account's, so that it counts once, whomever the account belongs to then and later. */
const activityOf = ({ kind, sourceId }: Pick<Deed, 'kind' | 'sourceId'>, wallet: string): Activity => ({
  kind,
  sourceId,
  wallet,
  gameId: null,
  amount: 0,
});

/**
 * Credits deeds to the wallets of linked accounts, and keeps those of other accounts for when they are linked. The accounts are locked.
 * @returns what became of them: credited, now or before; kept; or neither, because too much is kept already, or just this
 */
export async function creditOrKeep(
  tx: Tx,
  platform: string,
  deeds: readonly Deed[],
  linked: ReadonlyMap<string, LinkedAccount>,
): Promise<{ readonly credited: readonly Deed[]; readonly kept: readonly DeedKind[]; readonly left: number }> {
  const credited = deeds.filter(({ accountId }) => linked.has(accountId));
  const others = deeds.filter(({ accountId }) => !linked.has(accountId));
  await appendActivities(
    tx,
    credited.flatMap((deed) => {
      const wallet = linked.get(deed.accountId)?.wallet;
      return wallet === undefined ? [] : [activityOf(deed, wallet)];
    }),
  );
  const columns = [others.map((d) => d.accountId), others.map((d) => d.kind), others.map((d) => d.sourceId)];
  const kept = others.length === 0 ? [] : (await tx.query(keep, [platform, ...columns])).map(({ kind }) => kind);
  return { credited, kept, left: others.length - kept.length };
}

/** Takes what was kept of an account, as the activities of the wallet that has just linked it. The account is locked. */
export async function takeKept(tx: Tx, { platform, accountId }: Account, wallet: string): Promise<Activity[]> {
  const rows = await tx.query(take, [platform, accountId]);
  return rows.filter(({ fresh }) => fresh).map((row) => activityOf(row, wallet));
}

import { sql } from 'kysely';
import { type Activity, appendActivities } from '#areas/points';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { LinkedAccount, SocialAccount } from '../accounts.ts';
import { KeptEngagementsTable } from '../entities.ts';

/** Kinds of engagement that quests count. */
type EngagementKind = 'follow' | 'repost' | 'mention';

/** A follow, repost or mention by an X account. (`kind`, `sourceId`) is unique, so that each engagement counts once. */
export interface Engagement {
  readonly kind: EngagementKind;
  readonly accountId: string;
  readonly sourceId: string;
}

/** Maximum pending engagements per unlinked account. */
const MAX_PENDING = 100;
/** Lifetime of a pending engagement, days. */
export const PENDING_DAYS = 90;

// Takes the locks in key order, so that transactions that lock several accounts do not deadlock.
const lock = statement(
  'lock_social_accounts',
  `select pg_advisory_xact_lock(hashtext('coinop-social'), k.key)
   from (select distinct hashtext($1 || ':' || id) as key from unnest($2::text[]) as a(id) order by 1) k`,
);
const insertPending = statement<{ kind: EngagementKind }>(
  'insert_pending_engagements',
  `insert into kept_engagements (platform, account_id, kind, source_id)
   select $1, d.account_id, d.kind, d.source_id
   from (select *, row_number() over (partition by account_id order by n) as nth
         from unnest($2::text[], $3::text[], $4::text[]) with ordinality as u(account_id, kind, source_id, n)) d,
     lateral (select count(*) as n from kept_engagements where platform = $1 and account_id = d.account_id offset 0) k
   where k.n + d.nth <= ${MAX_PENDING}
   on conflict do nothing returning kind`,
);
const build = queryBuilder([KeptEngagementsTable]);

/**
 * Serializes transactions that link an account and transactions that apply a delivery about the same account. The later transaction sees the commit
 * of the earlier one, so no pending engagement is stored for a linked account.
 */
export async function lockAccounts(tx: Tx, platform: string, accountIds: readonly string[]): Promise<void> {
  if (accountIds.length > 0) await tx.query(lock, [platform, accountIds]);
}

/**
 * Converts an engagement into an activity. The source id does not depend on the wallet, so the engagement counts once even if another wallet links
 * the account later.
 */
const activityOf = ({ kind, sourceId }: Pick<Engagement, 'kind' | 'sourceId'>, wallet: string): Activity => ({
  kind,
  sourceId,
  wallet,
  gameId: null,
  amount: 0,
});

/**
 * Credits engagements to the wallets of linked accounts and stores engagements of other accounts as pending. Precondition: the accounts are locked.
 * @returns
 * `credited`: the credited engagements, including duplicates.
 * `pending`: the kinds of the stored engagements.
 * `skipped`: the number of engagements that are not stored, because they were stored before or exceed the limit.
 */
export async function creditOrStore(
  tx: Tx,
  platform: string,
  engagements: readonly Engagement[],
  linked: ReadonlyMap<string, LinkedAccount>,
): Promise<{ readonly credited: readonly Engagement[]; readonly pending: readonly EngagementKind[]; readonly skipped: number }> {
  const credited = engagements.filter(({ accountId }) => linked.has(accountId));
  const others = engagements.filter(({ accountId }) => !linked.has(accountId));
  await appendActivities(
    tx,
    credited.flatMap((engagement) => {
      const wallet = linked.get(engagement.accountId)?.wallet;
      return wallet === undefined ? [] : [activityOf(engagement, wallet)];
    }),
  );
  const columns = [others.map((one) => one.accountId), others.map((one) => one.kind), others.map((one) => one.sourceId)];
  const pending = others.length === 0 ? [] : (await tx.query(insertPending, [platform, ...columns])).map(({ kind }) => kind);
  return { credited, pending, skipped: others.length - pending.length };
}

/**
 * Deletes the pending engagements of an account, and returns the unexpired engagements as activities of the wallet. Precondition: the account is
 * locked.
 */
export async function takePending(tx: Tx, { platform, accountId }: SocialAccount, wallet: string): Promise<Activity[]> {
  const isRecent = sql<boolean>`at > (select app_now() - make_interval(days => ${PENDING_DAYS}))`;
  const deleted = build
    .deleteFrom('kept_engagements')
    .where(({ and }) => and({ platform, account_id: accountId }))
    .returning(['kind', 'source_id as sourceId', isRecent.as('isRecent')]);
  const rows = await run(tx, deleted);
  return rows.filter(({ isRecent }) => isRecent).map((row) => activityOf(row, wallet));
}

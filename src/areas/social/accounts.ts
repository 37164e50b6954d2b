import { sql } from 'kysely';
import { fail } from '#lib/errors.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { LinkedAccountsTable } from './entities.ts';

/** An external account. `platform` is the social network or the bridged chat; `accountId` never changes. */
export interface SocialAccount {
  readonly platform: string;
  readonly accountId: string;
}

/** An external account and its wallet. */
export interface LinkedAccount extends SocialAccount {
  readonly handle: string;
  readonly wallet: string;
  /** Time of the link, ms since 1970. */
  readonly linkedAt: number;
}

const COLUMNS = `platform, account_id as "accountId", handle, wallet, floor(extract(epoch from linked_at) * 1000)::float8 as "linkedAt"`;
const byAccount = statement<LinkedAccount>('find_linked_account', `select ${COLUMNS} from linked_accounts where platform = $1 and account_id = $2`);
const byAccounts = statement<LinkedAccount>(
  'find_linked_accounts',
  // `offset 0` forces one index lookup per account instead of a scan of the table, even in a plan that PostgreSQL cached while the table was small.
  `select l.* from unnest($2::text[]) as k(id), lateral (
     select ${COLUMNS} from linked_accounts where platform = $1 and account_id = k.id offset 0) l`,
);
const byWallet = statement<LinkedAccount>('list_linked_accounts', `select ${COLUMNS} from linked_accounts where wallet = $1 order by platform`);

const build = queryBuilder([LinkedAccountsTable]);

/** Reads the linked accounts of a wallet, at most one per platform. */
export async function listLinkedAccounts(db: Queryable, wallet: string): Promise<LinkedAccount[]> {
  return await db.query(byWallet, [wallet]);
}

/** Finds an account's link to a wallet; undefined when the account is not linked. */
export async function findLinkedAccount(db: Queryable, { platform, accountId }: SocialAccount): Promise<LinkedAccount | undefined> {
  return (await db.query(byAccount, [platform, accountId]))[0];
}

/** Finds the links of several accounts of one platform to wallets, by account id. */
export async function findLinkedAccounts(db: Queryable, platform: string, accountIds: readonly string[]): Promise<Map<string, LinkedAccount>> {
  const rows = accountIds.length === 0 ? [] : await db.query(byAccounts, [platform, accountIds]);
  return new Map(rows.map((row) => [row.accountId, row]));
}

/**
 * Links an account to a wallet. Idempotent: a repeated call updates the handle and keeps the time of the link. Precondition: the owner of the wallet
 * has proven ownership of the account.
 * @returns `linkedAt` (ms since 1970), and whether the link is new
 * @throws 409 when the account is linked to another wallet, or the wallet to another account of this platform; the transaction stays usable after
 * this error
 */
export async function linkAccount(
  tx: Tx,
  { platform, accountId, handle, wallet }: Omit<LinkedAccount, 'linkedAt'>,
): Promise<{ readonly linkedAt: number; readonly isNew: boolean }> {
  const account = { platform, account_id: accountId, wallet };
  const linkedAt = isoInstant('linked_at').as('linkedAt');
  // Waits for a concurrent transaction that links the same account, or another account of the same wallet.
  const insert = build
    .insertInto('linked_accounts')
    .values({ ...account, handle })
    .onConflict((conflict) => conflict.doNothing())
    .returning(linkedAt);
  const [inserted] = await run(tx, insert);
  if (inserted) return { linkedAt: Date.parse(inserted.linkedAt), isNew: true };
  const rename = build
    .updateTable('linked_accounts')
    .set({ handle, confirmed_at: sql<string>`app_now()` })
    .where(({ and }) => and(account))
    .returning(linkedAt);
  const [renamed] = await run(tx, rename);
  if (renamed) return { linkedAt: Date.parse(renamed.linkedAt), isNew: false };
  if (await findLinkedAccount(tx, { platform, accountId })) throw fail(409, 'the account is linked to another wallet');
  throw fail(409, `the wallet has linked another account of ${platform}; unlink it first`);
}

const selectLinkedWallets = statement<{ wallet: string }>(
  'wallets_with_linked_accounts',
  'select distinct wallet from linked_accounts where wallet = any($1::text[])',
);

/** Returns the wallets that have a linked account. */
export async function findLinkedWallets(db: Queryable, wallets: readonly string[]): Promise<Set<string>> {
  return new Set((await db.query(selectLinkedWallets, [wallets])).map(({ wallet }) => wallet));
}

// Chooses the account of X, or else of the first platform. Leaves out a handle that reads like a name on the chain, and a handle that another account has
// taken over.
const selectHandles = statement<{ wallet: string; handle: string }>(
  'select_handles',
  `select k.wallet, a.handle from unnest($1::text[]) as k(wallet), lateral (
     select handle from linked_accounts l
     where l.wallet = k.wallet and l.handle !~* '\\.(sol|sns)$' and not exists (
       select from linked_accounts n where n.platform = l.platform and lower(n.handle) = lower(l.handle) and n.confirmed_at > l.confirmed_at)
     order by l.platform <> 'x', l.platform limit 1) a`,
);

/** Finds the handles of wallets with a linked account, by wallet: the handle on X, or else on another platform. */
export async function findHandles(db: Queryable, wallets: readonly string[]): Promise<Map<string, string>> {
  return new Map((await db.query(selectHandles, [wallets])).map(({ wallet, handle }) => [wallet, handle]));
}

const selectLinkedBefore = statement<{ index: number }>(
  'wallets_linked_before',
  `select k.n::int - 1 as index from unnest($1::text[], $2::timestamptz[]) with ordinality as k(wallet, at, n), lateral (
     select from linked_accounts a where a.wallet = k.wallet and a.linked_at < k.at limit 1) a`,
);

/**
 * Finds the items of `queries` whose wallet linked an account before the time `at` of the item (ms since 1970).
 * @returns indexes into `queries`
 */
export async function findWalletsLinkedBefore(db: Queryable, queries: readonly { wallet: string; at: number }[]): Promise<Set<number>> {
  const rows = await db.query(selectLinkedBefore, [queries.map(({ wallet }) => wallet), queries.map(({ at }) => new Date(at).toISOString())]);
  return new Set(rows.map(({ index }) => index));
}

/**
 * Finds the wallet of the account that has a handle, ignoring case; null when there is none. Several accounts may have had the handle one after
 * another; the account whose handle was confirmed last is chosen.
 */
export async function findWalletByHandle(db: Queryable, platform: string, handle: string): Promise<string | null> {
  const newest = build
    .selectFrom('linked_accounts')
    .select('wallet')
    .where('platform', '=', platform)
    .where(({ fn }) => fn<string>('lower', ['handle']), '=', sql<string>`lower(${handle})`)
    .orderBy('confirmed_at', 'desc')
    .limit(1);
  return (await run(db, newest))[0]?.wallet ?? null;
}

// Writes the row only if the handle changed or the last confirmation is over an hour old, because most deliveries repeat a known handle.
const confirm = statement(
  'confirm_handle',
  `update linked_accounts set handle = $3, confirmed_at = t.at from (select to_timestamp($4::float8 / 1000) as at) t
   where platform = $1 and account_id = $2 and confirmed_at < t.at and (handle <> $3 or confirmed_at < t.at - interval '1 hour')`,
);

/** Records that a linked account had a handle at the time `at`, ms since 1970. Does not overwrite a later confirmation. */
export async function confirmHandle(tx: Tx, { platform, accountId }: SocialAccount, handle: string, at: number): Promise<void> {
  await tx.query(confirm, [platform, accountId, handle, at]);
}

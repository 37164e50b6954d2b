import { fail } from '#lib/errors.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** An account elsewhere. `platform` names the network or the bridged chat; `accountId` is what it never changes. */
export interface Account {
  readonly platform: string;
  readonly accountId: string;
}

/** An account and the wallet that it belongs to. */
export interface LinkedAccount extends Account {
  readonly handle: string;
  readonly wallet: string;
  /** ms since 1970. */
  readonly linkedAt: number;
}

const LINKED_AT = `floor(extract(epoch from linked_at) * 1000)::float8 as "linkedAt"`;
const COLUMNS = `platform, account_id as "accountId", handle, wallet, ${LINKED_AT}`;
const byAccount = statement<LinkedAccount>('find_linked_account', `select ${COLUMNS} from linked_accounts where platform = $1 and account_id = $2`);
const byAccounts = statement<LinkedAccount>(
  'find_linked_accounts',
  // One look into the index per account, also where the plan was made while the table was small.
  `select l.* from unnest($2::text[]) as k(id), lateral (
     select ${COLUMNS} from linked_accounts where platform = $1 and account_id = k.id offset 0) l`,
);
// Waits for whoever is linking the same account, or another one for the same wallet.
const insert = statement<{ linkedAt: number }>(
  'link_account',
  `insert into linked_accounts (platform, account_id, handle, wallet) values ($1, $2, $3, $4) on conflict do nothing returning ${LINKED_AT}`,
);
const rename = statement<{ linkedAt: number }>(
  'rename_linked_account',
  `update linked_accounts set handle = $3, confirmed_at = app_now() where platform = $1 and account_id = $2 and wallet = $4 returning ${LINKED_AT}`,
);

const byWallet = statement<LinkedAccount>('list_linked_accounts', `select ${COLUMNS} from linked_accounts where wallet = $1 order by platform`);

/** The accounts that a wallet has linked, one per platform at most. */
export async function listLinked(db: Queryable, wallet: string): Promise<LinkedAccount[]> {
  return await db.query(byWallet, [wallet]);
}

/** The wallet that an account belongs to, and since when; undefined where nobody has linked it. */
export async function findLinked(db: Queryable, { platform, accountId }: Account): Promise<LinkedAccount | undefined> {
  return (await db.query(byAccount, [platform, accountId]))[0];
}

/** Those of some accounts of a platform that are linked, by their id. */
export async function findAllLinked(db: Queryable, platform: string, accountIds: readonly string[]): Promise<Map<string, LinkedAccount>> {
  const rows = accountIds.length === 0 ? [] : await db.query(byAccounts, [platform, accountIds]);
  return new Map(rows.map((row) => [row.accountId, row]));
}

/**
 * Links an account to a wallet, which has shown that it is its own. Again the same: the handle is kept up to date, the time stays.
 * @returns since when it is linked (ms since 1970), and whether it was not before
 * @throws 409 where the account belongs to another wallet, or the wallet has another account of this platform; the transaction can go on
 */
export async function linkAccount(
  tx: Tx,
  { platform, accountId, handle, wallet }: Omit<LinkedAccount, 'linkedAt'>,
): Promise<{ readonly linkedAt: number; readonly isNew: boolean }> {
  const values = [platform, accountId, handle, wallet];
  const [inserted] = await tx.query(insert, values);
  if (inserted) return { ...inserted, isNew: true };
  const [renamed] = await tx.query(rename, values);
  if (renamed) return { ...renamed, isNew: false };
  if (await findLinked(tx, { platform, accountId })) throw fail(409, 'this account is linked to another wallet');
  throw fail(409, `this wallet has another account of ${platform} linked`);
}

const anyOf = statement<{ wallet: string }>(
  'wallets_with_linked_accounts',
  'select distinct wallet from linked_accounts where wallet = any($1::text[])',
);

/** Those of some wallets that have linked any account. */
export async function linkedAmong(db: Queryable, wallets: readonly string[]): Promise<Set<string>> {
  return new Set((await db.query(anyOf, [wallets])).map(({ wallet }) => wallet));
}

const anyBefore = statement<{ place: number }>(
  'wallets_linked_before',
  `select k.n::int - 1 as place from unnest($1::text[], $2::timestamptz[]) with ordinality as k(wallet, at, n), lateral (
     select from linked_accounts a where a.wallet = k.wallet and a.linked_at < k.at limit 1) a`,
);

/** Which of some wallets had linked any account before a time (ms since 1970) each. @returns their places in the list */
export async function linkedBefore(db: Queryable, asks: readonly { wallet: string; at: number }[]): Promise<Set<number>> {
  const rows = await db.query(anyBefore, [asks.map(({ wallet }) => wallet), asks.map(({ at }) => new Date(at).toISOString())]);
  return new Set(rows.map(({ place }) => place));
}

const byHandle = statement<{ wallet: string }>(
  'find_wallet_by_handle',
  'select wallet from linked_accounts where platform = $1 and lower(handle) = lower($2) order by confirmed_at desc limit 1',
);

/**
 * The wallet of whoever is called so, in any case; null for nobody. Of several, because handles pass from one account to another, the one
 * that was last known to have it.
 */
export async function findWalletByHandle(db: Queryable, platform: string, handle: string): Promise<string | null> {
  return (await db.query(byHandle, [platform, handle]))[0]?.wallet ?? null;
}

// Most deliveries say what is known: a row is written for a new handle, and once an hour to say that the old one still holds.
const confirm = statement(
  'confirm_handle',
  `update linked_accounts set handle = $3, confirmed_at = t.at from (select to_timestamp($4::float8 / 1000) as at) t
   where platform = $1 and account_id = $2 and confirmed_at < t.at and (handle <> $3 or confirmed_at < t.at - interval '1 hour')`,
);

/** Notes what a linked account was called at a time, ms since 1970; what is known from later stays. */
export async function confirmHandle(tx: Tx, { platform, accountId }: Account, handle: string, at: number): Promise<void> {
  await tx.query(confirm, [platform, accountId, handle, at]);
}

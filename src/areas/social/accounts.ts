import { type Queryable, statement } from '../../db/sql.ts';
import { fail } from '../../lib/errors.ts';
import type { Tx } from '../../tx.ts';

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

const COLUMNS = `platform, account_id as "accountId", handle, wallet, floor(extract(epoch from linked_at) * 1000)::float8 as "linkedAt"`;
const byAccount = statement<LinkedAccount>('find_linked_account', `select ${COLUMNS} from linked_accounts where platform = $1 and account_id = $2`);
// Waits for whoever is linking the same account, or another one for the same wallet.
const insert = statement<{ wallet: string }>(
  'link_account',
  'insert into linked_accounts (platform, account_id, handle, wallet) values ($1, $2, $3, $4) on conflict do nothing returning wallet',
);
const rename = statement<{ wallet: string }>(
  'rename_linked_account',
  'update linked_accounts set handle = $3 where platform = $1 and account_id = $2 and wallet = $4 returning wallet',
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

/**
 * Links an account to a wallet, which has shown that it is its own. Again the same: the handle is kept up to date, the time stays.
 * @throws 409 where the account belongs to another wallet, or the wallet has another account of this platform; the transaction can go on
 */
export async function linkAccount(tx: Tx, { platform, accountId, handle, wallet }: Omit<LinkedAccount, 'linkedAt'>): Promise<void> {
  const values = [platform, accountId, handle, wallet];
  if ((await tx.query(insert, values)).length > 0 || (await tx.query(rename, values)).length > 0) return;
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

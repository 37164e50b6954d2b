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
const insert = statement<{ wallet: string }>(
  'link_account',
  `insert into linked_accounts (platform, account_id, handle, wallet) values ($1, $2, $3, $4)
   on conflict (platform, account_id) do update set handle = excluded.handle where linked_accounts.wallet = excluded.wallet
   returning wallet`,
);

/** The wallet that an account belongs to, and since when; undefined where nobody has linked it. */
export async function findLinked(db: Queryable, { platform, accountId }: Account): Promise<LinkedAccount | undefined> {
  return (await db.query(byAccount, [platform, accountId]))[0];
}

/**
 * Links an account to a wallet, which has shown that it is its own. Again the same: the handle is kept up to date, the time stays.
 * @throws 409 where the account belongs to another wallet, or the wallet has another account of this platform
 */
export async function linkAccount(tx: Tx, { platform, accountId, handle, wallet }: Omit<LinkedAccount, 'linkedAt'>): Promise<void> {
  try {
    const rows = await tx.query(insert, [platform, accountId, handle, wallet]);
    if (rows.length === 0) throw fail(409, 'this account is linked to another wallet');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '23505') throw fail(409, `this wallet has another account of ${platform} linked`);
    throw error;
  }
}

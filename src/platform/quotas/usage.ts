import type { Config } from '#config';
import { fail, unavailable } from '#lib/errors.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { StoredKind } from './config.ts';

/** How each kind can be made smaller, for the error of a wallet. */
const REMEDIES: Readonly<Record<StoredKind, string>> = {
  clips: 'the removal of a clip, or the deletion of the account, makes room',
  records: 'records are kept for ever; only the deletion of the account makes room',
  states: 'save a smaller state, or delete the account',
};
/** Value of Retry-After when the storage of all wallets is full, s. An operator must act first. */
const FULL_RETRY_SEC = 3_600;

interface Usage {
  /** Bytes that the wallet uses. */
  bytes: number;
  /** Bytes that all wallets use. */
  total: number;
}
const readUsage = statement<Usage>(
  'read_storage_usage',
  `select coalesce((select bytes from storage_usage where wallet = $1 and kind = $2), 0)::float8 as bytes,
          coalesce((select sum(bytes) from storage_totals where kind = $2), 0)::float8 as total`,
);

async function usageOf(db: Queryable, kind: StoredKind, wallet: string): Promise<Usage> {
  return (await db.query(readUsage, [wallet, kind]))[0] ?? { bytes: 0, total: 0 };
}

const requireRoom = ({ quotas }: Config, kind: StoredKind, { bytes, total }: Usage): void => {
  if (bytes > quotas.wallet[kind]) {
    throw fail(409, `the ${kind} of a wallet may use at most ${quotas.wallet[kind]} bytes together: ${REMEDIES[kind]}`);
  }
  if (total > quotas.total[kind]) throw unavailable(`the storage for ${kind} is full, try again later`, FULL_RETRY_SEC);
};

/**
 * Refuses content before it is received if there is no room for another byte.
 * @throws as `withinQuota` does
 */
export async function checkRoom({ config }: { config: Config }, db: Queryable, kind: StoredKind, wallet: string): Promise<void> {
  const { bytes, total } = await usageOf(db, kind, wallet);
  requireRoom(config, kind, { bytes: bytes + 1, total: total + 1 });
}

/**
 * Stores content within the quotas. The storage takes a lock on the wallet's row of `storage_usage` until the transaction ends, so the quota of the
 * wallet is exact, also for concurrent requests. The total may be exceeded by the content of the transactions that run at the same time.
 * @param store stores the content in the transaction; content that needs no more bytes than before is always accepted
 * @throws 409 when the wallet would use more than its quota; 503 when all wallets together would use more than the total
 */
export async function withinQuota<T>({ config }: { config: Config }, tx: Tx, kind: StoredKind, wallet: string, store: () => Promise<T>): Promise<T> {
  const [before, stored] = await Promise.all([usageOf(tx, kind, wallet), store()]);
  const after = await usageOf(tx, kind, wallet);
  if (after.bytes > before.bytes) requireRoom(config, kind, after);
  return stored;
}

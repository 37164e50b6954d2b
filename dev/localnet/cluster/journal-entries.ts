import { bytesOf, type Key, keyOf } from '../keys.ts';
import type { Fork } from './blockhashes.ts';
import type { TransactionMeta } from './meta.ts';
import type { Anchor } from './slots.ts';
import type { SvmAccount } from './svm.ts';

/** An account in the journal. Key, owner and data are base64. A closed account has only the key. */
type AccountWrite = [key: string, lamports?: string, owner?: string, data?: string, executable?: 0 | 1];

/** A line of the journal. */
export type JournalEntry =
  | { t: 'clock'; anchor: Anchor }
  | { t: 'set'; slot: number; writes: AccountWrite[] }
  | { t: 'fork'; fork: Fork }
  | ({ t: 'tx'; slot: number; signature: string; memo: string | null; price: string; keys: string } & StoredTransaction & { writes: AccountWrite[] });

/** A transaction as the journal stores it. `tx` contains the bytes of the transaction in base64. */
export interface StoredTransaction {
  tx: string;
  meta: TransactionMeta;
}

/** Splits the concatenated bytes of keys. */
export function splitKeys(bytes: Buffer): Key[] {
  return Array.from({ length: bytes.length / 32 }, (_, i) => keyOf(bytes.subarray(32 * i, 32 * i + 32)));
}

/** Converts a changed account to its form in the journal. */
export function writeOf([key, account]: readonly [Key, SvmAccount | null]): AccountWrite {
  const name = bytesOf(key).toString('base64');
  if (!account) return [name];
  const data = Buffer.from(account.data).toString('base64');
  return [name, account.lamports.toString(), bytesOf(account.owner).toString('base64'), data, account.executable ? 1 : 0];
}

/** Converts an account in the journal to its key and state. */
export function accountOf([name, lamports, owner, data, executable]: AccountWrite): [Key, SvmAccount | null] {
  const key = keyOf(Buffer.from(name, 'base64'));
  if (lamports === undefined || owner === undefined || data === undefined) return [key, null];
  const bytes = new Uint8Array(Buffer.from(data, 'base64'));
  return [key, { lamports: BigInt(lamports), owner: keyOf(Buffer.from(owner, 'base64')), data: bytes, executable: executable === 1 }];
}

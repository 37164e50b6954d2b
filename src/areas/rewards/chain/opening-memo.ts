import { type EpochMemo, epochMemo, readEpochMemo } from '#lib/epoch-memo.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../query-builder.ts';
import type { Opening } from './history.ts';

/** The columns of an epoch that its memo states. */
interface MemoColumns {
  readonly source: EpochMemo['source'];
  readonly points_hash: Buffer | null;
  readonly points_bytes: number | null;
}

/**
 * Returns the memo of the transaction that opens an epoch. Returns null for an epoch without a points file, which an earlier version of the service
 * computed.
 */
export function memoOf(epoch: number, { source, points_hash: hash, points_bytes: pointsBytes }: MemoColumns): string | null {
  if (source === 'import') return epochMemo(epoch, { source });
  return hash === null || pointsBytes === null ? null : epochMemo(epoch, { source, pointsHash: hash.toString('hex'), pointsBytes });
}

/**
 * Compares the memo of the transaction that opened an epoch with the database, which may have been restored since then. If the memo names another points
 * file, the database takes this file over, because everybody verifies the epoch with the file that the chain names. Does nothing when the transaction is
 * not known.
 */
export async function compareMemo(tx: Tx, log: App['log'], epoch: number, opening: Opening | null): Promise<void> {
  if (opening === null) return;
  const columns = build.selectFrom('epochs').select(['source', 'points_hash', 'points_bytes']).where('epoch', '=', epoch);
  const [row] = await run(tx, columns);
  const found = readEpochMemo(epoch, opening.memos);
  if (!row || (found && epochMemo(epoch, found)) === memoOf(epoch, row)) return;
  log.error({ epoch, memos: opening.memos, expected: memoOf(epoch, row) }, 'the memo of an epoch on the chain differs from the database');
  if (found?.source !== 'computed') return;
  const file = { points_hash: Buffer.from(found.pointsHash, 'hex'), points_bytes: found.pointsBytes };
  await run(tx, build.updateTable('epochs').set(file).where('epoch', '=', epoch).where('source', '=', 'computed'));
}

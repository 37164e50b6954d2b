import { sql } from 'kysely';
import { fail } from '#lib/errors.ts';
import { run } from '#platform/db/query-builder.ts';
import { instant, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { ChainError } from '#platform/solana/submission/index.ts';
import { submissionStatuses, submit } from '#platform/solana/submission/index.ts';
import { epochSettled } from '../events.ts';
import { build } from '../query-builder.ts';

/**
 * Names of transaction types. They are declared in this file, because the files that define these two types import this file. An import in the other
 * direction would be circular.
 */
const ROOT = { name: 'epoch-root' };
export const SETTLE = { name: 'epoch-settle' };

/** The error with which transactions fail when their epoch is settled off-chain. */
export const SETTLED_ERROR: ChainError = { name: 'Settled', message: 'the epoch is settled off-chain', instruction: null, code: null };

/** The settlement status of an epoch. It is `settling` until the settlement is finalized on the chain. */
interface Settlement {
  epoch: number;
  status: 'settled' | 'settling';
  settledAt: string | null;
}

interface LockedEpoch {
  epoch: number;
  state: 'computing' | 'empty' | 'computed' | 'committed' | 'expired' | 'settled';
  settled_at: string | null;
}

const lockEpochs = statement<LockedEpoch>(
  'lock_epochs_to_settle',
  `select epoch, state, ${instant('settled_at')} as settled_at from epochs where epoch = any($1::int[]) order by epoch for update`,
);
const selectEnded = (epochs: readonly number[]) =>
  build.selectFrom('epoch_accounts').select('epoch').where('epoch', 'in', epochs).where('ended_at', 'is not', null);
const settle = statement<{ epoch: number; total: string; claimed: string; settled_at: string }>(
  'settle_epochs',
  `update epochs e set state = 'settled', settled_at = app_now(), settle_requested_at = coalesce(settle_requested_at, app_now())
   where e.epoch = any($1::int[]) and e.state <> 'settled'
   returning e.epoch, e.total::text, coalesce((select a.claimed from epoch_accounts a where a.epoch = e.epoch), 0)::text as claimed,
     ${instant('e.settled_at')} as settled_at`,
);
const selectUncommitted = statement<{ epoch: number }>(
  'select_uncommitted_to_settle',
  `select epoch from epochs where epoch = any($1::int[]) and state = 'computed' and settle_requested_at is not null order by epoch for update`,
);

/**
 * Marks epochs as settled and emits their events. Idempotent.
 * Precondition: no reward of these epochs can be claimed on the chain any more, and the database has all their claims.
 * @returns the settlement times of the epochs that this call settled, keyed by epoch
 */
export async function markSettled(tx: Tx, epochs: readonly number[]): Promise<Map<number, string>> {
  if (epochs.length === 0) return new Map();
  const rows = await tx.query(settle, [epochs]);
  for (const { epoch, total, claimed } of rows) tx.emit(epochSettled, { epoch, total, claimed });
  return new Map(rows.map((row) => [row.epoch, row.settled_at]));
}

/** Settles each given epoch that has a settlement request. Precondition: the roots of the given epochs are neither in flight nor on the chain. */
export async function settleUncommitted(tx: Tx, epochs: readonly number[]): Promise<void> {
  const due = await tx.query(selectUncommitted, [epochs]);
  await markSettled(
    tx,
    due.map(({ epoch }) => epoch),
  );
}

/**
 * Settles epochs off-chain. An epoch whose root is on the chain or in flight is first settled on the chain. Any other epoch is settled at once and is
 * never committed. Idempotent.
 * @throws 404 when one of the epochs does not exist; then no epoch is settled
 */
export async function settleOffChain(tx: Tx, epochs: readonly number[]): Promise<Settlement[]> {
  const wanted = [...new Set(epochs)].sort((a, b) => a - b);
  // Signing a root locks the row of the epoch until the attempt is stored. So after this lock, the query below returns every root in flight.
  const locked = await tx.query(lockEpochs, [wanted]);
  const known = new Map(locked.map((row) => [row.epoch, row]));
  const unknown = wanted.find((epoch) => !known.has(epoch));
  if (unknown !== undefined) throw fail(404, `epoch ${unknown} does not exist`);
  // Read after the lock: a statement that waits for a lock sees the locked rows as they are then, but all other tables as they were before.
  const ended = new Set((await run(tx, selectEnded(wanted))).map(({ epoch }) => epoch));
  const roots = new Map((await submissionStatuses(tx, ROOT, wanted.map(String))).map((root) => [Number(root.subject), root]));

  const isOver = (row: LockedEpoch) => {
    if (row.state === 'settled' || row.state === 'empty') return true;
    if (row.state === 'computed') return roots.get(row.epoch)?.live !== true;
    return row.state === 'expired' && ended.has(row.epoch);
  };
  const over = locked.filter(isOver);
  const settledNow = await markSettled(
    tx,
    over.map((row) => row.epoch),
  );
  const waiting = locked.filter((row) => !isOver(row)).map((row) => row.epoch);
  if (waiting.length > 0) {
    const request = build.updateTable('epochs').set({ settle_requested_at: sql`app_now()` });
    await run(tx, request.where('epoch', 'in', waiting).where('settle_requested_at', 'is', null));
    const onChain = locked.filter((row) => waiting.includes(row.epoch) && row.state !== 'computing').map((row) => String(row.epoch));
    await submit(tx, SETTLE, onChain);
  }
  return locked.map((row) => {
    const settledAt = settledNow.get(row.epoch) ?? row.settled_at;
    return isOver(row) ? { epoch: row.epoch, status: 'settled', settledAt } : { epoch: row.epoch, status: 'settling', settledAt: null };
  });
}

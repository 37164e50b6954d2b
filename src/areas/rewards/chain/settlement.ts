import { sql } from 'kysely';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { instant, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type ChainError, submit } from '#platform/solana/submission/index.ts';
import { epochSettled } from '../events.ts';
import { build } from '../query-builder.ts';
import { readOpenRoots } from './candidates.ts';
import { heightAfterEarlier } from './heights.ts';

/**
 * Name of a transaction type. It is declared in this file, because the file that defines the type imports this file. An import in the other direction
 * would be circular.
 */
export const SETTLE = { name: 'epoch-settle', priority: 'roots' } as const;

/** Returns the subject of the transaction that settles an open account of an epoch that the database has settled already. */
const settledSubject = (epoch: number) => `${epoch}:open`;

/** Returns the epoch of a subject of the transaction type `epochSettle`. */
export const epochOfSubject = (subject: string): number => Number(subject.split(':')[0]);

/** The error with which transactions fail when their epoch is settled off-chain. */
export const SETTLED_ERROR: ChainError = { name: 'Settled', message: 'the epoch is settled off-chain', instruction: null, code: null };

/** The settlement status of an epoch. It is `settling` until nothing of the epoch can be claimed or opened on the chain any more. */
interface Settlement {
  epoch: number;
  status: 'settled' | 'settling';
  settledAt: string | null;
}

interface LockedEpoch {
  epoch: number;
  state: 'computing' | 'empty' | 'computed' | 'committed' | 'expired' | 'settled';
  root: string | null;
  /** The other root that an earlier request named, hex. */
  named: string | null;
  settled_at: string | null;
}

const lockEpochs = statement<LockedEpoch>(
  'lock_epochs_to_settle',
  `select epoch, state, encode(root, 'hex') as root, encode(settle_root, 'hex') as named, ${instant('settled_at')} as settled_at
   from epochs where epoch = any($1::int[]) order by epoch for update`,
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
const selectUnopened = statement<{ epoch: number }>(
  'select_unopened_to_settle',
  `select epoch from epochs where epoch = any($1::int[]) and state in ('empty', 'computed') and settle_requested_at is not null
   order by epoch for update`,
);
const selectOpened = (epochs: readonly number[]) =>
  build.selectFrom('epoch_accounts').select('epoch').where('epoch', 'in', epochs).where('opened_at', 'is not', null);

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

/**
 * Settles those of the given epochs that were never opened and have a settlement request.
 * Precondition: none of the given epochs has an account on the chain, and no transaction that creates such an account can land any more.
 */
export async function settleUnopened(tx: Tx, epochs: readonly number[]): Promise<void> {
  const due = (await tx.query(selectUnopened, [epochs])).map(({ epoch }) => epoch);
  // Read after the lock, as in `settleOffChain`.
  const opened = new Set((await run(tx, selectOpened(due))).map(({ epoch }) => epoch));
  await markSettled(
    tx,
    due.filter((epoch) => !opened.has(epoch)),
  );
}

/** The state of the chain at the time of a settlement request. */
interface RequestedOn {
  /** Roots, hex, of the epochs that are open on the chain. */
  readonly openRoots: ReadonlyMap<number, string>;
  /** Finalized block height after which nothing can land that was signed before the request. */
  readonly afterHeight: number;
}

/**
 * Reads the chain, then requests to settle epochs off-chain.
 * @param root root on the chain, hex, that is settled although it differs from the root in the database; null for none
 * @throws 404 when one of the epochs does not exist; 409 when one of them is open on the chain with another root than in the database; 503 when the
 * RPC node does not answer. Then no epoch is settled
 */
export async function requestSettlement(app: App, epochs: readonly number[], root: string | null): Promise<Settlement[]> {
  const [openRoots, afterHeight] = await Promise.all([readOpenRoots(app, epochs), heightAfterEarlier(app)]);
  return await app.tx((tx) => settleOffChain(tx, epochs, root, { openRoots, afterHeight }));
}

/**
 * Stores the request to settle epochs off-chain. The transaction type `epochSettle` then reads the chain, settles an open account there, and waits
 * until no transaction that was signed earlier can open the epoch. Idempotent.
 * @throws 404 and 409 as `requestSettlement`
 */
export async function settleOffChain(tx: Tx, epochs: readonly number[], root: string | null, on: RequestedOn): Promise<Settlement[]> {
  const wanted = [...new Set(epochs)].sort((a, b) => a - b);
  // Signing a root locks the row of the epoch until the attempt is stored, and refuses an epoch with a settlement request. So no root of these epochs
  // is signed after this lock.
  const locked = await tx.query(lockEpochs, [wanted]);
  const known = new Set(locked.map(({ epoch }) => epoch));
  const unknown = wanted.find((epoch) => !known.has(epoch));
  if (unknown !== undefined) throw fail(404, `epoch ${unknown} does not exist`);
  // Read after the lock: a statement that waits for a lock sees the locked rows as they are then, but all other tables as they were before.
  const ended = new Set((await run(tx, selectEnded(wanted))).map(({ epoch }) => epoch));
  for (const row of locked) checkRoot(row, root, on.openRoots.get(row.epoch));

  // An epoch that is settled in the database can be open on the chain when the database was restored.
  const isOver = ({ epoch, state }: LockedEpoch) => !on.openRoots.has(epoch) && (state === 'settled' || (state === 'expired' && ended.has(epoch)));
  const settledNow = await markSettled(
    tx,
    locked.filter(isOver).map((row) => row.epoch),
  );
  const waiting = locked.filter((row) => !isOver(row));
  if (waiting.length > 0) {
    const request = build.updateTable('epochs').where(
      'epoch',
      'in',
      waiting.map(({ epoch }) => epoch),
    );
    await run(
      tx,
      request.set({ settle_requested_at: sql`app_now()`, settle_after_height: String(on.afterHeight) }).where('settle_requested_at', 'is', null),
    );
    if (root !== null) await run(tx, request.set({ settle_root: Buffer.from(root, 'hex') }));
    await submit(
      tx,
      SETTLE,
      waiting.map(({ epoch, state }) => (state === 'settled' ? settledSubject(epoch) : String(epoch))),
    );
  }
  return locked.map((row) => {
    const settledAt = settledNow.get(row.epoch) ?? row.settled_at;
    return isOver(row) ? { epoch: row.epoch, status: 'settled', settledAt } : { epoch: row.epoch, status: 'settling', settledAt: null };
  });
}

/** Refuses an epoch that is open on the chain with another root, unless this request or an earlier one names this root. */
function checkRoot({ epoch, root, named: before }: LockedEpoch, named: string | null, open: string | undefined): void {
  if (named !== null && open === undefined && named !== root) throw fail(409, `epoch ${epoch} is not open on the chain with the root ${named}`);
  if (open === undefined || [root, named, before].includes(open)) return;
  throw fail(409, otherRootSentence(epoch, open));
}

/** Returns the sentence that says that an epoch is open with another root, and how an operator settles that root. */
export const otherRootSentence = (epoch: number, open: string): string =>
  `epoch ${epoch} is open on the chain with another root than in the database; to settle the open root, request the settlement with "root": "${open}"`;

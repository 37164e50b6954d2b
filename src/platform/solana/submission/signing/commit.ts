import { coalesce } from '#lib/concurrency/coalesce.ts';
import { type App, perApp } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { holdCarried } from '../carry.ts';
import { reserveOutflows } from '../outflows.ts';
import { insertAttempts, lockToSign, type NewAttempt, type TransactionRow, toStored } from '../rows.ts';
import { furtherSpends, type LiveAttempt, selectLive } from '../siblings.ts';
import type { Spend, TransactionDraft, TransactionType } from '../transaction-type.ts';

/** An attempt that is signed and not committed yet. */
export interface UncommittedAttempt {
  readonly type: TransactionType;
  readonly row: TransactionRow;
  readonly draft: TransactionDraft;
  /** The live attempts of the transaction when it was composed; empty for a queued transaction. */
  readonly live: readonly LiveAttempt[];
  readonly signed: Pick<
    NewAttempt,
    'signature' | 'bytes' | 'signers' | 'last_valid_height' | 'nonce_account' | 'nonce' | 'signed_slot' | 'preamble' | 'price'
  >;
  readonly fee: bigint;
  /** All spends of the attempt, with its fee. */
  readonly costs: readonly Spend[];
}

/** Time for which the attempts of claims are collected while none is being committed, ms. */
const COLLECT_MS = 10;

/**
 * Commits the attempts of one type in one database transaction at a time. Attempts that are signed during a transaction share the next one, because two
 * concurrent transactions would wait for each other's locks of the daily limits. The result is null when a batch of several attempts fails.
 */
const batches = perApp((app) =>
  coalesce<UncommittedAttempt, ReadonlySet<string> | null>(
    (batch) =>
      commitAll(app, batch).catch((error: unknown) => {
        if (batch.length === 1) throw error;
        app.log.warn({ err: error, attempts: batch.length }, 'a batch of attempts was not committed; each of them is committed alone');
        return null;
      }),
    { collectMs: COLLECT_MS },
  ),
);

/**
 * Commits a signed attempt, so that it may be sent. Claims are many, so those that are signed at the same time share a database transaction. When it fails, for
 * instance because one of them would exceed a daily limit, each of them is committed alone.
 * @returns false when another worker has changed the transaction, or its live attempts
 * @throws DailyLimitReached when the attempt would exceed a daily limit
 */
export async function commitAttempt(app: App, attempt: UncommittedAttempt): Promise<boolean> {
  const { type, row } = attempt;
  const shared = row.priority === 'claims' ? await app.state(batches)(type.name, attempt) : null;
  return (shared ?? (await commitAll(app, [attempt]))).has(attempt.signed.signature);
}

/** @returns the signatures of the attempts that are committed */
const commitAll = (app: App, batch: readonly [UncommittedAttempt, ...UncommittedAttempt[]]): Promise<ReadonlySet<string>> =>
  app.tx((tx) => commitIn(app, tx, batch));

async function commitIn(app: App, tx: Tx, batch: readonly [UncommittedAttempt, ...UncommittedAttempt[]]): Promise<ReadonlySet<string>> {
  const [{ type, row: first }] = batch;
  const rows = await tx.query(lockToSign, [
    batch.map(({ row }) => row.id),
    batch.map(({ row }) => row.attempts),
    batch.map(({ row }) => row.lease),
    batch.map(({ live }) => (live.length === 0 ? 'queued' : 'live')),
  ]);
  const locked = new Set(rows.map(({ id }) => id));
  // Read after the lock, because an attempt may have ended since.
  const further = batch.filter(({ live }) => live.length > 0).map(({ row }) => row.id);
  const live = Map.groupBy(further.length === 0 ? [] : await tx.query(selectLive, [further]), ({ id }) => id);
  const liveOf = ({ row }: UncommittedAttempt) => live.get(row.id) ?? [];
  const ready = batch.filter((one) => locked.has(one.row.id) && liveOf(one).length === one.live.length);
  if (ready.length === 0) return new Set();
  for (const { draft, signed } of ready) if (draft.carries) await holdCarried(tx, draft.carries, signed.signature);
  await type.signed?.(
    tx,
    ready.map((one) => ({ subject: one.row.subject, signature: one.signed.signature, draft: one.draft, isFurther: one.live.length > 0 })),
  );
  const attempts = ready.map((one) => ({
    ...one,
    spends: one.live.length === 0 ? one.costs : furtherSpends(liveOf(one), one.draft.spends ?? [], one.fee),
  }));
  const day = await reserveOutflows(
    app,
    tx,
    first.priority,
    attempts.flatMap(({ spends }) => spends),
  );
  const stored = attempts.map(
    ({ row, draft, signed, fee, costs, spends }): NewAttempt => ({
      ...signed,
      id: row.id,
      n: row.attempts + 1,
      spends: toStored(spends),
      spend_day: day,
      fee: String(fee),
      priority: row.priority,
      carried: draft.carries?.members.map(({ id }) => id) ?? [],
      costs: toStored(costs),
      places: type.maxLive ?? 1,
    }),
  );
  await tx.query(insertAttempts, [JSON.stringify(stored)]);
  return new Set(ready.map(({ signed }) => signed.signature));
}

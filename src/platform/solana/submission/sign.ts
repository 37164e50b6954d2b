import { PublicKey, SystemProgram, type TransactionInstruction, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import bs58 from 'bs58';
import { HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import type { Statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { observeAttempts } from '#platform/observability/metrics/metrics.ts';
import { rpc } from '../solana.ts';
import { chainError } from './errors.ts';
import { computeBudget, feeOf, MAX_UNITS, priorityPrice, type RecentBlockhash, recentBlockhash, unitsFor } from './fees.ts';
import { pollTransactions } from './jobs.ts';
import { OverLimit, reserve, summed } from './outflows.ts';
import {
  insertAttempt,
  lockToSign,
  postpone,
  selectPause,
  selectTransaction,
  settle,
  storedError,
  storedSpends,
  type TransactionRow,
} from './rows.ts';
import { send } from './send.ts';
import type { ChainError, Draft, Outcome, Spend, TransactionType } from './transaction-type.ts';

/** How often composing is tried before it is over, and how long it waits in between: twice as long each time, ms. */
const MOST_TRIES = 12;
const RETRY_MS = 500;
const MOST_RETRY_MS = 60_000;
/** The longest wait while a dependency is down. */
const MOST_OUTAGE_MS = 5_000;
/** While its scope is paused, or the day's limit is reached, how long until it is looked at again, ms. */
const HELD_MS = 15_000;

/**
 * Composes a transaction, simulates and signs it, commits the signed bytes, reads them back and sends them.
 * Killed anywhere before the commit, nothing has happened; after it, the follower sends the same bytes. Two workers
 * may compose the same at once: one of them finds the row taken, and what it signed is never sent.
 */
export async function signAndSend(app: App, kinds: ReadonlyMap<string, TransactionType>, id: string): Promise<void> {
  const row = (await app.db.query(selectTransaction, [id]))[0];
  if (row?.state !== 'queued' || !row.due) return;
  const kind = kinds.get(row.kind);
  if (!kind) throw new Error(`no such kind of transaction: ${row.kind}`);
  const paused = (await app.db.query(selectPause, [kind.scope]))[0];
  if (paused) return await hold(app, row, { name: 'Paused', message: paused.reason, instruction: null, code: null });
  try {
    const composed = await kind.compose(app, row.subject);
    const outcome = composed.do === 'sign' ? await attempt(app, kind, row, composed) : composed;
    if (outcome !== null) await conclude(app, kind, row, outcome);
  } catch (error) {
    if (error instanceof OverLimit) {
      app.log.error({ kind: kind.name, subject: row.subject, asset: error.asset }, 'the daily limit stops payments');
      return await hold(app, row, { name: 'OverLimit', message: error.message, instruction: null, code: null });
    }
    // A node or a database that is down says nothing about the transaction: it is tried for as long as that lasts.
    if (!(error instanceof HttpError)) app.log.error({ err: error, kind: kind.name, subject: row.subject }, 'a transaction could not be composed');
    const reason = error instanceof Error ? error.message : String(error);
    // An outage makes the waits longer; it does not use up the tries that refusals have.
    const tries = Math.max(row.tries, Math.min(row.tries + 1, MOST_TRIES / 2));
    await write(app, postpone, [
      row.id,
      Math.min(MOST_OUTAGE_MS, backoff(row.tries)),
      storedError({ name: 'Unavailable', message: reason, instruction: null, code: null }),
      tries,
    ]);
  }
}

const backoff = (tries: number) => Math.min(MOST_RETRY_MS, RETRY_MS * 2 ** Math.min(tries, 10));

const write = async (app: App, statement: Statement<unknown>, values: readonly unknown[]): Promise<void> =>
  void (await app.tx((tx) => tx.query(statement, values)));

const hold = async (app: App, row: TransactionRow, error: ChainError) => await write(app, postpone, [row.id, HELD_MS, storedError(error), row.tries]);

/** A simulation was refused, and it may be otherwise the next time. */
interface Refused {
  readonly do: 'try again';
  readonly error: ChainError;
}

/** Signs one attempt and sends it. @returns what came of it instead, where the simulation refused */
async function attempt(app: App, kind: TransactionType, row: TransactionRow, draft: Draft): Promise<Outcome | Refused | null> {
  const recent: RecentBlockhash = await recentBlockhash(app);
  const price = await priorityPrice(app, row.attempts);
  const keys = [draft.feePayer, ...(draft.signers ?? [])].map((role) => app.chain.key(role));
  const signers = [...new Map(keys.map((key) => [key.publicKey.toBase58(), key])).values()];
  const payer = signers[0];
  if (!payer) throw new Error('a draft names no fee payer');
  const advance = draft.nonce ? [SystemProgram.nonceAdvance({ noncePubkey: draft.nonce.account, authorizedPubkey: payer.publicKey })] : [];
  const compile = (units: number): VersionedTransaction => {
    // A nonce counts only as the first instruction.
    const instructions: TransactionInstruction[] = [...advance, ...computeBudget(units, price), ...draft.instructions];
    const recentBlockhash = draft.nonce?.value ?? recent.blockhash;
    return new VersionedTransaction(new TransactionMessage({ payerKey: payer.publicKey, recentBlockhash, instructions }).compileToLegacyMessage());
  };
  const before = advance.length + computeBudget(MAX_UNITS, price).length;

  const { value: simulated } = await rpc(() =>
    app.chain.connection.simulateTransaction(compile(MAX_UNITS), { sigVerify: false, replaceRecentBlockhash: !draft.nonce, commitment: 'confirmed' }),
  );
  if (simulated.err) {
    const error = chainError(simulated.err, before);
    app.log.warn({ kind: kind.name, subject: row.subject, error, logs: simulated.logs?.slice(-6) }, 'a simulation was refused');
    return (await kind.refused?.(app, row.subject, error)) ?? tryAgain(row, error);
  }

  const units = unitsFor(simulated.unitsConsumed ?? MAX_UNITS);
  const transaction = compile(units);
  transaction.sign(signers);
  const first = transaction.signatures[0];
  if (!first) throw new Error('a transaction was not signed');
  const signature = bs58.encode(first);
  const spends: Spend[] = summed([...(draft.spends ?? []), { asset: 'sol', amount: feeOf(signers.length, units, price) }]);

  const committed = await app.tx(async (tx: Tx) => {
    if ((await tx.query(lockToSign, [row.id, row.attempts])).length === 0) return false;
    await kind.signed?.(tx, { subject: row.subject, signature, draft });
    const day = await reserve(app, tx, spends);
    await tx.query(insertAttempt, [
      row.id,
      row.attempts + 1,
      signature,
      Buffer.from(transaction.serialize()),
      signers.map((key) => key.publicKey.toBase58()),
      draft.nonce ? null : recent.lastValidBlockHeight,
      draft.nonce?.account.toBase58() ?? null,
      draft.nonce?.value ?? null,
      recent.slot,
      storedSpends(spends),
      day,
      before,
    ]);
    return true;
  });
  if (!committed) return null;
  observeAttempts(kind.name, 'signed', [0]);
  await send(app, [signature], recent.slot);
  await app.queues.add([{ job: pollTransactions, payload: {} }]).catch(() => undefined);
  return null;
}

const tryAgain = (row: TransactionRow, error: ChainError): Outcome | Refused =>
  row.tries + 1 >= MOST_TRIES ? { do: 'fail', error } : { do: 'try again', error };

/** Writes down what came of composing. */
async function conclude(app: App, kind: TransactionType, row: TransactionRow, outcome: Outcome | Refused): Promise<void> {
  const { id, subject } = row;
  switch (outcome.do) {
    case 'try again':
      return await write(app, postpone, [id, backoff(row.tries), storedError(outcome.error), row.tries + 1]);
    case 'wait': {
      // It may wait as often as it has to: only refusals count.
      const error: ChainError = { name: 'Waiting', message: outcome.reason, instruction: null, code: null };
      return await write(app, postpone, [id, outcome.ms, storedError(error), row.tries]);
    }
    case 'done': {
      const { signature, slot } = outcome;
      return await app.tx(async (tx) => {
        const moved = await tx.query(settle, [id, 'finalized', signature, slot, null]);
        if (moved.length > 0) await kind.finalized(tx, [{ subject, signature, slot }]);
      });
    }
    case 'fail':
      return await app.tx(async (tx) => {
        const moved = await tx.query(settle, [id, 'failed', null, null, storedError(outcome.error)]);
        if (moved.length > 0) await kind.failed(tx, [{ subject, signature: null, error: outcome.error }]);
      });
    case 'manual': {
      app.log.error({ kind: kind.name, subject, reason: outcome.reason }, 'a transaction needs a person');
      const error: ChainError = { name: 'Manual', message: outcome.reason, instruction: null, code: null };
      return await write(app, settle, [id, 'manual', null, null, storedError(error)]);
    }
  }
}

/** The account that a durable nonce is kept in, as the draft wants it. */
export const nonceOf = (account: string, value: string) => ({ account: new PublicKey(account), value });

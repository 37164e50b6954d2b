import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { EXPIRED_ERROR } from './errors.ts';
import { checkBlockhashExpiry, checkNonceExpiry, type ExpiryCheck } from './expiry-proof.ts';
import { markManual, type PendingAttempt, recordExpiryCheck } from './rows.ts';
import type { TransactionType } from './transaction-type.ts';
import { applyTransitions } from './transition.ts';

/** Maximum expiry checks per poll; each check takes several RPC requests. */
const MAX_CHECKS = 64;
const MAX_CONCURRENT = 8;

/**
 * Checks old attempts for which the RPC node reports no status. Marks an attempt `dead` when two checks, at least `recheckMs` apart, prove that it
 * expired. An attempt without this proof after `manualAfterMs` is marked for an operator; polling of the attempt continues.
 * @returns the number of attempts marked dead
 */
export async function expireAttempts(app: App, types: ReadonlyMap<string, TransactionType>, missing: readonly PendingAttempt[]): Promise<number> {
  const old = missing.filter((attempt) => isCheckDue(app, attempt));
  if (old.length === 0) return 0;
  const { height } = await app.chain.node.finalizedHeight();
  const mayLand = ({ last_valid_height: last }: PendingAttempt) => last !== null && height <= last + app.config.chain.submission.depthBlocks;
  const due = old.filter((attempt) => !mayLand(attempt)).slice(0, MAX_CHECKS);
  const next = due.values();
  let expired = 0;
  await Promise.all(
    Array.from({ length: Math.min(MAX_CONCURRENT, due.length) }, async () => {
      for (const attempt of next) if (await checkAttempt(app, types, attempt)) expired++;
    }),
  );
  return expired;
}

/**
 * Returns whether the next expiry check of an attempt is due. The time is counted from the last check, or from the signing if the attempt was never
 * checked.
 */
function isCheckDue(app: App, attempt: PendingAttempt): boolean {
  const { recheckMs, giveUpMs } = app.config.chain.submission;
  return (attempt.checked_age ?? attempt.age) >= (attempt.nonce === null ? recheckMs : Math.min(recheckMs, giveUpMs));
}

/** Checks one attempt and records the result. @returns whether the attempt was marked dead */
async function checkAttempt(app: App, types: ReadonlyMap<string, TransactionType>, attempt: PendingAttempt): Promise<boolean> {
  const { nonce_account } = attempt;
  const check = nonce_account === null ? await checkBlockhashExpiry(app, attempt) : await checkNonceExpiry(app, { ...attempt, nonce_account });
  const provenTwice = check.result === 'dead' && attempt.expired_age !== null && attempt.expired_age >= app.config.chain.submission.recheckMs;
  if (provenTwice || (check.result === 'unclear' && (await isDoneAlready(app, types.get(attempt.type), attempt)))) {
    app.log.warn(
      { type: attempt.type, subject: attempt.subject, signature: attempt.signature, evidence: 'evidence' in check ? check.evidence : null },
      'a transaction attempt expired without landing; the transaction is signed again or fails',
    );
    return (await applyTransitions(app, types, [{ attempt, to: 'dead', slot: null, error: EXPIRED_ERROR }])).length > 0;
  }
  await app.tx((tx) => tx.query(recordExpiryCheck, [attempt.id, attempt.n, storedEvidence(check)]));
  await handleOverdue(app, types, attempt, check);
  return false;
}

/**
 * Returns whether the effect of an attempt's transaction is on the chain already. The attempt can then end although its expiry is unproven. Returns
 * false for types with `afterFailure: 'over'`, because only types with `afterFailure: 'again'` must check the chain in `compose`.
 */
async function isDoneAlready(app: App, type: TransactionType | undefined, { subject }: PendingAttempt): Promise<boolean> {
  return type?.afterFailure === 'again' && (await type.compose(app, subject)).do === 'done';
}

/**
 * Returns the evidence to store with the attempt. Null deletes the evidence of an earlier check, so that two successive checks must prove the expiry.
 */
const storedEvidence = (check: ExpiryCheck) => (check.result === 'dead' ? JSON.stringify(check.evidence) : null);

/**
 * Handles an attempt that did not land in time. Runs the `overdue` hook for an attempt with a nonce. Marks an attempt for an operator when its expiry
 * stays unproven.
 */
async function handleOverdue(app: App, types: ReadonlyMap<string, TransactionType>, attempt: PendingAttempt, check: ExpiryCheck): Promise<void> {
  const { giveUpMs, manualAfterMs } = app.config.chain.submission;
  const type = types.get(attempt.type);
  if (check.result === 'may-land' && attempt.nonce !== null && attempt.age >= giveUpMs) {
    await app.tx(async (tx) => await type?.overdue?.(tx, [attempt.subject]));
  }
  if (check.result !== 'unclear' || attempt.manual || attempt.age < manualAfterMs) return;
  app.log.error(
    { type: attempt.type, subject: attempt.subject, signature: attempt.signature, ...check },
    'the status of a transaction cannot be determined; an operator must decide, polling continues',
  );
  const error = { name: 'Unclear', message: JSON.stringify(check.evidence), instruction: null, code: null };
  await app.tx((tx) => run(tx, markManual(attempt.id, error)));
}

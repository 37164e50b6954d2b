import type { App } from '#platform/app.ts';
import { composeOnBoth } from './compose-on-both.ts';
import { EXPIRED_ERROR } from './errors.ts';
import { checkBlockhashExpiries, checkNonceExpiry, type ExpiryCheck } from './expiry-proof.ts';
import { markManual, type PendingAttempt, recordExpiryChecks, storedError } from './rows.ts';
import type { TransactionType } from './transaction-type.ts';
import { applyTransitions } from './transition.ts';

/** Maximum expiry checks per poll. The checks of attempts with a blockhash share their RPC requests. */
const MAX_CHECKS = 1_024;
const MAX_NONCE_CHECKS = 64;
const MAX_CONCURRENT = 8;
/** Maximum unclear attempts per poll for which the chain is searched for the effect of the transaction, which takes several RPC requests each. */
const MAX_UNCLEAR = 16;
/** Factor by which the time between two checks is longer for an attempt that was marked for an operator. */
const UNCLEAR_FACTOR = 10;

/** The result of the expiry check of an attempt. */
interface CheckedAttempt {
  readonly attempt: PendingAttempt;
  readonly check: ExpiryCheck;
}

/**
 * Checks old attempts for which the RPC node reports no status. Marks an attempt `dead` when two checks, at least `recheckMs` apart, prove that it
 * expired; for a guarded type, one check is enough. An attempt without this proof after `manualAfterMs` is marked for an operator; polling of the
 * attempt continues. The attempts whose last check is the longest ago come first, and attempts that stay unclear are checked rarely, so they do not
 * delay the checks of the others.
 * @returns the number of attempts marked dead
 */
export async function expireAttempts(app: App, types: ReadonlyMap<string, TransactionType>, missing: readonly PendingAttempt[]): Promise<number> {
  const due = missing
    .filter((attempt) => types.get(attempt.type)?.isGuarded || isCheckDue(app, attempt))
    .sort((a, b) => (b.checked_age ?? Infinity) - (a.checked_age ?? Infinity) || 0);
  if (due.length === 0) return 0;
  const checked = [...(await checkWithBlockhash(app, due)), ...(await checkWithNonce(app, types, due))];
  const expired = checked.filter(({ attempt, check }) => isProven(app, types, attempt, check));
  const others = checked.filter((one) => !expired.includes(one));
  const searched = others.filter(({ attempt, check }) => check.result === 'unclear' && types.get(attempt.type)?.afterFailure === 'again');
  const done = await findDone(app, types, searched.slice(0, MAX_UNCLEAR));
  // The other unclear attempts stay due, so they come first in the next poll.
  const skipped = new Set(searched.slice(MAX_UNCLEAR));
  const kept = others.filter((one) => !skipped.has(one) && !done.has(one));
  await recordChecks(app, kept);
  await handleOverdue(app, types, kept);
  await markUnclear(app, kept);
  return await markDead(app, types, [...expired, ...done]);
}

/**
 * Returns whether the next expiry check of an attempt is due. The time is counted from the last check, or from the signing if the attempt was never
 * checked.
 */
export function isCheckDue(app: App, { checked_age, age, nonce, manual }: PendingAttempt): boolean {
  const { recheckMs, giveUpMs } = app.config.chain.submission;
  const interval = nonce === null ? recheckMs : Math.min(recheckMs, giveUpMs);
  return (checked_age ?? age) >= (manual ? interval * UNCLEAR_FACTOR : interval);
}

/** Checks the attempts with a blockhash. Leaves out attempts whose blockhash may still be valid. */
async function checkWithBlockhash(app: App, due: readonly PendingAttempt[]): Promise<CheckedAttempt[]> {
  const attempts = due.filter(({ nonce }) => nonce === null);
  if (attempts.length === 0) return [];
  const { height } = await app.chain.node.finalizedHeight();
  const { depthBlocks } = app.config.chain.submission;
  const old = attempts.filter(({ last_valid_height: last }) => last === null || height > last + depthBlocks).slice(0, MAX_CHECKS);
  const checks = await checkBlockhashExpiries(app, old);
  return old.flatMap((attempt, i) => {
    const check = checks[i];
    return check ? [{ attempt, check }] : [];
  });
}

async function checkWithNonce(app: App, types: ReadonlyMap<string, TransactionType>, due: readonly PendingAttempt[]): Promise<CheckedAttempt[]> {
  const attempts = due.flatMap((attempt) => {
    const { nonce_account, nonce } = attempt;
    return nonce_account === null || nonce === null ? [] : [{ ...attempt, nonce_account, nonce }];
  });
  const checked: CheckedAttempt[] = [];
  const next = attempts.slice(0, MAX_NONCE_CHECKS).values();
  await Promise.all(
    Array.from({ length: Math.min(MAX_CONCURRENT, attempts.length) }, async () => {
      for (const attempt of next) checked.push({ attempt, check: await checkNonceExpiry(app, types.get(attempt.type), attempt) });
    }),
  );
  return checked;
}

/** Returns whether an attempt is proven to have expired: by two checks, at least `recheckMs` apart, or by one check if its type is guarded. */
function isProven(app: App, types: ReadonlyMap<string, TransactionType>, { type, expired_age }: PendingAttempt, { result }: ExpiryCheck): boolean {
  const isTwice = expired_age !== null && expired_age >= app.config.chain.submission.recheckMs;
  return result === 'dead' && (isTwice || (types.get(type)?.isGuarded ?? false));
}

/**
 * Returns the attempts whose effect is on the chain already. They can end although their expiry is unproven. Only for types with `afterFailure:
 * 'again'`, because only these types must check the chain in `compose`.
 */
async function findDone(app: App, types: ReadonlyMap<string, TransactionType>, unclear: readonly CheckedAttempt[]): Promise<Set<CheckedAttempt>> {
  const done = new Set<CheckedAttempt>();
  const next = unclear.values();
  await Promise.all(
    Array.from({ length: Math.min(MAX_CONCURRENT, unclear.length) }, async () => {
      for (const one of next) {
        const type = types.get(one.attempt.type);
        if (type && (await composeOnBoth(app, type, one.attempt.subject)).do === 'done') done.add(one);
      }
    }),
  );
  return done;
}

async function markDead(app: App, types: ReadonlyMap<string, TransactionType>, dead: readonly CheckedAttempt[]): Promise<number> {
  for (const { attempt, check } of dead) {
    app.log.warn(
      { type: attempt.type, subject: attempt.subject, signature: attempt.signature, evidence: 'evidence' in check ? check.evidence : null },
      'a transaction attempt expired without landing; the transaction is signed again or fails',
    );
  }
  const transitions = dead.map(({ attempt }) => ({ attempt, to: 'dead', slot: null, error: EXPIRED_ERROR }) as const);
  return (await applyTransitions(app, types, transitions)).length;
}

/**
 * Stores the evidence of checks. A check that does not prove the expiry deletes the evidence of the earlier check, so that two successive checks must
 * prove the expiry.
 */
async function recordChecks(app: App, checked: readonly CheckedAttempt[]): Promise<void> {
  if (checked.length === 0) return;
  const evidence = checked.map(({ check }) => (check.result === 'dead' ? JSON.stringify(check.evidence) : null));
  await app.tx((tx) => tx.query(recordExpiryChecks, [checked.map(({ attempt }) => attempt.id), checked.map(({ attempt }) => attempt.n), evidence]));
}

/** Runs the `overdue` hook for attempts with a nonce that did not land in time. */
async function handleOverdue(app: App, types: ReadonlyMap<string, TransactionType>, checked: readonly CheckedAttempt[]): Promise<void> {
  const { giveUpMs } = app.config.chain.submission;
  const overdue = checked.filter(({ attempt, check }) => check.result === 'may-land' && attempt.nonce !== null && attempt.age >= giveUpMs);
  for (const { attempt } of overdue) await app.tx(async (tx) => await types.get(attempt.type)?.overdue?.(tx, [attempt.subject]));
}

/** Maximum attempts that one line of the log names. */
const MAX_LOGGED = 10;

/** Marks the attempts whose expiry stays unproven for an operator. */
async function markUnclear(app: App, checked: readonly CheckedAttempt[]): Promise<void> {
  const { manualAfterMs } = app.config.chain.submission;
  const unclear = checked.flatMap(({ attempt, check }) => {
    const isOverdue = check.result === 'unclear' && !attempt.manual && attempt.age >= manualAfterMs;
    return isOverdue ? [{ attempt, evidence: check.evidence }] : [];
  });
  if (unclear.length === 0) return;
  app.log.error(
    {
      count: unclear.length,
      attempts: unclear.slice(0, MAX_LOGGED).map(({ attempt: { type, subject, signature }, evidence }) => ({ type, subject, signature, evidence })),
    },
    'the status of transactions cannot be determined; an operator must decide, polling continues',
  );
  const errors = unclear.map(({ evidence }) => storedError({ name: 'Unclear', message: JSON.stringify(evidence), instruction: null, code: null }));
  await app.tx((tx) => tx.query(markManual, [unclear.map(({ attempt }) => attempt.id), errors]));
}

import type { App } from '#platform/app.ts';
import { DEAD } from './errors.ts';
import { finalizedNow, type Look, lookAtBlockhash, lookAtNonce } from './expiry-proof.ts';
import { markDoubt, markManual, type PendingAttempt, storedError } from './rows.ts';
import type { TransactionType } from './transaction-type.ts';
import { move } from './transition.ts';

/** Attempts that one round looks into; each takes a few questions. */
const MOST_LOOKS = 64;
const LOOKS_AT_ONCE = 8;

/**
 * Looks into attempts without a status, and buries those that are proven dead twice, some time apart. What stays unclear
 * for long is handed to people; it is followed all the same.
 * @returns how many were buried
 */
export async function expireAttempts(app: App, kinds: ReadonlyMap<string, TransactionType>, missing: readonly PendingAttempt[]): Promise<number> {
  const old = missing.filter((attempt) => isDue(app, attempt));
  if (old.length === 0) return 0;
  const { height } = await finalizedNow(app.chain.connection);
  const mayLand = ({ last_valid_height: last }: PendingAttempt) => last !== null && height <= last + app.config.chain.landing.depthBlocks;
  const due = old.filter((attempt) => !mayLand(attempt)).slice(0, MOST_LOOKS);
  const next = due.values();
  let buried = 0;
  await Promise.all(
    Array.from({ length: Math.min(LOOKS_AT_ONCE, due.length) }, async () => {
      for (const attempt of next) if (await look(app, kinds, attempt)) buried++;
    }),
  );
  return buried;
}

/** Not before it could be dead, and not more often than verdicts are due. */
function isDue(app: App, attempt: PendingAttempt): boolean {
  const { recheckMs, giveUpMs } = app.config.chain.landing;
  return (attempt.looked_age ?? attempt.age) >= (attempt.nonce === null ? recheckMs : Math.min(recheckMs, giveUpMs));
}

async function look(app: App, kinds: ReadonlyMap<string, TransactionType>, attempt: PendingAttempt): Promise<boolean> {
  const { nonce_account } = attempt;
  const found = nonce_account === null ? await lookAtBlockhash(app, attempt) : await lookAtNonce(app, { ...attempt, nonce_account });
  const provenTwice = found.verdict === 'dead' && attempt.doubt_age !== null && attempt.doubt_age >= app.config.chain.landing.recheckMs;
  if (provenTwice || (found.verdict === 'unclear' && (await isDoneAnyway(app, kinds.get(attempt.kind), attempt)))) {
    app.log.warn(
      { kind: attempt.kind, subject: attempt.subject, signature: attempt.signature, evidence: 'evidence' in found ? found.evidence : null },
      'an attempt is dead',
    );
    return (await move(app, kinds, [{ attempt, to: 'dead', slot: null, error: DEAD }])).length > 0;
  }
  await app.tx((tx) => tx.query(markDoubt, [attempt.id, attempt.n, doubtOf(found)]));
  await overdue(app, kinds, attempt, found);
  return false;
}

/**
 * What is composed again after each failure knows from the chain whether it is done, and refuses to happen twice: then
 * nobody needs to know which transaction did it, and this attempt has nothing left to do.
 */
async function isDoneAnyway(app: App, kind: TransactionType | undefined, { subject }: PendingAttempt): Promise<boolean> {
  return kind?.afterFailure === 'again' && (await kind.compose(app, subject)).do === 'done';
}

/** Only a look that says `dead` starts the time to the next one; any other ends the doubt. */
const doubtOf = (found: Look) => (found.verdict === 'dead' ? JSON.stringify(found.evidence) : null);

/** What does not land in its time: its lane may give it up; and what cannot be told is for people. */
async function overdue(app: App, kinds: ReadonlyMap<string, TransactionType>, attempt: PendingAttempt, found: Look): Promise<void> {
  const { giveUpMs, manualAfterMs } = app.config.chain.landing;
  const kind = kinds.get(attempt.kind);
  if (found.verdict === 'no' && attempt.nonce !== null && attempt.age >= giveUpMs) {
    await app.tx(async (tx) => await kind?.overdue?.(tx, [attempt.subject]));
  }
  if (found.verdict !== 'unclear' || attempt.manual || attempt.age < manualAfterMs) return;
  app.log.error({ kind: attempt.kind, subject: attempt.subject, signature: attempt.signature, ...found }, 'a transaction needs a person');
  const error = { name: 'Unclear', message: JSON.stringify(found.evidence), instruction: null, code: null };
  await app.tx((tx) => tx.query(markManual, [attempt.id, storedError(error)]));
}

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEntryBalance } from '#areas/lottery';
import { batching } from '#lib/concurrency/batching.ts';
import { fail, unavailable } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { type App, perApp } from '#platform/app.ts';
import { HOW_TO_ENTER, readCommand } from './command.ts';
import { enforceChatLimits } from './limits.ts';
import { type AcceptedMessage, recordBatch, type Submission, type SubmissionOutcome } from './record.ts';
import { walletAuthor } from './sanctions.ts';

/**
 * Messages that arrive while a batch commits form the next batch. A large batch takes about as long as a single message, so large batches save time.
 */
const BATCHES = { maxSize: 500, maxConcurrent: 1, lingerMs: 1 };

interface PendingMessage {
  readonly submission: Submission;
  outcome?: SubmissionOutcome | { readonly failure: unknown } | undefined;
}

const submitter = perApp((app) =>
  batching<PendingMessage>(async (batch) => {
    const outcomes = await recordAll(
      app,
      batch.map(({ submission }) => submission),
    );
    for (const [i, pending] of batch.entries()) pending.outcome = outcomes[i];
  }, BATCHES),
);

/**
 * Stores a message of the service's own chat. A message that begins with `!enter` also enters the active round.
 * @param text one line, trimmed
 * @throws 400 when an entry is malformed or its numbers are wrong; 403 when the wallet is muted or banned, or does not meet a rule of the round; 409 when no round takes the
 * entry or the idempotency key was used with another text; 429 when a limit of `enforceChatLimits` is exceeded
 */
export async function submitMessage(app: App, wallet: string, text: string, idempotencyKey: string | null): Promise<AcceptedMessage> {
  const command = readCommand(text);
  if (command === 'malformed') throw fail(400, HOW_TO_ENTER);
  const id = newId();
  await enforceChatLimits(app, walletAuthor(wallet), command !== null, idempotencyKey ?? id);
  const key = idempotencyKey === null ? null : { name: idempotencyKey, textHash: createHash('sha256').update(text).digest() };
  const balance = command === null ? null : await readEntryBalance(app, wallet);
  const pending: PendingMessage = { submission: { id, entryId: newId(), wallet, text, command, balance, key } };
  await app.state(submitter)(pending);
  const { outcome } = pending;
  if (!outcome) throw new Error('the batch has no outcome for a message');
  if ('failure' in outcome) throw outcome.failure;
  if ('status' in outcome) throw outcome.status === 503 ? unavailable(outcome.error, 2) : fail(outcome.status, outcome.error);
  return outcome;
}

/** SQL states of a rolled back transaction that may succeed on retry: serialization failure, deadlock, unique violation. */
const CONFLICT_STATES = new Set(['40001', '40P01', '23505']);
const MAX_ATTEMPTS = 4;
/** SQL states of a rolled back transaction whose input is invalid: data exceptions, constraint violations, PL/pgSQL errors. */
const DATA_ERROR = /^(?:22|23|P0)...$/;

const sqlState = (error: unknown): string => (error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '');

/**
 * Records messages so that an invalid message does not make other messages fail. A batch is retried after a conflict, and split into halves after a
 * data error. After any other error nothing is retried, because the transaction may have committed.
 * @returns one outcome per message, in the order of the messages
 */
export async function recordAll(app: App, submissions: readonly Submission[]): Promise<(SubmissionOutcome | { readonly failure: unknown })[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await recordBatch(app, submissions);
    } catch (error) {
      const state = sqlState(error);
      const isConflict = CONFLICT_STATES.has(state);
      if (isConflict && attempt < MAX_ATTEMPTS) {
        await sleep(Math.random() * 10 * attempt);
        continue;
      }
      const canSplit = isConflict || DATA_ERROR.test(state);
      if (!canSplit || submissions.length === 1) return submissions.map(() => ({ failure: error }));
      const middle = Math.ceil(submissions.length / 2);
      return [...(await recordAll(app, submissions.slice(0, middle))), ...(await recordAll(app, submissions.slice(middle)))];
    }
  }
}

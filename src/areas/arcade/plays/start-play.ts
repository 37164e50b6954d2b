import { batching } from '#lib/concurrency/batching.ts';
import { type App, perApp } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { beginBatch, hasRecentBatch } from '../mixed-load.ts';
import { type PlayRequest, type StartedPlay, startPlays } from './start-plays.ts';

/**
 * Maximum plays per transaction, and maximum concurrent transactions. While transactions run, new requests wait for the next transaction. A
 * batch of plays lingers longer than a batch of scores: a caller that got a play sends its score first, so callers seldom come back at once.
 */
const BATCHES = { maxSize: 200, maxConcurrent: 2, lingerMs: 8 };
/** Minimum plays of a second concurrent transaction: while no scores arrive, and while they do. */
const MIN_CONCURRENT = { alone: 40, besideScores: 100 };

interface PendingPlay extends PlayRequest {
  outcome: StartedPlay | Error | null;
}

const starter = perApp((app) =>
  batching<PendingPlay>(
    (batch) => {
      beginBatch(app, 'plays');
      return startBatch(app, batch);
    },
    { ...BATCHES, minConcurrentSize: () => (hasRecentBatch(app, 'scores') ? MIN_CONCURRENT.besideScores : MIN_CONCURRENT.alone) },
  ),
);

async function startBatch(app: App, batch: readonly PendingPlay[]): Promise<void> {
  try {
    const outcomes = await app.tx((tx) => startPlays(tx, batch, tx.last));
    for (const [i, pending] of batch.entries()) pending.outcome = outcomes[i] ?? null;
  } catch (error) {
    if (batch.length === 1 || isUnavailable(error)) throw error;
    app.log.error({ err: error }, 'a batch of plays failed; each play is started in a transaction of its own');
    let down: Error | null = null;
    for (const pending of batch) {
      // While PostgreSQL is not available, the other plays fail at once instead of waiting for it one after the other.
      pending.outcome = down;
      if (down !== null) continue;
      try {
        await startBatch(app, [pending]);
      } catch (cause) {
        // Only the request of this play fails.
        const failure = Error.isError(cause) ? cause : new Error('a play could not be started', { cause });
        pending.outcome = failure;
        if (isUnavailable(failure)) down = failure;
      }
    }
  }
}

/**
 * Starts a play in one transaction with the plays that other requests to this process start at the same time.
 * @throws 429 when the wallet has too many plays without a score
 */
export async function startPlay(app: App, request: PlayRequest): Promise<StartedPlay> {
  const pending: PendingPlay = { ...request, outcome: null };
  await app.state(starter)(pending);
  return startedOrThrow(pending.outcome);
}

/** Starts a play in the transaction `tx`. @throws as `startPlay` does */
export async function startPlayIn(tx: Tx, request: PlayRequest): Promise<StartedPlay> {
  return startedOrThrow((await startPlays(tx, [request]))[0] ?? null);
}

function startedOrThrow(outcome: StartedPlay | Error | null): StartedPlay {
  if (outcome instanceof Error) throw outcome;
  if (outcome === null) throw new Error('the transaction of a play returned no outcome');
  return outcome;
}

import { FairQueue, PlaceRefused } from '#lib/concurrency/fair-queue.ts';
import { unavailable } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';

/** Maximum reads of sessions for tokens that Redis does not know, and their maximum wait, ms. Anybody can invent tokens, so the reads use few connections. */
const TOKEN_READS = { running: 2, inFlight: 1_000 };
const TOKEN_WAIT_MS = 3_000;
const tokenReads = perApp(() => new FairQueue(TOKEN_READS, TOKEN_WAIT_MS));

/** Runs a read for a token that Redis does not know, when few of these reads run. @throws 503 when too many of them wait, or when it has waited too long */
export async function readForToken<T>(app: App, read: () => Promise<T>): Promise<T> {
  const queue = app.state(tokenReads);
  const place = queue.enter('', TOKEN_READS);
  if (typeof place === 'string') throw unavailable();
  try {
    await queue.start(place);
    return await read();
  } catch (error) {
    throw error instanceof PlaceRefused ? unavailable() : error;
  } finally {
    queue.leave(place);
  }
}

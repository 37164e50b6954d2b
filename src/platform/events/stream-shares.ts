import { type HttpError, unavailable } from '#lib/errors.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { openFileLimit } from './open-files.ts';

/** Maximum streams per process. */
const MAX_STREAMS = 20_000;
/** Maximum share of the process's open-file limit that streams may use, so that other requests can still open sockets. */
const MAX_SHARE_OF_FILES = 0.75;
/** Maximum share of the streams that readers without a session may use. Only streams with a session may use the rest. */
const ANONYMOUS_SHARE = 0.6;
/** Maximum streams of a wallet per process. */
export const MAX_STREAMS_PER_WALLET = 20;

/** Returns the maximum number of streams of this process. */
export const maxStreams = (): number => Math.min(MAX_STREAMS, MAX_SHARE_OF_FILES * openFileLimit());

/**
 * Returns the error of a new stream that exceeds a bound; null when the stream may open.
 * @param open the open streams: of all readers, of readers without a session, and of the wallet of the new stream (null = without a session)
 */
export function streamRefusal(
  max: number,
  open: { readonly all: number; readonly anonymous: number; readonly wallet: number | null },
): HttpError | null {
  if (open.wallet !== null && open.wallet >= MAX_STREAMS_PER_WALLET) {
    return tooManyRequests(`a wallet may have at most ${MAX_STREAMS_PER_WALLET} open event streams, close one first`, {
      ...{ name: 'event-streams', quota: MAX_STREAMS_PER_WALLET },
      ...{ windowMs: null, waitMs: 5_000 },
    });
  }
  if (open.all < max && (open.wallet !== null || open.anonymous < ANONYMOUS_SHARE * max)) return null;
  return unavailable('this process has too many open event streams, try again', 5);
}

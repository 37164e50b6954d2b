import { type HttpError, unavailable } from '#lib/errors.ts';

/** Returns a 503 error for the client. The cause is written only to the log. */
export function storageUnavailable(cause: unknown): HttpError {
  const error = unavailable('the media storage is not available, try again', 5);
  error.cause = cause;
  return error;
}

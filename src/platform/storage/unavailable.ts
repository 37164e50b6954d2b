import { type HttpError, unavailable } from '#lib/errors.ts';

/** Returns the 503 error for the client. Its cause is written to the log only. */
export function storageUnavailable(cause: unknown): HttpError {
  const error = unavailable('the media storage is not available, try again', 5);
  error.cause = cause;
  return error;
}

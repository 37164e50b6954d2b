import { type HttpError, unavailable } from '#lib/errors.ts';

/** The storage does not work, as the caller is told; why, as the log is. */
export function storageDown(cause: unknown): HttpError {
  const refusal = unavailable('the storage of media is not available, try again', 5);
  refusal.cause = cause;
  return refusal;
}

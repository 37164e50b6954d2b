/** An error that is sent to the client: an HTTP status, one sentence, and headers. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.headers = headers;
  }
}

/** Creates the error of a rejected request: `throw fail(404, 'no such round')`. */
export function fail(status: number, message: string, headers?: Record<string, string>): HttpError {
  return new HttpError(status, message, headers);
}

/**
 * Creates a 503 error for a dependency that is down or too slow.
 * @param retryAfterSec value of the header `Retry-After`
 */
export function unavailable(message = 'a dependency of the service is not available, try again', retryAfterSec = 1): HttpError {
  return new HttpError(503, message, { 'Retry-After': String(retryAfterSec) });
}

/** A refusal that the caller is told about: one status, one sentence, headers that go with it. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.headers = headers;
  }
}

/** Refuses the request: `throw fail(404, 'no such round')`. */
export function fail(status: number, message: string, headers?: Record<string, string>): HttpError {
  return new HttpError(status, message, headers);
}

/** A dependency is down or too slow: 503, and when to come back. */
export function unavailable(message = 'a dependency of the service is not available, try again', retryAfterSec = 1): HttpError {
  return new HttpError(503, message, { 'Retry-After': String(retryAfterSec) });
}

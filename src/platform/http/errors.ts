import { fail, HttpError, unavailable } from '#lib/errors.ts';

/**
 * SQLSTATE codes that mean that PostgreSQL is not available: connection lost or refused (08…, 57P…), out of resources (53…), read-only after a
 * failover (25006), serialization failure or deadlock (40001, 40P01), timeout (25P03, 55P03, 57014).
 */
const UNAVAILABLE_SQL = /^(?:08...|57P0.|53...|25006|25P03|40001|40P01|55P03|57014)$/;
/**
 * Error codes of a failed connection. When a file operation fails with one of these codes, the cause is a bug, so `isUnavailable` also checks the
 * system call.
 */
const UNAVAILABLE_SYSTEM = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'EACCES',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'EAI_AGAIN',
]);
const CONNECTION_CALLS = new Set(['connect', 'read', 'write', 'getaddrinfo']);
/**
 * Matches messages of errors without a code: from node-postgres and ioredis, and from a Redis server that loads its data, fails over, moves a slot or has
 * no memory left.
 */
const UNAVAILABLE_TEXT =
  /Command timed out|Connection is closed|Stream isn't writeable|max retries per request|Cluster isn't ready|Cluster is ended|Too many Cluster redirections|Failed to refresh slots cache|None of startup nodes|no Sentinel names the primary|Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|^(?:LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|OOM|MISCONF|NOREPLICAS|MOVED|ASK|UNBLOCKED) /i;

/** Message of node-postgres for a request that waited too long, because other requests used all connections to the database. */
const ALL_IN_USE = 'timeout exceeded when trying to connect';
/**
 * `Retry-After` of a request that got no connection, s. The value is longer than the maximum wait for a connection. With a shorter value, clients repeat their requests so
 * often that the service stays overloaded.
 */
const RETRY_AFTER_ALL_IN_USE_SEC = 6;

/** Returns whether an error means that PostgreSQL or Redis is down, restarting or overloaded. */
export function isUnavailable(error: unknown): boolean {
  if (!Error.isError(error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const call = 'syscall' in error && typeof error.syscall === 'string' ? error.syscall : 'connect';
  if (UNAVAILABLE_SQL.test(code) || (UNAVAILABLE_SYSTEM.has(code) && CONNECTION_CALLS.has(call))) return true;
  return UNAVAILABLE_TEXT.test(error.message) || isUnavailable(error.cause);
}

/** SQLSTATE of a write to the partition of a closed month (function `refuse_closed_month`). */
const CLOSED_MONTH = 'CP001';

/**
 * Returns the error to send to the client: an `HttpError` unchanged, a 409 for a closed month, a 503 for an unavailable dependency, and for any other error a 500 without
 * details.
 */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (Error.isError(error) && 'code' in error && error.code === CLOSED_MONTH)
    return fail(409, 'the month of this cause is closed, so its points cannot change');
  if (Error.isError(error) && error.message === ALL_IN_USE)
    return unavailable('the service has too much work at the moment, try again later', RETRY_AFTER_ALL_IN_USE_SEC);
  if (isUnavailable(error)) return unavailable();
  return fail(500, 'internal server error');
}

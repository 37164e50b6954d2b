import { fail, HttpError, unavailable } from '#lib/errors.ts';

/**
 * SQLSTATEs of a PostgreSQL that is not available: connection lost or refused (08…, 57P…), out of resources (53…), read-only after a failover (25006),
 * serialization failure or deadlock (40001, 40P01), timeout (55P03, 57014).
 */
const UNAVAILABLE_SQL = /^(?:08...|57P0.|53...|25006|40001|40P01|55P03|57014)$/;
/** Error codes of a connection. For file operations the same codes are bugs, so the system call is checked as well. */
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
/** Messages of node-postgres and ioredis that have no code, and of Redis while it loads, fails over or is full. */
const UNAVAILABLE_TEXT =
  /Command timed out|Connection is closed|Stream isn't writeable|max retries per request|Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|^(?:LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|OOM|MISCONF|NOREPLICAS) /i;

/** Returns whether an error means that PostgreSQL or Redis is down, restarting or overloaded. */
export function isUnavailable(error: unknown): boolean {
  if (!Error.isError(error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const call = 'syscall' in error && typeof error.syscall === 'string' ? error.syscall : 'connect';
  if (UNAVAILABLE_SQL.test(code) || (UNAVAILABLE_SYSTEM.has(code) && CONNECTION_CALLS.has(call))) return true;
  return UNAVAILABLE_TEXT.test(error.message) || isUnavailable(error.cause);
}

/** Converts an error for the client: an `HttpError` stays, a dependency that is down becomes a 503, any other error a 500 without details. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (isUnavailable(error)) return unavailable();
  return fail(500, 'internal server error');
}

import { type HttpError, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';

/** Maximum bytes of a response. A post with its author has a few thousand bytes. */
const MAX_BYTES = 262_144;
/** Retry-After of the 503 error when X does not say when to retry, seconds. */
const RETRY_AFTER_SEC = 5;
/** Maximum Retry-After, seconds. A rate limit window of X lasts 15 minutes. */
const MAX_RETRY_AFTER_SEC = 900;

/** A request to X. */
interface XRequest {
  /**
   * Path and query string. Precondition: every part that comes from a client consists of digits only, so that a client cannot request another path.
   */
  readonly path: string;
  readonly authorization?: string;
  /** Form fields. A request with form fields is a POST, any other request is a GET. */
  readonly form?: Readonly<Record<string, string>>;
  /** Statuses besides 200 for which the response is returned. Any other status throws a 503. */
  readonly acceptedStatuses?: readonly number[];
}

/** A response of X. `body` is the parsed JSON, or null when the response is not JSON. */
interface XResponse {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Sends one request to X, without retries and without following redirects. Errors and logs never contain the sent credentials. Precondition: no
 * database transaction is open, because the request may take seconds.
 * @throws 503 with Retry-After on a timeout, an oversized response, or a status that is neither 200 nor in `acceptedStatuses`
 */
export async function sendXRequest(app: App, { path, authorization, form, acceptedStatuses = [] }: XRequest): Promise<XResponse> {
  let response: Response;
  try {
    response = await fetch(new URL(path, app.config.x.apiUrl), {
      headers: { Accept: 'application/json', ...(authorization === undefined ? {} : { Authorization: authorization }) },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(app.config.x.timeoutMs),
    });
    if (response.status === 200 || acceptedStatuses.includes(response.status))
      return { status: response.status, body: parseJson(await readText(response)) };
    await response.body?.cancel();
  } catch (err) {
    app.log.warn({ err, path: nameOf(path) }, 'X does not answer; the caller gets a 503 error');
    throw xUnavailable(RETRY_AFTER_SEC);
  }
  // 401 and 403 mean wrong credentials, so they are logged as errors that an operator must correct.
  const level = response.status === 401 || response.status === 403 ? 'error' : 'warn';
  app.log[level]({ status: response.status, path: nameOf(path) }, 'X answered with an unexpected status; the caller gets a 503 error');
  throw xUnavailable(response.status === 429 ? untilReset(app, response) : RETRY_AFTER_SEC);
}

const xUnavailable = (retryAfterSec: number): HttpError => unavailable('X does not answer at the moment, try again later', retryAfterSec);

const nameOf = (path: string): string => path.replace(/\?.*$/s, '');

/** Returns the seconds until X's rate limit window resets, from the headers of a response. */
function untilReset(app: App, response: Response): number {
  const reset = Number(response.headers.get('x-rate-limit-reset') ?? Number.NaN);
  const seconds = Math.ceil(reset - app.clock.now().getTime() / 1_000);
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_SEC) : RETRY_AFTER_SEC;
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the response of X exceeds ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

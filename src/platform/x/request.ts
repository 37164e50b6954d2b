import { type HttpError, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';

/** How much X may say, bytes: a post with its author is a few thousand. */
const MOST_BYTES = 262_144;
/** When to come back: usually, and at most, s. X counts by quarters of an hour. */
const COME_BACK_SEC = 5;
const LATEST_SEC = 900;

/** A question to X. */
export interface Question {
  /** Of the API, and never anything that a caller gave but digits. */
  readonly path: string;
  readonly authorization?: string;
  /** Sent as a form, by POST. */
  readonly form?: Readonly<Record<string, string>>;
  /** Statuses besides 200 that are an answer. */
  readonly answers?: readonly number[];
}

/** What X answered; `body` is null where it was no JSON. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Asks X, once: never inside a transaction. No redirect is followed. Neither errors nor logs hold what was sent.
 * @throws 503 with Retry-After when X does not answer in time, answers too much, or with a status that is no answer
 */
export async function ask(app: App, { path, authorization, form, answers = [] }: Question): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(new URL(path, app.config.x.apiUrl), {
      headers: { Accept: 'application/json', ...(authorization === undefined ? {} : { Authorization: authorization }) },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(app.config.x.timeoutMs),
    });
    if (response.status === 200 || answers.includes(response.status)) return { status: response.status, body: parseJson(await readText(response)) };
    await response.body?.cancel();
  } catch (err) {
    app.log.warn({ err, question: nameOf(path) }, 'X does not answer');
    throw doesNotAnswer(COME_BACK_SEC);
  }
  // What is wrong with our own credentials is for the operator.
  const level = response.status === 401 || response.status === 403 ? 'error' : 'warn';
  app.log[level]({ status: response.status, question: nameOf(path) }, 'X does not answer as it should');
  throw doesNotAnswer(response.status === 429 ? untilReset(app, response) : COME_BACK_SEC);
}

const doesNotAnswer = (retryAfterSec: number): HttpError => unavailable('X does not answer at the moment, try again later', retryAfterSec);

const nameOf = (path: string): string => path.replace(/\?.*$/s, '');

/** Seconds until X counts anew. */
function untilReset(app: App, response: Response): number {
  const reset = Number(response.headers.get('x-rate-limit-reset') ?? Number.NaN);
  const seconds = Math.ceil(reset - app.clock.now().getTime() / 1_000);
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 1), LATEST_SEC) : COME_BACK_SEC;
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new Error(`X answered with more than ${MOST_BYTES} bytes`);
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

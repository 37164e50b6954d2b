import type { Endpoints } from './api.ts';
import type { Bytes } from './bytes.ts';

/** The types of an endpoint's input and responses. */
export interface Endpoint {
  readonly params?: object;
  readonly query?: object;
  readonly body?: unknown;
  readonly idempotent?: true;
  readonly responses: object;
  readonly errors: number;
}

/** A successful response. */
export interface Success<Status extends number = number, Body = unknown> {
  readonly ok: true;
  readonly status: Status;
  /**
   * Parsed JSON, or null when the response has no body. For content types other than JSON (events, images, NDJSON), `body` is the `Response` of
   * `fetch`, and the caller reads its content.
   */
  readonly body: Body;
  readonly headers: Headers;
}

/** An error response or a 304 response. A 304 response belongs to this type because `fetch` sets `ok` to false for 304 too. */
export interface Failure<Status extends number = number, Body = unknown> {
  readonly ok: false;
  readonly status: Status;
  /** One sentence that says what is wrong and what is expected. */
  readonly error: string;
  /** Delay before a retry, seconds; null without `Retry-After`. */
  readonly retryAfter: number | null;
  readonly body: Body;
  readonly headers: Headers;
}

export type AnyApiResponse = Success | Failure;

type SuccessStatus = 200 | 201 | 202 | 203 | 204 | 205 | 206;
type Declared<Responses> = {
  [Status in keyof Responses & number]: Status extends SuccessStatus ? Success<Status, Responses[Status]> : Failure<Status, Responses[Status]>;
}[keyof Responses & number];
/** Error statuses that a proxy in front of the service may return. */
type ProxyStatus = 429 | 502 | 504;

/** All responses of an endpoint; `status` and `ok` distinguish them. */
export type ApiResponse<E extends Endpoint> = Declared<E['responses']> | Failure<E['errors'] | ProxyStatus, { error: string }>;

type Parts = 'params' | 'query' | 'body';
type Given<E extends Endpoint> = Pick<E, Extract<keyof E, Parts>>;

/** The input of an endpoint. */
export type Input<E extends Endpoint> = Given<E> & { readonly [Absent in Exclude<Parts, keyof E>]?: never } & {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
} & (E extends { idempotent: true }
    ? {
        /**
         * Key of this request, at most 255 characters. A repeated request with the same key within 24 hours has no further effect and gets the same
         * response.
         */
        readonly idempotencyKey?: string;
      }
    : { readonly idempotencyKey?: never });

/** The arguments that follow the path in a call. The input may be omitted when it has no required parts. */
export type Arguments<E extends Endpoint> = Record<never, never> extends Given<E> ? [input?: Input<E>] : [input: Input<E>];

/** The input of any endpoint, without the endpoint's own types. */
export interface AnyInput {
  readonly params?: object;
  readonly query?: object;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly idempotencyKey?: string;
}

export type Method = keyof Endpoints;

/**
 * Returns the URL of a call.
 * @throws TypeError when a path parameter is empty, `.` or `..`, because this value would change the structure of the path
 */
export function urlOf(baseUrl: string, path: string, { params = {}, query = {} }: AnyInput): string {
  const values = new Map<string, unknown>(Object.entries(params));
  const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const value = String(values.get(name) ?? '');
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`params.${name} must not be ${JSON.stringify(value)}`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) search.append(name, String(one));
  }
  const text = search.toString();
  return `${baseUrl.replace(/\/+$/, '')}${filled}${text && `?${text}`}`;
}

const BYTES = [FormData, Blob, URLSearchParams, ReadableStream, ArrayBuffer];

/** Returns the options of `fetch` for a call. They contain no cookies. */
export function requestOf(method: string, input: AnyInput): RequestInit & { headers: Headers } {
  const headers = new Headers(input.headers);
  if (input.idempotencyKey !== undefined) headers.set('Idempotency-Key', input.idempotencyKey);
  const init = { method: method.toUpperCase(), headers, ...(input.signal ? { signal: input.signal } : {}) };
  const { body } = input;
  if (body === undefined) return init;
  if (isBytes(body, headers)) return { ...init, body, ...(body instanceof ReadableStream ? { duplex: 'half' } : {}) };
  headers.set('Content-Type', 'application/json');
  return { ...init, body: JSON.stringify(body) };
}

/** Returns whether a body is sent unchanged instead of as JSON. A string is sent as JSON unless the caller sets another Content-Type. */
function isBytes(body: unknown, headers: Headers): body is Bytes {
  if (typeof body === 'string') return !/^application\/json\b/.test(headers.get('Content-Type') ?? 'application/json');
  return ArrayBuffer.isView(body) || BYTES.some((type) => body instanceof type);
}

/** Converts a response of the service or of a proxy to a `Success` or `Failure`. */
export async function readResponse(response: Response): Promise<AnyApiResponse> {
  const { status, headers } = response;
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(headers.get('Content-Type') ?? '');
  if (response.ok) {
    const body = isJson ? await response.json() : hasContent(response) ? response : null;
    return { ok: true, status, body, headers };
  }
  const text = await response.text();
  const body: unknown = isJson ? parsed(text) : null;
  const error = errorIn(body) ?? (response.statusText || `status ${status}`);
  // A proxy may send an error page that is not JSON. In this case the body is the object `{ error }`, so that every error body has the format of the
  // service.
  return { ok: false, status, error, retryAfter: retryAfterOf(headers), body: isJson || status === 304 ? body : { error }, headers };
}

const hasContent = ({ status, headers }: Response): boolean => status !== 204 && status !== 205 && headers.get('Content-Length') !== '0';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Returns the sentence in the body of an error. Errors of Solana Actions have it in `message`. */
function errorIn(body: unknown): string | null {
  if (typeof body !== 'object' || body === null) return null;
  const sentence = 'error' in body ? body.error : 'message' in body ? body.message : null;
  return typeof sentence === 'string' ? sentence : null;
}

/** Returns the value of `Retry-After` in seconds; null without the header. The header may contain seconds or a date. */
function retryAfterOf(headers: Headers): number | null {
  const text = headers.get('Retry-After');
  if (text === null) return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}

import type { Endpoints } from './api.ts';
import type { Bytes } from './bytes.ts';

/** What is known of an endpoint. */
export interface Endpoint {
  readonly params?: object;
  readonly query?: object;
  readonly body?: unknown;
  readonly idempotent?: true;
  readonly answers: object;
  readonly refusals: number;
}

/** It did what it was asked to. */
export interface Success<Status extends number = number, Body = unknown> {
  readonly ok: true;
  readonly status: Status;
  /** JSON, or null where there is none. What is not JSON (events, pictures, NDJSON) is the response itself, unread. */
  readonly body: Body;
  readonly headers: Headers;
}

/** It did not. 304 is among these, as for `fetch`: there is nothing new to read. */
export interface Refusal<Status extends number = number, Body = unknown> {
  readonly ok: false;
  readonly status: Status;
  /** One sentence: what was wrong, and what it must be. */
  readonly error: string;
  /** When to come back, seconds; null where nothing was said. */
  readonly retryAfter: number | null;
  readonly body: Body;
  readonly headers: Headers;
}

export type AnyAnswer = Success | Refusal;

type SuccessStatus = 200 | 201 | 202 | 203 | 204 | 205 | 206;
type Declared<Answers> = {
  [Status in keyof Answers & number]: Status extends SuccessStatus ? Success<Status, Answers[Status]> : Refusal<Status, Answers[Status]>;
}[keyof Answers & number];
/** What a proxy on the way may answer instead of the service. */
type OnTheWay = 429 | 502 | 504;

/** Everything that an endpoint answers; `status` and `ok` tell which it is. */
export type Answer<E extends Endpoint> = Declared<E['answers']> | Refusal<E['refusals'] | OnTheWay, { error: string }>;

type Parts = 'params' | 'query' | 'body';
type Given<E extends Endpoint> = Pick<E, Extract<keyof E, Parts>>;

/** What an endpoint is called with. */
export type Input<E extends Endpoint> = Given<E> & { readonly [Absent in Exclude<Parts, keyof E>]?: never } & {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
} & (E extends { idempotent: true }
    ? {
        /** Names this request, at most 255 characters: sent again within 24 hours, it has the same effect once, and the same answer. */
        readonly idempotencyKey?: string;
      }
    : { readonly idempotencyKey?: never });

/** Left out where nothing has to be said. */
export type Arguments<E extends Endpoint> = Record<never, never> extends Given<E> ? [input?: Input<E>] : [input: Input<E>];

/** What all inputs have in common. */
export interface AnyInput {
  readonly params?: object;
  readonly query?: object;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly idempotencyKey?: string;
}

export type Method = keyof Endpoints;

/** Where a call goes. @throws for a value that no path can have: `..` would be another path */
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

/** What `fetch` is told of a call, cookies aside. */
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

/** Text is JSON unless the caller says that it is something else. */
function isBytes(body: unknown, headers: Headers): body is Bytes {
  if (typeof body === 'string') return !/^application\/json\b/.test(headers.get('Content-Type') ?? 'application/json');
  return ArrayBuffer.isView(body) || BYTES.some((type) => body instanceof type);
}

/** Reads an answer, whoever it comes from. */
export async function answerOf(response: Response): Promise<AnyAnswer> {
  const { status, headers } = response;
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(headers.get('Content-Type') ?? '');
  if (response.ok) {
    const body = isJson ? await response.json() : hasContent(response) ? response : null;
    return { ok: true, status, body, headers };
  }
  const text = await response.text();
  const body: unknown = isJson ? parsed(text) : null;
  const error = errorIn(body) ?? (response.statusText || `status ${status}`);
  // A proxy's page is not what the service would say.
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

const errorIn = (body: unknown): string | null =>
  typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string' ? body.error : null;

/** `Retry-After` in seconds; it may also name an instant. */
export function retryAfterOf(headers: Headers): number | null {
  const text = headers.get('Retry-After');
  if (text === null) return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? null : Math.max(0, seconds);
}

import type { Endpoints } from './api.ts';
import { Cookies } from './cookies.ts';
import {
  type AnyApiResponse,
  type AnyInput,
  type ApiResponse,
  type Arguments,
  type Endpoint,
  type Failure,
  readResponse,
  requestOf,
  urlOf,
} from './request.ts';
import { isRepeatable, isTransient, type RetryPolicy, retryDelayMs, sleep } from './retry-policy.ts';
import { memoryStore, type TokenStore } from './token-store.ts';

export interface ClientOptions {
  /** URL of the service, for example `https://arcade.example`. A web page of the service itself passes `location.origin`. */
  readonly baseUrl: string;
  /** Initial cookies in the format of a `Cookie` header. Only for environments whose `fetch` stores no cookies (Node). */
  readonly cookie?: string;
  /** Stores the session token of `signIn` with `transport: 'bearer'`. Default: in memory. */
  readonly tokenStore?: TokenStore;
  /** Additional headers of every request, for example `Authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Limits for the retries of calls that may be repeated. Default: 3 retries, with delays of at most 30 s. */
  readonly retryPolicy?: Partial<RetryPolicy>;
  readonly fetch?: typeof globalThis.fetch;
}

type Call<M extends keyof Endpoints> = <P extends keyof Endpoints[M]>(
  path: P,
  ...input: Endpoints[M][P] extends Endpoint ? Arguments<Endpoints[M][P]> : never
) => Promise<Endpoints[M][P] extends Endpoint ? ApiResponse<Endpoints[M][P]> : never>;

/**
 * Calls the endpoints of a service. A call resolves to the response, even to an error response. It rejects only when the service cannot be reached or
 * the caller's signal aborts.
 */
export interface Client {
  readonly get: Call<'get'>;
  readonly post: Call<'post'>;
  readonly put: Call<'put'>;
  readonly patch: Call<'patch'>;
  readonly delete: Call<'delete'>;
  /**
   * The `Cookie` header of the next request, for storage or for a WebSocket. It is '' in browsers, because a browser stores the cookies itself and
   * hides them.
   */
  readonly cookie: string;
  /** Has the session token. While it has one, requests send the token instead of cookies. */
  readonly tokenStore: TokenStore;
  /** Sends one request with the client's headers and its token or cookies, without retries. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** Creates a client of a service. */
export function createClient(options: ClientOptions): Client {
  const cookies = new Cookies(options.cookie);
  const tokenStore = options.tokenStore ?? memoryStore();
  const retryPolicy: RetryPolicy = { maxRetries: 3, maxDelayMs: 30_000, ...options.retryPolicy };
  // Calls `fetch` as a method of globalThis, because browsers throw an error when `this` is another object.
  const fetchOnce = options.fetch ?? ((...request) => globalThis.fetch(...request));

  async function send(url: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(options.headers ?? {})) if (!headers.has(name)) headers.set(name, value);
    const token = tokenStore.get();
    if (token !== null) {
      if (!headers.has('Authorization')) headers.set('Authorization', `Bearer ${token}`);
      return await fetchOnce(url, { credentials: 'omit', ...init, headers });
    }
    const cookie = cookies.toString();
    if (cookie !== '') headers.set('Cookie', cookie);
    const response = await fetchOnce(url, { credentials: 'include', ...init, headers });
    cookies.take(response.headers);
    return response;
  }

  async function request(method: string, path: string, input: AnyInput): Promise<AnyApiResponse> {
    const url = urlOf(options.baseUrl, path, input);
    const init = requestOf(method, input);
    const attempts = isRepeatable(method, init.headers, init.body) ? retryPolicy.maxRetries + 1 : 1;
    for (let failures = 1; ; failures++) {
      const isLast = failures === attempts;
      let delay: number;
      try {
        const response = await readResponse(await send(url, init));
        if (isLast || response.ok || !isTransient(response.status, response.retryAfter)) return response;
        delay = retryDelayMs(failures, response.retryAfter);
        if (delay > retryPolicy.maxDelayMs) return response;
      } catch (error) {
        if (isLast || input.signal?.aborted) throw error;
        delay = retryDelayMs(failures, null);
      }
      await sleep(delay, input.signal);
    }
  }

  const call =
    (method: string) =>
    (path: string, input: AnyInput = {}): Promise<AnyApiResponse> =>
      request(method, path, input);
  const methods = { get: call('get'), post: call('post'), put: call('put'), patch: call('patch'), delete: call('delete') };
  return {
    // The cast is safe because the service checks its responses against the declared types.
    ...(methods as Pick<Client, keyof typeof methods>),
    get cookie() {
      return cookies.toString();
    },
    tokenStore,
    fetch: (path, init = {}) => send(urlOf(options.baseUrl, path, {}), init),
  };
}

/** The exception that `ok` throws for an error response. */
export class ApiError extends Error {
  readonly status: number;
  readonly retryAfter: number | null;
  readonly response: Failure;

  constructor(response: Failure) {
    super(response.error);
    this.name = 'ApiError';
    this.status = response.status;
    this.retryAfter = response.retryAfter;
    this.response = response;
  }
}

/**
 * Waits for a call that is expected to succeed and returns its response.
 * @throws ApiError for an error response
 */
export async function ok<A extends AnyApiResponse>(call: A | Promise<A>): Promise<Extract<A, { ok: true }>> {
  const response: AnyApiResponse = await call;
  if (!response.ok) throw new ApiError(response);
  return response as Extract<A, { ok: true }>;
}

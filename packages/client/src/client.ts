import type { Endpoints } from './api.ts';
import { Cookies } from './cookies.ts';
import { delayOf, isPassing, isRepeatable, type Patience, sleep } from './patience.ts';
import { type Answer, type AnyAnswer, type AnyInput, type Arguments, answerOf, type Endpoint, type Refusal, requestOf, urlOf } from './request.ts';

export interface ClientOptions {
  /** Where the service is, such as `https://arcade.example`; in a browser, `location.origin` where it is the page's own. */
  readonly baseUrl: string;
  /** Where `fetch` keeps no cookies: those to begin with, as a `Cookie` header has them. */
  readonly cookie?: string;
  /** Further headers of every request, such as an admin's `Authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** When calls that may be made twice are made again: 3 times, and up to 30 s between two, by default. */
  readonly patience?: Partial<Patience>;
  readonly fetch?: typeof globalThis.fetch;
}

type Call<M extends keyof Endpoints> = <P extends keyof Endpoints[M]>(
  path: P,
  ...input: Endpoints[M][P] extends Endpoint ? Arguments<Endpoints[M][P]> : never
) => Promise<Endpoints[M][P] extends Endpoint ? Answer<Endpoints[M][P]> : never>;

/** Calls the endpoints of a service. Whatever they answer is an answer; only a service that cannot be reached is an exception. */
export interface Client {
  readonly get: Call<'get'>;
  readonly post: Call<'post'>;
  readonly put: Call<'put'>;
  readonly patch: Call<'patch'>;
  readonly delete: Call<'delete'>;
  /** The `Cookie` header of the next request, to be kept or to be given to a WebSocket; '' in browsers, which keep theirs. */
  readonly cookie: string;
  /** Sends one request with the client's headers and cookies, and tries nothing again. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

/** Makes a client of a service. */
export function createClient(options: ClientOptions): Client {
  const cookies = new Cookies(options.cookie);
  const patience: Patience = { retries: 3, longestMs: 30_000, ...options.patience };
  // Browsers want it called on nothing.
  const ask = options.fetch ?? ((...request) => globalThis.fetch(...request));

  async function send(url: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(options.headers ?? {})) if (!headers.has(name)) headers.set(name, value);
    const cookie = cookies.toString();
    if (cookie !== '') headers.set('Cookie', cookie);
    const response = await ask(url, { credentials: 'include', ...init, headers });
    cookies.take(response.headers);
    return response;
  }

  async function request(method: string, path: string, input: AnyInput): Promise<AnyAnswer> {
    const url = urlOf(options.baseUrl, path, input);
    const init = requestOf(method, input);
    const tries = isRepeatable(method, init.headers, init.body) ? patience.retries + 1 : 1;
    for (let failures = 1; ; failures++) {
      const isLast = failures === tries;
      let delay: number;
      try {
        const answer = await answerOf(await send(url, init));
        if (isLast || answer.ok || !isPassing(answer.status, answer.retryAfter)) return answer;
        delay = delayOf(failures, answer.retryAfter);
        if (delay > patience.longestMs) return answer;
      } catch (error) {
        if (isLast || input.signal?.aborted) throw error;
        delay = delayOf(failures, null);
      }
      await sleep(delay, input.signal);
    }
  }

  const call =
    (method: string) =>
    (path: string, input: AnyInput = {}): Promise<AnyAnswer> =>
      request(method, path, input);
  const methods = { get: call('get'), post: call('post'), put: call('put'), patch: call('patch'), delete: call('delete') };
  return {
    // What comes back is what the contract says of that path; the service checks each answer against it.
    ...(methods as Pick<Client, keyof typeof methods>),
    get cookie() {
      return cookies.toString();
    },
    fetch: (path, init = {}) => send(urlOf(options.baseUrl, path, {}), init),
  };
}

/** A refusal as an exception: what `ok` throws. */
export class Refused extends Error {
  readonly status: number;
  readonly retryAfter: number | null;
  readonly answer: Refusal;

  constructor(answer: Refusal) {
    super(answer.error);
    this.name = 'Refused';
    this.status = answer.status;
    this.retryAfter = answer.retryAfter;
    this.answer = answer;
  }
}

/** The answer of a call that is expected to succeed. @throws Refused when it does not */
export async function ok<A extends AnyAnswer>(call: A | Promise<A>): Promise<Extract<A, { ok: true }>> {
  const answer: AnyAnswer = await call;
  if (!answer.ok) throw new Refused(answer);
  return answer as Extract<A, { ok: true }>;
}

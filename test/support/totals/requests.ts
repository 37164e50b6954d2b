import { expect } from '@jest/globals';
import { ADMIN_TOKEN, type TestApp } from '../app.ts';
import { createWallet, type JsonInit, type SignedIn, send, signIn } from '../wallet.ts';

/** Sends a request to a path. */
export type Fetch = (path: string, init?: JsonInit) => Promise<Response>;

/** A wallet that signs in when it has no session, because sessions expire when the clock of the test moves. */
export class Player {
  readonly #key = createWallet();
  readonly #t: Pick<TestApp, 'url'>;
  #session: SignedIn | null = null;

  constructor(t: Pick<TestApp, 'url'>) {
    this.#t = t;
  }

  get wallet(): string {
    return this.#key.address;
  }

  readonly fetch: Fetch = async (path, init) => {
    this.#session ??= await signIn(this.#t, this.#key);
    const response = await this.#session.fetch(path, init);
    if (response.status !== 401) return response;
    this.#session = await signIn(this.#t, this.#key);
    return await this.#session.fetch(path, init);
  };
}

/** Returns a function that sends requests with the admin token. */
export const adminOf =
  (t: Pick<TestApp, 'url'>): Fetch =>
  (path, init = {}) =>
    send(t, path, { ...init, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });

/** Sends a request and returns the body of its response, which must have one of these statuses. */
export async function call<T>(fetching: Fetch, path: string, init?: JsonInit, ...statuses: number[]): Promise<T> {
  const response = await fetching(path, init);
  const body = (await response.json()) as T;
  if (!(statuses.length === 0 ? [200, 201] : statuses).includes(response.status)) {
    throw new Error(`${path} answered ${response.status}: ${JSON.stringify(body)}; expected ${statuses}; sent ${JSON.stringify(init?.json)}`);
  }
  return body;
}

/** Reads all pages of a list, and checks that the pages have as many rows as `X-Total-Count` says. */
export async function readAll<T>(fetching: Fetch, path: string, limit = 500): Promise<T[]> {
  const rows: T[] = [];
  for (;;) {
    const response = await fetching(`${path}${path.includes('?') ? '&' : '?'}limit=${limit}&offset=${rows.length}`);
    const page = (await response.json()) as T[];
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${JSON.stringify(page)}`);
    rows.push(...page);
    if (page.length < limit) {
      expect({ path, total: Number(response.headers.get('X-Total-Count')) }).toEqual({ path, total: rows.length });
      return rows;
    }
  }
}

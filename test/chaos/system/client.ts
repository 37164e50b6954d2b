import { setTimeout as sleep } from 'node:timers/promises';
import bs58 from 'bs58';
import { cookiesOf, createWallet, type JsonInit, type SignInInput, send, signInText, type TestWallet } from '#test/support/wallet.ts';
import type { Ledger } from './confirmed.ts';
import type { Random } from './random.ts';

/** How long a request is repeated before it counts as never answered, ms: no outage of a run is as long. */
const PATIENCE_MS = 120_000;
/** Longer than any endpoint waits for a job. */
const ANSWER_MS = 25_000;
/** How often a client's own connection breaks while it waits for an answer, and within how many ms. */
const BREAKS = 0.1;
const BREAKS_WITHIN_MS = 60;
const PASSING = new Set([0, 429, 502, 503, 504]);

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
  readonly headers: Headers;
}

/** A client as ours tells people to write them: whatever passes is asked again, of any process, with the same body and key. */
export class Client {
  readonly key: TestWallet;
  readonly wallet: string;
  cookie = '';
  /** Set: its connection is a bad one, so that what was done may go unheard. */
  trouble: Random | null = null;
  readonly urls: readonly string[];
  readonly #ledger: Ledger;
  #turn: number;

  constructor(urls: readonly string[], ledger: Ledger, key: TestWallet = createWallet()) {
    this.key = key;
    this.wallet = key.address;
    this.urls = urls;
    this.#ledger = ledger;
    this.#turn = key.publicKey[0] ?? 0;
  }

  /** Any of the processes, in turn. */
  nextUrl(): string {
    return this.urls[this.#turn++ % this.urls.length] ?? '';
  }

  /** Sends until there is an answer that stays. @throws when there is none for two minutes */
  async ask<T>(path: string, init: JsonInit = {}): Promise<Answer<T>> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = await this.once<T>(path, init);
      const { status, headers } = answer;
      const retryAfter = Number(headers.get('Retry-After') ?? 0);
      if (!PASSING.has(status) && !(status === 409 && headers.has('Retry-After'))) return answer;
      if (performance.now() > end) {
        this.#ledger.complaints.push(`${path} was never answered: ${status} ${JSON.stringify(answer.body)} after two minutes`);
        throw new GaveUp(`${path} was never answered`);
      }
      await sleep(Math.min(5_000, Math.max(100, retryAfter * 1_000)));
    }
  }

  /** Sends once; status 0 for a connection that broke. */
  async once<T>(path: string, init: JsonInit = {}): Promise<Answer<T>> {
    const headers = new Headers(init.headers);
    if (this.cookie !== '') headers.set('Cookie', this.cookie);
    const { trouble } = this;
    const patience = trouble && trouble.fraction() < BREAKS ? trouble.between(1, BREAKS_WITHIN_MS) : ANSWER_MS;
    let answer: Answer<T>;
    try {
      const response = await send({ url: this.nextUrl() }, path, { ...init, headers, signal: AbortSignal.timeout(patience) });
      const text = await response.text();
      answer = { status: response.status, body: JSON.parse(text) as T, headers: response.headers };
    } catch {
      answer = { status: 0, body: undefined as T, headers: new Headers() };
    }
    const { status } = answer;
    this.#ledger.statuses.set(status, (this.#ledger.statuses.get(status) ?? 0) + 1);
    if (status >= 500 && !PASSING.has(status)) this.#ledger.complaints.push(`${path} answered ${status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  /** Notes that an answer was none of those that are in order here. */
  complain(path: string, { status, body }: Answer<unknown>): void {
    this.#ledger.complaints.push(`${path} answered ${status} ${JSON.stringify(body)}`);
  }

  /** Signs in; after a broken connection all of it again, as people do. */
  async signIn(): Promise<void> {
    for (;;) {
      const nonce = await this.ask<{ signInInput: SignInInput }>('/auth/nonce', { method: 'POST' });
      if (nonce.status !== 200) return this.complain('/auth/nonce', nonce);
      const message = signInText(nonce.body.signInInput, this.wallet);
      const signature = bs58.encode(this.key.sign(Buffer.from(message)));
      const json = { publicKey: this.wallet, message, signature };
      const response = await this.#verify(json);
      if (response?.ok) {
        this.cookie = cookiesOf(response);
        this.#ledger.confirmed.sessions.push({ wallet: this.wallet, cookie: this.cookie });
        return;
      }
      if (response && !PASSING.has(response.status)) {
        this.#ledger.complaints.push(`/auth/verify answered ${response.status} ${await response.text()}`);
        throw new GaveUp('nobody could sign in');
      }
      await sleep(100);
    }
  }

  #verify(json: unknown): Promise<Response | undefined> {
    return send({ url: this.nextUrl() }, '/auth/verify', { json, signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => undefined);
  }
}

/** A client that has complained and cannot go on. */
export class GaveUp extends Error {}

/** A key that names one request. */
export const newKey = (): Record<string, string> => ({ 'Idempotency-Key': crypto.randomUUID() });

import { setTimeout as sleep } from 'node:timers/promises';
import bs58 from 'bs58';
import { cookiesOf, createWallet, type JsonInit, type SignInInput, send, signInText, type TestWallet } from '#test/support/wallet.ts';
import type { RunRecord } from './confirmed.ts';
import type { Random } from './random.ts';

/** Maximum time for which a request is retried, ms. Every outage of a run is shorter. */
const RETRY_LIMIT_MS = 240_000;
/** Timeout of one attempt, ms. Longer than any endpoint waits for a job. */
const RESPONSE_TIMEOUT_MS = 25_000;
/** Probability that a client with an unstable connection disconnects during a request. */
const DISCONNECT_PROBABILITY = 0.1;
/** Maximum time until that disconnect, ms. */
const MAX_DISCONNECT_MS = 60;
/**
 * Statuses after which a client retries; 0 is a lost connection. 408: when a stopped process continues, its timer for the headers of a request fires before
 * the process reads the headers that arrived meanwhile. The request was not processed, so the client sends it again.
 */
const RETRYABLE = new Set([0, 408, 429, 502, 503, 504]);

export interface ClientResponse<T> {
  readonly status: number;
  readonly body: T;
  readonly headers: Headers;
}

/** A client that retries temporary failures on any API process, with the same body and idempotency key, as the docs require. */
export class Client {
  readonly key: TestWallet;
  readonly wallet: string;
  cookie = '';
  /** If set, the connection is unstable: the client may miss the response to a request that succeeded. */
  unstable: Random | null = null;
  readonly urls: readonly string[];
  readonly #ledger: RunRecord;
  #turn: number;

  constructor(urls: readonly string[], ledger: RunRecord, key: TestWallet = createWallet()) {
    this.key = key;
    this.wallet = key.address;
    this.urls = urls;
    this.#ledger = ledger;
    this.#turn = key.publicKey[0] ?? 0;
  }

  /** Returns the base URL of the next API process, in turn. */
  nextUrl(): string {
    return this.urls[this.#turn++ % this.urls.length] ?? '';
  }

  /** Sends a request and retries temporary failures. @throws RequestAbandoned after four minutes */
  async request<T>(path: string, init: JsonInit = {}): Promise<ClientResponse<T>> {
    const end = performance.now() + RETRY_LIMIT_MS;
    for (;;) {
      const answer = await this.requestOnce<T>(path, init);
      const { status, headers } = answer;
      const retryAfter = Number(headers.get('Retry-After') ?? 0);
      if (!RETRYABLE.has(status) && !(status === 409 && headers.has('Retry-After'))) return answer;
      // The quota of a day ends after the run, so the caller decides about the answer.
      if (status === 429 && retryAfter * 1_000 > RETRY_LIMIT_MS) return answer;
      if (performance.now() > end) {
        this.#ledger.violations.push(`${path} still fails after four minutes: ${status} ${JSON.stringify(answer.body)}`);
        throw new RequestAbandoned(`${path} still fails after four minutes`);
      }
      await sleep(Math.min(5_000, Math.max(100, retryAfter * 1_000)));
    }
  }

  /** Sends a request once. Status 0 means a lost connection. */
  async requestOnce<T>(path: string, init: JsonInit = {}): Promise<ClientResponse<T>> {
    const headers = new Headers(init.headers);
    if (this.cookie !== '') headers.set('Cookie', this.cookie);
    const { unstable } = this;
    const timeoutMs = unstable && unstable.fraction() < DISCONNECT_PROBABILITY ? unstable.between(1, MAX_DISCONNECT_MS) : RESPONSE_TIMEOUT_MS;
    let answer: ClientResponse<T>;
    try {
      const response = await send({ url: this.nextUrl() }, path, { ...init, headers, signal: AbortSignal.timeout(timeoutMs) });
      const text = await response.text();
      answer = { status: response.status, body: JSON.parse(text) as T, headers: response.headers };
    } catch {
      answer = { status: 0, body: undefined as T, headers: new Headers() };
    }
    const { status } = answer;
    this.#ledger.statuses.set(status, (this.#ledger.statuses.get(status) ?? 0) + 1);
    if (status === 429) {
      const policy = answer.headers.get('RateLimit-Policy') ?? 'without a policy';
      this.#ledger.refusals.push({ at: performance.now(), path, policy, isSignedIn: this.cookie !== '' });
    }
    if (status >= 500 && !RETRYABLE.has(status)) this.reportViolation(path, answer);
    return answer;
  }

  /** Records an unexpected response as a failure of the run. */
  reportViolation(path: string, { status, body, headers }: ClientResponse<unknown>): void {
    this.#ledger.violations.push(`${path} answered ${status} ${JSON.stringify(body)} (request ${headers.get('X-Request-Id')})`);
  }

  /** Signs in. After a lost connection it starts again with a new nonce. */
  async signIn(): Promise<void> {
    for (;;) {
      const nonce = await this.request<{ signInInput: SignInInput }>('/auth/nonce', { method: 'POST' });
      if (nonce.status !== 200) return this.reportViolation('/auth/nonce', nonce);
      const message = signInText(nonce.body.signInInput, this.wallet);
      const signature = bs58.encode(this.key.sign(Buffer.from(message)));
      const json = { publicKey: this.wallet, message, signature };
      const response = await this.#verify(json);
      if (response?.ok) {
        this.cookie = cookiesOf(response);
        this.#ledger.confirmed.sessions.push({ wallet: this.wallet, cookie: this.cookie });
        return;
      }
      if (response && !RETRYABLE.has(response.status)) {
        const answer = `/auth/verify answered ${response.status} ${await response.text()}`;
        this.#ledger.violations.push(answer);
        throw new RequestAbandoned(answer);
      }
      await sleep(100);
    }
  }

  #verify(json: unknown): Promise<Response | undefined> {
    return send({ url: this.nextUrl() }, '/auth/verify', { json, signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS) }).catch(() => undefined);
  }
}

/** Thrown when a client gives up a request. The failure is recorded already. */
export class RequestAbandoned extends Error {}

/** Returns a new idempotency key header. */
export const newKey = (): Record<string, string> => ({ 'Idempotency-Key': crypto.randomUUID() });

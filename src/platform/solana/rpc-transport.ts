import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { observeRpc } from '#platform/observability/metrics/metrics.ts';
import { traceRpc } from '#platform/observability/tracing/tracing.ts';
import type { RequestBudget } from './request-budget.ts';

/** Timeout of an RPC request, ms. */
const TIMEOUT_MS = 10_000;
/**
 * Maximum connections of a process to one host: more than the requests that it sends at the same time, so that no request waits for one that hangs. An idle
 * connection is closed after `timeout` ms, before the RPC node closes it.
 */
const CONNECTIONS = { keepAlive: true, maxSockets: 256, timeout: 4_000 };
/** Delays before a request is repeated because the RPC node limits the rate, ms; as in web3.js. */
const RATE_LIMIT_DELAYS_MS = [500, 1_000, 2_000, 4_000];
const agents = { http: new HttpAgent(CONNECTIONS), https: new HttpsAgent(CONNECTIONS) };

/** A response of JSON-RPC 2.0, which has a result or an error. Some RPC nodes add the other property with the value null. */
const Reply = z.object({ result: z.unknown().optional(), error: z.object({ code: z.number(), message: z.string() }).nullish() });

/** Thrown when the RPC node sent no response. */
export class NodeUnreachable extends Error {}

/** The response to a request. */
interface RpcResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly retryAfter: string | null;
  readonly text: string;
}

/** Sends requests to one RPC node: its own, and those of web3.js. */
export class RpcTransport {
  readonly #url: URL;
  readonly #budget: RequestBudget | undefined;
  readonly #retriesRateLimit: boolean;

  /** @param retriesRateLimit whether `call` repeats a request when the RPC node limits the rate; web3.js repeats its requests itself */
  constructor(url: string, budget: RequestBudget | undefined, retriesRateLimit: boolean) {
    this.#url = new URL(url);
    this.#budget = budget;
    this.#retriesRateLimit = retriesRateLimit;
  }

  /** The function with which web3.js sends its requests. */
  readonly fetch: typeof fetch = async (input, init) => {
    const send = () => fetch(input, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
    return await this.#observe(methodOf(init?.body), send, (response) => response.headers.get('retry-after'));
  };

  /**
   * Calls a JSON-RPC method. Sends the request with node:http, which takes a quarter of the CPU time of `fetch`.
   * @throws an error with the node's `code` when the node answers with an error, and one that begins with the HTTP status when it answers with another
   * status than 200, as web3.js does
   */
  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: '1', method, params });
    const send = () =>
      this.#observe(
        method,
        () => post(this.#url, body),
        ({ retryAfter }) => retryAfter,
      );
    let response = await send();
    for (const delay of this.#retriesRateLimit ? RATE_LIMIT_DELAYS_MS : []) {
      if (response.status !== 429) break;
      await sleep(delay);
      response = await send();
    }
    const { ok, status, statusText, text } = response;
    if (!ok) throw new Error(`${status} ${statusText}: ${text.slice(0, 200)}`);
    const { result, error } = Reply.parse(JSON.parse(text));
    if (error) throw Object.assign(new Error(`${method}: ${error.message}`), { code: error.code });
    return result;
  }

  /**
   * Sends a request within the budget. Wraps a network error in an error of this JavaScript realm, because a web3.js call never settles when its request
   * fails with an error of another realm.
   */
  async #observe<R extends Pick<Response, 'ok' | 'status'>>(
    method: string,
    send: () => Promise<R>,
    retryAfterOf: (response: R) => string | null,
  ): Promise<R> {
    try {
      await this.#budget?.take(method);
      // Only the host of the URL, because the rest may contain an API key.
      const response = await observeRpc(method, () => traceRpc(method, this.#url.hostname, send));
      if (response.status === 429) this.#budget?.pause(retryAfterOf(response));
      return response;
    } catch (cause) {
      throw new NodeUnreachable('the RPC node cannot be reached', { cause });
    }
  }
}

/** Returns the name of the RPC method in a request body of web3.js, which writes `method` as the first field. */
const methodOf = (body: unknown): string => (typeof body === 'string' && /^\{"method":"(\w+)"/.exec(body)?.[1]) || 'other';

/** Sends a POST request with a JSON body and reads the whole response. */
function post(url: URL, body: string): Promise<RpcResponse> {
  const isSecure = url.protocol === 'https:';
  const headers = { 'content-type': 'application/json', 'user-agent': 'coinop', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = (isSecure ? requestHttps : requestHttp)(
      url,
      { method: 'POST', agent: isSecure ? agents.https : agents.http, headers },
      (response) => {
        const { statusCode: status = 0, statusMessage: statusText = '' } = response;
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('error', fail);
        response.on('end', () => {
          clearTimeout(timeout);
          resolve({ ok: status >= 200 && status < 300, status, statusText, retryAfter: response.headers['retry-after'] ?? null, text });
        });
      },
    );
    const fail = (error: Error) => {
      clearTimeout(timeout);
      reject(error);
    };
    const timeout = setTimeout(() => sent.destroy(new Error(`the RPC node did not answer within ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
    sent.on('error', fail);
    sent.end(body);
  });
}

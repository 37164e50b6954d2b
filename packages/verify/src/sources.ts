/** The three sources of a verification. Each is a function, so that a test or a page can replace it. */

/** An answer of an HTTP source. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * Requests a path of the house (the service that runs the round) or of a beacon.
 * @throws Unreadable when there is no complete answer of at most `maxBytes` bytes
 */
export type HttpSource = (path: string, maxBytes: number) => Promise<Answer>;

/**
 * Calls a JSON-RPC method of a Solana node. @returns the `result` of the answer
 * @throws RpcFault when the node answers with an error; Unreadable when there is no complete answer
 */
export type RpcSource = (method: string, params: readonly unknown[]) => Promise<unknown>;

/** Thrown when a source cannot be read, so that the verification neither succeeds nor fails. */
export class Unreadable extends Error {}

/** Thrown when a Solana node answers with an error. */
export class RpcFault extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Longest duration of one request, ms, and longest answer of a Solana node, bytes. */
const TIMEOUT_MS = 60_000;
const MAX_RPC_BYTES = 16 * 1024 * 1024;

const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
};

async function request(url: string, init: RequestInit, maxBytes: number): Promise<Answer> {
  try {
    const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: response.status, text: await readText(response, maxBytes) };
  } catch (error) {
    throw error instanceof Unreadable ? error : new Unreadable(`${url} cannot be read: ${reasonOf(error)}`);
  }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = response.body?.getReader();
  let [text, bytes] = ['', 0];
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > maxBytes) {
      await reader?.cancel();
      throw new Unreadable(`${response.url} has more than ${maxBytes} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Returns a source that requests paths of a URL. */
export const httpSource =
  (base: string): HttpSource =>
  (path, maxBytes) =>
    request(`${base.replace(/\/+$/, '')}${path}`, { headers: { accept: '*/*' } }, maxBytes);

/** Returns a source that asks several mirrors in turn, until one answers with status 200. */
export const mirrors =
  (sources: readonly HttpSource[]): HttpSource =>
  async (path, maxBytes) => {
    let last: Answer | null = null;
    const faults: string[] = [];
    for (const source of sources) {
      const answer = await source(path, maxBytes).catch((error: unknown) => void faults.push(reasonOf(error)));
      if (answer?.status === 200) return answer;
      last = answer ?? last;
    }
    if (last !== null) return last;
    throw new Unreadable(faults.join('; ') || 'no mirror is configured');
  };

/** The mirrors of drand's public network. */
export const DRAND_URLS = ['https://api.drand.sh', 'https://api2.drand.sh', 'https://api3.drand.sh', 'https://drand.cloudflare.com'];

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Returns a source that calls a Solana node by JSON-RPC over HTTP. */
export const rpcSource =
  (url: string): RpcSource =>
  async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const { status, text } = await request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }, MAX_RPC_BYTES);
    const answer = parseJson(text);
    if (!isRecord(answer)) throw new Unreadable(`${url} answered ${method} with status ${status}`);
    if (!isRecord(answer.error)) return answer.result;
    const { code, message } = answer.error;
    throw new RpcFault(typeof code === 'number' ? code : 0, typeof message === 'string' ? message : 'an error without a message');
  };

/** Parses JSON. Returns undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import { z } from 'zod';

const Reply = z.object({ result: z.unknown(), error: z.object({ code: z.number(), message: z.string() }).optional() });

/**
 * Calls a JSON-RPC method.
 * @throws an error with the node's `code` when the node answers with an error, and one that begins with the HTTP status when it answers with another
 * status than 200, as web3.js does
 */
export async function callMethod(send: typeof fetch, url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  // `method` is the first field, as in the bodies of web3.js, because the request budget and the metrics read it there.
  const body = JSON.stringify({ method, jsonrpc: '2.0', id: '1', params });
  const response = await send(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}: ${(await response.text()).slice(0, 200)}`);
  const { result, error } = Reply.parse(await response.json());
  if (error) throw Object.assign(new Error(`${method}: ${error.message}`), { code: error.code });
  return result;
}

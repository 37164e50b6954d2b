import { z } from 'zod';
import { accountMethods } from './account-methods.ts';
import { clusterMethods } from './cluster-methods.ts';
import { RpcError } from './errors.ts';
import { historyMethods } from './history-methods.ts';
import type { Node } from './node.ts';
import type { Method } from './params.ts';
import { sendingMethods } from './sending-methods.ts';

const methods = new Map<string, Method>(Object.entries({ ...clusterMethods, ...accountMethods, ...historyMethods, ...sendingMethods }));

const Request = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string(),
  params: z.array(z.unknown()).nullish(),
});

/** One call of a JSON-RPC request. */
export type RpcCall =
  | { readonly ok: true; readonly id: string | number | null; readonly method: string; readonly params: readonly unknown[] }
  | { readonly ok: false };

const failure = (id: unknown, code: number, message: string, data?: unknown) => ({
  jsonrpc: '2.0',
  error: { code, message, ...(data === undefined ? {} : { data }) },
  id,
});

/** Response to a body that is not JSON. */
export const parseErrorResponse = failure(null, -32700, 'Parse error');
/** Response to an empty batch. */
export const emptyBatchResponse = failure(null, -32600, 'Invalid request');

export function readCall(body: unknown): RpcCall {
  const parsed = Request.safeParse(body);
  if (!parsed.success) return { ok: false };
  const { id, method, params } = parsed.data;
  return { ok: true, id: id ?? null, method, params: params ?? [] };
}

/** Runs one call, at the slot in which it begins. Every exception becomes a JSON-RPC error. */
export function handleCall(node: Node, call: RpcCall): object {
  if (!call.ok) return failure(null, -32600, 'Invalid request');
  const method = methods.get(call.method);
  if (!method) return failure(call.id, -32601, 'Method not found');
  try {
    node.chain.tick();
    return { jsonrpc: '2.0', result: method.call(node, call.params), id: call.id };
  } catch (error) {
    if (error instanceof RpcError) return failure(call.id, error.code, error.message, error.data);
    return failure(call.id, -32603, `Internal error: ${error instanceof Error ? error.message : 'unknown'}`);
  }
}

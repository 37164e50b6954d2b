/** An error that the client receives as the `error` of a JSON-RPC response. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const invalidParams = (message: string) => new RpcError(-32602, message);
export const PREFLIGHT_FAILURE = -32002;
export const SIGNATURE_FAILURE = -32003;
export const BLOCK_NOT_AVAILABLE = -32004;
export const SLOT_SKIPPED = -32007;
export const CLEANED_UP = -32001;
export const UNSUPPORTED_VERSION = -32015;
export const MIN_CONTEXT_SLOT = -32016;

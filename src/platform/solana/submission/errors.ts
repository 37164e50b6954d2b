import type { TransactionError } from '../primitives.ts';
import type { ChainError } from './transaction-type.ts';

/**
 * Converts an error from the format of RPC nodes (for example `"AccountNotFound"`, `{"InstructionError":[2,{"Custom":6}]}` or
 * `{"InsufficientFundsForRent":{…}}`).
 * @param before the number of instructions that the signer added before the draft's own instructions
 */
export function chainError(error: TransactionError, before: number): ChainError {
  if (typeof error === 'string') return { name: error, message: `the chain rejected the transaction: ${error}`, instruction: null, code: null };
  const [name = 'Unknown', detail] = Object.entries(error)[0] ?? [];
  if (name !== 'InstructionError' || !Array.isArray(detail)) {
    return { name, message: `the chain rejected the transaction: ${JSON.stringify(error)}`, instruction: null, code: null };
  }
  const [position, why]: unknown[] = detail;
  const instruction = typeof position === 'number' ? position - before : null;
  const code = typeof why === 'object' && why !== null && 'Custom' in why && typeof why.Custom === 'number' ? why.Custom : null;
  const reason = code === null ? (typeof why === 'string' ? why : JSON.stringify(why)) : `Custom${code}`;
  return {
    name: reason,
    message: `instruction ${instruction} failed: ${code === null ? reason : `program error ${code}`}`,
    instruction,
    code,
  };
}

/** The error that is stored for an attempt after its expiry is proven. This attempt can never land. */
export const EXPIRED_ERROR: ChainError = { name: 'Dead', message: 'the transaction expired without landing', instruction: null, code: null };

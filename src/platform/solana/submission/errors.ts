import type { TransactionError } from '@solana/web3.js';
import type { ChainError } from './transaction-type.ts';

/**
 * Reads an error as nodes report it: `"AccountNotFound"`, `{"InstructionError":[2,{"Custom":6}]}`, `{"InsufficientFundsForRent":{…}}`.
 * @param before how many instructions the engine put before those of the draft
 */
export function chainError(error: TransactionError, before: number): ChainError {
  if (typeof error === 'string') return { name: error, message: `the chain refused the transaction: ${error}`, instruction: null, code: null };
  const [name = 'Unknown', detail] = Object.entries(error)[0] ?? [];
  if (name !== 'InstructionError' || !Array.isArray(detail)) {
    return { name, message: `the chain refused the transaction: ${JSON.stringify(error)}`, instruction: null, code: null };
  }
  const [position, why]: unknown[] = detail;
  const instruction = typeof position === 'number' ? position - before : null;
  const code = typeof why === 'object' && why !== null && 'Custom' in why && typeof why.Custom === 'number' ? why.Custom : null;
  const reason = code === null ? (typeof why === 'string' ? why : JSON.stringify(why)) : `Custom${code}`;
  return {
    name: reason,
    message: `instruction ${instruction} was refused: ${code === null ? reason : `error ${code} of its program`}`,
    instruction,
    code,
  };
}

/** An attempt that is proven never to land. */
export const DEAD: ChainError = { name: 'Dead', message: 'it did not land in its time, and never will', instruction: null, code: null };

import { COMPUTE_BUDGET_PROGRAM, type Key, LOOKUP_TABLE_PROGRAM, SYSTEM_PROGRAM, UPGRADEABLE_LOADER, VOTE_PROGRAM } from '../keys.ts';
import type { WireMessage } from './wire.ts';

const LAMPORTS_PER_SIGNATURE = 5_000n;

/** Default compute units per instruction: `BUILTIN_UNITS` for builtin programs, `DEFAULT_UNITS` for any other program. */
const BUILTIN_UNITS = 3_000n;
const DEFAULT_UNITS = 200_000n;
const MAX_UNITS = 1_400_000n;
const BUILTINS: readonly (Key | undefined)[] = [SYSTEM_PROGRAM, COMPUTE_BUDGET_PROGRAM, LOOKUP_TABLE_PROGRAM, UPGRADEABLE_LOADER, VOTE_PROGRAM];

const SET_LIMIT = 2;
const SET_PRICE = 3;

/** Returns the compute unit price that a transaction sets, micro-lamports; 0 if the transaction sets no price. */
export function computeUnitPrice(message: WireMessage): bigint {
  return budgetInstruction(message, SET_PRICE, 9)?.readBigUInt64LE(1) ?? 0n;
}

/** Returns the fee of a transaction, lamports: the base fee for each signature, plus the priority fee. */
export function feeOf(message: WireMessage): bigint {
  const priority = computeUnitPrice(message) * computeUnitLimit(message);
  return LAMPORTS_PER_SIGNATURE * BigInt(message.required) + (priority + 999_999n) / 1_000_000n;
}

/** Returns the compute units that a transaction requests, or else the default of its instructions. */
export function computeUnitLimit(message: WireMessage): bigint {
  const requested = budgetInstruction(message, SET_LIMIT, 5)?.readUInt32LE(1);
  const units =
    requested === undefined
      ? message.instructions.reduce((sum, i) => sum + (BUILTINS.includes(message.keys[i.programIndex]) ? BUILTIN_UNITS : DEFAULT_UNITS), 0n)
      : BigInt(requested);
  return units < MAX_UNITS ? units : MAX_UNITS;
}

function budgetInstruction(message: WireMessage, kind: number, length: number): Buffer | undefined {
  return message.instructions.find(
    ({ programIndex, data }) => message.keys[programIndex] === COMPUTE_BUDGET_PROGRAM && data[0] === kind && data.length === length,
  )?.data;
}

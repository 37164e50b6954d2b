import bs58 from 'bs58';
import { base58Of, type Key, MEMO_PROGRAM, MEMO_PROGRAM_V1 } from '../keys.ts';
import { type Accounts, mintOf, tokenAccountOf } from './accounts.ts';
import type { ExecutionOutcome, SvmAccount } from './svm.ts';
import type { TransactionError } from './transaction-errors.ts';
import type { WireMessage } from './wire.ts';

/** The token balance of one account in the `meta` of a transaction. */
export interface TokenBalance {
  accountIndex: number;
  mint: string;
  owner: string;
  programId: string;
  uiTokenAmount: TokenAmount;
}

export interface TokenAmount {
  amount: string;
  decimals: number;
  uiAmount: number | null;
  uiAmountString: string;
}

export interface InnerInstructions {
  index: number;
  instructions: { programIdIndex: number; accounts: number[]; data: string; stackHeight: number }[];
}

/** The field `meta` in the response of getTransaction. */
export interface TransactionMeta {
  err: TransactionError | null;
  status: { Ok: null } | { Err: TransactionError };
  fee: number;
  preBalances: number[];
  postBalances: number[];
  innerInstructions: InnerInstructions[];
  logMessages: readonly string[];
  preTokenBalances: TokenBalance[];
  postTokenBalances: TokenBalance[];
  rewards: never[];
  loadedAddresses: { writable: string[]; readonly: string[] };
  returnData?: { programId: string; data: [string, 'base64'] };
  computeUnitsConsumed: number;
}

/** Returns a token amount, given in base units, in the format of RPC responses. */
export function tokenAmount(amount: bigint, decimals: number): TokenAmount {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const uiAmountString = fraction === '' ? whole : `${whole}.${fraction}`;
  return { amount: amount.toString(), decimals, uiAmount: Number(uiAmountString), uiAmountString };
}

/**
 * Returns the balances of the token accounts among `states`.
 * @param keys the addresses of `states`, in the same order
 */
export function tokenBalances(keys: readonly Key[], states: readonly (SvmAccount | null)[], accounts: Accounts): TokenBalance[] {
  return states.flatMap((state, accountIndex) => {
    const token = tokenAccountOf(state);
    const index = token ? keys.indexOf(token.mint) : -1;
    const mint = token && mintOf(index < 0 ? accounts.newest(token.mint) : (states[index] ?? null));
    if (!token || !mint) return [];
    return {
      accountIndex,
      mint: base58Of(token.mint),
      owner: base58Of(token.owner),
      programId: base58Of(token.program),
      uiTokenAmount: tokenAmount(token.amount, mint.decimals),
    };
  });
}

export function innerInstructions(outcome: ExecutionOutcome): InnerInstructions[] {
  return outcome.inner.flatMap((list, index) =>
    list.length === 0
      ? []
      : {
          index,
          instructions: list.map(({ programIndex, accounts, data, stackHeight }) => ({
            programIdIndex: programIndex,
            accounts: [...accounts],
            data: bs58.encode(data),
            stackHeight,
          })),
        },
  );
}

export function returnDataOf(outcome: ExecutionOutcome): { programId: string; data: [string, 'base64'] } | null {
  if (!outcome.returnData) return null;
  return { programId: base58Of(outcome.returnData.program), data: [Buffer.from(outcome.returnData.data).toString('base64'), 'base64'] };
}

/** Returns the memos of a transaction in the format of getSignaturesForAddress: `[length] text`, joined by `; `. */
export function memoOf(message: WireMessage): string | null {
  const memos = message.instructions.flatMap(({ programIndex, data }) => {
    const program = message.keys[programIndex];
    return program === MEMO_PROGRAM || program === MEMO_PROGRAM_V1 ? `[${data.length}] ${data.toString('utf8')}` : [];
  });
  return memos.length > 0 ? memos.join('; ') : null;
}

import { PublicKey, type VersionedTransactionResponse } from '@solana/web3.js';
import bs58 from 'bs58';
import { SYSTEM_PROGRAM } from './system-program.ts';
import { MEMO_PROGRAM } from './tokens.ts';

/** An instruction of a transaction on the chain. Addresses are base58. An empty text stands for an address that the RPC node does not return. */
export interface ParsedInstruction {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Buffer;
}

/** The balance of a token account, base units. */
export interface TokenBalance {
  readonly account: string;
  readonly mint: string;
  /** The wallet that owns the token account; null when the RPC node does not return the owner. */
  readonly owner: string | null;
  readonly amount: bigint;
}

/** The outcome of a transaction. */
export interface TransactionOutcome {
  readonly failed: boolean;
  /** Balances of the token accounts of the transaction before and after it. An account that does not exist is left out. */
  readonly tokensBefore: readonly TokenBalance[];
  readonly tokensAfter: readonly TokenBalance[];
  /** The instructions that called programs ran. */
  readonly innerInstructions: readonly ParsedInstruction[];
}

/** A transaction on the chain, as an RPC node returns it. Addresses are base58. */
export interface FetchedTransaction {
  /** The first signature, which identifies the transaction. */
  readonly signature: string;
  readonly slot: number;
  /** Time of the transaction's block, seconds since 1970; null while the RPC node does not know it. */
  readonly blockTime: number | null;
  /** The recent blockhash of the transaction, or the value of the nonce that it used. */
  readonly blockhash: string;
  /** The addresses that signed the transaction. */
  readonly signers: readonly string[];
  /** The top-level instructions. */
  readonly instructions: readonly ParsedInstruction[];
  /** Null while the RPC node does not have the outcome. */
  readonly outcome: TransactionOutcome | null;
}

type Meta = NonNullable<VersionedTransactionResponse['meta']>;

/** Converts a transaction from the format of web3.js. */
export function decodeTransaction({ slot, blockTime, meta, transaction }: VersionedTransactionResponse): FetchedTransaction {
  const { message, signatures } = transaction;
  const { writable = [], readonly = [] } = meta?.loadedAddresses ?? {};
  // Instructions and balances refer to addresses by their index in this list.
  const addresses = [...message.staticAccountKeys, ...writable, ...readonly].map((key) => new PublicKey(key).toBase58());
  const parse = (program: number, accounts: readonly number[], data: Uint8Array): ParsedInstruction => ({
    program: addresses[program] ?? '',
    accounts: accounts.map((index) => addresses[index] ?? ''),
    data: Buffer.from(data),
  });
  return {
    signature: signatures[0] ?? '',
    slot,
    blockTime: blockTime ?? null,
    blockhash: message.recentBlockhash,
    signers: addresses.slice(0, message.header.numRequiredSignatures),
    instructions: message.compiledInstructions.map(({ programIdIndex, accountKeyIndexes, data }) => parse(programIdIndex, accountKeyIndexes, data)),
    outcome: meta && {
      failed: meta.err !== null,
      tokensBefore: balancesOf(meta.preTokenBalances, addresses),
      tokensAfter: balancesOf(meta.postTokenBalances, addresses),
      // Decoded on use, because few readers need the inner instructions.
      get innerInstructions() {
        const inner = meta.innerInstructions?.flatMap(({ instructions }) => instructions) ?? [];
        return inner.map(({ programIdIndex, accounts, data }) => parse(programIdIndex, accounts, bs58.decode(data)));
      },
    },
  };
}

const balancesOf = (balances: Meta['preTokenBalances'], addresses: readonly string[]): TokenBalance[] =>
  (balances ?? []).map(({ accountIndex, mint, owner, uiTokenAmount }) => ({
    account: addresses[accountIndex] ?? '',
    mint,
    owner: owner ?? null,
    amount: BigInt(uiTokenAmount.amount),
  }));

/** Addresses of the memo program's current version and of its first version. */
const MEMO_PROGRAMS = new Set([MEMO_PROGRAM.toBase58(), 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo']);

/** Returns the texts of the memo instructions. */
export const memosOf = (instructions: readonly ParsedInstruction[]): string[] =>
  instructions.filter(({ program }) => MEMO_PROGRAMS.has(program)).map(({ data }) => data.toString('utf8'));

/** Numbers of the instructions AdvanceNonceAccount and InitializeNonceAccount in the system program. */
const ADVANCE_NONCE = 4;
const INITIALIZE_NONCE = 6;

const isNonceInstruction = ({ program, accounts, data }: ParsedInstruction, number: number, account: string): boolean =>
  program === SYSTEM_PROGRAM.toBase58() && data.length >= 4 && data.readUInt32LE(0) === number && accounts[0] === account;

/** Returns whether an instruction advances the nonce of an account. */
export const advancesNonce = (instruction: ParsedInstruction, account: string): boolean => isNonceInstruction(instruction, ADVANCE_NONCE, account);

/** Returns whether an instruction makes an account a nonce account. */
export const initializesNonce = (instruction: ParsedInstruction, account: string): boolean =>
  isNonceInstruction(instruction, INITIALIZE_NONCE, account);

import { PublicKey, type VersionedTransactionResponse } from '@solana/web3.js';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from './tokens.ts';

const TOKENS = TOKEN_PROGRAM.toBase58();
const MEMOS = new Set([MEMO_PROGRAM.toBase58(), 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo']);

/** The token program's `Burn` and `BurnChecked` by their number, and the bytes that they have at least. Accounts: token account, mint, authority. */
const BURNS: Readonly<Record<number, number>> = { 8: 9, 15: 10 };

/** Tokens that a wallet has burned. */
export interface Burn {
  /** The place of its instruction in the transaction. */
  readonly index: number;
  readonly wallet: string;
  /** Base units, 1 or more. */
  readonly amount: bigint;
}

/** What of a transaction is about burns. */
export interface BurnsRead {
  /** The time of its block, ms since 1970; whole seconds. */
  readonly at: number;
  readonly memos: readonly string[];
  readonly burns: readonly Burn[];
}

/**
 * Reads what a finalized transaction itself burns of a mint, and its memos; what programs do on its behalf does not count, and nothing does
 * of one that failed. Burned is by the wallet that owns the token account and has signed: a delegate's burn is nobody's.
 * @returns null where the node does not know all of it yet
 */
export function readBurns({ transaction, meta, blockTime }: VersionedTransactionResponse, mint: string): BurnsRead | null {
  if (!meta || blockTime === null || blockTime === undefined) return null;
  const at = blockTime * 1_000;
  if (meta.err !== null) return { at, memos: [], burns: [] };
  const { staticAccountKeys, compiledInstructions, header } = transaction.message;
  const loaded = meta.loadedAddresses;
  const keys = [...staticAccountKeys, ...(loaded?.writable ?? []), ...(loaded?.readonly ?? [])].map((key) => new PublicKey(key).toBase58());
  // An account that is opened in the transaction was nobody's before.
  const ownerOf = (account: number | undefined) =>
    [...(meta.preTokenBalances ?? []), ...(meta.postTokenBalances ?? [])].find(({ accountIndex }) => accountIndex === account)?.owner;

  const memos: string[] = [];
  const burns: Burn[] = [];
  for (const [index, { programIdIndex, accountKeyIndexes, data: bytes }] of compiledInstructions.entries()) {
    const program = keys[programIdIndex] ?? '';
    const data = Buffer.from(bytes);
    if (MEMOS.has(program)) memos.push(data.toString('utf8'));
    if (program !== TOKENS || data.length < (BURNS[data[0] ?? -1] ?? Number.POSITIVE_INFINITY)) continue;
    const [account, burned, authority = keys.length] = accountKeyIndexes;
    const wallet = keys[authority];
    const isOwn = wallet !== undefined && authority < header.numRequiredSignatures && ownerOf(account) === wallet;
    const amount = data.readBigUInt64LE(1);
    if (isOwn && keys[burned ?? -1] === mint && amount > 0n) burns.push({ index, wallet, amount });
  }
  return { at, memos, burns };
}

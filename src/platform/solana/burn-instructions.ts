import type { VersionedTransactionResponse } from '@solana/web3.js';
import { addressesOf, instructionsOf, memosOf, signersOf } from './instructions.ts';
import { TOKEN_PROGRAM } from './tokens.ts';

const TOKENS = TOKEN_PROGRAM.toBase58();

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
export function readBurns(found: VersionedTransactionResponse, mint: string): BurnsRead | null {
  const { meta, blockTime } = found;
  if (!meta || blockTime === null || blockTime === undefined) return null;
  const at = blockTime * 1_000;
  if (meta.err !== null) return { at, memos: [], burns: [] };
  const addresses = addressesOf(found);
  const signers = new Set(signersOf(found));
  // An account that is opened in the transaction was nobody's before.
  const balances = [...(meta.preTokenBalances ?? []), ...(meta.postTokenBalances ?? [])];
  const ownerOf = (account: string) => balances.find(({ accountIndex }) => addresses[accountIndex] === account)?.owner;

  const instructions = instructionsOf(found);
  const burns = instructions.flatMap(({ program, accounts, data }, index): Burn[] => {
    if (program !== TOKENS || data.length < (BURNS[data[0] ?? -1] ?? Number.POSITIVE_INFINITY)) return [];
    const [account = '', burned, wallet = ''] = accounts;
    const isOwn = signers.has(wallet) && ownerOf(account) === wallet;
    const amount = data.readBigUInt64LE(1);
    return isOwn && burned === mint && amount > 0n ? [{ index, wallet, amount }] : [];
  });
  return { at, memos: memosOf(instructions), burns };
}

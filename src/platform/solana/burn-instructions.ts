import type { VersionedTransactionResponse } from '@solana/web3.js';
import { addressesOf, instructionsOf, memosOf, signersOf } from './instructions.ts';
import { TOKEN_PROGRAM } from './tokens.ts';

const TOKENS = TOKEN_PROGRAM.toBase58();

/**
 * Minimum data length of each type of burn instruction, bytes. Key: the code of the instruction in the token program (8 = `Burn`, 15 =
 * `BurnChecked`). The accounts of both instructions are: token account, mint, authority.
 */
const BURNS: Readonly<Record<number, number>> = { 8: 9, 15: 10 };

/** A burn instruction, with the wallet that owned the tokens. */
export interface ParsedBurn {
  /** Index of the instruction in the transaction. */
  readonly index: number;
  readonly wallet: string;
  /** Amount in base units, 1 or more. */
  readonly amount: bigint;
}

/** The burns and memos of a transaction. */
interface ParsedBurns {
  /** Time of the transaction's block, ms since 1970, in whole seconds. */
  readonly at: number;
  readonly memos: readonly string[];
  readonly burns: readonly ParsedBurn[];
}

/**
 * Reads the memos and the burns of a mint from the top-level instructions of a finalized transaction. For a failed transaction both lists are empty.
 * A burn counts only when the owner of the token account signed the burn; burns by a delegate are left out.
 * @returns null while the RPC node does not have all data of the transaction
 */
export function parseBurns(found: VersionedTransactionResponse, mint: string): ParsedBurns | null {
  const { meta, blockTime } = found;
  if (!meta || blockTime === null || blockTime === undefined) return null;
  const at = blockTime * 1_000;
  if (meta.err !== null) return { at, memos: [], burns: [] };
  const addresses = addressesOf(found);
  const signers = new Set(signersOf(found));
  // The balances name the owner of each token account. Includes the balances after the transaction, because an account that the transaction opened
  // has no balance before the transaction.
  const balances = [...(meta.preTokenBalances ?? []), ...(meta.postTokenBalances ?? [])];
  const ownerOf = (account: string) => balances.find(({ accountIndex }) => addresses[accountIndex] === account)?.owner;

  const instructions = instructionsOf(found);
  const burns = instructions.flatMap(({ program, accounts, data }, index): ParsedBurn[] => {
    if (program !== TOKENS || data.length < (BURNS[data[0] ?? -1] ?? Number.POSITIVE_INFINITY)) return [];
    const [account = '', burned, wallet = ''] = accounts;
    const isOwn = signers.has(wallet) && ownerOf(account) === wallet;
    const amount = data.readBigUInt64LE(1);
    return isOwn && burned === mint && amount > 0n ? [{ index, wallet, amount }] : [];
  });
  return { at, memos: memosOf(instructions), burns };
}

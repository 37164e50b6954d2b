import { type FetchedTransaction, memosOf } from './fetched-transaction.ts';
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
export function parseBurns(found: FetchedTransaction, mint: string): ParsedBurns | null {
  const { outcome, blockTime, instructions } = found;
  if (outcome === null || blockTime === null) return null;
  const at = blockTime * 1_000;
  if (outcome.failed) return { at, memos: [], burns: [] };
  const signers = new Set(found.signers);
  // The balances name the owner of each token account. Includes the balances after the transaction, because an account that the transaction opened
  // has no balance before the transaction.
  const balances = [...outcome.tokensBefore, ...outcome.tokensAfter];
  const ownerOf = (account: string) => balances.find((balance) => balance.account === account)?.owner;

  const burns = instructions.flatMap(({ program, accounts, data }, index): ParsedBurn[] => {
    if (program !== TOKENS || data.length < (BURNS[data[0] ?? -1] ?? Number.POSITIVE_INFINITY)) return [];
    const [account = '', burned, wallet = ''] = accounts;
    const isOwn = signers.has(wallet) && ownerOf(account) === wallet;
    const amount = data.readBigUInt64LE(1);
    return isOwn && burned === mint && amount > 0n ? [{ index, wallet, amount }] : [];
  });
  return { at, memos: memosOf(instructions), burns };
}

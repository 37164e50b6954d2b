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
  /** Burns that the owner of the tokens did not sign, for example by a delegate. */
  readonly delegatedBurns: readonly ParsedBurn[];
}

/**
 * Reads the memos and the burns of a mint from the top-level instructions of a finalized transaction. For a failed transaction all lists are empty.
 * @returns null while the RPC node does not have all data of the transaction
 */
export function parseBurns(transaction: FetchedTransaction, mint: string): ParsedBurns | null {
  const { outcome, blockTime, instructions } = transaction;
  if (outcome === null || blockTime === null) return null;
  const at = blockTime * 1_000;
  if (outcome.failed) return { at, memos: [], burns: [], delegatedBurns: [] };
  const signers = new Set(transaction.signers);
  // The balances name the owner of each token account. Includes the balances after the transaction, because an account that the transaction opened
  // has no balance before the transaction.
  const balances = [...outcome.tokensBefore, ...outcome.tokensAfter];
  const ownerOf = (account: string) => balances.find((balance) => balance.account === account)?.owner;

  const found = instructions.flatMap(({ program, accounts, data }, index) => {
    if (program !== TOKENS || data.length < (BURNS[data[0] ?? -1] ?? Number.POSITIVE_INFINITY)) return [];
    const [account = '', burned, authority = ''] = accounts;
    const wallet = ownerOf(account);
    const amount = data.readBigUInt64LE(1);
    if (burned !== mint || amount === 0n || !wallet) return [];
    return [{ burn: { index, wallet, amount }, isOwn: authority === wallet && signers.has(wallet) }];
  });
  const select = (isOwn: boolean): ParsedBurn[] => found.filter((one) => one.isOwn === isOwn).map(({ burn }) => burn);
  return { at, memos: memosOf(instructions), burns: select(true), delegatedBurns: select(false) };
}

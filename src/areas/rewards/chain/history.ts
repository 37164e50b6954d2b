import type { App } from '#platform/app.ts';
import { parseClaim } from '#platform/solana/distributor/index.ts';
import type { FetchedTransaction, ParsedInstruction } from '#platform/solana/fetched-transaction.ts';
import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import type { HistoryEntry } from '#platform/solana/rpc-node.ts';
import type { EpochAddresses } from './epoch-accounts.ts';

/** Signatures per page. RPC nodes return at most 1,000 per request. */
const PAGE = 1_000;
/**
 * Maximum pages that one run reads from the history of an account. If the history has more pages, the run also reads the bitmap of claimed leaves.
 */
const MAX_PAGES = 20;
/** Maximum transactions of an epoch account, oldest first, that are checked to find the transaction that opened the account. */
const MAX_SEARCHED = 20;

/** First byte of the data of the program's instruction `open`. */
const OPEN = 0;
/** Index of the epoch account in the account list of the instruction `open`. */
const OPENED_EPOCH = 3;

/** Signature and slot of the last transaction that was read from the history of an account. */
interface HistoryCursor {
  readonly signature: string | null;
  readonly slot: number;
}

/** The finalized transactions that name an account and are newer than a cursor. */
export interface AccountHistory {
  /** Transactions, oldest first. */
  readonly entries: readonly HistoryEntry[];
  /** Whether `entries` reaches back to the cursor. If false, `entries` contains only the newest transactions. */
  readonly isWhole: boolean;
}

/** Lists the finalized transactions that name an account and are newer than a cursor. */
export async function readHistory(app: App, account: Address, since: HistoryCursor): Promise<AccountHistory> {
  const entries: HistoryEntry[] = [];
  for (let page = 0; page < MAX_PAGES; page++) {
    const before = entries.at(-1)?.signature;
    const found = await app.chain.node.history(account, { limit: PAGE, before, until: since.signature ?? undefined }, 'finalized');
    // An RPC node that does not have the transaction of the cursor returns older entries too. The slot filter drops them.
    const recent = found.filter(({ slot }) => slot >= since.slot);
    entries.push(...recent);
    if (found.length < PAGE || recent.length < found.length) return { entries: entries.reverse(), isWhole: true };
  }
  return { entries: entries.reverse(), isWhole: false };
}

/** Returns the instructions of a transaction that call a program. Includes inner instructions. */
function callsOf({ instructions, outcome }: FetchedTransaction, program: Address): ParsedInstruction[] {
  const address = program.toBase58();
  return [...instructions, ...(outcome?.innerInstructions ?? [])].filter((call) => call.program === address);
}

/** Returns the indexes of the leaves of an epoch that a transaction claimed. Returns none when the transaction failed. */
export function claimedIndexes(found: FetchedTransaction, { program, account }: EpochAddresses): number[] {
  if (found.outcome?.failed !== false) return [];
  return callsOf(found, program).flatMap(({ accounts, data }) => {
    // An empty address stands for an account that the RPC node does not return.
    const claim = accounts.includes('') ? null : parseClaim(data, accounts.map(parseAddress));
    return claim?.epochAccount.equals(account) ? [claim.index] : [];
  });
}

/**
 * Finds the transaction that opened the account of an epoch. Returns null when the RPC node does not have it. Checks the instructions of each
 * transaction, because an older transaction can name the address without opening the account.
 */
export async function findOpening(app: App, { program, account }: EpochAddresses): Promise<{ signature: string; slot: number } | null> {
  const { entries } = await readHistory(app, account, { signature: null, slot: 0 });
  const opens = ({ accounts, data }: ParsedInstruction) => data[0] === OPEN && accounts[OPENED_EPOCH] === account.toBase58();
  for (const { signature, slot } of entries.filter(({ failed }) => !failed).slice(0, MAX_SEARCHED)) {
    const found = await app.chain.node.transaction(signature, 'finalized');
    if (found && callsOf(found, program).some(opens)) return { signature, slot };
  }
  return null;
}

import { type ConfirmedSignatureInfo, PublicKey, type VersionedTransactionResponse } from '@solana/web3.js';
import bs58 from 'bs58';
import type { App } from '#platform/app.ts';
import { parseClaim } from '#platform/solana/distributor/index.ts';
import { rpc } from '#platform/solana/solana.ts';
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
  readonly entries: readonly ConfirmedSignatureInfo[];
  /** Whether `entries` reaches back to the cursor. If false, `entries` contains only the newest transactions. */
  readonly isWhole: boolean;
}

/** Lists the finalized transactions that name an account and are newer than a cursor. */
export async function readHistory(app: App, account: PublicKey, since: HistoryCursor): Promise<AccountHistory> {
  const entries: ConfirmedSignatureInfo[] = [];
  for (let page = 0; page < MAX_PAGES; page++) {
    const before = entries.at(-1)?.signature;
    const found = await rpc(() =>
      app.chain.connection.getSignaturesForAddress(
        account,
        { limit: PAGE, ...(since.signature === null ? {} : { until: since.signature }), ...(before === undefined ? {} : { before }) },
        'finalized',
      ),
    );
    // An RPC node that does not have the transaction of the cursor returns older entries too. The slot filter drops them.
    const recent = found.filter(({ slot }) => slot >= since.slot);
    entries.push(...recent);
    if (found.length < PAGE || recent.length < found.length) return { entries: entries.reverse(), isWhole: true };
  }
  return { entries: entries.reverse(), isWhole: false };
}

/** Reads a finalized transaction. Returns null when the RPC node does not have it. */
export async function readTransaction(app: App, signature: string): Promise<VersionedTransactionResponse | null> {
  return await rpc(() => app.chain.connection.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 1 }));
}

interface Instruction {
  readonly program: PublicKey;
  readonly keys: readonly PublicKey[];
  readonly data: Uint8Array;
}

/** Yields the instructions of a transaction, including its inner instructions. */
function* instructionsOf({ transaction, meta }: VersionedTransactionResponse): Generator<Instruction> {
  const { message } = transaction;
  const loaded = meta?.loadedAddresses;
  const keys = [...message.staticAccountKeys, ...(loaded?.writable ?? []), ...(loaded?.readonly ?? [])].map((key) => new PublicKey(key));
  const at = (indexes: readonly number[]) => indexes.flatMap((index) => keys[index] ?? []);
  for (const { programIdIndex, accountKeyIndexes, data } of message.compiledInstructions) {
    const [program] = at([programIdIndex]);
    if (program) yield { program, keys: at(accountKeyIndexes), data };
  }
  for (const { programIdIndex, accounts, data } of meta?.innerInstructions?.flatMap((inner) => inner.instructions) ?? []) {
    const [program] = at([programIdIndex]);
    if (program) yield { program, keys: at(accounts), data: bs58.decode(data) };
  }
}

/** Returns the indexes of the leaves of an epoch that a transaction claimed. Returns none when the transaction failed. */
export function claimedIndexes(found: VersionedTransactionResponse, addresses: EpochAddresses): number[] {
  if (found.meta?.err !== null) return [];
  return [...instructionsOf(found)].flatMap(({ program, keys, data }) => {
    if (!program.equals(addresses.program)) return [];
    const claim = parseClaim(data, keys);
    return claim?.epochAccount.equals(addresses.account) ? [claim.index] : [];
  });
}

/**
 * Finds the transaction that opened the account of an epoch. Returns null when the RPC node does not have it. Checks the instructions of each
 * transaction, because an older transaction can name the address without opening the account.
 */
export async function findOpening(app: App, addresses: EpochAddresses): Promise<{ signature: string; slot: number } | null> {
  const { entries } = await readHistory(app, addresses.account, { signature: null, slot: 0 });
  for (const { signature, slot } of entries.filter(({ err }) => err === null).slice(0, MAX_SEARCHED)) {
    const found = await readTransaction(app, signature);
    const opens = ({ program, keys, data }: Instruction) =>
      program.equals(addresses.program) && data[0] === OPEN && keys[OPENED_EPOCH]?.equals(addresses.account) === true;
    if (found && [...instructionsOf(found)].some(opens)) return { signature, slot };
  }
  return null;
}

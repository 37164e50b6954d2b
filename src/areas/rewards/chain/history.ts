import { type ConfirmedSignatureInfo, PublicKey, type VersionedTransactionResponse } from '@solana/web3.js';
import bs58 from 'bs58';
import type { App } from '#platform/app.ts';
import { parseClaim } from '#platform/solana/distributor/index.ts';
import { rpc } from '#platform/solana/solana.ts';
import type { Place } from './epoch-accounts.ts';

/** Signatures in one answer: the most that nodes give. */
const PAGE = 1_000;
/** Pages of an account's history that are read at once. A history longer than that is not read, the bitmap is. */
const MOST_PAGES = 20;
/** Transactions of an epoch's account that are looked through for its opening, oldest first. */
const MOST_SEARCHED = 20;

/** The first byte of the program's `open`, and the place of the epoch among its accounts. */
const OPEN = 0;
const OPENED_EPOCH = 3;

/** How far the history of an account has been read. */
export interface Cursor {
  readonly signature: string | null;
  readonly slot: number;
}

/** The finalized transactions that name an account, as nodes list them. */
export interface History {
  /** Oldest first. */
  readonly entries: readonly ConfirmedSignatureInfo[];
  /** Whether it goes back to the cursor; else only its newest part is here. */
  readonly isWhole: boolean;
}

/** Lists what has become final of an account's history since a cursor. */
export async function readHistory(app: App, account: PublicKey, since: Cursor): Promise<History> {
  const entries: ConfirmedSignatureInfo[] = [];
  for (let page = 0; page < MOST_PAGES; page++) {
    const before = entries.at(-1)?.signature;
    const found = await rpc(() =>
      app.chain.connection.getSignaturesForAddress(
        account,
        { limit: PAGE, ...(since.signature === null ? {} : { until: since.signature }), ...(before === undefined ? {} : { before }) },
        'finalized',
      ),
    );
    // A node that has forgotten the cursor goes on behind it.
    const recent = found.filter(({ slot }) => slot >= since.slot);
    entries.push(...recent);
    if (found.length < PAGE || recent.length < found.length) return { entries: entries.reverse(), isWhole: true };
  }
  return { entries: entries.reverse(), isWhole: false };
}

/** Reads a finalized transaction; null where the node does not have it. */
export async function readTransaction(app: App, signature: string): Promise<VersionedTransactionResponse | null> {
  return await rpc(() => app.chain.connection.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 1 }));
}

interface Instruction {
  readonly program: PublicKey;
  readonly keys: readonly PublicKey[];
  readonly data: Uint8Array;
}

/** The instructions of a transaction, those that programs gave included. */
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

/** The indexes that a transaction claimed of an epoch; none where it failed. */
export function claimedIn(found: VersionedTransactionResponse, place: Place): number[] {
  if (found.meta?.err !== null) return [];
  return [...instructionsOf(found)].flatMap(({ program, keys, data }) => {
    if (!program.equals(place.program)) return [];
    const claim = parseClaim(data, keys);
    return claim?.epochAccount.equals(place.account) ? [claim.index] : [];
  });
}

/** The transaction that opened an epoch; null where the node's history does not have it. Anybody may have named its address before. */
export async function findOpening(app: App, place: Place): Promise<{ signature: string; slot: number } | null> {
  const { entries } = await readHistory(app, place.account, { signature: null, slot: 0 });
  for (const { signature, slot } of entries.filter(({ err }) => err === null).slice(0, MOST_SEARCHED)) {
    const found = await readTransaction(app, signature);
    const opens = ({ program, keys, data }: Instruction) =>
      program.equals(place.program) && data[0] === OPEN && keys[OPENED_EPOCH]?.equals(place.account) === true;
    if (found && [...instructionsOf(found)].some(opens)) return { signature, slot };
  }
  return null;
}

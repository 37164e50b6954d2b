import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { parseClaim } from '#platform/solana/distributor/index.ts';
import { type FetchedTransaction, memosOf, type ParsedInstruction } from '#platform/solana/fetched-transaction.ts';
import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import type { EpochAddresses } from './epoch-accounts.ts';

/** Signatures per page. RPC nodes return at most 1,000 per request. */
const PAGE = 1_000;
/** Maximum attempts of this service, and maximum other transactions, that are checked to find the transaction that opened an epoch account. */
const MAX_SEARCHED = 20;

/** First byte of the data of the program's instruction `open`. */
const OPEN = 0;
/** Index of the epoch account in the account list of the instruction `open`. */
const OPENED_EPOCH = 3;

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

/** The transaction that opened an epoch account, with the texts of its memos. */
export interface Opening {
  readonly signature: string;
  readonly slot: number;
  readonly memos: readonly string[];
}

const selectAttempts = statement<{ signature: string }>(
  'select_attempts_of_epoch_root',
  `select a.signature from chain_transactions t join chain_attempts a on a.transaction_id = t.id
   where t.kind = 'epoch-root' and t.subject = $1 order by a.n desc limit ${MAX_SEARCHED}`,
);

/**
 * Finds the transaction that opened the account of an epoch: one of the attempts of this service, or, after a restore that lost them, one of the
 * oldest transactions in the newest page of the account's history. Returns null when it is none of them. More of the history is not read: anybody can
 * fill it with other transactions, and an epoch needs no signature to be open.
 */
export async function findOpening(app: App, { epoch, program, account }: EpochAddresses): Promise<Opening | null> {
  const opens = ({ accounts, data }: ParsedInstruction) => data[0] === OPEN && accounts[OPENED_EPOCH] === account.toBase58();
  const check = async (signatures: readonly { readonly signature: string }[]) => {
    for (const { signature } of signatures) {
      const found = await app.chain.node.transaction(signature, 'finalized');
      if (found?.outcome?.failed === false && callsOf(found, program).some(opens))
        return { signature, slot: found.slot, memos: memosOf(found.instructions) };
    }
    return null;
  };
  const own = await check(await app.db.query(selectAttempts, [String(epoch)]));
  if (own) return own;
  const listed = await app.chain.node.history(account, { limit: PAGE }, 'finalized');
  return await check(listed.reverse().slice(0, MAX_SEARCHED));
}

import { sql } from 'kysely';
import { HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import type { HistoryEntry } from '#platform/solana/rpc-node.ts';
import { associatedTokenAddress } from '#platform/solana/tokens.ts';
import { finishLeaves } from '../claims/settlement.ts';
import { build } from '../query-builder.ts';
import { addressesOf, type EpochAddressesRow } from './epoch-accounts.ts';
import { claimedIndexes } from './history.ts';

/** Maximum claims per run, and maximum transactions that a run reads for one claim. */
const MAX_SEARCHES = 20;
const PAGE = 100;
const MAX_CONCURRENT_SEARCHES = 4;
/** Time after which a search continues when the RPC nodes do not return its next transaction. */
const RETRY = '1 minute';
const DAY_SECONDS = 86_400;

/** Starts the search for the signatures of claimed leaves. `$3` is a finalized slot at which the leaves were claimed. */
export const startSearches = statement(
  'start_claim_searches',
  `insert into claim_searches (claim, slot) select id, $3 from claims
   where epoch = $1 and index = any($2::int[]) and state = 'claimed' and signature is null on conflict do nothing`,
);

/** A claim whose signature is searched. `known`: whether another run stored the signature. */
interface Search extends EpochAddressesRow {
  readonly claim: string;
  readonly slot: number;
  readonly before: string | null;
  readonly index: number;
  readonly wallet: string;
  readonly known: boolean;
}

/** SQL that returns rows when searches of `findClaimSignatures` are due. */
export const DUE_SEARCHES = 'select 1 from claim_searches s where s.next_at <= (select app_now())';
const selectDue = statement<Search>(
  'select_due_claim_searches',
  `select s.claim::text, s.slot::float8 as slot, s.before, c.index, c.wallet, c.signature is not null as known,
     a.epoch, a.program, a.authority, a.mint, a.vault, a.address
   from claim_searches s join claims c on c.id = s.claim join epoch_accounts a on a.epoch = c.epoch
   where s.next_at <= (select app_now()) order by s.next_at limit ${MAX_SEARCHES}`,
);

/**
 * Searches the signatures of claims that the bitmap showed: reads the next part of the history of each wallet's token account, which every claim of the
 * wallet names. A search that does not end continues behind the others, so a wallet whose history is long does not delay the other wallets.
 */
export async function findClaimSignatures(app: App): Promise<void> {
  const next = (await app.db.query(selectDue, [])).values();
  const work = async () => {
    for (const search of next) await searchPart(app, search);
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_SEARCHES }, work));
}

async function searchPart(app: App, search: Search): Promise<void> {
  const listed = search.known ? [] : await listPage(app, search);
  const { signature, done } = await readUntilFound(app, search, listed);
  const last = done.at(-1);
  const isOver = signature !== null || listed.length === 0 || (last !== undefined && isBeforeClaims(search, last));
  await app.tx(async (tx) => {
    if (signature !== null) await finishLeaves(tx, search.epoch, [{ index: search.index, signature }]);
    if (isOver) return await run(tx, build.deleteFrom('claim_searches').where('claim', '=', search.claim));
    // The condition on `before` compares with the progress that this run read, so that two processes do not overwrite the progress of each other.
    const update = build.updateTable('claim_searches').where('claim', '=', search.claim).where('before', 'is not distinct from', search.before);
    const wait = done.length < listed.length ? sql<string>`app_now() + interval '${sql.raw(RETRY)}'` : sql<string>`app_now()`;
    await run(tx, update.set({ before: last?.signature ?? search.before, next_at: wait }));
  });
  if (isOver && signature === null && !search.known)
    app.log.warn({ epoch: search.epoch, index: search.index }, 'no RPC node has the transaction of a claim; the claim stays without a signature');
}

/** Lists the next page of the token account's history, newest first. If the first RPC node lists none, asks the second. */
async function listPage(app: App, search: Search): Promise<HistoryEntry[]> {
  const account = associatedTokenAddress(parseAddress(search.wallet), parseAddress(search.mint));
  const page = { limit: PAGE, before: search.before ?? undefined, minContextSlot: search.slot };
  for (const node of [app.chain.node, app.chain.second]) {
    const listed = await node?.history(account, page, 'finalized').catch((error: unknown): HistoryEntry[] => {
      if (error instanceof HttpError) throw error;
      // Some RPC nodes return an error for a signature that they do not have.
      app.log.warn({ err: error, epoch: search.epoch, index: search.index }, 'an RPC node cannot list the history of a token account');
      return [];
    });
    if (listed && listed.length > 0) return listed;
  }
  return [];
}

/**
 * Reads the given transactions in their order until one claims the leaf, is older than the claims, or is not returned by the RPC node.
 * @returns the signature of the claim; null when none was found. `done` contains the entries that were read
 */
async function readUntilFound(
  app: App,
  search: Search,
  entries: readonly HistoryEntry[],
): Promise<{ readonly signature: string | null; readonly done: readonly HistoryEntry[] }> {
  const addresses = addressesOf(search);
  const done: HistoryEntry[] = [];
  for (const entry of entries) {
    if (!entry.failed && !isBeforeClaims(search, entry)) {
      const found =
        (await app.chain.node.transaction(entry.signature, 'finalized')) ?? (await app.chain.second?.transaction(entry.signature, 'finalized'));
      if (!found) return { signature: null, done };
      if (claimedIndexes(found, addresses).includes(search.index)) return { signature: entry.signature, done };
    }
    done.push(entry);
    if (isBeforeClaims(search, entry)) break;
  }
  return { signature: null, done };
}

/** Returns whether a transaction is older than every claim of the epoch: an epoch is opened after its day has ended. */
const isBeforeClaims = ({ epoch }: Search, { blockTime }: HistoryEntry): boolean => blockTime !== null && blockTime < (epoch + 1) * DAY_SECONDS;

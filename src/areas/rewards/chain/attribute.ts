import { type App, perApp } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { CLAIMS_PER_PAGE, decodePage, type EpochAccount, isClaimed, pageAddress } from '#platform/solana/distributor/index.ts';
import type { HistoryEntry } from '#platform/solana/rpc-node.ts';
import { subjectsBySignature } from '#platform/solana/submission/index.ts';
import { CLAIM } from '../claims/rows.ts';
import { type ClaimedIndex, finishLeaves } from '../claims/settlement.ts';
import { build } from '../query-builder.ts';
import { readAccounts } from './accounts.ts';
import { addressesOf, type FollowedEpoch } from './epoch-accounts.ts';
import { type AccountHistory, claimedIndexes, readHistory } from './history.ts';

/** Maximum transactions that one run reads from the RPC node. Claims that this service sent are not read. */
const MAX_READ = 100;
const MAX_CONCURRENT_READS = 8;
/**
 * Gap score of an epoch at which `attributeClaims` reads the bitmap of claimed leaves. A call that finds a missing claim in the history sets the
 * score to 0. Any other call adds 10 if it read the whole history, or 1 if it read a part. So the bitmap is read after several calls without a
 * missing claim, even if a wallet fills the history with other transactions.
 */
const MAX_GAP_SCORE = 20;
const GAP_SCORE = { wholeHistory: 10, partOfHistory: 2 };
const PAGES_PER_REQUEST = 99;

const selectIndexes = statement<{ id: string; index: number }>(
  'select_claim_indexes',
  'select id::text, index from claims where epoch = $1 and id = any($2::uuid[])',
);
const selectUnclaimed = statement<{ index: number }>(
  'select_unclaimed_of',
  `select i as index from unnest($2::int[]) as i
   where not exists (select 1 from claims c where c.epoch = $1 and c.index = i and c.state = 'claimed') order by i`,
);

/** Signature and slot up to which the transaction history of an epoch account was read. */
interface Cursor {
  readonly signature: string | null;
  readonly slot: number;
}

/**
 * Moves the cursor only if the stored cursor still has the signature `from`, which the caller read. So a move by another process is not overwritten.
 */
const moveCursor = (tx: Tx, epoch: number, from: string | null, to: Cursor, gaps: number) =>
  run(
    tx,
    build
      .updateTable('epoch_accounts')
      .set(({ ref }) => ({ cursor: to.signature, cursor_slot: String(to.slot), gaps, cursor_claims: ref('claims') }))
      .where('epoch', '=', epoch)
      .where('cursor', 'is not distinct from', from),
  );

/** Maximum signatures of the epoch account that `skipHistory` lists, newest first. */
const MAX_COMPARED = 100;

/**
 * Moves the history cursor of an epoch to the newest transaction of the epoch account at or before `slot`, without reading the transactions.
 * Precondition: the database has all claims of the epoch up to `slot`.
 * @param slot a finalized slot
 */
export async function skipHistory(app: App, row: FollowedEpoch, slot: number): Promise<void> {
  const listed = await app.chain.node.history(addressesOf(row).account, { limit: MAX_COMPARED }, 'finalized');
  const last = listed.find((entry) => entry.slot <= slot);
  if (last && last.slot > row.cursor_slot) await app.tx((tx) => moveCursor(tx, row.epoch, row.cursor, last, 0));
}

// Reads the pending attempts, which are few, and not the claims of the epoch, which may be a million.
const selectPendingAmount = statement<{ amount: string }>(
  'select_pending_claims_amount',
  `select coalesce(sum(c.amount), 0)::text as amount from chain_attempts a join chain_transactions t on t.id = a.transaction_id
   join claims c on c.id = case when t.kind = $2 then t.subject::uuid end
   where a.state in ('signed', 'sent', 'confirmed') and c.epoch = $1 and c.state <> 'claimed'`,
);

/** Maximum time for which claims of this service that are pending may explain a difference between the chain and the database, ms. */
const MAX_PENDING_MS = 10_000;
/** The same time in intervals between two expiry checks. The shorter time counts. */
const MAX_PENDING_RECHECKS = 10;

/** Time at which each epoch was first seen with a difference that pending claims of this service may explain, and the claimed amount at that time. */
const differences = perApp(() => new Map<number, { readonly claimed: bigint; readonly since: number }>());

/**
 * Returns whether pending claims of this service may explain why the chain has more claims than the database. Then the poll of the attempts stores
 * these claims soon, and no history must be read: anybody can fill the history of an epoch account with other transactions.
 */
async function isProbablyOwn(app: App, { epoch, claimed }: FollowedEpoch, account: EpochAccount): Promise<boolean> {
  const known = BigInt(claimed);
  const pending = BigInt((await app.db.query(selectPendingAmount, [epoch, CLAIM.name]))[0]?.amount ?? '0');
  const seen = app.state(differences);
  if (account.claimed - known > pending) return false;
  const before = seen.get(epoch);
  const maxMs = Math.min(MAX_PENDING_MS, app.config.chain.submission.recheckMs * MAX_PENDING_RECHECKS);
  if (before?.claimed === known) return performance.now() - before.since < maxMs;
  seen.set(epoch, { claimed: known, since: performance.now() });
  return true;
}

/**
 * Finds and stores the claims that are on the chain but not in the database. The transaction history gives the claimed leaves and the signatures of
 * the claims. If several calls find no missing claim in the history, the bitmap on the chain gives the claimed leaves, but no signatures.
 */
export async function attributeClaims(app: App, row: FollowedEpoch, account: EpochAccount): Promise<void> {
  if (await isProbablyOwn(app, row, account)) return;
  const addresses = addressesOf(row);
  const history = await readHistory(app, addresses.account, { signature: row.cursor, slot: row.cursor_slot });
  const { claimed, read } = await matchHistory(app, row, history);
  const last = read.at(-1);
  const cursor = { signature: last?.signature ?? row.cursor, slot: last?.slot ?? row.cursor_slot };
  const hasUnread = read.length > 0 && read.length < history.entries.length;
  let gaps = row.gaps + (hasUnread ? GAP_SCORE.partOfHistory : GAP_SCORE.wholeHistory);
  const found = await app.tx(async (tx) => {
    const found = await finishLeaves(tx, row.epoch, claimed);
    if (found > 0) gaps = 0;
    await moveCursor(tx, row.epoch, row.cursor, cursor, gaps);
    return found;
  });
  if (history.isWhole && (found > 0 || gaps < MAX_GAP_SCORE)) return;
  await readBitmap(app, row, account);
  // The bitmap shows all claims, so the cursor skips the part of the history that was not read.
  const newest = history.entries.at(-1) ?? cursor;
  await app.tx((tx) => moveCursor(tx, row.epoch, cursor.signature, newest, 0));
}

/**
 * Returns the leaves that the transactions in the history claim. `read` contains the history entries before the first transaction that could not be
 * read.
 */
async function matchHistory(app: App, row: FollowedEpoch, { entries }: AccountHistory): Promise<{ claimed: ClaimedIndex[]; read: HistoryEntry[] }> {
  const signatures = entries.map(({ signature }) => signature);
  const subjects = await subjectsBySignature(app.db, CLAIM, signatures);
  const ours = new Map((await app.db.query(selectIndexes, [row.epoch, [...subjects.values()]])).map(({ id, index }) => [id, index]));
  const foreign = entries.filter(({ signature, failed }) => !failed && !subjects.has(signature)).slice(0, MAX_READ);
  const byForeign = await readForeignClaims(app, row, foreign);

  const claimed: ClaimedIndex[] = [];
  const read: HistoryEntry[] = [];
  for (const entry of entries) {
    const { signature, failed } = entry;
    if (!failed) {
      const subject = subjects.get(signature);
      const index = subject === undefined ? undefined : ours.get(subject);
      const indexes = subject === undefined ? byForeign.get(signature) : index === undefined ? [] : [index];
      // This run did not read the transaction, or the RPC node does not have it. The next run continues at this transaction.
      if (!indexes) break;
      for (const index of indexes) claimed.push({ index, signature });
    }
    read.push(entry);
  }
  return { claimed, read };
}

/**
 * Returns the leaf indexes that the given transactions claimed, keyed by signature. These transactions are not claims that this service sent. Leaves
 * out transactions that the RPC node does not have.
 */
async function readForeignClaims(app: App, row: FollowedEpoch, entries: readonly HistoryEntry[]): Promise<Map<string, number[]>> {
  const addresses = addressesOf(row);
  const indexes = new Map<string, number[]>();
  const next = entries.values();
  await Promise.all(
    Array.from({ length: MAX_CONCURRENT_READS }, async () => {
      for (const { signature } of next) {
        const found = await app.chain.node.transaction(signature, 'finalized');
        if (found) indexes.set(signature, claimedIndexes(found, addresses));
      }
    }),
  );
  return indexes;
}

/** Reads the finalized bitmap. Records a claim without a signature for each claimed leaf whose claim is not in the database. */
async function readBitmap(app: App, row: FollowedEpoch, { leaves }: EpochAccount): Promise<void> {
  const { program, account } = addressesOf(row);
  const pages = Array.from({ length: Math.ceil(leaves / CLAIMS_PER_PAGE) }, (_, page) => page);
  let found = 0;
  for (let i = 0; i < pages.length; i += PAGES_PER_REQUEST) {
    const some = pages.slice(i, i + PAGES_PER_REQUEST);
    const { accounts } = await readAccounts(
      app,
      'finalized',
      some.map((page) => pageAddress(program, account, page)),
    );
    for (const [at, number] of some.entries()) {
      const page = decodePage(program, accounts[at] ?? null);
      if (!page) continue;
      const first = number * CLAIMS_PER_PAGE;
      const set = Array.from({ length: Math.min(CLAIMS_PER_PAGE, leaves - first) }, (_, bit) => first + bit).filter((index) =>
        isClaimed(page, index),
      );
      const unclaimed = await app.db.query(selectUnclaimed, [row.epoch, set]);
      if (unclaimed.length === 0) continue;
      found += await app.tx((tx) =>
        finishLeaves(
          tx,
          row.epoch,
          unclaimed.map(({ index }) => ({ index, signature: null })),
        ),
      );
    }
  }
  app.log.warn(
    { epoch: row.epoch, found },
    'claims are missing in the transaction history; they were read from the bitmap and stored without signatures',
  );
}

import { HttpError } from '#lib/errors.ts';
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
import { claimedIndexes } from './history.ts';
import { startSearches } from './signatures.ts';

/** Maximum signatures of the epoch account that one run lists, and maximum transactions that it reads. Claims that this service sent are not read. */
const MAX_LISTED = 1_000;
const MAX_READ = 100;
const MAX_CONCURRENT_READS = 8;
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
const moveCursor = (tx: Tx, epoch: number, from: string | null, to: Cursor) =>
  run(
    tx,
    build
      .updateTable('epoch_accounts')
      .set(({ ref }) => ({ cursor: to.signature, cursor_slot: String(to.slot), cursor_claims: ref('claims') }))
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
  if (last && last.slot > row.cursor_slot) await app.tx((tx) => moveCursor(tx, row.epoch, row.cursor, last));
}

// Reads the pending attempts, which are few, and not the claims of the epoch, which may be a million.
const selectPendingAmount = statement<{ amount: string }>(
  'select_pending_claims_amount',
  // A claim may have several pending attempts.
  `select coalesce(sum(c.amount), 0)::text as amount from claims c where c.epoch = $1 and c.state <> 'claimed' and c.id in (
     select case when t.kind = $2 then t.subject::uuid end from chain_attempts a join chain_transactions t on t.id = a.transaction_id
     where a.state in ('signed', 'sent', 'confirmed'))`,
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
 * Stores the claims that are on the chain but not in the database. The newest transactions of the epoch account give the claimed leaves and the
 * signatures of their claims. The bitmap on the chain gives the leaves that these transactions do not explain, because anybody can fill the history of
 * the account with other transactions. `findClaimSignatures` searches the signatures of these leaves.
 */
export async function attributeClaims(app: App, row: FollowedEpoch, account: EpochAccount): Promise<void> {
  if (await isProbablyOwn(app, row, account)) return;
  const { newest, claimed } = await readNewestClaims(app, row).catch((err: unknown) => {
    if (!(err instanceof HttpError)) throw err;
    app.log.warn({ err, epoch: row.epoch }, 'the history of an epoch account cannot be read; its claims are read from the bitmap');
    return { newest: undefined, claimed: [] };
  });
  const known = await app.tx(async (tx) => {
    await finishLeaves(tx, row.epoch, claimed);
    if (newest) await moveCursor(tx, row.epoch, row.cursor, newest);
    const [now] = await run(tx, build.selectFrom('epoch_accounts').select('claimed').where('epoch', '=', row.epoch));
    return BigInt(now?.claimed ?? '0');
  });
  if (known < account.claimed) await readBitmap(app, row, account);
}

/** Reads the newest transactions of an epoch account. @returns the newest one, and the leaves that they claimed */
async function readNewestClaims(app: App, row: FollowedEpoch): Promise<{ newest: HistoryEntry | undefined; claimed: ClaimedIndex[] }> {
  const page = { limit: MAX_LISTED, until: row.cursor ?? undefined };
  const listed = await app.chain.node.history(addressesOf(row).account, page, 'finalized');
  // An RPC node that does not have the transaction of the cursor returns older entries too. The slot filter drops them.
  const recent = listed.filter(({ slot }) => slot >= row.cursor_slot);
  return { newest: recent[0], claimed: await readClaims(app, row, recent) };
}

/** Returns the leaves that the given transactions of an epoch account claimed. Reads at most `MAX_READ` transactions of strangers, the first ones. */
async function readClaims(app: App, row: FollowedEpoch, entries: readonly HistoryEntry[]): Promise<ClaimedIndex[]> {
  const landed = entries.filter(({ failed }) => !failed).map(({ signature }) => signature);
  const subjects = await subjectsBySignature(app.db, CLAIM, landed);
  const ours = new Map((await app.db.query(selectIndexes, [row.epoch, [...subjects.values()]])).map(({ id, index }) => [id, index]));
  const foreign = landed.filter((signature) => !subjects.has(signature)).slice(0, MAX_READ);
  const byForeign = await readForeignClaims(app, row, foreign);
  return landed.flatMap((signature) => {
    const own = ours.get(subjects.get(signature) ?? '');
    const indexes = own === undefined ? (byForeign.get(signature) ?? []) : [own];
    return indexes.map((index) => ({ index, signature }));
  });
}

/**
 * Returns the leaf indexes that the given transactions claimed, keyed by signature. These transactions are not claims that this service sent. Leaves
 * out transactions that the RPC node does not have.
 */
async function readForeignClaims(app: App, row: FollowedEpoch, signatures: readonly string[]): Promise<Map<string, number[]>> {
  const addresses = addressesOf(row);
  const indexes = new Map<string, number[]>();
  const next = signatures.values();
  await Promise.all(
    Array.from({ length: MAX_CONCURRENT_READS }, async () => {
      for (const signature of next) {
        const found = await app.chain.node.transaction(signature, 'finalized');
        if (found) indexes.set(signature, claimedIndexes(found, addresses));
      }
    }),
  );
  return indexes;
}

/**
 * Reads the finalized bitmap. Records a claim without a signature for each claimed leaf whose claim is not in the database, and begins the search for
 * its signature.
 */
async function readBitmap(app: App, row: FollowedEpoch, { leaves }: EpochAccount): Promise<void> {
  const { program, account } = addressesOf(row);
  const pages = Array.from({ length: Math.ceil(leaves / CLAIMS_PER_PAGE) }, (_, page) => page);
  let found = 0;
  for (let i = 0; i < pages.length; i += PAGES_PER_REQUEST) {
    const some = pages.slice(i, i + PAGES_PER_REQUEST);
    const { slot, accounts } = await readAccounts(
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
      const indexes = unclaimed.map(({ index }) => index);
      found += await app.tx(async (tx) => {
        const stored = await finishLeaves(
          tx,
          row.epoch,
          indexes.map((index) => ({ index, signature: null })),
        );
        await tx.query(startSearches, [row.epoch, indexes, slot]);
        return stored;
      });
    }
  }
  app.log.info({ epoch: row.epoch, found }, 'claims of strangers were read from the bitmap; their signatures are searched in the background');
}

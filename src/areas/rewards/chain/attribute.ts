import type { ConfirmedSignatureInfo } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { CLAIMS_PER_PAGE, decodePage, type EpochAccount, isClaimed, pageAddress } from '#platform/solana/distributor/index.ts';
import { rpc } from '#platform/solana/solana.ts';
import { subjectsOf } from '#platform/solana/submission/transactions.ts';
import { CLAIM } from '../claims/rows.ts';
import { type ClaimedIndex, finishLeaves } from '../claims/settlement.ts';
import { readAccounts } from './accounts.ts';
import { type Followed, placeOf } from './epoch-accounts.ts';
import { claimedIn, type History, readHistory, readTransaction } from './history.ts';

/** Strangers' transactions that one round reads, and how many at once. */
const MOST_READ = 500;
const READS_AT_ONCE = 8;
/**
 * When the bitmap is read instead: after two rounds in which the history explained nothing and is at its end, or after twenty
 * in which it went on without a claim in it, because anybody may fill it.
 */
const MOST_GAPS = 20;
const GAP = { atItsEnd: 10, onTheWay: 1 };
const PAGES_AT_ONCE = 99;

const selectIndexes = statement<{ id: string; index: number }>(
  'select_claim_indexes',
  'select id::text, index from claims where epoch = $1 and id = any($2::uuid[])',
);
const selectUnclaimed = statement<{ index: number }>(
  'select_unclaimed_of',
  `select i as index from unnest($2::int[]) as i
   where not exists (select 1 from claims c where c.epoch = $1 and c.index = i and c.state = 'claimed') order by i`,
);
// Another process may have read on meanwhile: its cursor stands.
const moveCursor = statement(
  'move_epoch_cursor',
  `update epoch_accounts set cursor = $3, cursor_slot = $4::int8, gaps = $5::int, cursor_claims = claims
   where epoch = $1 and cursor is not distinct from $2`,
);

/** Signatures among which one is looked for that is not newer than what was compared. */
const NEWEST = 100;

/**
 * Nothing is missing of an epoch at a slot: what its history says until then need not be read any more, when something is.
 * @param slot finalized
 */
export async function skipHistory(app: App, row: Followed, slot: number): Promise<void> {
  const listed = await rpc(() => app.chain.connection.getSignaturesForAddress(placeOf(row).account, { limit: NEWEST }, 'finalized'));
  const last = listed.find((entry) => entry.slot <= slot);
  if (last && last.slot > row.cursor_slot) await app.tx((tx) => tx.query(moveCursor, [row.epoch, row.cursor, last.signature, last.slot, 0]));
}

/**
 * The chain says that more has been claimed of an epoch than is known: finds out which leaves, and by whose transactions.
 * The history tells both; where it does not explain what is missing, round after round, the bitmap tells the leaves alone.
 */
export async function attribute(app: App, row: Followed, account: EpochAccount): Promise<void> {
  const place = placeOf(row);
  const history = await readHistory(app, place.account, { signature: row.cursor, slot: row.cursor_slot });
  const { claimed, read } = await explain(app, row, history);
  const last = read.at(-1);
  const cursor = { signature: last?.signature ?? row.cursor, slot: last?.slot ?? row.cursor_slot };
  const isOnTheWay = read.length > 0 && read.length < history.entries.length;
  let gaps = row.gaps + (isOnTheWay ? GAP.onTheWay : GAP.atItsEnd);
  const found = await app.tx(async (tx) => {
    const found = await finishLeaves(tx, row.epoch, claimed);
    if (found > 0) gaps = 0;
    await tx.query(moveCursor, [row.epoch, row.cursor, cursor.signature, cursor.slot, gaps]);
    return found;
  });
  if (history.isWhole && (found > 0 || gaps < MOST_GAPS)) return;
  await readBitmap(app, row, account);
  // Whatever was not read of the history is not needed any more.
  const newest = history.entries.at(-1);
  await app.tx((tx) => tx.query(moveCursor, [row.epoch, cursor.signature, newest?.signature ?? cursor.signature, newest?.slot ?? cursor.slot, 0]));
}

/** What a history says: which leaves were claimed, and how much of it was read. */
async function explain(app: App, row: Followed, { entries }: History): Promise<{ claimed: ClaimedIndex[]; read: ConfirmedSignatureInfo[] }> {
  const signatures = entries.map(({ signature }) => signature);
  const subjects = await subjectsOf(app.db, CLAIM, signatures);
  const ours = new Map((await app.db.query(selectIndexes, [row.epoch, [...subjects.values()]])).map(({ id, index }) => [id, index]));
  const foreign = entries.filter(({ signature, err }) => err === null && !subjects.has(signature)).slice(0, MOST_READ);
  const byForeign = await readAll(app, row, foreign);

  const claimed: ClaimedIndex[] = [];
  const read: ConfirmedSignatureInfo[] = [];
  for (const entry of entries) {
    const { signature, err } = entry;
    if (err === null) {
      const subject = subjects.get(signature);
      const index = subject === undefined ? undefined : ours.get(subject);
      const indexes = subject === undefined ? byForeign.get(signature) : index === undefined ? [] : [index];
      // Not read in this round, or not to be had from this node: the next one goes on from here.
      if (!indexes) break;
      for (const index of indexes) claimed.push({ index, signature });
    }
    read.push(entry);
  }
  return { claimed, read };
}

/** The indexes that strangers' transactions claimed, by signature; those that the node does not have are left out. */
async function readAll(app: App, row: Followed, entries: readonly ConfirmedSignatureInfo[]): Promise<Map<string, number[]>> {
  const place = placeOf(row);
  const indexes = new Map<string, number[]>();
  const next = entries.values();
  await Promise.all(
    Array.from({ length: READS_AT_ONCE }, async () => {
      for (const { signature } of next) {
        const found = await readTransaction(app, signature);
        if (found) indexes.set(signature, claimedIn(found, place));
      }
    }),
  );
  return indexes;
}

/** Every bit that is set, finally, is a claim; nobody knows any more whose transaction set it. */
async function readBitmap(app: App, row: Followed, { leaves }: EpochAccount): Promise<void> {
  const { program, account } = placeOf(row);
  const pages = Array.from({ length: Math.ceil(leaves / CLAIMS_PER_PAGE) }, (_, page) => page);
  let found = 0;
  for (let i = 0; i < pages.length; i += PAGES_AT_ONCE) {
    const some = pages.slice(i, i + PAGES_AT_ONCE);
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
  app.log.warn({ epoch: row.epoch, found }, 'the history does not tell who claimed, the bitmap tells what was');
}

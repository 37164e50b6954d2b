import { sql } from 'kysely';
import { HttpError } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import type { HistoryEntry, HistoryPage, RpcNode } from '#platform/solana/rpc-node.ts';
import { BurnGapsTable } from './entities.ts';

/** Signatures per page. A run always requests the newest page, which is small. Older pages have 1,000 signatures, the maximum of RPC nodes. */
const NEWEST_PAGE_SIZE = 100;
const PAGE_SIZE = 1_000;
/** Maximum pages of older transactions per run. */
const MAX_PAGES = 20;
/**
 * Number of slots before the cursor (the slot up to which the history is listed) that are listed again once per minute, because an RPC node may index
 * a transaction late.
 */
const RELIST_SLOTS = 600;

const selectCursor = statement<{ slot: number; isRelistDue: boolean }>(
  'select_burn_cursor',
  'select slot::float8 as slot, deep_at <= (select app_now()) as "isRelistDue" from burn_cursors where mint = $1',
);
const moveCursor = statement(
  'move_burn_cursor',
  `insert into burn_cursors as c (mint, slot, deep_at) values ($1, $2, app_now() + interval '1 minute')
   on conflict (mint) do update set slot = greatest(c.slot, excluded.slot), deep_at = case when $3 then excluded.deep_at else c.deep_at end`,
);

/**
 * A part of a mint's history that is not listed yet: the transactions that are older than the signature `before`, back to the slot `floor`
 * (inclusive).
 */
interface HistoryGap {
  readonly before: string;
  readonly beforeSlot: number;
  /** Block time of the signature `before`, ms since 1970; null when the RPC node did not return it. */
  readonly beforeTime: number | null;
  readonly floor: number;
}
const selectGaps = statement<HistoryGap>(
  'select_burn_gaps',
  `select before, before_slot::float8 as "beforeSlot", (extract(epoch from before_time) * 1000)::float8 as "beforeTime", floor::float8 as floor from burn_gaps
   where mint = $1 and next_at <= (select app_now()) order by before_slot desc limit 100`,
);
const insertGap = statement(
  'insert_burn_gap',
  `insert into burn_gaps as g (mint, before, before_slot, before_time, floor) values ($1, $2, $3, to_timestamp($4::float8 / 1000), $5)
   on conflict (mint, before) do update set floor = least(g.floor, excluded.floor)`,
);
const build = queryBuilder([BurnGapsTable]);

/**
 * Selects the events that are not final (open), and the events that ended less than a day ago, so that late burns are listed as refused. Burns count
 * from `since` on, ms since 1970.
 */
const selectWatchedEvents = statement<{ id: string; since: number; isOpen: boolean }>(
  'select_watched_burn_events',
  `select id::text, (extract(epoch from activated_at) * 1000)::float8 as since, final_at is null as "isOpen" from burn_events
   where mint = $1 and state <> 'pending' and (final_at is null or (state = 'ended' and ends_at > (select app_now()) - interval '1 day'))`,
);
const insertFound = statement(
  'insert_burn_transactions',
  `insert into burn_transactions (signature, mint, slot, block_time, likely)
   select f.signature, $1, f.slot, f.block_time, f.likely
   from unnest($2::text[], $3::int8[], $4::timestamptz[], $5::bool[]) as f(signature, slot, block_time, likely) order by 1 on conflict do nothing`,
);

/** Maximum unread transactions per mint in `burn_refusal_candidates`. While there are so many, further ones are not stored. */
const MAX_REFUSAL_CANDIDATES = 5_000;
const insertRefusalCandidates = statement(
  'insert_burn_refusal_candidates',
  `insert into burn_refusal_candidates (signature, mint, slot)
   select f.signature, $1::text, f.slot from unnest($2::text[], $3::int8[]) as f(signature, slot)
   where (select count(*) from (select from burn_refusal_candidates where mint = $1::text and read_at is null limit ${MAX_REFUSAL_CANDIDATES}) u)
     < ${MAX_REFUSAL_CANDIDATES} order by 1 on conflict do nothing`,
);

/** Returns the gap that begins after the last transaction of a page. */
const gapAfter = ({ signature, slot, blockTime }: HistoryEntry, floor: number): HistoryGap => ({
  ...{ before: signature, beforeSlot: slot, floor },
  beforeTime: blockTime === null ? null : blockTime * 1_000,
});

/**
 * Returns whether the listing has passed the end of a gap: the slot `floor`, or the time `since` (ms since 1970). A short page is no proof of this,
 * because an RPC node that has pruned its history also returns short pages.
 */
const isCovered = ({ beforeSlot, beforeTime, floor }: HistoryGap, since: number): boolean =>
  beforeSlot < floor || (beforeTime !== null && beforeTime < since);

const saveGap = (tx: Tx, mint: string, { before, beforeSlot, beforeTime, floor }: HistoryGap) =>
  tx.query(insertGap, [mint, before, beforeSlot, beforeTime, floor]);

const listSignatures = (node: RpcNode, mint: string, page: HistoryPage) => node.history(parseAddress(mint), page, 'finalized');

/**
 * RPC nodes that have returned a memo in a list of signatures. If one of these nodes lists a transaction without a memo, the transaction has no memo.
 */
const nodesWithMemos = perApp(() => new Set<RpcNode>());

/**
 * Stores the transactions of a page that may contain a burn: those that may count for an open event, and those whose burns can only be refused.
 * @returns start of the watched event that started first, ms since 1970; null when no event is watched
 */
async function storeCandidates(app: App, tx: Tx, node: RpcNode, mint: string, listed: readonly HistoryEntry[]): Promise<number | null> {
  // Reads the events only after the RPC node has returned the page, so that an event that was activated before the blocks of the page is among them.
  const events = await tx.query(selectWatchedEvents, [mint]);
  if (events.length === 0) return null;
  const hasMemos = app.state(nodesWithMemos);
  if (listed.some(({ memo }) => memo !== null)) hasMemos.add(node);
  const open = events.filter(({ isOpen }) => isOpen);
  const mayCount = ({ memo }: HistoryEntry) =>
    memo === null ? open.length > 0 && !hasMemos.has(node) : open.some(({ id }) => memo.includes(`burn:${id}:`));
  const since = Math.min(...events.map((event) => event.since));
  const found = listed.filter(({ failed, blockTime }) => !failed && (blockTime === null || blockTime * 1_000 >= since));
  const likely = found.filter(mayCount);
  const others = found.filter((entry) => !mayCount(entry));
  if (likely.length > 0) {
    await tx.query(insertFound, [
      mint,
      likely.map(({ signature }) => signature),
      likely.map(({ slot }) => slot),
      likely.map(({ blockTime }) => (blockTime === null ? null : new Date(blockTime * 1_000).toISOString())),
      likely.map(({ memo }) => memo !== null),
    ]);
  }
  if (others.length > 0) await tx.query(insertRefusalCandidates, [mint, others.map(({ signature }) => signature), others.map(({ slot }) => slot)]);
  return since;
}

/**
 * Lists one page of the finalized transactions of a mint since the last run. If one page is too small for them, stores the range of the other
 * transactions as a gap. One commit stores the page and the gap, so a crash loses nothing.
 * @param minContextSlot slot that the RPC node must have reached
 * @throws 503 when the RPC node does not respond, or has not reached the slot of the cursor
 */
export async function listNewest(app: App, mint: string, minContextSlot: number, limit = NEWEST_PAGE_SIZE): Promise<void> {
  const { node } = app.chain;
  const { slot, isRelistDue } = (await app.db.query(selectCursor, [mint]))[0] ?? { slot: 0, isRelistDue: true };
  const floor = isRelistDue ? Math.max(0, slot - RELIST_SLOTS) : slot;
  const listed = await listSignatures(node, mint, { limit, minContextSlot: Math.max(slot, minContextSlot) });
  const [newest, last] = [listed[0], listed.at(-1)];
  if (!newest || !last) {
    if (slot > 0) throw new Error(`the RPC node returned no history of ${mint}`);
    return;
  }
  await app.tx(async (tx) => {
    const since = await storeCandidates(app, tx, node, mint, listed);
    if (since === null) return;
    await tx.query(moveCursor, [mint, newest.slot, isRelistDue]);
    const gap = gapAfter(last, floor);
    if (!isCovered(gap, since)) await saveGap(tx, mint, gap);
  });
}

/**
 * Lists the transactions in the gaps of a mint's history. Requests at most `maxPages` pages in total.
 * @throws 503 when an RPC node does not respond
 */
export async function fillGaps(app: App, mint: string, { limit = PAGE_SIZE, maxPages = MAX_PAGES } = {}): Promise<void> {
  let pages = maxPages;
  for (const gap of await app.db.query(selectGaps, [mint])) {
    for (let rest: HistoryGap | null = gap; rest !== null && pages > 0; pages--) rest = await fillGap(app, mint, rest, limit);
  }
}

/**
 * Lists one page of a gap.
 * @returns the rest of the gap; null when nothing is left, or when no RPC node has the transactions at present
 */
async function fillGap(app: App, mint: string, gap: HistoryGap, limit: number): Promise<HistoryGap | null> {
  const { before, beforeSlot, floor } = gap;
  const nodes = [app.chain.node, app.chain.second].filter((node) => node !== null);
  for (const node of nodes) {
    const listed = await listSignatures(node, mint, { before, limit, minContextSlot: beforeSlot }).catch((error: unknown): HistoryEntry[] => {
      if (error instanceof HttpError) throw error;
      // Some RPC nodes return an error for a signature that they do not have.
      app.log.warn({ err: error, mint, ...gap }, 'an RPC node cannot list the transactions before a signature; the next node is tried');
      return [];
    });
    const isComplete = listed.length === 0 && (await node.firstBlock()) <= floor;
    const left = await app.tx(async (tx) => {
      const since = await storeCandidates(app, tx, node, mint, listed);
      const last = listed.at(-1);
      const rest = last ? gapAfter(last, floor) : gap;
      const isFilled = since === null || isComplete || isCovered(rest, since);
      if (!isFilled && rest === gap) return gap;
      await run(tx, build.deleteFrom('burn_gaps').where('mint', '=', mint).where('before', '=', before).where('floor', '>=', String(floor)));
      if (isFilled) return null;
      await saveGap(tx, mint, rest);
      return rest;
    });
    if (left !== gap) return left;
  }
  app.log.error({ mint, ...gap }, 'no RPC node returned a part of the history that may contain burns; the next attempt is in a minute');
  const later = { next_at: sql<string>`app_now() + interval '1 minute'` };
  await app.tx((tx) => run(tx, build.updateTable('burn_gaps').set(later).where('mint', '=', mint).where('before', '=', before)));
  return null;
}

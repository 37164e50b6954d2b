import { type ConfirmedSignatureInfo, type Connection, PublicKey } from '@solana/web3.js';
import { HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { rpc } from '#platform/solana/solana.ts';

/** Signatures of the newest page, which is asked for all the time, and of the pages behind it: nodes give no more. */
const NEWEST = 100;
const PAGE = 1_000;
/** Pages that one run asks for behind the newest. */
const MOST_PAGES = 20;
/** How far the newest part of the history is listed once more, every minute: a node may get to know of a transaction late. */
const DEEP_SLOTS = 600;

const selectCursor = statement<{ slot: number; isDeep: boolean }>(
  'select_burn_cursor',
  'select slot::float8 as slot, deep_at <= app_now() as "isDeep" from burn_cursors where mint = $1',
);
const moveCursor = statement(
  'move_burn_cursor',
  `insert into burn_cursors as c (mint, slot, deep_at) values ($1, $2, app_now() + interval '1 minute')
   on conflict (mint) do update set slot = greatest(c.slot, excluded.slot), deep_at = case when $3 then excluded.deep_at else c.deep_at end`,
);

/** A part of a mint's history that is not listed yet: from before a signature down to a slot, that included. */
interface Gap {
  readonly before: string;
  readonly beforeSlot: number;
  /** ms since 1970; null where the node did not say. */
  readonly beforeTime: number | null;
  readonly floor: number;
}
const selectGaps = statement<Gap>(
  'select_burn_gaps',
  `select before, before_slot::float8 as "beforeSlot", (extract(epoch from before_time) * 1000)::float8 as "beforeTime", floor::float8 as floor from burn_gaps
   where mint = $1 and next_at <= app_now() order by before_slot desc limit 100`,
);
const insertGap = statement(
  'insert_burn_gap',
  `insert into burn_gaps as g (mint, before, before_slot, before_time, floor) values ($1, $2, $3, to_timestamp($4::float8 / 1000), $5)
   on conflict (mint, before) do update set floor = least(g.floor, excluded.floor)`,
);
const postponeGap = statement('postpone_burn_gap', `update burn_gaps set next_at = app_now() + interval '1 minute' where mint = $1 and before = $2`);
const deleteGap = statement('delete_burn_gap', 'delete from burn_gaps where mint = $1 and before = $2 and floor >= $3');

/** Events whose burns are waited for, and since when they count, ms since 1970. */
const selectLive = statement<{ id: string; since: number }>(
  'select_live_burn_events',
  `select id::text, (extract(epoch from activated_at) * 1000)::float8 as since from burn_events where mint = $1 and state <> 'pending' and final_at is null`,
);
const insertFound = statement(
  'insert_burn_transactions',
  `insert into burn_transactions (signature, mint, slot, block_time, likely)
   select f.signature, $1, f.slot, f.block_time, f.likely
   from unnest($2::text[], $3::int8[], $4::timestamptz[], $5::bool[]) as f(signature, slot, block_time, likely) order by 1 on conflict do nothing`,
);

type Listed = readonly ConfirmedSignatureInfo[];

/** What is left of a part of the history after a page of it. */
const behind = ({ signature, slot, blockTime }: ConfirmedSignatureInfo, floor: number): Gap => ({
  ...{ before: signature, beforeSlot: slot, floor },
  beforeTime: typeof blockTime === 'number' ? blockTime * 1_000 : null,
});

/** Whether nothing that matters is left: what was listed goes further back. A short page does not show it: a node's history may be short. */
const isOver = ({ beforeSlot, beforeTime, floor }: Gap, since: number): boolean => beforeSlot < floor || (beforeTime !== null && beforeTime < since);

const leaveGap = (tx: Tx, mint: string, { before, beforeSlot, beforeTime, floor }: Gap) =>
  tx.query(insertGap, [mint, before, beforeSlot, beforeTime, floor]);

const ask = (connection: Connection, mint: string, options: { before?: string; limit: number; minContextSlot: number }) =>
  rpc(() => connection.getSignaturesForAddress(new PublicKey(mint), options, 'finalized'));

/** Nodes that have told a memo in a list: they keep memos, so what they list without one has none. */
const memoKeepers = new WeakSet<Connection>();

/** Keeps of a page what may hold a burn for an event whose burns are waited for. @returns since when burns count; null where none are waited for */
async function keep(tx: Tx, connection: Connection, mint: string, listed: Listed): Promise<number | null> {
  // Read after the page was, so an event that was activated before any of these blocks is among them.
  const live = await tx.query(selectLive, [mint]);
  if (live.length === 0) return null;
  if (listed.some(({ memo }) => memo !== null)) memoKeepers.add(connection);
  const names = (memo: string | null) => live.some(({ id }) => memo?.includes(`burn:${id}:`));
  const since = Math.min(...live.map((event) => event.since));
  const found = listed.filter(
    ({ err, memo, blockTime }) =>
      err === null && (typeof blockTime !== 'number' || blockTime * 1_000 >= since) && (memo === null ? !memoKeepers.has(connection) : names(memo)),
  );
  if (found.length > 0) {
    await tx.query(insertFound, [
      mint,
      found.map(({ signature }) => signature),
      found.map(({ slot }) => slot),
      found.map(({ blockTime }) => (typeof blockTime === 'number' ? new Date(blockTime * 1_000).toISOString() : null)),
      found.map(({ memo }) => memo !== null),
    ]);
  }
  return since;
}

/**
 * Lists what has become final of a mint's history since it was last listed. What one page does not hold becomes a gap, in the same commit
 * as what it does hold; so nothing is lost whenever this ends.
 * @param minContextSlot the node must know the chain up to here
 * @throws 503 when the node does not answer, or is behind what was listed before
 */
export async function listNewest(app: App, mint: string, minContextSlot: number, limit = NEWEST): Promise<void> {
  const { connection } = app.chain;
  const { slot, isDeep } = (await app.db.query(selectCursor, [mint]))[0] ?? { slot: 0, isDeep: true };
  const floor = isDeep ? Math.max(0, slot - DEEP_SLOTS) : slot;
  const listed = await ask(connection, mint, { limit, minContextSlot: Math.max(slot, minContextSlot) });
  const [newest, last] = [listed[0], listed.at(-1)];
  if (!newest || !last) {
    if (slot > 0) throw new Error(`the node has lost the history of ${mint}`);
    return;
  }
  await app.tx(async (tx) => {
    const since = await keep(tx, connection, mint, listed);
    if (since === null) return;
    await tx.query(moveCursor, [mint, newest.slot, isDeep]);
    const gap = behind(last, floor);
    if (!isOver(gap, since)) await leaveGap(tx, mint, gap);
  });
}

/** Lists what lies in the gaps of a mint's history, a bounded number of pages at a time. @throws as `listNewest` */
export async function fillGaps(app: App, mint: string, { limit = PAGE, most = MOST_PAGES } = {}): Promise<void> {
  let pages = most;
  for (const gap of await app.db.query(selectGaps, [mint])) {
    for (let rest: Gap | null = gap; rest !== null && pages > 0; pages--) rest = await fill(app, mint, rest, limit);
  }
}

/** Lists one page of a gap. @returns what is left of it; null where it is filled, or no node has it now */
async function fill(app: App, mint: string, gap: Gap, limit: number): Promise<Gap | null> {
  const { before, beforeSlot, floor } = gap;
  const providers = [app.chain.connection, app.chain.second].filter((provider) => provider !== null);
  for (const provider of providers) {
    const listed = await ask(provider, mint, { before, limit, minContextSlot: beforeSlot }).catch((error: unknown): Listed => {
      if (error instanceof HttpError) throw error;
      // Some answer so where they do not know the signature.
      app.log.warn({ err: error, mint, ...gap }, 'a node does not list what lies before a signature');
      return [];
    });
    const isWhole = listed.length === 0 && (await rpc(() => provider.getFirstAvailableBlock())) <= floor;
    const left = await app.tx(async (tx) => {
      const since = await keep(tx, provider, mint, listed);
      const last = listed.at(-1);
      const rest = last ? behind(last, floor) : gap;
      const isFilled = since === null || isWhole || isOver(rest, since);
      if (!isFilled && rest === gap) return gap;
      await tx.query(deleteGap, [mint, before, floor]);
      if (isFilled) return null;
      await leaveGap(tx, mint, rest);
      return rest;
    });
    if (left !== gap) return left;
  }
  app.log.error({ mint, ...gap }, 'no node has the history in which burns are looked for');
  await app.tx((tx) => tx.query(postponeGap, [mint, before]));
  return null;
}

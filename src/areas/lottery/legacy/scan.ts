import { HttpError, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Address } from '#platform/solana/primitives.ts';
import type { HistoryEntry } from '#platform/solana/rpc-node.ts';

/**
 * Limits of a run: signatures per page, of the first page of a listing, which is small, and of further pages (RPC nodes return at most 1,000), and
 * pages.
 */
const LIMITS = { firstPage: 100, page: 1_000, pages: 20 };
/** Number of slots before the listed slot that are listed again once per minute, because an RPC node may index a transaction late. */
const RELIST_SLOTS = 600;

/** The state of the listing of an account; see `TicketScansTable`. */
interface Scan {
  readonly doneSlot: number;
  readonly headSlot: number | null;
  readonly before: string | null;
  readonly isRelistDue: boolean;
}
const openScan = statement('open_ticket_scan', 'insert into ticket_scans (account) values ($1) on conflict do nothing');
const selectScan = statement<Scan>(
  'select_ticket_scan',
  `select done_slot::float8 as "doneSlot", head_slot::float8 as "headSlot", before, relist_at <= (select app_now()) as "isRelistDue" from ticket_scans where account = $1`,
);
// The condition on `done_slot` and `before` compares with the progress that this run read, so that two processes do not overwrite each other.
const continueScan = statement(
  'continue_ticket_scan',
  `update ticket_scans set head_slot = $4, before = $5 where account = $1 and done_slot = $2 and before is not distinct from $3::text`,
);
const endScan = statement(
  'end_ticket_scan',
  `update ticket_scans set done_slot = greatest(done_slot, $4), head_slot = null, before = null,
     relist_at = case when relist_at <= (select app_now()) then app_now() + interval '1 minute' else relist_at end
   where account = $1 and done_slot = $2 and before is not distinct from $3::text`,
);
// Begins again at the newest transaction, because no RPC node knows the signature at which the listing would continue.
const restartScan = statement(
  'restart_ticket_scan',
  'update ticket_scans set head_slot = null, before = null where account = $1 and done_slot = $2 and before is not distinct from $3::text',
);
const insertFound = statement(
  'insert_ticket_payments',
  `insert into ticket_payments (signature, round, slot)
   select f.signature, r.id, f.slot from unnest($1::text[], $2::uuid[], $3::int8[]) as f(signature, round, slot)
   join rounds r on r.id = f.round and r.kind = 'legacy' and r.ticket_price > 0 order by 1 on conflict do nothing`,
);

/** The memo of a payment in a list of signatures: its length in brackets, and the id of a round. RPC nodes join several memos by `; `. */
const MEMO = /^\[36\] ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/**
 * Lists the transactions that name a token account of the treasury, from the newest back to those that were listed before, and stores those whose only
 * memo is the id of a round with paid tickets. A run requests at most `limits.pages` pages; the next run continues. So transactions of strangers, which anybody may
 * send, delay the listing and never stop it.
 * @param since transactions before this time (ms since 1970) are not listed
 * @throws 503 when the RPC node does not answer, or has not reached the listed slot
 */
export async function scanAccount(app: App, account: Address, since: number, limits = LIMITS): Promise<void> {
  const key = account.toBase58();
  if ((await app.db.query(selectScan, [key])).length === 0) await app.tx((tx) => tx.query(openScan, [key]));
  for (let pages = 0; pages < limits.pages; pages++) {
    const [scan] = await app.db.query(selectScan, [key]);
    if (!scan || (await scanPage(app, account, scan, since, limits))) return;
  }
}

/** Lists one page. @returns whether the listing has ended */
async function scanPage(app: App, account: Address, scan: Scan, since: number, limits: typeof LIMITS): Promise<boolean> {
  const { doneSlot, headSlot, before, isRelistDue } = scan;
  const floor = isRelistDue ? Math.max(0, doneSlot - RELIST_SLOTS) : doneSlot;
  const listed = await listPage(app, account, scan, floor, before === null ? limits.firstPage : limits.page);
  const progress = [account.toBase58(), doneSlot, before];
  if (listed === null) {
    await app.tx((tx) => tx.query(restartScan, progress));
    throw unavailable('no RPC node lists the transactions of the treasury at the moment');
  }
  const [newest, last] = [listed[0], listed.at(-1)];
  if (before === null && !newest) {
    if (doneSlot > 0) throw new Error(`the RPC node returned no history of ${account}`);
    return true;
  }
  const isOver = !last || last.slot < floor || (last.blockTime !== null && last.blockTime * 1_000 < since);
  const head = headSlot ?? newest?.slot ?? doneSlot;
  await app.tx(async (tx) => {
    await storeFound(tx, listed);
    if (isOver) await tx.query(endScan, [...progress, head]);
    else await tx.query(continueScan, [...progress, head, last.signature]);
  });
  return isOver;
}

/** Lists the next page of an account's history. If the first RPC node has none, asks the second. @returns null when a node refused to list it */
async function listPage(
  app: App,
  account: Address,
  { doneSlot, headSlot, before }: Scan,
  floor: number,
  limit: number,
): Promise<HistoryEntry[] | null> {
  let isRefused = false;
  const page = { limit, before: before ?? undefined, minContextSlot: headSlot ?? doneSlot };
  const nodes = [app.chain.node, app.chain.second].filter((node) => node !== null);
  for (const node of nodes) {
    // The payment of a round that is about to close must be found before the round is frozen, so the listing does not wait until it is finalized.
    const listed = await node.history(account, page, 'confirmed').catch((error: unknown): null => {
      if (error instanceof HttpError) throw error;
      // Some RPC nodes return an error for a signature that they do not have.
      app.log.warn(
        { err: error, account: account.toBase58(), before },
        'an RPC node cannot list the transactions before a signature; the next node is tried',
      );
      return null;
    });
    // An error is not the end of the history.
    if (listed === null) isRefused = true;
    else if (listed.length > 0 || (before !== null && (await node.firstBlock()) <= floor)) return listed;
  }
  if (isRefused) return null;
  if (before !== null) {
    const context = { account: account.toBase58(), before, floor };
    app.log.error(context, 'no RPC node has a part of the history that may contain payments for tickets; these wallets must request their tickets');
  }
  return [];
}

async function storeFound(tx: Tx, listed: readonly HistoryEntry[]): Promise<void> {
  const found = listed.flatMap(({ signature, slot, failed, memo }) => {
    const round = failed || memo === null ? undefined : MEMO.exec(memo)?.[1];
    return round === undefined ? [] : [{ signature, slot, round }];
  });
  if (found.length === 0) return;
  await tx.query(insertFound, [found.map(({ signature }) => signature), found.map(({ round }) => round), found.map(({ slot }) => slot)]);
}

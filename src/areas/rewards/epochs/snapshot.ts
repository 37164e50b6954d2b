import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../query-builder.ts';

/** A page of an epoch's wallets: their addresses, comma-separated, and their points or amounts, comma-separated in the same order. */
export interface WalletPage {
  wallets: string;
  values: string;
}

/** Wallets per page. PostgreSQL packs a page into two strings, because reading one row per wallet would cost ten times the CPU time. */
const PAGE_WALLETS = 16_384;

/**
 * SQL condition for the ledger rows whose points an epoch counts. Rows of the kind `conversion` do not match, because their points count only for the
 * all-time points.
 */
export const COUNTED = `mode = 'regular' and rewards and kind <> 'conversion'`;

/** Returns an SQL expression for the counted points of a wallet on a day; null when it has none. The arguments are SQL expressions. */
export const pointsOn = (day: string, wallet: string): string =>
  `(select sum(points) from ledger where wallet = ${wallet} and at >= to_timestamp(${day} * 86400.0) and at < to_timestamp((${day} + 1) * 86400.0)
      and day = ${day} and ${COUNTED})`;

/** Raises the memory limit of the transaction, so that PostgreSQL sorts the wallets of a day without temporary files. */
export const raiseMemory = statement('snapshot_memory', `set local work_mem = '64MB'`);
const openDayCursor = (day: number, excluded: string) => ({
  text: `declare day_points no scroll cursor for
    select string_agg(wallet, ',' order by wallet) as wallets, string_agg(points::text, ',' order by wallet) as values
    from (select wallet, points, (row_number() over (order by wallet) - 1) / ${PAGE_WALLETS} as page
          from (select wallet, sum(points)::int8 as points from ledger where day = ${Math.trunc(day)} and ${COUNTED}
                group by wallet having sum(points) > 0) w
          where not exists (select from (${excluded}) x where x.wallet = w.wallet)) p
    group by page order by page`,
});
const fetchPage = { text: 'fetch 1 from day_points' };
const closeCursor = { text: 'close day_points' };

/**
 * Yields the wallets with more than 0 points on a day, in ascending order of their addresses. All pages come from the same database snapshot.
 * Precondition: the caller runs no other query in the transaction until the iteration ends.
 * @param excluded query for the wallets that are left out
 */
export async function* pointsOfDay(tx: Tx, day: number, excluded: string): AsyncGenerator<WalletPage> {
  await tx.query(raiseMemory);
  await tx.query(openDayCursor(day, excluded));
  // Fetches the next page while the caller works on the current page.
  let next = tx.query<WalletPage>(fetchPage);
  for (;;) {
    const page = (await next)[0];
    if (!page) break;
    next = tx.query<WalletPage>(fetchPage);
    next.catch(() => undefined);
    yield page;
  }
  await tx.query(closeCursor);
}

/** Yields the wallets of an import in the order in which they were uploaded. */
export async function* pagesOfImport(tx: Tx, importId: string): AsyncGenerator<WalletPage> {
  for (let number = 0; ; number++) {
    const query = build.selectFrom('reward_import_pages').select(['wallets', 'amounts as values']);
    const [page] = await run(tx, query.where('import', '=', importId).where('page', '=', number));
    if (!page) return;
    yield page;
  }
}

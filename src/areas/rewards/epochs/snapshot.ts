import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** A page of an epoch's wallets: comma-separated addresses, and comma-separated points or amounts. */
export interface WalletPage {
  wallets: string;
  values: string;
}

/** Wallets per page. PostgreSQL packs a page into two strings, because single rows cost ten times the CPU. */
const PAGE_WALLETS = 16_384;

/** SQL condition: the ledger rows that an epoch counts. Conversions are excluded, because they count for all-time points only. */
export const COUNTED = `mode = 'regular' and rewards and kind <> 'conversion'`;

/** Raises the memory limit, so that PostgreSQL sorts the wallets of a day without temporary files. */
const memory = statement('snapshot_memory', `set local work_mem = '64MB'`);
const openDayCursor = (day: number) => ({
  text: `declare day_points no scroll cursor for
    select string_agg(wallet, ',' order by wallet) as wallets, string_agg(points::text, ',' order by wallet) as values
    from (select wallet, points, (row_number() over (order by wallet) - 1) / ${PAGE_WALLETS} as page
          from (select wallet, sum(points)::int8 as points from ledger where day = ${Math.trunc(day)} and ${COUNTED}
                group by wallet having sum(points) > 0) w) p
    group by page order by page`,
});
const fetchPage = { text: 'fetch 1 from day_points' };
const closeCursor = { text: 'close day_points' };

/**
 * Yields the wallets with more than 0 points on a day, in ascending order of their addresses, from one snapshot.
 * Precondition: the caller runs no other query in the transaction until the iteration ends.
 */
export async function* pointsOfDay(tx: Tx, day: number): AsyncGenerator<WalletPage> {
  await tx.query(memory);
  await tx.query(openDayCursor(day));
  // The next page is fetched while the caller works on the current one.
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

const selectImportPage = statement<WalletPage>(
  'select_import_page',
  `select wallets, amounts as values from reward_import_pages where import = $1 and page = $2`,
);

/** Yields the wallets of an import in their original order. */
export async function* pagesOfImport(tx: Tx, importId: string): AsyncGenerator<WalletPage> {
  for (let number = 0; ; number++) {
    const page = (await tx.query(selectImportPage, [importId, number]))[0];
    if (!page) return;
    yield page;
  }
}

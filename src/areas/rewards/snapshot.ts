import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';

/** Some of an epoch's wallets: addresses, and their points or amounts, both with commas in between. */
export interface Page {
  wallets: string;
  values: string;
}

/** Wallets of a page: PostgreSQL packs them into two texts, which costs a tenth of a row each. */
const PAGE_WALLETS = 16_384;

/** Which rows of the ledger an epoch counts: regular points that earn rewards. Conversions count for all time only. */
export const COUNTED = `mode = 'regular' and rewards and kind <> 'conversion'`;

/** What a day's wallets take to be sorted without the disk. */
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
 * The wallets with points of a day above 0, by address ascending, as one statement sees them. Whoever reads them does
 * nothing else in the transaction meanwhile.
 */
export async function* pointsOfDay(tx: Tx, day: number): AsyncGenerator<Page> {
  await tx.query(memory);
  await tx.query(openDayCursor(day));
  // One page ahead of whoever takes them.
  let next = tx.query<Page>(fetchPage);
  for (;;) {
    const page = (await next)[0];
    if (!page) break;
    next = tx.query<Page>(fetchPage);
    next.catch(() => undefined);
    yield page;
  }
  await tx.query(closeCursor);
}

const selectImportPage = statement<Page>(
  'select_import_page',
  `select wallets, amounts as values from reward_import_pages where import = $1 and page = $2`,
);

/** The wallets of an import, in the order given. */
export async function* pagesOfImport(tx: Tx, importId: string): AsyncGenerator<Page> {
  for (let number = 0; ; number++) {
    const page = (await tx.query(selectImportPage, [importId, number]))[0];
    if (!page) return;
    yield page;
  }
}

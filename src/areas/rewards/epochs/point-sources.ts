import type { Tx } from '#platform/db/transaction.ts';
import { COUNTED, raiseMemory } from './snapshot.ts';

/** A page of the points file of a day: its NDJSON lines, and the number and the points of all wallets of the day, not only of the page. */
export interface SourcesPage {
  lines: string;
  wallets: number;
  points: string;
}

/** Wallets per page. Their lines are about 500 KB of text. */
const PAGE_WALLETS = 4_096;

// Looks each score up by its id, because the table has the scores of all days. The key of a source is `kind:reason` of its ledger rows, and for scores
// also the id of the game. PostgreSQL builds the JSON lines, because building them in this process would take ten times the CPU time.
const openCursor = (day: number) => ({
  text: `declare day_sources no scroll cursor for
    select string_agg('{"wallet":"' || wallet || '","points":' || points || ',"sources":{' || sources || E'}}\\n', '' order by wallet) as lines,
      max(wallets)::int as wallets, max(total)::text as points
    from (select *, count(*) over () as wallets, sum(points) over () as total, (row_number() over (order by wallet) - 1) / ${PAGE_WALLETS} as page
          from (select wallet, sum(points)::int8 as points, string_agg(to_json(source) || ':' || points, ',' order by source) as sources
                from (select l.wallet, (l.kind || ':' || l.reason || coalesce(':' || s.game_id, '')) collate "C" as source, sum(l.points)::int8 as points
                      from (select * from ledger where day = ${Math.trunc(day)} and ${COUNTED}) l
                      left join lateral (
                        select game_id from scores
                        where id = case when l.source = 'score' and l.kind = 'game' then l.source_id::uuid end offset 0) s on true
                      group by 1, 2) s
                group by wallet having sum(points) > 0) w) p
    group by page order by page`,
});
const fetchPage = { text: 'fetch 1 from day_sources' };
const closeCursor = { text: 'close day_sources' };

/**
 * Yields the wallets with more than 0 points on a day, in ascending order of their addresses, with their points by source. The points of a wallet
 * equal those that `pointsOfDay` yields. Precondition: the caller runs no other query in the transaction until the iteration ends.
 */
export async function* sourcesOfDay(tx: Tx, day: number): AsyncGenerator<SourcesPage> {
  await tx.query(raiseMemory);
  await tx.query(openCursor(day));
  for (;;) {
    const page = (await tx.query<SourcesPage>(fetchPage))[0];
    if (!page) break;
    yield page;
  }
  await tx.query(closeCursor);
}

import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Transfer } from '../lanes/history.ts';
import { selectLanes } from '../lanes/rows.ts';
import { selectWatch } from './rows.ts';

/** A transaction of a lane that the record did not know, as it is shown. */
export interface FindingStatus {
  signature: string;
  lane: number;
  slot: number;
  verdict: 'harmless' | 'unmatched' | 'matched' | 'acknowledged';
  reason: string | null;
  transfers: Transfer[];
  payments: string[];
  at: string;
}

const selectFindings = statement<FindingStatus>(
  'select_payout_findings',
  `select signature, lane::int, slot::float8 as slot, verdict, reason, transfers, payments::text[],
     ${instant('found_at')} as at
   from payout_findings order by verdict = 'unmatched' desc, found_at desc, signature limit 100`,
);
const countOpen = statement<{ state: string; n: number }>(
  'count_open_payouts',
  `select state, count(*)::int as n from payments
   where payer = 'treasury' and state in ('pending', 'batched', 'confirmed', 'manual') group by state order by state`,
);
const selectPaused = statement<{ reason: string }>('select_payouts_pause', `select reason from chain_pauses where scope = 'payouts'`);

/** How payouts stand: whether they are paused and why, what is owed, the lanes, and what the chain told that was not known. */
export async function payoutsStatus(db: Queryable) {
  const [watch, paused, lanes, findings, counts] = await Promise.all([
    db.query(selectWatch),
    db.query(selectPaused),
    db.query(selectLanes),
    db.query(selectFindings),
    db.query(countOpen),
  ]);
  return {
    paused: paused[0]?.reason ?? null,
    held: watch[0]?.held ?? null,
    doubt: watch[0]?.doubt ?? null,
    counts: Object.fromEntries(counts.map(({ state, n }) => [state, n])),
    lanes: lanes.map(({ lane, address, nonce, batch, landed, stale }) => ({ lane, address, nonce, batch, landed, stale })),
    findings,
  };
}

import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Transfer } from '../lanes/history.ts';
import { selectLanes } from '../lanes/rows.ts';
import { selectReconciliation } from './rows.ts';

/** A transaction on a lane that was found on the chain but not among the attempts in the database, as the API returns it. */
interface UnknownTransactionRow {
  signature: string;
  lane: number;
  slot: number;
  verdict: 'harmless' | 'unmatched' | 'matched' | 'acknowledged';
  reason: string | null;
  transfers: Transfer[];
  payments: string[];
  at: string;
}

const selectUnknownTransactions = statement<UnknownTransactionRow>(
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

/** Returns the state of payouts: the reasons for a pause, the number of open payments by state, the lanes, and up to 100 unknown transactions. */
export async function payoutsStatus(db: Queryable) {
  const [state, paused, lanes, findings, counts] = await Promise.all([
    db.query(selectReconciliation),
    db.query(selectPaused),
    db.query(selectLanes),
    db.query(selectUnknownTransactions),
    db.query(countOpen),
  ]);
  return {
    paused: paused[0]?.reason ?? null,
    held: state[0]?.manualReason ?? null,
    doubt: state[0]?.mismatchReason ?? null,
    counts: Object.fromEntries(counts.map(({ state, n }) => [state, n])),
    lanes: lanes.map(({ lane, address, nonce, batch, landed, stale }) => ({ lane, address, nonce, batch, landed, stale })),
    findings,
  };
}

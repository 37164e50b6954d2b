import { type App, perApp } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { readFoundBurns, readRefusalCandidates } from './found-burns.ts';
import { fillGaps, listNewest } from './history.ts';

// Mints with an open event; and once per minute, when the cursor is due, mints with an event that ended less than a day ago, so that late burns are
// listed as refused.
const WATCHED = `from burn_events e
   where state <> 'pending' and (final_at is null or (state = 'ended' and ends_at > (select app_now()) - interval '1 day'
     and exists (select from burn_cursors c where c.mint = e.mint and c.deep_at <= (select app_now()))))`;
/** SQL that returns rows while burns can be credited, or an event can end: see `ingestBurns`. */
export const WATCHED_BURNS = `select 1 ${WATCHED}`;
const selectWatched = statement<{ mint: string; ended: boolean }>(
  'select_watched_mints',
  `select mint, bool_or(state = 'ended' and final_at is null) as ended ${WATCHED} group by mint order by mint`,
);
/**
 * Marks ended events as final. An event is final when the history of its mint is listed up to 5 minutes after the end of the event, and all
 * transactions that were found in the history are read. After 7 days the event is final in any case, because no RPC node is expected to return
 * missing transactions later.
 */
const finalizeEnded = statement<{ id: string; isComplete: boolean }>(
  'finalize_burn_events',
  `with done as (
     select id, ends_at + interval '5 minutes' <= $2::timestamptz and not exists (select from burn_gaps g where g.mint = e.mint)
       and not exists (select from burn_transactions f where f.mint = e.mint and f.read_at is null and (f.block_time is null or f.block_time < e.ends_at)) as "isComplete"
     from burn_events e where e.mint = $1 and e.state = 'ended' and e.final_at is null for no key update)
   update burn_events e set final_at = app_now() from done
   where e.id = done.id and (done."isComplete" or e.ends_at + interval '7 days' <= (select app_now())) returning e.id::text, done."isComplete"`,
);
const purgeExpired = statement(
  'purge_burn_transactions',
  `delete from burn_transactions where signature = any(array(
     select signature from burn_transactions where read_at < (select app_now()) - interval '1 day' order by read_at limit 1000 for update skip locked))`,
);
const purgeCandidates = statement(
  'purge_burn_refusal_candidates',
  `delete from burn_refusal_candidates where signature = any(array(
     select signature from burn_refusal_candidates where read_at < (select app_now()) - interval '1 day' order by read_at limit 1000 for update skip locked))`,
);
const selectExpired = statement<{ transactions: boolean; candidates: boolean }>(
  'select_expired_burn_transactions',
  `select exists (select from burn_transactions where read_at < (select app_now()) - interval '1 day') as transactions,
     exists (select from burn_refusal_candidates where read_at < (select app_now()) - interval '1 day') as candidates`,
);

/** Whether a call of `ingestBurns` is running in this process. */
const progress = perApp(() => ({ isRunning: false }));

/**
 * Reads finalized burns from the chain and credits them, while an event has started and is not final. Stores burns that cannot be credited, until a
 * day after the end of the last event. Credits each burn exactly once, even after a
 * crash or with concurrent runs in several processes. Returns at once if another call is running in this process.
 */
export async function ingestBurns(app: App): Promise<void> {
  const state = app.state(progress);
  if (state.isRunning) return;
  state.isRunning = true;
  try {
    for (const { mint, ended } of await app.db.query(selectWatched)) await ingestMint(app, mint, ended);
    const [expired] = await app.db.query(selectExpired);
    if (expired?.transactions) await app.tx((tx) => tx.query(purgeExpired));
    if (expired?.candidates) await app.tx((tx) => tx.query(purgeCandidates));
  } finally {
    state.isRunning = false;
  }
}

/**
 * Lists and reads the transactions of a mint.
 * @param ended whether an event of this mint has ended and is not final yet
 */
async function ingestMint(app: App, mint: string, ended: boolean): Promise<void> {
  const { node } = app.chain;
  let chainHead = { slot: 0, at: 0 };
  const readChainHead = async () => {
    const slot = await node.finalizedSlot();
    chainHead = { slot, at: (await node.blockTime(slot)) ?? 0 };
  };
  const steps = [() => listNewest(app, mint, chainHead.slot), () => fillGaps(app, mint), () => readFoundBurns(app, mint)];
  const failures: unknown[] = [];
  // Runs the next step even if a step failed, because an RPC node that cannot list signatures may still return transactions.
  for (const step of ended ? [readChainHead, ...steps] : steps) await step().catch((error: unknown) => failures.push(error));
  if (ended) await finalizeEvents(app, mint, failures.length > 0 ? 0 : chainHead.at);
  if (failures.length > 0) throw failures[0];
  // Comes last, because it must not delay credited burns or the end of an event.
  await readRefusalCandidates(app, mint);
}

/**
 * Marks the ended events of a mint as final.
 * @param at block time up to which the history of the mint is listed, seconds since 1970; 0 when a step failed, so that no history counts as listed
 */
async function finalizeEvents(app: App, mint: string, at: number): Promise<void> {
  for (const { id, isComplete } of await app.tx((tx) => tx.query(finalizeEnded, [mint, new Date(at * 1_000).toISOString()]))) {
    if (!isComplete)
      app.log.error({ burnEvent: id }, 'burns of an event may be missing: its history could not be read within 7 days; the event is final');
  }
}

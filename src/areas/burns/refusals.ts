import { sql } from 'kysely';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { ParsedBurn } from '#platform/solana/burn-instructions.ts';
import { BurnRefusalsTable } from './entities.ts';
import type { FinalizedTransaction } from './finalized-transaction.ts';
import type { Refusal } from './schemas.ts';

/** The event that a memo names. Times are ms since 1970; both are null while the event is pending. */
interface NamedEvent {
  readonly id: string;
  readonly mint: string;
  readonly since: number | null;
  readonly until: number | null;
}
const selectNamedEvents = statement<NamedEvent>(
  'select_named_burn_events',
  `select id::text, mint, (extract(epoch from activated_at) * 1000)::float8 as since, (extract(epoch from ends_at) * 1000)::float8 as until
   from burn_events where id = any($1::uuid[])`,
);
// A burn that was credited is not refused when its transaction is read again.
const insertRefusals = statement(
  'insert_burn_refusals',
  `insert into burn_refusals (signature, index, wallet, mint, amount, event_id, reason, slot, block_time)
   select r.signature, r.index, r.wallet, $1::text, r.amount, r.event_id, r.reason, r.slot, r.block_time
   from unnest($2::text[], $3::int2[], $4::text[], $5::numeric[], $6::uuid[], $7::text[], $8::int8[], $9::timestamptz[])
     as r(signature, index, wallet, amount, event_id, reason, slot, block_time)
   where not exists (select from burns b where b.signature = r.signature and b.index = r.index) order by 1, 2 on conflict do nothing`,
);
const deleteRefusals = statement(
  'delete_burn_refusals',
  `delete from burn_refusals r using unnest($1::text[], $2::int2[]) as b(signature, index) where r.signature = b.signature and r.index = b.index`,
);

/**
 * Stores the burns of transactions that are not credited, with the reasons. Idempotent.
 * @param isCounted returns whether the burns of a transaction are credited; the burns that the owner of the tokens did not sign are always refused
 */
export async function recordRefusals(
  tx: Tx,
  mint: string,
  transactions: readonly FinalizedTransaction[],
  isCounted: (transaction: FinalizedTransaction) => boolean,
): Promise<void> {
  const refused = transactions.filter((one) => one.delegatedBurns.length > 0 || (one.burns.length > 0 && !isCounted(one)));
  if (refused.length === 0) return;
  const named = new Set(refused.flatMap(({ memo }) => (typeof memo === 'string' ? [] : [memo.event])));
  const events = named.size === 0 ? [] : await tx.query(selectNamedEvents, [[...named]]);
  const eventOf = new Map(events.map((event) => [event.id, event]));
  const rows = refused.flatMap((one) => {
    const withReason = (burns: readonly ParsedBurn[], reason: Refusal) => burns.map((burn) => ({ ...one, ...burn, reason }));
    const uncounted = isCounted(one) ? [] : withReason(one.burns, reasonOf(one, mint, eventOf));
    return [...uncounted, ...withReason(one.delegatedBurns, 'not-owner')];
  });
  await tx.query(insertRefusals, [
    mint,
    rows.map(({ signature }) => signature),
    rows.map(({ index }) => index),
    rows.map(({ wallet }) => wallet),
    rows.map(({ amount }) => String(amount)),
    rows.map(({ memo }) => (typeof memo === 'string' ? null : memo.event)),
    rows.map(({ reason }) => reason),
    rows.map(({ slot }) => slot),
    rows.map(({ at }) => new Date(at).toISOString()),
  ]);
}

function reasonOf({ memo, at }: FinalizedTransaction, mint: string, events: ReadonlyMap<string, NamedEvent>): Refusal {
  if (typeof memo === 'string') return memo;
  const event = events.get(memo.event);
  if (!event) return 'unknown-event';
  if (event.mint !== mint) return 'other-token';
  if (event.since === null || event.until === null || at < event.since) return 'not-started';
  return at >= event.until ? 'ended' : 'too-late';
}

/** Deletes the refusals of burns that were credited later, for example because their event started while they were read. */
export const deleteCreditedRefusals = (tx: Tx, burns: readonly { readonly signature: string; readonly index: number }[]) =>
  tx.query(deleteRefusals, [burns.map(({ signature }) => signature), burns.map(({ index }) => index)]);

const build = queryBuilder([BurnRefusalsTable]);

/** Reads a page of the refused burns of a wallet, newest first, and the number of all of them. */
export async function listRefusals(db: Queryable, wallet: string, limit: number, offset: number) {
  const own = build.selectFrom('burn_refusals').where('wallet', '=', wallet);
  const page = own
    .select(['signature', 'index', 'event_id as burnEventId', 'mint', 'amount', 'reason', isoInstant('block_time').as('at')])
    .orderBy('block_time', 'desc')
    .orderBy('signature')
    .orderBy('index')
    .limit(limit)
    .offset(offset);
  const [burns, [count]] = await Promise.all([run(db, page), run(db, own.select(sql<number>`count(*)::int`.as('n')))]);
  return { burns, total: count?.n ?? 0 };
}

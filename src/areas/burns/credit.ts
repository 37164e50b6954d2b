import { appendActivities } from '#areas/points';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { ParsedBurn } from '#platform/solana/burn-instructions.ts';
import { burnRecorded } from './events.ts';
import type { FinalizedTransaction } from './finalized-transaction.ts';
import { countChanges } from './ranges.ts';
import { deleteCreditedRefusals, recordRefusals } from './refusals.ts';
import { BURN_SOURCES, type BurnBoard, type BurnSource } from './schemas.ts';
import { selectBurnsWithValidSource } from './sources.ts';

/** A burn whose memo names an event that was active at the time of the burn's block. */
interface BurnCandidate extends ParsedBurn {
  readonly signature: string;
  readonly slot: number;
  readonly at: number;
  readonly event: string;
  readonly claimedSource: BurnSource;
}

/** An event that has started and is not final. */
interface OpenBurnEvent {
  readonly id: string;
  readonly mint: string;
  /** Block times that count, ms since 1970: from `since` (included) to `until` (excluded). */
  readonly since: number;
  readonly until: number;
  burned: string;
}
// Locks the rows of the events, so that the database transactions that credit burns of one event are serialized.
const lockOpenEvents = statement<OpenBurnEvent>(
  'lock_open_burn_events',
  `select id::text, mint, (extract(epoch from activated_at) * 1000)::float8 as since, (extract(epoch from ends_at) * 1000)::float8 as until, burned::text
   from burn_events where id = any($1::uuid[]) and state <> 'pending' and final_at is null order by id for no key update`,
);
const insertBurns = statement<{ signature: string; index: number }>(
  'insert_burns',
  `insert into burns (signature, index, event_id, wallet, amount, named, source, slot, block_time)
   select * from unnest($1::text[], $2::int2[], $3::uuid[], $4::text[], $5::numeric[], $6::text[], $7::text[], $8::int8[], $9::timestamptz[]) order by 1, 2
   on conflict do nothing returning signature, index::int`,
);
const addStandings = statement<{ event: string; board: BurnBoard; wallet: string; before: string; amount: string }>(
  'add_burn_standings',
  `with added as (select * from unnest($1::uuid[], $2::text[], $3::text[], $4::numeric[]) as a(event_id, board, wallet, amount)),
   written as (
     insert into burn_standings as s (event_id, board, wallet, amount) select * from added order by 1, 2, 3
     on conflict (event_id, board, wallet) do update set amount = s.amount + excluded.amount returning *)
   select event_id::text as event, board, wallet, (w.amount - a.amount)::text as before, w.amount::text as amount
   from written w join added a using (event_id, board, wallet)`,
);
const addTotals = statement(
  'add_burn_totals',
  `update burn_events e set participants = e.participants + a.participants, burned = e.burned + a.burned,
     referral = e.referral + a.referral, game = e.game + a.game, social = e.social + a.social
   from unnest($1::uuid[], $2::int[], $3::numeric[], $4::numeric[], $5::numeric[], $6::numeric[]) as a(id, participants, burned, referral, game, social)
   where e.id = a.id`,
);
// Locks the rows in the order of their signatures, so that concurrent runs that read the same transactions do not deadlock.
const markRead = statement(
  'mark_burn_transactions',
  `update burn_transactions t set read_at = app_now()
   from (select signature from burn_transactions where signature = any($1::text[]) and read_at is null order by signature for update) l
   where t.signature = l.signature`,
);

/** Maximum amount of an activity, because the column of this amount is an int8. The row of the burn stores the exact amount. */
const MAX_ACTIVITY_AMOUNT = 2n ** 63n - 1n;
const min = (a: bigint, b: bigint) => (a < b ? a : b);

/**
 * Credits the burns of finalized transactions and marks the transactions as read, in one database commit. Credits each burn once, even when several
 * runs are concurrent. Stores the burns that cannot be credited with the reasons, for example burns whose event was not active at the time of their
 * block.
 * @param mint address of the token that counts; burns of other tokens are ignored
 */
export async function creditBurns(app: App, mint: string, transactions: readonly FinalizedTransaction[]): Promise<void> {
  if (transactions.length === 0) return;
  await app.tx(async (tx) => {
    const events = await lockEvents(tx, transactions);
    const eventOf = (transaction: FinalizedTransaction) => countedEvent(transaction, mint, events);
    const candidates = selectCandidates(transactions, eventOf);
    if (candidates.length > 0) await recordBurns(tx, candidates, events);
    await recordRefusals(tx, mint, transactions, (transaction) => eventOf(transaction) !== null);
    await tx.query(markRead, [transactions.map(({ signature }) => signature)]);
  });
}

async function lockEvents(tx: Tx, transactions: readonly FinalizedTransaction[]): Promise<Map<string, OpenBurnEvent>> {
  const ids = new Set(transactions.flatMap(({ memo, burns }) => (typeof memo !== 'string' && burns.length > 0 ? [memo.event] : [])));
  if (ids.size === 0) return new Map();
  return new Map((await tx.query(lockOpenEvents, [[...ids]])).map((event) => [event.id, event]));
}

/** Returns the event for which the burns of a transaction count: it has the given mint and was active at the time of the block. */
function countedEvent({ memo, at }: FinalizedTransaction, mint: string, events: ReadonlyMap<string, OpenBurnEvent>): OpenBurnEvent | null {
  const event = typeof memo === 'string' ? undefined : events.get(memo.event);
  return event && event.mint === mint && at >= event.since && at < event.until ? event : null;
}

/** Returns the burns that count, oldest first. */
function selectCandidates(
  transactions: readonly FinalizedTransaction[],
  eventOf: (transaction: FinalizedTransaction) => OpenBurnEvent | null,
): BurnCandidate[] {
  const found = transactions.flatMap((transaction): BurnCandidate[] => {
    const { signature, slot, at, memo, burns } = transaction;
    const event = eventOf(transaction);
    if (event === null || typeof memo === 'string') return [];
    return burns.map((burn) => ({ ...burn, signature, slot, at, event: event.id, claimedSource: memo.source }));
  });
  return found.sort((a, b) => a.slot - b.slot);
}

async function recordBurns(tx: Tx, candidates: readonly BurnCandidate[], events: ReadonlyMap<string, OpenBurnEvent>): Promise<void> {
  const valid = await selectBurnsWithValidSource(tx, candidates);
  const sourceOf = (one: BurnCandidate) => (valid.has(one) ? one.claimedSource : null);
  const inserted = await tx.query(insertBurns, [
    candidates.map(({ signature }) => signature),
    candidates.map(({ index }) => index),
    candidates.map(({ event }) => event),
    candidates.map(({ wallet }) => wallet),
    candidates.map(({ amount }) => String(amount)),
    candidates.map(({ claimedSource }) => claimedSource),
    candidates.map(sourceOf),
    candidates.map(({ slot }) => slot),
    candidates.map(({ at }) => new Date(at).toISOString()),
  ]);
  const keyOf = ({ signature, index }: { signature: string; index: number }) => `${signature}:${index}`;
  const isNew = new Set(inserted.map(keyOf));
  const newBurns = candidates.filter((one) => isNew.has(keyOf(one)));
  if (newBurns.length === 0) return;
  await deleteCreditedRefusals(tx, newBurns);
  await addToTotals(
    tx,
    newBurns.map((one) => ({ event: one.event, wallet: one.wallet, amount: one.amount, source: sourceOf(one) })),
  );
  await appendActivities(
    tx,
    newBurns.map((one) => ({
      kind: 'burn',
      // The date of the block gives the activity its `cause_day`.
      sourceId: `${keyOf(one)}:${new Date(one.at).toISOString().slice(0, 10)}`,
      wallet: one.wallet,
      gameId: one.event,
      amount: min(one.amount, MAX_ACTIVITY_AMOUNT),
    })),
  );
  const totals = new Map([...events.values()].map(({ id, burned }) => [id, BigInt(burned)]));
  tx.emitAll(
    burnRecorded,
    newBurns.map((one) => {
      const { event: burnEventId, wallet, amount, signature } = one;
      const burnTotal = (totals.get(burnEventId) ?? 0n) + amount;
      totals.set(burnEventId, burnTotal);
      return { burnEventId, wallet, amount: String(amount), source: sourceOf(one), signature, burnTotal: String(burnTotal) };
    }),
  );
}

interface CreditedBurn {
  readonly event: string;
  readonly wallet: string;
  readonly amount: bigint;
  readonly source: BurnSource | null;
}

/** Adds burns to the standings of their wallets, the ranges of the boards, and the totals of their events. */
async function addToTotals(tx: Tx, burns: readonly CreditedBurn[]): Promise<void> {
  const sums = new Map<string, { event: string; board: BurnBoard; wallet: string; amount: bigint }>();
  for (const { event, wallet, amount, source } of burns) {
    for (const board of source === null ? (['total'] as const) : (['total', source] as const)) {
      const key = `${event} ${board} ${wallet}`;
      sums.set(key, { event, board, wallet, amount: amount + (sums.get(key)?.amount ?? 0n) });
    }
  }
  const added = [...sums.values()];
  const standings = await tx.query(addStandings, [
    added.map(({ event }) => event),
    added.map(({ board }) => board),
    added.map(({ wallet }) => wallet),
    added.map(({ amount }) => String(amount)),
  ]);
  await countChanges(
    tx,
    standings.flatMap(({ before, ...standing }) => {
      const added = { ...standing, by: 1 as const };
      return before === '0' ? [added] : [{ ...standing, amount: before, by: -1 as const }, added];
    }),
  );
  const ids = [...new Set(burns.map(({ event }) => event))];
  const sumOf = (id: string, board: BurnBoard) =>
    String(added.reduce((sum, one) => (one.event === id && one.board === board ? sum + one.amount : sum), 0n));
  await tx.query(addTotals, [
    ids,
    ids.map((id) => standings.filter(({ event, board, before }) => event === id && board === 'total' && before === '0').length),
    ids.map((id) => sumOf(id, 'total')),
    ...BURN_SOURCES.map((source) => ids.map((id) => sumOf(id, source))),
  ]);
}

import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { toHttpError } from '#platform/http/errors.ts';
import type { Activity } from './activities.ts';
import { build } from './build.ts';
import { appendPoints, type LedgerEntry, type OpenDay, openDay } from './ledger.ts';
import { scheduleRefresh } from './standings.ts';

/** An activity as consumers receive it. */
export interface ActivityEvent extends Omit<Activity, 'amount' | 'battleId'> {
  /** UTC day number of the activity. */
  readonly day: number;
  /** Time of the activity, ms since 1970. */
  readonly at: number;
  /** Battle that the score names; null for other activities. */
  readonly battleId: string | null;
  readonly amount: bigint;
}

/**
 * A handler that receives each activity exactly once. Each consumer has its own bit. The row of an activity batch stores the bits of the consumers
 * that have received the batch, so the bit of a consumer must never change.
 */
export interface Consumer {
  readonly name: 'referrals' | 'quests' | 'battles';
  readonly bit: 1 | 2 | 4;
  /**
   * Applies the effects of activities, oldest first. Precondition: the consumer writes only in `tx`, because `tx` may be rolled back and retried with
   * fewer activities. Only one process consumes at a time, so two consumers never run concurrently.
   * @returns ledger entries; the caller appends the entries of all consumers together, so that all standings are locked in one order
   */
  consume(app: App, tx: Tx, open: OpenDay, activities: readonly ActivityEvent[]): Promise<readonly LedgerEntry[]>;
}

/** Sum of the bits of all consumers. */
const ALL_CONSUMERS = 7;
/**
 * MAX_ACTIVITIES: maximum activities per transaction; a single batch with more activities is still consumed. MAX_BATCHES: maximum batches that one
 * query reads.
 */
const MAX_ACTIVITIES = 1_000;
const MAX_BATCHES = 200;

/** The activities that one transaction appended. See migration 0002-points. */
interface ActivityBatch {
  readonly id: string;
  readonly consumed: number;
  readonly day: number;
  readonly at: number;
  readonly activities: readonly (readonly [ActivityEvent['kind'], string, string, string | null, string, string | null])[];
}

/** SQL: the batches of activities that some consumer has not received. */
export const OPEN_ACTIVITIES = 'select 1 from activity_batches';
const tryTurn = statement<{ mine: boolean }>('try_consumers_turn', `select pg_try_advisory_xact_lock(hashtext('coinop-activities')) as mine`);
const selectOpen = statement<ActivityBatch>(
  'select_open_activities',
  `select id::text, consumed::int, day, (extract(epoch from at) * 1000)::float8 as at, activities from (
     select *, sum(size) over (order by id) - size as before from (select * from activity_batches order by id limit ${MAX_BATCHES}) b) b
   where before < ${MAX_ACTIVITIES} order by b.id`,
);
const removeBatches = statement('remove_activity_batches', 'delete from activity_batches where id = any($1::int8[])');
const markBatches = statement('mark_activity_batches', 'update activity_batches set consumed = consumed | $2 where id = any($1::int8[])');
const insertFailure = (consumer: Consumer, { kind, sourceId }: ActivityEvent, error: unknown) =>
  build
    .insertInto('activity_failures')
    .values({ consumer: consumer.name, kind, source_id: sourceId, error: String(error) })
    .onConflict((conflict) => conflict.doNothing());
const savepoint = statement('consumer_savepoint', 'savepoint consumer');
const release = statement('consumer_release', 'release savepoint consumer');
const rollback = statement('consumer_back', 'rollback to savepoint consumer');

/**
 * Passes the oldest activities that are not consumed yet to every consumer, in one transaction. Only one process does this at a time; in another
 * process the call returns false at once.
 * @returns true when more batches may be waiting
 */
export async function consumeActivities(app: App, consumers: readonly Consumer[]): Promise<boolean> {
  return await app.tx(async (tx) => {
    const [turn] = await tx.query(tryTurn);
    if (!turn?.mine) return false;
    const batches = await tx.query(selectOpen);
    if (batches.length === 0) return false;
    const open = await openDay(tx);
    const entries: LedgerEntry[] = [];
    for (const consumer of consumers) {
      const mine = batches.filter(({ consumed }) => (consumed & consumer.bit) === 0);
      entries.push(...(await consumeOrPark(app, tx, open, consumer, mine.flatMap(unpack))));
    }
    await scheduleRefresh(tx, await appendPoints(tx, open, entries));
    const bits = consumers.reduce((sum, { bit }) => sum | bit, 0);
    const done = batches.filter(({ consumed }) => (consumed | bits) === ALL_CONSUMERS);
    const rest = batches.filter(({ consumed }) => (consumed | bits) !== ALL_CONSUMERS);
    await Promise.all([
      done.length > 0 && tx.query(removeBatches, [done.map(({ id }) => id)]),
      rest.length > 0 && tx.query(markBatches, [rest.map(({ id }) => id), bits]),
    ]);
    return batches.length === MAX_BATCHES || batches.reduce((sum, { activities }) => sum + activities.length, 0) >= MAX_ACTIVITIES;
  });
}

const unpack = ({ day, at, activities }: ActivityBatch): ActivityEvent[] =>
  activities.map(([kind, sourceId, wallet, gameId, amount, battleId]) => ({
    ...{ kind, sourceId, wallet, gameId, amount: BigInt(amount), battleId, day, at },
  }));

/**
 * Passes all activities to a consumer in one call. If the call fails, passes the activities one by one and stores each failing activity in
 * `activity_failures`, so that one bad activity does not block the others.
 */
async function consumeOrPark(
  app: App,
  tx: Tx,
  open: OpenDay,
  consumer: Consumer,
  activities: readonly ActivityEvent[],
): Promise<readonly LedgerEntry[]> {
  if (activities.length === 0) return [];
  const all = await tryConsume(app, tx, open, consumer, activities);
  if ('entries' in all) return all.entries;
  const entries: LedgerEntry[] = [];
  for (const activity of activities) {
    const one = await tryConsume(app, tx, open, consumer, [activity]);
    if ('entries' in one) entries.push(...one.entries);
    else {
      const { kind, sourceId } = activity;
      app.log.error({ err: one.error, consumer: consumer.name, kind, sourceId }, 'an activity cannot be consumed; it is stored in activity_failures');
      await run(tx, insertFailure(consumer, activity, one.error));
    }
  }
  return entries;
}

/**
 * Runs a consumer in a savepoint.
 * @returns the consumer's ledger entries; or the error, after a rollback to the savepoint
 * @throws a transient error of the database, because no activity causes an error of this kind
 */
async function tryConsume(
  app: App,
  tx: Tx,
  open: OpenDay,
  consumer: Consumer,
  activities: readonly ActivityEvent[],
): Promise<{ readonly entries: readonly LedgerEntry[] } | { readonly error: unknown }> {
  await tx.query(savepoint);
  try {
    const entries = await consumer.consume(app, tx, open, activities);
    await tx.query(release);
    return { entries };
  } catch (error) {
    if (isTransient(error)) throw error;
    await tx.query(rollback);
    return { error };
  }
}

/**
 * Returns whether an error is transient: unavailable, overload, conflict or operator intervention, by SQLSTATE class. `tryConsume` must not continue
 * after such an error: after a lost connection, even the rollback to the savepoint would fail.
 */
const isTransient = (error: unknown): boolean =>
  toHttpError(error).status === 503 || (Error.isError(error) && 'code' in error && /^(?:08|40|53|55|57|58)/.test(String(error.code)));

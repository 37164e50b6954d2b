import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { asRefusal } from '#platform/http/errors.ts';
import type { Activity } from './activities.ts';
import { appendPoints, type LedgerEntry, type OpenDay, openDay } from './ledger.ts';
import { refreshLater } from './standings.ts';

/** An activity as consumers get it. */
export interface Happened extends Omit<Activity, 'amount' | 'battleId'> {
  /** The UTC day number that it happened on. */
  readonly day: number;
  /** ms since 1970. */
  readonly at: number;
  /** Of a score that names a battle. */
  readonly battleId: string | null;
  readonly amount: bigint;
}

/**
 * Whoever does something about what wallets did, each activity exactly once. Producers know nothing of it.
 * A consumer's mark is set in the transaction of its effect; its bit never changes.
 */
export interface Consumer {
  readonly name: 'referrals' | 'quests' | 'battles';
  readonly bit: 1 | 2 | 4;
  /**
   * Does what follows from activities, oldest first. Only in `tx`, which may be rolled back and come again with a part of them; batches
   * of all processes come one after the other, so that consumers do not meet.
   * @returns the points that are to be given; those of all consumers are appended at once, because standings are locked in one order
   */
  consume(app: App, tx: Tx, open: OpenDay, activities: readonly Happened[]): Promise<readonly LedgerEntry[]>;
}

/** The bits of all consumers. */
const ALL = 7;
/** Activities of one transaction, unless a single batch is larger; and batches looked at for them. */
const MOST = 1_000;
const MOST_BATCHES = 200;

/** What a transaction appended: see 0024-activity-batches. */
interface Batch {
  readonly id: string;
  readonly consumed: number;
  readonly day: number;
  readonly at: number;
  readonly activities: readonly (readonly [Happened['kind'], string, string, string | null, string, string | null])[];
}

const tryTurn = statement<{ mine: boolean }>('try_consumers_turn', `select pg_try_advisory_xact_lock(hashtext('coinop-activities')) as mine`);
const selectOpen = statement<Batch>(
  'select_open_activities',
  `select id::text, consumed::int, day, (extract(epoch from at) * 1000)::float8 as at, activities from (
     select *, sum(size) over (order by id) - size as before from (select * from activity_batches order by id limit ${MOST_BATCHES}) b) b
   where before < ${MOST} order by b.id`,
);
const removeBatches = statement('remove_activity_batches', 'delete from activity_batches where id = any($1::int8[])');
const markBatches = statement('mark_activity_batches', 'update activity_batches set consumed = consumed | $2 where id = any($1::int8[])');
const park = statement(
  'park_activity',
  `insert into activity_failures (consumer, kind, source_id, error) values ($1, $2, $3, $4) on conflict do nothing`,
);
const savepoint = statement('consumer_savepoint', 'savepoint consumer');
const release = statement('consumer_release', 'release savepoint consumer');
const back = statement('consumer_back', 'rollback to savepoint consumer');

/**
 * Has every consumer do its part of the oldest open activities, in one transaction. One process at a time does; the others have nothing to do.
 * @returns whether there may be more at once
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
      entries.push(...(await feed(app, tx, open, consumer, mine.flatMap(unpack))));
    }
    await refreshLater(tx, await appendPoints(tx, open, entries));
    const bits = consumers.reduce((sum, { bit }) => sum | bit, 0);
    const done = batches.filter(({ consumed }) => (consumed | bits) === ALL);
    const rest = batches.filter(({ consumed }) => (consumed | bits) !== ALL);
    await Promise.all([
      done.length > 0 && tx.query(removeBatches, [done.map(({ id }) => id)]),
      rest.length > 0 && tx.query(markBatches, [rest.map(({ id }) => id), bits]),
    ]);
    return batches.length === MOST_BATCHES || batches.reduce((sum, { activities }) => sum + activities.length, 0) >= MOST;
  });
}

const unpack = ({ day, at, activities }: Batch): Happened[] =>
  activities.map(([kind, sourceId, wallet, gameId, amount, battleId]) => ({
    ...{ kind, sourceId, wallet, gameId, amount: BigInt(amount), battleId, day, at },
  }));

/** All at once; where that fails one by one, so that an activity which cannot be consumed is set aside and holds up no other. */
async function feed(app: App, tx: Tx, open: OpenDay, consumer: Consumer, activities: readonly Happened[]): Promise<readonly LedgerEntry[]> {
  if (activities.length === 0) return [];
  const all = await attempt(app, tx, open, consumer, activities);
  if ('entries' in all) return all.entries;
  const entries: LedgerEntry[] = [];
  for (const activity of activities) {
    const one = await attempt(app, tx, open, consumer, [activity]);
    if ('entries' in one) entries.push(...one.entries);
    else {
      const { kind, sourceId } = activity;
      app.log.error({ err: one.error, consumer: consumer.name, kind, sourceId }, 'an activity cannot be consumed');
      await tx.query(park, [consumer.name, kind, sourceId, String(one.error)]);
    }
  }
  return entries;
}

/** What came of it; where it went wrong, nothing was done. @throws what has to do with the database and not with the activities */
async function attempt(
  app: App,
  tx: Tx,
  open: OpenDay,
  consumer: Consumer,
  activities: readonly Happened[],
): Promise<{ readonly entries: readonly LedgerEntry[] } | { readonly error: unknown }> {
  await tx.query(savepoint);
  try {
    const entries = await consumer.consume(app, tx, open, activities);
    await tx.query(release);
    return { entries };
  } catch (error) {
    if (isPassing(error)) throw error;
    await tx.query(back);
    return { error };
  }
}

/**
 * What is down or overloaded, conflicts, interventions (by SQLSTATE class): of the moment, not of the activity. (After a lost connection the way
 * back to the savepoint fails.)
 */
const isPassing = (error: unknown): boolean =>
  asRefusal(error).status === 503 || (Error.isError(error) && 'code' in error && /^(?:08|40|53|55|57|58)/.test(String(error.code)));

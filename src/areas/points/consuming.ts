import type { App } from '../../context.ts';
import { statement } from '../../db/sql.ts';
import type { Tx } from '../../tx.ts';
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
  /** Exact up to 2^53 - 1; sums of amounts of tokens are made in SQL. */
  readonly amount: number;
}

/**
 * Whoever does something about what wallets did, each activity exactly once. Producers know nothing of it.
 * A consumer's mark is set in the transaction of its effect; its bit never changes, and is among those of the index of open activities.
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

/** The bits of all consumers; the index of open activities (0019-battles) says the same. */
const ALL = 7;
const MOST = 1_000;

const tryTurn = statement<{ mine: boolean }>('try_consumers_turn', `select pg_try_advisory_xact_lock(hashtext('coinop-activities')) as mine`);
const selectOpen = statement<Happened & { consumed: number }>(
  'select_open_activities',
  `select kind, source_id as "sourceId", wallet, game_id as "gameId", battle_id as "battleId", amount::float8 as amount, day, (extract(epoch from at) * 1000)::float8 as at, consumed::int
   from activities where consumed <> ${ALL} order by at limit ${MOST}`,
);
const mark = statement(
  'mark_activities',
  `update activities a set consumed = a.consumed | m.bits
   from unnest($1::text[], $2::text[], $3::smallint[]) as m(kind, source_id, bits) where a.kind = m.kind and a.source_id = m.source_id`,
);
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
    const rows = await tx.query(selectOpen);
    if (rows.length === 0) return false;
    const open = await openDay(tx);
    const bits = rows.map(() => 0);
    const entries: LedgerEntry[] = [];
    for (const consumer of consumers) {
      const mine = rows.filter(({ consumed }) => (consumed & consumer.bit) === 0);
      entries.push(...(await feed(app, tx, open, consumer, mine)));
      for (const [i, { consumed }] of rows.entries()) if ((consumed & consumer.bit) === 0) bits[i] = (bits[i] ?? 0) | consumer.bit;
    }
    await refreshLater(tx, await appendPoints(tx, open, entries));
    await tx.query(mark, [rows.map(({ kind }) => kind), rows.map(({ sourceId }) => sourceId), bits]);
    return rows.length === MOST;
  });
}

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

/** Conflicts, missing resources, interventions: by SQLSTATE class. (After a lost connection the way back to the savepoint fails.) */
const isPassing = (error: unknown): boolean => Error.isError(error) && 'code' in error && /^(?:08|40|53|55|57|58)/.test(String(error.code));

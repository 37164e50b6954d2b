import type { App } from '#platform/app.ts';
import { observePublished } from '#platform/observability/metrics/metrics.ts';
import type { BatchedEvent, Category } from './event.ts';
import { lastPublication, type OutboxRow, readNumbered, readOutboxStatus, TICK_MS, takeTick } from './outbox.ts';
import { append, type Draft, eventStreamKey, readTail, startStream, type Tail } from './redis-stream.ts';

/**
 * Runs one tick: publishes rows that wait in the outbox. A tick first numbers the rows in PostgreSQL, then appends the missing entries to the Redis
 * stream, all or none. Any number of publishers may run, because only one tick runs at a time, at least TICK_MS after the previous tick. No event is
 * lost or duplicated if a publisher is killed between the two steps, or if another publisher appends the same entries first.
 * @returns delay until the next tick, ms; null when no row waits, so that the caller can wait for a message in the Redis channel `wakeUpChannel`
 */
export async function publishTick(app: App, batched: BatchedEvent = app.events.batched): Promise<number | null> {
  const key = eventStreamKey(app.config);
  // Reads the Redis stream before the numbers in PostgreSQL. In the other order, another publisher could append in between, and the stream would seem
  // to be ahead of the numbers.
  const tail = await readTail(app.redis, key);
  const { publication, waitMs, unnumbered } = await readOutboxStatus(app.db);
  if (tail === null || tail.publication > publication) {
    app.log.warn({ tail, publication }, 'the Redis stream of events is missing or ahead of the outbox; a new stream starts');
    await startStream(app.redis, key, tail, publication);
    return 0;
  }
  if (!unnumbered && tail.publication === publication) return null;
  if (waitMs > 0) return waitMs;
  const last = await app.tx((tx) => takeTick(tx, tail.publication));
  // Another publisher runs the tick. The jitter prevents both publishers from trying again at the same moment.
  if (last === null) return TICK_MS * (1 + Math.random());
  if (last > tail.publication) await publish(app, key, tail, last, batched);
  return 0;
}

/** Appends to the Redis stream the events that it does not contain yet. */
async function publish(app: App, key: string, tail: Tail, last: number, batched: BatchedEvent): Promise<void> {
  const rows = await readNumbered(app.db, tail.publication);
  const next = rows[0]?.publication ?? last + 1;
  if (next !== tail.publication + 1) {
    // Redis was restored from an old dump, and the outbox no longer contains some of the rows that the dump lacks.
    app.log.warn({ tail, next }, 'the outbox no longer holds the events that the Redis stream misses; a new stream starts');
    await startStream(app.redis, key, tail, next - 1);
    return;
  }
  if (!(await append(app.redis, key, tail, await drafts(app, rows, batched)))) return;
  observePublished(app.clock.now().getTime() - Math.min(...rows.map((row) => row.at)));
}

/** Returns the stream entries for some outbox rows: one entry per row, then one broadcast of all batched items. */
async function drafts(app: App, rows: readonly OutboxRow[], batched: BatchedEvent): Promise<Draft[]> {
  const all: unknown[] = [];
  const entries = rows.map((row): Draft => {
    const id = `${row.publication}-0`;
    const at = new Date(row.at).toISOString();
    const category = categoryOf(app, row.type);
    if (row.type !== batched.type.type || row.wallet !== null) {
      const data = JSON.stringify({ ...row.payload, type: row.type, category, at });
      return { id, type: row.type, category, wallet: row.wallet ?? '', data, own: '' };
    }
    const items = itemsOf(app, row, batched);
    all.push(...items);
    return { id, type: row.type, category, wallet: '', data: '', own: batched.pack(at, items) };
  });
  const last = rows.at(-1);
  if (last && all.length > 0) {
    const { type, category } = batched.type;
    const data = JSON.stringify({ type, category, at: new Date(last.at).toISOString(), ...(await batched.broadcast(all)) });
    entries.push({ id: `${last.publication}-1`, type, category, wallet: '', data, own: '' });
  }
  return entries;
}

/**
 * Returns the items of an outbox row of the batched event type; none when the payload is malformed. The row still gets an (empty) stream entry,
 * because readers treat a missing publication number as lost events.
 */
function itemsOf(app: App, row: OutboxRow, batched: BatchedEvent): readonly unknown[] {
  try {
    return batched.items(row.payload);
  } catch (err) {
    app.log.error({ err, publication: row.publication, type: row.type }, 'the payload of a batched event is malformed; its items are not published');
    return [];
  }
}

/**
 * Returns the category of an event type; `system` for an unknown type. During a deployment, a newer process may emit a type that this process does
 * not know.
 */
function categoryOf(app: App, type: string): Category {
  const known = app.events.types.get(type);
  if (!known) app.log.warn({ type }, 'this process does not know the type of an event; the event is published in the category system');
  return known?.category ?? 'system';
}

/** Starts the Redis stream if it is missing, so that a reader can load the stream before a publisher has run. */
export async function ensureStream(app: App): Promise<void> {
  const key = eventStreamKey(app.config);
  if ((await readTail(app.redis, key)) === null) await startStream(app.redis, key, null, await lastPublication(app.db));
}

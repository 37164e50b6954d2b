import type { App } from '#platform/app.ts';
import { observePublished } from '#platform/observability/metrics/metrics.ts';
import type { BatchedEvents, BatchedRow, Category } from './event.ts';
import { lastPublication, type OutboxRow, readOutboxStatus, TICK_MS, type Tick, takeTick } from './outbox.ts';
import { append, type Draft, eventStreamKey, readTail, startStream, type Tail } from './redis-stream.ts';

/**
 * Runs one tick: publishes rows that wait in the outbox. A tick first numbers the rows in PostgreSQL, then appends the missing entries to the Redis
 * stream, all or none. Any number of publishers may run, because only one tick runs at a time, at least TICK_MS after the previous tick. No event is
 * lost or duplicated if a publisher is killed between the two steps, or if another publisher appends the same entries first.
 * @returns delay until the next tick, ms; null when no row waits, so that the caller can wait for a message in the Redis channel `wakeUpChannel`
 */
export async function publishTick(app: App, batched: BatchedEvents = app.events.batched): Promise<number | null> {
  const key = eventStreamKey(app.config);
  // Reads the Redis stream before the numbers in PostgreSQL. In the other order, another publisher could append in between, and the stream would seem
  // to be ahead of the numbers.
  const tail = await readTail(app.redis, key);
  const { publication, waitMs, unnumbered } = await readOutboxStatus(app.db);
  if (tail === null || tail.publication > publication) {
    if (tail === null && publication === 0) app.log.info('the Redis stream of events starts');
    else app.log.warn({ tail, publication }, 'the Redis stream of events is missing or ahead of the outbox; a new stream starts');
    await startStream(app.redis, key, tail, publication);
    return 0;
  }
  if (!unnumbered && tail.publication === publication) return null;
  if (waitMs > 0) return waitMs;
  const tick = await app.tx((tx) => takeTick(tx, tail.publication));
  // Another publisher runs the tick. The jitter prevents both publishers from trying again at the same moment.
  if (tick === null) return TICK_MS * (1 + Math.random());
  const takenAt = performance.now();
  if (tick.last > tail.publication) await publish(app, key, tail, tick, batched);
  return Math.max(0, TICK_MS - (performance.now() - takenAt));
}

/** Appends to the Redis stream the events that it does not contain yet. */
async function publish(app: App, key: string, tail: Tail, { last, rows }: Tick, batched: BatchedEvents): Promise<void> {
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

/** Returns the stream entries for some outbox rows: one entry per row, then one entry with the message of all shared items. */
async function drafts(app: App, rows: readonly OutboxRow[], batched: BatchedEvents): Promise<Draft[]> {
  const types = new Set([batched.own.type, batched.shared.type]);
  const many = new Map(rows.flatMap((row) => (types.has(row.type) && row.wallet === null ? [[row, parse(app, row, batched)] as const] : [])));
  const parsed = [...many].flatMap(([row, items]) => (items === null ? [] : [{ row, items }]));
  const encoded = await batched.encode(parsed.map(({ items }) => items));
  const ownOf = new Map(parsed.map(({ row }, i) => [row, encoded.own[i] ?? '']));
  const entries = rows.map((row): Draft => {
    const id = `${row.publication}-0`;
    const category = categoryOf(app, row.type);
    if (many.has(row)) return { id, type: row.type, category, wallet: '', data: '', own: ownOf.get(row) ?? '' };
    const data = JSON.stringify({ ...row.payload, type: row.type, category, at: new Date(row.at).toISOString() });
    return { id, type: row.type, category, wallet: row.wallet ?? '', data, own: '' };
  });
  const last = rows.at(-1);
  if (last && encoded.shared) {
    const { type, category } = batched.shared;
    const data = JSON.stringify({ type, category, at: new Date(last.at).toISOString(), ...encoded.shared });
    entries.push({ id: `${last.publication}-1`, type, category, wallet: '', data, own: '' });
  }
  return entries;
}

/**
 * Parses an outbox row of a batched event type; returns null when the payload is malformed. The row still gets an (empty) stream entry, because
 * readers treat a missing publication number as lost events.
 */
function parse(app: App, row: OutboxRow, batched: BatchedEvents): BatchedRow | null {
  try {
    return { at: new Date(row.at).toISOString(), items: batched.parse(row.type, row.payload) };
  } catch (err) {
    app.log.error({ err, publication: row.publication, type: row.type }, 'the payload of a batched event is malformed; its items are not published');
    return null;
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

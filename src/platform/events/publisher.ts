import type { App } from '#platform/app.ts';
import { observePublished } from '#platform/observability/metrics/metrics.ts';
import type { BatchedEvent, Category } from './event.ts';
import { lastPublication, type OutboxRow, readNumbered, readOutboxStatus, TICK_MS, takeTick } from './outbox.ts';
import { append, beginStream, type Draft, eventStreamKey, readTail, type Tail } from './redis-stream.ts';

/**
 * One look at the outbox, and one round if there is something to publish. Any number of publishers may run:
 * rounds are taken one at a time, ROUND_MS apart; each first numbers rows in the record, then appends what the feed lacks,
 * all or nothing, where the feed ends. So whoever is killed in between, or comes second, neither loses nor doubles an event.
 * @returns when to look again, ms; null = when the bell rings
 */
export async function publishTick(app: App, batched: BatchedEvent = app.events.batched): Promise<number | null> {
  const key = eventStreamKey(app.config);
  // The feed first: what it holds was numbered before, so it can only be behind the numbers read after it.
  const tail = await readTail(app.redis, key);
  const { publication, waitMs, unnumbered } = await readOutboxStatus(app.db);
  if (tail === null || tail.publication > publication) {
    app.log.warn({ tail, publication }, 'the feed of events is missing or ahead of the record: it begins anew');
    await beginStream(app.redis, key, tail, publication);
    return 0;
  }
  if (!unnumbered && tail.publication === publication) return null;
  if (waitMs > 0) return waitMs;
  const last = await app.tx((tx) => takeTick(tx, tail.publication));
  // Another publisher is at it; a little later than its next round, so that it is not always two.
  if (last === null) return TICK_MS * (1 + Math.random());
  if (last > tail.publication) await publish(app, key, tail, last, batched);
  return 0;
}

/** Appends what comes after the feed's end. */
async function publish(app: App, key: string, tail: Tail, last: number, batched: BatchedEvent): Promise<void> {
  const rows = await readNumbered(app.db, tail.publication);
  const next = rows[0]?.publication ?? last + 1;
  if (next !== tail.publication + 1) {
    // A dump older than what the outbox still holds: those in between cannot be told any more.
    app.log.warn({ tail, next }, 'the feed of events lacks what the outbox no longer holds: it begins anew');
    await beginStream(app.redis, key, tail, next - 1);
    return;
  }
  if (!(await append(app.redis, key, tail, await drafts(app, rows, batched)))) return;
  observePublished(app.clock.now().getTime() - Math.min(...rows.map((row) => row.at)));
}

/** The entries of a tick: one per row, then one broadcast of all batched items. */
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
    const data = JSON.stringify({ type, category, at: new Date(last.at).toISOString(), ...(await batched.broadcast(app, all)) });
    entries.push({ id: `${last.publication}-1`, type, category, wallet: '', data, own: '' });
  }
  return entries;
}

/** The items of a batched row; none where the payload is malformed. The row keeps its entry, because a missing number would be a gap. */
function itemsOf(app: App, row: OutboxRow, batched: BatchedEvent): readonly unknown[] {
  try {
    return batched.items(row.payload);
  } catch (err) {
    app.log.error({ err, publication: row.publication, type: row.type }, 'the payload of a batched event is malformed; its items are not published');
    return [];
  }
}

/** A type that this process does not know comes from a newer one, during a deployment. */
function categoryOf(app: App, type: string): Category {
  const known = app.events.types.get(type);
  if (!known) app.log.warn({ type }, 'an event of an unknown type is published as system');
  return known?.category ?? 'system';
}

/** Makes sure that there is a feed to read: before the first publisher ran, the reader begins it. */
export async function ensureStream(app: App): Promise<void> {
  const key = eventStreamKey(app.config);
  if ((await readTail(app.redis, key)) === null) await beginStream(app.redis, key, null, await lastPublication(app.db));
}

import { setTimeout as sleep } from 'node:timers/promises';
import { newestBest, packScores, ranked } from '#areas/arcade/scores/broadcast.ts';
import { catalogue, type ScoreUpdate, scoreUpdate } from '#areas/event-catalogue.ts';
import type { App } from '#context';
import { observePublished } from '#platform/observability/metrics/metrics.ts';
import type { Category } from './event.ts';
import { lastPublication, type OutboxRow, ROUND_MS, readNumbered, readOutlook, takeRound } from './outbox.ts';
import { append, beginFeed, type Draft, feedKey, readTail, type Tail } from './redis-stream.ts';

/** Tells the all-time ranks of wallets in their games, in the order asked; null where a board does not know. */
export type Ranks = (entries: readonly { wallet: string; gameId: string }[]) => Promise<(number | null)[]>;

/** Boards take scores right after their commit: ranks are read this much later, ms. */
const BOARDS_MS = 10;

/**
 * One look at the outbox, and one round if there is something to publish. Any number of publishers may run:
 * rounds are taken one at a time, ROUND_MS apart; each first numbers rows in the record, then appends what the feed lacks,
 * all or nothing, where the feed ends. So whoever is killed in between, or comes second, neither loses nor doubles an event.
 * @returns when to look again, ms; null = when the bell rings
 */
export async function publishRound(app: App, ranks: Ranks): Promise<number | null> {
  const key = feedKey(app.config);
  // The feed first: what it holds was numbered before, so it can only be behind the numbers read after it.
  const tail = await readTail(app.redis, key);
  const { publication, waitMs, unnumbered } = await readOutlook(app.db);
  if (tail === null || tail.publication > publication) {
    app.log.warn({ tail, publication }, 'the feed of events is missing or ahead of the record: it begins anew');
    await beginFeed(app.redis, key, tail, publication);
    return 0;
  }
  if (!unnumbered && tail.publication === publication) return null;
  if (waitMs > 0) return waitMs;
  const last = await app.tx((tx) => takeRound(tx, tail.publication));
  // Another publisher is at it; a little later than its next round, so that it is not always two.
  if (last === null) return ROUND_MS * (1 + Math.random());
  if (last > tail.publication) await publish(app, key, tail, last, ranks);
  return 0;
}

/** Appends what comes after the feed's end. */
async function publish(app: App, key: string, tail: Tail, last: number, ranks: Ranks): Promise<void> {
  const rows = await readNumbered(app.db, tail.publication);
  const next = rows[0]?.publication ?? last + 1;
  if (next !== tail.publication + 1) {
    // A dump older than what the outbox still holds: those in between cannot be told any more.
    app.log.warn({ tail, next }, 'the feed of events lacks what the outbox no longer holds: it begins anew');
    await beginFeed(app.redis, key, tail, next - 1);
    return;
  }
  if (!(await append(app.redis, key, tail, await drafts(app, rows, ranks)))) return;
  observePublished(app.clock.now().getTime() - Math.min(...rows.map((row) => row.at)));
}

/** The entries of a round: one per row, then the aggregate of its scores. */
async function drafts(app: App, rows: readonly OutboxRow[], ranks: Ranks): Promise<Draft[]> {
  const scores: ScoreUpdate[] = [];
  const entries = rows.map((row): Draft => {
    const id = `${row.publication}-0`;
    const at = new Date(row.at).toISOString();
    const category = categoryOf(app, row.type);
    if (row.type !== scoreUpdate.type || row.wallet !== null) {
      const data = JSON.stringify({ ...row.payload, type: row.type, category, at });
      return { id, type: row.type, category, wallet: row.wallet ?? '', data, own: '' };
    }
    // Every number has its entry, even one that nobody gets: the feed must show no gap, and one bad row must not stop the rest.
    const parsed = scoreUpdate.payload.safeParse(row.payload);
    if (!parsed.success) app.log.error({ publication: row.publication, err: parsed.error }, 'an event of scores is not what it should be');
    const updates = parsed.data?.updates ?? [];
    scores.push(...updates);
    return { id, type: row.type, category, wallet: '', data: '', own: packScores(at, updates) };
  });
  const last = rows.at(-1);
  if (last && scores.length > 0) entries.push(await broadcast(app, last, newestBest(scores), ranks));
  return entries;
}

async function broadcast(app: App, last: OutboxRow, best: readonly ScoreUpdate[], ranks: Ranks): Promise<Draft> {
  await sleep(BOARDS_MS);
  // Ranks are an extra: boards that cannot tell must not hold up the events.
  const known = await ranks(best).catch((err: unknown) => {
    app.log.warn({ err }, 'scores are broadcast without their ranks');
    return [];
  });
  const { type, category } = scoreUpdate;
  const updates = best.map((update, i) => ranked(update, known[i] ?? null));
  const data = JSON.stringify({ type, category, at: new Date(last.at).toISOString(), updates });
  return { id: `${last.publication}-1`, type, category, wallet: '', data, own: '' };
}

/** A type that this process does not know comes from a newer one, during a deployment. */
function categoryOf(app: App, type: string): Category {
  const known = catalogue.get(type);
  if (!known) app.log.warn({ type }, 'an event of an unknown type is published as system');
  return known?.category ?? 'system';
}

/** Makes sure that there is a feed to read: before the first publisher ran, the reader begins it. */
export async function ensureFeed(app: App): Promise<void> {
  const key = feedKey(app.config);
  if ((await readTail(app.redis, key)) === null) await beginFeed(app.redis, key, null, await lastPublication(app.db));
}

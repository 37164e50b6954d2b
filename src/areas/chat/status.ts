import { setTimeout as sleep } from 'node:timers/promises';
import { type TtlCache, ttlCache } from '#lib/ttl-cache.ts';
import type { App } from '#platform/app.ts';
import { instant, statement } from '#platform/db/sql.ts';
import type { ChatStatus } from './schemas.ts';

/** All who ask within this time share an answer, ms. */
const SHARED_MS = 1_000;
/** How long a dependency may take before it counts as failed, ms. */
const CHECK_WITHIN_MS = 1_000;
/** A stream that lags more than this is degraded, ms. */
const MOST_LAG_MS = 5_000;

interface Row {
  activeRound: { id: string; closesAt: string } | null;
  messagesLastMinute: number;
  lastMessageAt: string | null;
  streamLagMs: number;
  stuckRounds: number;
}

// Each part reads an index, and no more of it than it tells of.
const select = statement<Row>(
  'select_chat_status',
  `with clock as materialized (select app_now() as now)
   select
     (select json_build_object('id', r.id, 'closesAt', ${instant('r.closes_at')})
      from rounds r where r.kind = 'chat' and r.state = 'active' and r.closes_at > clock.now) as "activeRound",
     (select count(*)::int from chat_messages m where m.at > clock.now - interval '1 minute') as "messagesLastMinute",
     (select ${instant('m.at')} from chat_messages m order by m.seq desc limit 1) as "lastMessageAt",
     coalesce((select greatest(0, round(extract(epoch from clock.now - o.at) * 1000)) from outbox o where o.publication is null order by o.id limit 1), 0)::int
       as "streamLagMs",
     (select count(*)::int from rounds r
      where (r.state = 'active' and r.closes_at < clock.now - interval '1 minute')
         or (r.state = 'closing' and r.closed_at < clock.now - interval '1 hour')
         or (r.state = 'committed' and r.beacon_due_at < clock.now - interval '1 hour')) as "stuckRounds"
   from clock`,
);

const NOTHING = { activeRound: null, messagesLastMinute: null, lastMessageAt: null, streamLagMs: null, stuckRounds: null };

/** What came of some work within a second; null where it failed or took longer. */
async function soon<T>(work: Promise<T>): Promise<T | null> {
  const late = new AbortController();
  try {
    return await Promise.race([work.catch(() => null), sleep(CHECK_WITHIN_MS, null, { signal: late.signal, ref: false })]);
  } finally {
    late.abort();
  }
}

async function check(app: App): Promise<ChatStatus> {
  const [rows, pong] = await Promise.all([soon(app.db.query(select)), soon(app.redis.ping())]);
  const row = rows?.[0] ?? null;
  const takesMessages = row !== null && pong !== null;
  const isDegraded = row !== null && (row.streamLagMs > MOST_LAG_MS || row.stuckRounds > 0);
  return {
    status: !takesMessages ? 'down' : isDegraded ? 'degraded' : 'ok',
    takesMessages,
    checks: { database: row === null ? 'failed' : 'ok', redis: pong === null ? 'failed' : 'ok' },
    ...(row ?? NOTHING),
  };
}

const caches = new WeakMap<App, TtlCache<'status', ChatStatus>>();

/** How chat is; at most a second old, and answered within about a second whatever the dependencies do. */
export function chatStatus(app: App): Promise<ChatStatus> {
  let cache = caches.get(app);
  if (!cache) {
    cache = ttlCache(SHARED_MS, () => check(app));
    caches.set(app, cache);
  }
  return cache.get('status');
}

import { setTimeout as sleep } from 'node:timers/promises';
import { CURRENT_CHAT_ROUND } from '#areas/lottery';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { instant, statement } from '#platform/db/sql.ts';
import { readSlowMode } from './limits.ts';
import type { ChatStatus } from './schemas.ts';

/** Maximum age of a cached status, ms. */
const MAX_AGE_MS = 1_000;
/** Timeout of the check of one dependency, ms. A slower dependency counts as failed. */
const CHECK_TIMEOUT_MS = 1_000;
/** Maximum lag of the event stream, ms. Above this lag the status is `degraded`. */
const MAX_LAG_MS = 5_000;

interface Row {
  activeRound: { id: string; closesAt: string } | null;
  currentRound: { id: string; status: 'active' | 'closing' | 'committed'; closesAt: string; drawDueAt: string | null } | null;
  messagesLastMinute: number;
  lastMessageAt: string | null;
  streamLagMs: number;
  stuckRounds: number;
}

// Each subquery reads only the index entries that it needs.
const select = statement<Row>(
  'select_chat_status',
  `with clock as materialized (select app_now() as now)
   select
     (select json_build_object('id', r.id, 'closesAt', ${instant('r.closes_at')})
      from rounds r where r.kind = 'chat' and r.state = 'active' and r.closes_at > clock.now) as "activeRound",
     (select json_build_object('id', r.id, 'status', r.state, 'closesAt', ${instant('least(r.closes_at, r.closed_at)')}, 'drawDueAt', ${instant('r.beacon_due_at')})
      from rounds r where r.id = ${CURRENT_CHAT_ROUND}) as "currentRound",
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

const UNKNOWN = { activeRound: null, currentRound: null, messagesLastMinute: null, lastMessageAt: null, streamLagMs: null, stuckRounds: null };

/** Returns the result of a check, or null when the check fails or exceeds the timeout. */
async function settleWithin<T>(work: Promise<T>): Promise<T | null> {
  const late = new AbortController();
  try {
    return await Promise.race([work.catch(() => null), sleep(CHECK_TIMEOUT_MS, null, { signal: late.signal, ref: false })]);
  } finally {
    late.abort();
  }
}

async function check(app: App): Promise<ChatStatus> {
  const [rows, slowModeSec, pong] = await Promise.all([
    settleWithin(app.db.query(select)),
    settleWithin(readSlowMode(app, app.db)),
    settleWithin(app.redis.ping()),
  ]);
  const row = rows?.[0] ?? null;
  const takesMessages = row !== null && pong !== null;
  const isDegraded = row !== null && (row.streamLagMs > MAX_LAG_MS || row.stuckRounds > 0);
  return {
    status: !takesMessages ? 'down' : isDegraded ? 'degraded' : 'ok',
    takesMessages,
    checks: { database: row === null ? 'failed' : 'ok', redis: pong === null ? 'failed' : 'ok' },
    slowModeSec,
    ...(row ?? UNKNOWN),
  };
}

const statusCache = perApp((app) => ttlCache<'status', ChatStatus>(MAX_AGE_MS, () => check(app)));

/** Returns the status of chat, at most 1 s old. Answers within about 1 s, even when a dependency hangs. */
export const chatStatus = (app: App): Promise<ChatStatus> => app.state(statusCache).get('status');

import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { enforceRateLimit, rateLimitKey, tooManyRequests } from '#platform/auth/rate-limit.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { script } from '#platform/redis/script.ts';
import type { Author } from './sanctions.ts';

/** Maximum age of the cached slow mode, ms. A change takes effect in every process within this time. */
const MAX_AGE_MS = 1_000;
/** Maximum time between two messages in slow mode, s. */
export const MAX_SLOW_MODE_SEC = 3_600;

/** Name of the slow mode in the table `settings`. */
const SETTING = 'chat-slow-mode';
const selectSlowMode = statement<{ seconds: number }>(
  'select_chat_slow_mode',
  `select (value->>'seconds')::int as seconds from settings where name = '${SETTING}' order by version desc limit 1`,
);
const lockSlowMode = statement('lock_chat_slow_mode', `select pg_advisory_xact_lock(hashtext('settings/${SETTING}'))`);
const insertSlowMode = statement(
  'insert_chat_slow_mode',
  `insert into settings (name, version, value)
   select '${SETTING}', coalesce(max(version), 0) + 1, json_build_object('seconds', $1::int) from settings where name = '${SETTING}'`,
);

/** Reads the seconds that an author waits between two messages; 0 without slow mode. An operator's choice precedes `CHAT_SLOW_MODE_SEC`. */
export async function readSlowMode(app: Pick<App, 'config'>, db: Queryable): Promise<number> {
  return (await db.query(selectSlowMode))[0]?.seconds ?? app.config.chat.slowModeSec;
}

/** Sets the seconds that an author waits between two messages; 0 ends slow mode. */
export async function setSlowMode(app: Pick<App, 'config'>, tx: Tx, seconds: number): Promise<void> {
  await tx.query(lockSlowMode);
  if ((await readSlowMode(app, tx)) !== seconds) await tx.query(insertSlowMode, [seconds]);
}

const slowMode = perApp((app) => ttlCache<'seconds', number>(MAX_AGE_MS, () => readSlowMode(app, app.db)));

/** Returns the key under which the rate limits count an author. */
const limitKeyOf = ({ source, account }: Author): string => `${source}:${account}`;

/**
 * Takes the author's turn for a message. KEYS: the turn of the author. ARGV: the message, the time until the next turn in ms. Returns 0 when the message
 * has the turn, otherwise the time until the next turn, ms. A repeated request for the message that has the turn gets 0 again.
 */
const takeTurn = script<number>(`
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then return 0 end
if holder then return math.max(redis.call('PTTL', KEYS[1]), 1) end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 0
`);

/** Refuses a message of an author whose previous message is less than `seconds` old. */
async function enforceSlowMode(app: App, author: Author, seconds: number, message: string): Promise<void> {
  // The length of the window is part of the name, so that a shorter slow mode takes effect at once.
  const limit = { name: `chat-slow-${seconds}`, max: 1, windowMs: seconds * 1_000 };
  const waitMs = await takeTurn(app.redis, [rateLimitKey(app, limit, limitKeyOf(author))], [message, limit.windowMs]);
  if (waitMs === 0) return;
  const { name, max: quota, windowMs } = limit;
  throw tooManyRequests(`slow mode is on: a wallet or account may send one message in ${seconds} s`, { name, quota, windowMs, waitMs });
}

/**
 * Counts a message, and refuses it above the limits. The author's own limit comes first, so that refused messages of one author do not use up the
 * global rate. An entry of a round counts only for the author's own limit, so that a flood of messages keeps no wallet out of a round.
 * @param message the same text for each attempt to store the message, so that slow mode does not refuse a message that is repeated after a failure
 * @throws 429 with `Retry-After` when the author sends too many messages, must wait in slow mode, or when all authors together send too many messages
 */
export async function enforceChatLimits(app: App, author: Author, isEntry: boolean, message: string): Promise<void> {
  const { messagesPer10Sec, messagesPerDay, messagesPerSec } = app.config.chat;
  await enforceRateLimit(app, { name: 'chat', max: messagesPer10Sec, windowMs: 10_000 }, limitKeyOf(author));
  if (isEntry) return;
  const seconds = await app.state(slowMode).get('seconds');
  if (seconds > 0) await enforceSlowMode(app, author, seconds, message);
  await enforceRateLimit(app, { name: 'chat-day', max: messagesPerDay, windowMs: 86_400_000 }, limitKeyOf(author));
  await enforceRateLimit(app, { name: 'chat-all', max: messagesPerSec, windowMs: 1_000 }, 'all');
}

import { projectDay } from '#jobs/maintenance.ts';
import { amountOf, FORMULA } from '#lib/allocation.ts';
import { dayStart } from '#lib/periods.ts';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { pollUntil } from '#platform/jobs/polling.ts';
import { readRules } from '../config.ts';
import { COUNTED } from '../epochs/snapshot.ts';
import type { CurvePoint } from './curve.ts';
import { emptyProjection, Projection, type ProjectionStatus, readProjectionStatus } from './projection.ts';

/** Maximum age of the cached projection of a process, ms. */
const MAX_AGE_MS = 500;
/** Maximum time that a request waits for a fresh projection, ms. */
const WAIT_MS = 1_000;
/** Maximum duration of the latest computation for which a request waits for the next one, ms. */
const MAX_AWAITED_MS = 400;

interface TodayProjection {
  day: number;
  projection: Projection;
  /** Time of its computation; null while none is stored. */
  asOf: string | null;
}

const todayCache = perApp((app) =>
  ttlCache(MAX_AGE_MS, async (_key: 'today'): Promise<TodayProjection> => {
    const { day, projection, at } = await refreshed(app);
    return { day, projection: projection ? Projection.decode(projection) : emptyProjection((await readRules(app.db)).rules), asOf: at };
  }),
);

/** Returns the cached projection of the current day. */
const projectionOfToday = (app: App): Promise<TodayProjection> => app.state(todayCache).get('today');

/** Polls until a stale projection is replaced. The id is the time of the stale projection. */
const pollProjection = pollUntil(
  async (app, ids) => {
    const status = await readProjectionStatus(app.db);
    return ids.map((id) => ({ id, status }));
  },
  ({ id, status }) => !status.stale || String(status.at) !== id,
);

/**
 * Reads the stored projection. If it is stale, enqueues a new computation, and waits for it when computations are short.
 * When Redis is down, returns the stale projection.
 */
async function refreshed(app: App): Promise<ProjectionStatus> {
  const status = await readProjectionStatus(app.db);
  if (!status.stale || !status.due) return status;
  const enqueued = await app.queues.add([{ job: projectDay, payload: {} }]).then(
    () => true,
    () => false,
  );
  if (!enqueued || status.tookMs > MAX_AWAITED_MS) return status;
  return (await pollProjection(app, String(status.at), WAIT_MS))?.status ?? status;
}

const selectPoints = statement<{ points: string }>(
  'select_points_of_day',
  `select coalesce(sum(points), 0)::text as points from ledger
   where wallet = $1 and at >= to_timestamp($2::int * 86400.0) and day = $2::int and ${COUNTED}`,
);

async function pointsOf(db: Queryable, wallet: string, day: number): Promise<bigint> {
  return BigInt((await db.query(selectPoints, [wallet, day]))[0]?.points ?? 0);
}

/** The reward of a wallet if the day ended now, and the figures behind it. Amounts: base units as text. */
export interface ProjectedReward {
  epoch: number;
  wallet: string;
  amount: string;
  points: number;
  breakdown: {
    pool: string;
    cap: string | null;
    dust: string;
    totalPoints: number;
    participants: number;
    /** Percent of all points, with four decimals. */
    shareOfPoints: number;
    capped: boolean;
    belowDust: boolean;
    formulaVersion: number;
  };
  asOf: string | null;
}

/** Returns the projected reward of a wallet. Its own points are current; those of the other wallets are of the time `asOf`. */
export async function projectReward(app: App, wallet: string): Promise<ProjectedReward> {
  const { day, projection, asOf } = await projectionOfToday(app);
  const { shares, rules, participants } = projection;
  const points = await pointsOf(app.db, wallet, day);
  const amount = amountOf(shares, wallet, points);
  // The wallet's points may be newer than the sum of all points, so the sum is at least as high.
  let all = projection.points;
  if (points > all) all = points;
  const counted = points > 0n;
  return {
    epoch: day,
    wallet,
    amount: String(amount),
    points: Number(points),
    breakdown: {
      pool: rules.pool,
      cap: rules.cap,
      dust: rules.dust,
      totalPoints: Number(all),
      participants: Math.max(participants, counted ? 1 : 0),
      shareOfPoints: counted ? Number((points * 1_000_000n) / all) / 10_000 : 0,
      capped: counted && rules.cap !== null && amount === shares.cap,
      belowDust: counted && amount === 0n,
      formulaVersion: FORMULA,
    },
    asOf,
  };
}

/** Today's pool, and its distribution if the day ended now. */
interface PoolToday {
  epoch: number;
  pool: string;
  cap: string | null;
  dust: string;
  participants: number;
  points: number;
  total: string;
  undistributed: string;
  distribution: CurvePoint[];
  endsAt: string;
  timestamp: string;
}

/** Returns today's pool and its projected distribution. */
export async function poolToday(app: App): Promise<PoolToday> {
  const { day, projection, asOf } = await projectionOfToday(app);
  const { rules, participants, points, total, curve } = projection;
  return {
    epoch: day,
    pool: rules.pool,
    cap: rules.cap,
    dust: rules.dust,
    participants,
    points: Number(points),
    total: String(total),
    undistributed: String(BigInt(rules.pool) - total),
    distribution: curve,
    endsAt: dayStart(day + 1).toISOString(),
    timestamp: asOf ?? app.clock.now().toISOString(),
  };
}

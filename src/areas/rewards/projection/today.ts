import { projectDay } from '#jobs/maintenance.ts';
import { amountOf, FORMULA } from '#lib/allocation.ts';
import { dayStart } from '#lib/periods.ts';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { pollUntil } from '#platform/jobs/polling.ts';
import { readRules } from '../config.ts';
import { COUNTED } from '../epochs/snapshot.ts';
import { type Gates, meetsGates } from '../review/gates.ts';
import type { CurvePoint } from './curve.ts';
import { emptyProjection, Projection, type ProjectionStatus, readProjectionStatus } from './projection.ts';

/** Maximum age of the projection that this process caches, ms. */
const MAX_AGE_MS = 500;
/** Maximum time that a request waits for a new projection, ms. */
const WAIT_MS = 1_000;
/** If the latest computation took longer than this time (ms), requests do not wait for the next computation. */
const MAX_AWAITED_MS = 400;

interface TodayProjection {
  day: number;
  projection: Projection;
  gates: Gates;
  /** Time at which the projection was computed; null when no projection is stored. */
  asOf: string | null;
}

const todayCache = perApp((app) =>
  ttlCache(MAX_AGE_MS, async (_key: 'today'): Promise<TodayProjection> => {
    const { day, projection, at } = await refreshed(app);
    const { rules } = await readRules(app.db);
    return { day, projection: projection ? Projection.decode(projection) : emptyProjection(rules), gates: rules, asOf: at };
  }),
);

/** Returns the projection of the current day from the cache of this process. */
const projectionOfToday = (app: App): Promise<TodayProjection> => app.state(todayCache).get('today');

/** Polls until a newer projection replaces the stale projection. The computation time of the stale projection is the id that is polled. */
const pollProjection = pollUntil(
  async (app, ids) => {
    const status = await readProjectionStatus(app.db);
    return ids.map((id) => ({ id, status }));
  },
  ({ id, status }) => !status.stale || String(status.at) !== id,
);

/**
 * Reads the stored projection. If it is stale and the minimum pause has passed, enqueues a new computation. Then waits for the new projection if the
 * latest computation was fast. Returns the stale projection when Redis is down.
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
   where wallet = $1 and at >= to_timestamp($2::int * 86400.0) and day = $2::int and ${COUNTED}
     and not exists (select from players p where p.wallet = $1 and p.banned_at is not null)`,
);

/** Returns the points of a wallet on a day that count for its epoch; 0 for a wallet that is banned or does not meet the reward rules. */
async function pointsOf(db: Queryable, wallet: string, day: number, gates: Gates): Promise<bigint> {
  if (!(await meetsGates(db, wallet, day, gates))) return 0n;
  return BigInt((await db.query(selectPoints, [wallet, day]))[0]?.points ?? 0);
}

/** The reward of a wallet if the day ended now, and the figures that determine it. Amounts: base units as text. */
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
    /** This wallet's points as a percentage (0 to 100) of the points of all wallets, rounded down to four decimals. */
    shareOfPoints: number;
    capped: boolean;
    belowDust: boolean;
    formulaVersion: number;
  };
  asOf: string | null;
}

/** Returns the projected reward of a wallet. The points of this wallet are current; the points of the other wallets were read at the time `asOf`. */
export async function projectReward(app: App, wallet: string): Promise<ProjectedReward> {
  const { day, projection, gates, asOf } = await projectionOfToday(app);
  const { shares, rules, participants } = projection;
  const points = await pointsOf(app.db, wallet, day, gates);
  const amount = amountOf(shares, wallet, points);
  // The wallet's points may be newer than the stored sum of all points, and may exceed this sum. Then the wallet's points replace the sum, so that
  // the wallet's share is at most 100 percent.
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

/** The pool of the current day, and how it would be distributed if the day ended now. */
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

/** Returns the pool of the current day, and how it would be distributed if the day ended now. */
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

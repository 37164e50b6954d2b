import { projectDay } from '#jobs/maintenance.ts';
import { amountOf, FORMULA } from '#lib/allocation.ts';
import { dayStart } from '#lib/periods.ts';
import { type TtlCache, ttlCache } from '#lib/ttl-cache.ts';
import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { readRules } from './config.ts';
import type { CurvePoint } from './curve.ts';
import { emptyProjection, type Outlook, Projection, readOutlook } from './projection.ts';
import { COUNTED } from './snapshot.ts';

/** How long a process tells the same of today, ms. */
const MAX_AGE_MS = 500;
/** How long a request waits for a fresh projection, and how long the last one may have taken for that, ms. */
const WAIT_MS = 1_000;
const LOOK_MS = 50;
const SHORT_MS = 400;

interface Today {
  day: number;
  projection: Projection;
  /** When it was made; null while there is none. */
  asOf: string | null;
}

const caches = new WeakMap<App, TtlCache<'today', Today>>();

/** What today would give. Points that have come in since are counted soon; where that is a matter of a moment, now. */
function today(app: App): Promise<Today> {
  let cache = caches.get(app);
  if (!cache) {
    cache = ttlCache(MAX_AGE_MS, async () => {
      const { day, projection, at } = await refreshed(app);
      return { day, projection: projection ? Projection.decode(projection) : emptyProjection((await readRules(app.db)).rules), asOf: at };
    });
    caches.set(app, cache);
  }
  return cache.get('today');
}

async function refreshed(app: App): Promise<Outlook> {
  let outlook = await readOutlook(app.db);
  if (!outlook.stale || !outlook.due) return outlook;
  // Without Redis nothing is made anew now, and what there is serves.
  const rung = await app.queues.add([{ job: projectDay, payload: {} }]).then(
    () => true,
    () => false,
  );
  const { at, tookMs } = outlook;
  const until = performance.now() + (rung && tookMs <= SHORT_MS ? WAIT_MS : 0);
  while (outlook.stale && outlook.at === at && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    outlook = await readOutlook(app.db);
  }
  return outlook;
}

const selectPoints = statement<{ points: string }>(
  'select_points_of_day',
  `select coalesce(sum(points), 0)::text as points from ledger
   where wallet = $1 and at >= to_timestamp($2::int * 86400.0) and day = $2::int and ${COUNTED}`,
);

async function pointsOf(db: Queryable, wallet: string, day: number): Promise<bigint> {
  return BigInt((await db.query(selectPoints, [wallet, day]))[0]?.points ?? 0);
}

/** What a wallet would get if the day ended now, and why. Amounts are base units as text. */
export interface Projected {
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
    /** Percent of all points, four decimals. */
    shareOfPoints: number;
    capped: boolean;
    belowDust: boolean;
    formulaVersion: number;
  };
  asOf: string | null;
}

/** The wallet's own points are those of this moment; the others' those of `asOf`. */
export async function projectedFor(app: App, wallet: string): Promise<Projected> {
  const { day, projection, asOf } = await today(app);
  const { shares, rules, participants } = projection;
  const points = await pointsOf(app.db, wallet, day);
  const amount = amountOf(shares, wallet, points);
  // Own points may be newer than all.
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

/** Today's pool, and how it would be spread if the day ended now. */
export interface PoolToday {
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

export async function poolToday(app: App): Promise<PoolToday> {
  const { day, projection, asOf } = await today(app);
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

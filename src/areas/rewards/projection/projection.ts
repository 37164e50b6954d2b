import { sql } from 'kysely';
import { z } from 'zod';
import { allocate, type Shares } from '#lib/allocation.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { buildFromPages } from '../build/open.ts';
import { readRules } from '../config.ts';
import { pointsOfDay } from '../epochs/snapshot.ts';
import { build } from '../query-builder.ts';
import { selectExpected } from '../review/exclusions.ts';
import { allocationRules, type RewardRules, TokenAmount } from '../rules.ts';
import { distributionCurve } from './curve.ts';

/**
 * Minimum pause after a computation, as a multiple of the duration of this computation. After a computation of 1 s, the next computation starts at
 * least 20 s later.
 */
const COST_FACTOR = 20;

const Units = z.codec(z.string(), z.bigint(), { decode: (text) => BigInt(text), encode: (value) => String(value) });
const StoredShares = z.object({
  cap: Units,
  dust: Units,
  cappedFrom: Units.nullable(),
  rest: Units,
  points: Units,
  remainder: Units,
  lastEqual: z.string().nullable(),
}) satisfies z.ZodType<Shares>;
const Curve = z.array(z.object({ top: z.number(), wallets: z.number(), amount: z.string(), share: z.number() }));

/** The rewards of the current day as if the day ended now: the parameters that determine the amount of each wallet, and the distribution curve. */
export const Projection = z.object({
  rules: z.object({ pool: TokenAmount, cap: TokenAmount.nullable(), dust: TokenAmount }),
  shares: StoredShares,
  /** Number of wallets with points today. */
  participants: z.int(),
  points: Units,
  /** Sum of the amounts of all wallets, base units. */
  total: Units,
  curve: Curve,
});
export type Projection = z.output<typeof Projection>;

/** The stored projection of the current day, and whether this projection is stale. */
export interface ProjectionStatus {
  day: number;
  /** Current number of ledger rows of the day, as text. The projection is stale when this number has changed. */
  entries: string;
  /** Null when no projection of the day is stored. */
  projection: z.input<typeof Projection> | null;
  at: string | null;
  tookMs: number;
  /** Whether points or rules have changed since the projection was computed, or no projection is stored. */
  stale: boolean;
  /** Whether the minimum pause after the latest computation has passed, so that a new computation may start. */
  due: boolean;
}

const selectProjectionStatus = statement<ProjectionStatus>(
  'select_projection_status',
  `with today as materialized (select app_day() as day),
   given as (select coalesce(sum(t.entries), 0)::int8 as entries from point_totals t, today d where t.day = d.day and mode = 'regular' and kind <> 'conversion'),
   rules as (select coalesce(max(version), 0) as version from settings where name = 'rewards')
   select d.day, g.entries::text as entries, p.projection, ${instant('p.at')} as at, coalesce(p.took_ms, 0) as "tookMs",
     (p.entries, p.rules_version) is distinct from (g.entries, r.version) as stale,
     coalesce((select app_now()) > p.at + make_interval(secs => greatest(0.5, p.took_ms * ${COST_FACTOR} / 1000.0)), true) as due
   from today d cross join given g cross join rules r left join reward_projections p on p.day = d.day`,
);

/** Reads the stored projection of the current day, and whether it is stale. */
export async function readProjectionStatus(db: Queryable): Promise<ProjectionStatus> {
  const row = (await db.query(selectProjectionStatus))[0];
  if (!row) throw new Error('the database returned no row with the current day');
  return row;
}

/**
 * Computes and stores the projection of the current day, with the same formula as the final computation of the epoch. Does nothing when the stored
 * projection is up to date, or while the minimum pause after the latest computation lasts.
 */
export async function projectDay(app: App): Promise<void> {
  // Reads the number of ledger rows before it reads the points. Points that are added between the two reads make the projection stale, so a later
  // computation includes them.
  const { day, entries, stale, due } = await readProjectionStatus(app.db);
  if (!stale || !due) return;
  const begin = performance.now();
  await app.tx(async (tx) => {
    const { rules, version } = await readRules(tx);
    const projection = await buildFromPages(pointsOfDay(tx, day, selectExpected(day, rules)), async (builder) => {
      const { shares, wallets, points, total, curve } = await builder.allocate(allocationRules(rules));
      return Projection.encode({ rules, shares, participants: wallets, points, total, curve: [...curve] });
    });
    const computed = { entries, rules_version: version, projection: JSON.stringify(projection), took_ms: Math.round(performance.now() - begin) };
    const values = { ...computed, at: sql<string>`app_now()` };
    await run(
      tx,
      build
        .insertInto('reward_projections')
        .values({ day, ...values })
        .onConflict((conflict) => conflict.column('day').doUpdateSet(values)),
    );
    await run(tx, build.deleteFrom('reward_projections').where('day', '<', day - 1));
  });
}

/** Returns the projection of a day without points. */
export function emptyProjection(rules: RewardRules): Projection {
  const { shares, amounts, total } = allocate(allocationRules(rules), new BigInt64Array(0), () => '');
  return { rules, shares, participants: 0, points: 0n, total, curve: distributionCurve(amounts, BigInt(rules.pool)) };
}

import { z } from 'zod';
import { allocate, type Shares } from '#lib/allocation.ts';
import type { App } from '#platform/app.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { buildFrom } from './build/open.ts';
import { readRules } from './config.ts';
import { distributionCurve } from './curve.ts';
import { allocationRules, RewardRules } from './rules.ts';
import { pointsOfDay } from './snapshot.ts';

/** Refreshing takes at most this part of the time: after one that took a second, twenty pass until the next. */
const COST = 20;

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

/** What the running day would give if it ended now: what decides each amount, and how the pool is spread. */
export const Projection = z.object({
  rules: RewardRules,
  shares: StoredShares,
  /** Wallets with points. */
  participants: z.int(),
  points: Units,
  /** What they would get together. */
  total: Units,
  curve: Curve,
});
export type Projection = z.output<typeof Projection>;

/** What there is of the running day, and whether it is still so. */
export interface Outlook {
  day: number;
  /** Ledger rows of the day by now, and the version of the rules. */
  entries: string;
  /** As stored; null while there is none. */
  projection: z.input<typeof Projection> | null;
  at: string | null;
  tookMs: number;
  /** Points or rules have changed since. */
  stale: boolean;
  /** Enough time has passed for another one. */
  due: boolean;
}

const selectOutlook = statement<Outlook>(
  'select_projection_outlook',
  `with today as materialized (select app_day() as day),
   given as (select coalesce(sum(t.entries), 0)::int8 as entries from point_totals t, today d where t.day = d.day and mode = 'regular' and kind <> 'conversion'),
   rules as (select coalesce(max(version), 0) as version from settings where name = 'rewards')
   select d.day, g.entries::text as entries, p.projection, ${instant('p.at')} as at, coalesce(p.took_ms, 0) as "tookMs",
     (p.entries, p.rules_version) is distinct from (g.entries, r.version) as stale,
     coalesce(app_now() > p.at + make_interval(secs => greatest(0.5, p.took_ms * ${COST} / 1000.0)), true) as due
   from today d cross join given g cross join rules r left join reward_projections p on p.day = d.day`,
);

export async function readOutlook(db: Queryable): Promise<Outlook> {
  const row = (await db.query(selectOutlook))[0];
  if (!row) throw new Error('the database told no day');
  return row;
}

const upsertProjection = statement(
  'upsert_projection',
  `insert into reward_projections (day, entries, rules_version, projection, took_ms, at) values ($1, $2::int8, $3, $4, $5, app_now())
   on conflict (day) do update set entries = excluded.entries, rules_version = excluded.rules_version, projection = excluded.projection,
     took_ms = excluded.took_ms, at = excluded.at`,
);
const forgetProjections = statement('forget_projections', 'delete from reward_projections where day < $1::int - 1');

/** Computes what the running day would give, by the very function that will decide it, if anything has changed since the last time. */
export async function projectDay(app: App): Promise<void> {
  // Counted before the points are read: what comes in between makes the result newer than it says, never older.
  const { day, entries, stale, due } = await readOutlook(app.db);
  if (!stale || !due) return;
  const begin = performance.now();
  await app.tx(async (tx) => {
    const { rules, version } = await readRules(tx);
    const projection = await buildFrom(pointsOfDay(tx, day), async (builder) => {
      const { shares, wallets, points, total, curve } = await builder.allocate(allocationRules(rules));
      return Projection.encode({ rules, shares, participants: wallets, points, total, curve: [...curve] });
    });
    const tookMs = Math.round(performance.now() - begin);
    await tx.query(upsertProjection, [day, entries, version, JSON.stringify(projection), tookMs]);
    await tx.query(forgetProjections, [day]);
  });
}

/** The projection of a day on which nobody has points yet. */
export function emptyProjection(rules: RewardRules): Projection {
  const { shares, amounts, total } = allocate(allocationRules(rules), new BigInt64Array(0), () => '');
  return { rules, shares, participants: 0, points: 0n, total, curve: distributionCurve(amounts, BigInt(rules.pool)) };
}

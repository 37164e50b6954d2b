import { sql } from 'kysely';
import {
  appendPoints,
  type LedgerEntry,
  lockPlayers,
  type OpenDay,
  type Operation,
  openDay,
  REVOKE,
  readEntriesOfCause,
  readTotals,
  revokeEntries,
  type StoredEntry,
  scheduleRefresh,
} from '#areas/points';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { profileTables } from './entities.ts';

/** Multiplier that makes a rate an integer, because a rate has at most six decimals. */
const RATE_SCALE = 1_000_000n;

/** The result of a conversion. `id` is null when no points were converted. */
export interface ConversionOutcome {
  id: string | null;
  wallet: string;
  rate: string;
  /** Converted beta points. */
  betaPoints: number;
  /** Resulting regular points. */
  points: number;
  /** Beta points of the wallet after the conversion. */
  betaTotal: number;
  /** Regular points of the wallet after the conversion. */
  total: number;
}

const insert = statement(
  'insert_beta_conversion',
  `with conversion as (
     insert into beta_conversions (id, wallet, rate, beta_points, points, converted_by, at)
     values ($1, $2, $3::text::numeric, $4::int8, $5::int8, $6, $7) returning wallet, beta_points, points)
   update players p set converted_beta = p.converted_beta + c.beta_points, converted_points = p.converted_points + c.points
   from conversion c where p.wallet = c.wallet`,
);

/**
 * Returns `floor(points × rate)`.
 * @param rate regular points per beta point, a decimal string with at most six decimals
 */
export function convertPoints(points: number, rate: string): bigint {
  const [whole = '0', fraction = ''] = rate.split('.');
  return (BigInt(points) * BigInt(whole + fraction.padEnd(6, '0'))) / RATE_SCALE;
}

/** A conversion that an operator requests. */
interface RequestedConversion {
  readonly wallet: string;
  /** Regular points per beta point, a decimal string with at most six decimals. */
  readonly rate: string;
}

/** Reads the points of a wallet by mode, and the regular points that a conversion of its beta points gives. */
export async function readConversion(tx: Tx, { wallet, rate }: RequestedConversion): Promise<{ total: number; betaTotal: number; points: bigint }> {
  const totals = await Promise.all((['regular', 'beta'] as const).map((mode) => readTotals(tx, mode, [{ board: 'global', wallet }])));
  const [total = 0, betaTotal = 0] = totals.map(([row]) => row?.total);
  return { total, betaTotal, points: betaTotal > 0 ? convertPoints(betaTotal, rate) : 0n };
}

/**
 * Converts all current beta points of a wallet into regular points, which count on all-time boards only. Locks the wallet, so that a concurrent beta
 * score is included completely or left for the next conversion. Does nothing when the result is 0 points.
 * @throws 404 when the wallet never signed in; 409 when it is banned; 400 when the total would exceed the largest exact integer of a JavaScript
 * number
 */
export async function convertBeta(tx: Tx, { wallet, rate, by }: RequestedConversion & { by: string }): Promise<ConversionOutcome> {
  const open = await openDay(tx);
  const player = (await lockPlayers(tx, [wallet])).get(wallet);
  if (!player) throw fail(404, 'the wallet has never signed in');
  // Rejects a banned wallet. After a ban, a job takes back the points of the wallet's scores, but this job would not take back converted points.
  if (player.banned) throw fail(409, 'wallet must not be banned');
  const { total, betaTotal, points } = await readConversion(tx, { wallet, rate });
  if (points === 0n) return { id: null, wallet, rate, betaPoints: 0, points: 0, betaTotal, total };
  if (BigInt(total) + points > Number.MAX_SAFE_INTEGER) throw fail(400, 'rate must be lower, because the total points would exceed the maximum');

  const id = newId();
  const cause = { wallet, kind: 'conversion', reason: 'conversion', source: 'conversion', sourceId: id, rewards: false } as const;
  const entries: LedgerEntry[] = [
    { ...cause, mode: 'regular', points: Number(points), factors: { rate, betaPoints: betaTotal } },
    { ...cause, mode: 'beta', points: -betaTotal, factors: { rate, points: Number(points) } },
  ];
  await tx.query(insert, [id, wallet, rate, betaTotal, String(points), by, open.at.toISOString()]);
  await scheduleRefresh(tx, await appendPoints(tx, open, entries));
  return { id, wallet, rate, betaPoints: betaTotal, points: Number(points), betaTotal: 0, total: total + Number(points) };
}

const subtract = statement(
  'subtract_conversion',
  `update players p set converted_beta = p.converted_beta - c.beta_points, converted_points = p.converted_points - c.points
   from beta_conversions c where c.id = $1 and p.wallet = c.wallet`,
);

/**
 * Reverses a conversion: takes the regular points back, and gives the beta points back. A later conversion converts them again.
 * @param entry one of the two ledger entries of the conversion
 * @throws 409 when the conversion is revoked already
 */
export async function revokeConversion(tx: Tx, open: OpenDay, entry: StoredEntry, operation: Operation): Promise<void> {
  await lockPlayers(tx, [entry.wallet]);
  await revokeEntries(tx, open, await readEntriesOfCause(tx, { source: 'conversion', sourceId: entry.sourceId, reason: 'conversion' }), operation);
  await tx.query(subtract, [entry.sourceId]);
}

const build = queryBuilder(profileTables);

/** Reads the newest conversions of a wallet, at most 20. */
export async function readNewestConversions(db: Queryable, wallet: string) {
  const conversions = build
    .selectFrom('beta_conversions')
    .select(['id', sql<string>`trim_scale(rate)::text`.as('rate'), sql<number>`beta_points::float8`.as('betaPoints')])
    .select([sql<number>`points::float8`.as('points'), isoInstant('at').as('at')])
    .select(
      sql<boolean>`exists (select from ledger l where l.source_id = beta_conversions.id::text and l.source = 'conversion'
        and l.cause_day = cause_day('conversion', beta_conversions.id::text) and l.wallet = beta_conversions.wallet and l.reason = ${sql.lit(REVOKE)})`.as(
        'revoked',
      ),
    )
    .where('wallet', '=', wallet);
  return await run(db, conversions.orderBy('beta_conversions.at', 'desc').orderBy('id', 'desc').limit(20));
}

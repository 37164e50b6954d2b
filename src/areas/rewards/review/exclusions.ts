import { sql } from 'kysely';
import { isoInstant, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { pointsOn } from '../epochs/snapshot.ts';
import { build } from '../query-builder.ts';
import { type Gates, selectFailing } from './gates.ts';

/** Public reason of the cause `ban`. The reason that the operator gave for the ban is not public. */
const BAN_REASON = 'the wallet is banned';

/** The cause of an exclusion. `rule`: the wallet does not meet a condition of the reward rules. */
export const CAUSES = ['operator', 'ban', 'rule'] as const;
type Cause = (typeof CAUSES)[number];

/** Returns a query for the wallets that are excluded from an allocation of an epoch. */
export const selectExcluded = (epoch: number, allocation: number): string =>
  `select wallet from reward_exclusions where epoch = ${Math.trunc(epoch)} and from_allocation <= ${Math.trunc(allocation)}
     and (to_allocation is null or to_allocation > ${Math.trunc(allocation)})`;

/** Returns a query for the wallets that would be excluded from the epoch of a day if it were computed at present. */
export const selectExpected = (day: number, gates: Gates): string =>
  `select wallet from players where banned_at is not null union all select wallet from (${selectFailing(day, gates)}) f`;

const insertBanned = statement<{ wallet: string }>(
  'insert_ban_exclusions',
  `insert into reward_exclusions (epoch, wallet, cause, from_allocation, reason)
   select $1::int, p.wallet, 'ban', $2::smallint, '${BAN_REASON}' from players p where p.banned_at is not null and ${pointsOn('$1::int', 'p.wallet')} > 0
     and not exists (select from reward_exclusions x where x.epoch = $1::int and x.wallet = p.wallet and x.cause = 'ban' and x.to_allocation is null)
   returning wallet`,
);
const selectUnbanned = statement<{ wallet: string }>(
  'select_unbanned_exclusions',
  `select x.wallet from reward_exclusions x where x.epoch = $1 and x.cause = 'ban' and x.to_allocation is null
     and not exists (select from players p where p.wallet = x.wallet and p.banned_at is not null)`,
);

/**
 * Excludes the banned wallets with points on the day of an epoch, and ends the exclusions of wallets whose ban was lifted.
 * Precondition: the row of the epoch is locked.
 * @param next number of the first allocation that the changes apply to
 * @returns the number of changes
 */
export async function applyBans(tx: Tx, epoch: number, next: number): Promise<number> {
  const banned = await tx.query(insertBanned, [epoch, next]);
  const unbanned = await tx.query(selectUnbanned, [epoch]);
  const wallets = unbanned.map(({ wallet }) => wallet);
  return banned.length + (await endExclusions(tx, { epoch, next, cause: 'ban', wallets })).length;
}

/** Excludes the wallets that do not meet the conditions in the reward rules from all allocations of an epoch. Call it once, for allocation 1. */
export async function applyGates(tx: Tx, epoch: number, gates: Gates): Promise<void> {
  await tx.query({
    text: `insert into reward_exclusions (epoch, wallet, cause, from_allocation, reason)
      select ${Math.trunc(epoch)}, f.wallet, 'rule', 1, f.reason from (${selectFailing(epoch, gates)}) f`,
  });
}

const insertChosen = statement<{ wallet: string }>(
  'insert_operator_exclusions',
  `insert into reward_exclusions (epoch, wallet, cause, from_allocation, reason, excluded_by)
   select $1::int, w.wallet, 'operator', $2::smallint, $4, $5 from unnest($3::text[]) w(wallet)
   where not exists (
     select from reward_exclusions x where x.epoch = $1::int and x.wallet = w.wallet and x.cause = 'operator' and x.to_allocation is null)
   returning wallet`,
);
const selectPointless = statement<{ wallet: string }>(
  'select_wallets_without_points',
  `select w.wallet from unnest($2::text[]) w(wallet) where not coalesce(${pointsOn('$1::int', 'w.wallet')} > 0, false)`,
);

/** Returns those of the given wallets that have no points on the day of an epoch. */
export const withoutPoints = async (db: Queryable, epoch: number, wallets: readonly string[]): Promise<string[]> =>
  (await db.query(selectPointless, [epoch, wallets])).map(({ wallet }) => wallet);

/** Excludes wallets on the request of an operator. Wallets that an operator excluded before keep their earlier reason. @returns the number of changes */
export async function insertExclusions(
  tx: Tx,
  { epoch, next, wallets, reason, by }: { epoch: number; next: number; wallets: readonly string[]; reason: string; by: string },
): Promise<number> {
  return (await tx.query(insertChosen, [epoch, next, [...new Set(wallets)], reason, by])).length;
}

// An exclusion that no allocation includes yet is deleted, because it was never in force.
const endChosen = statement<{ wallet: string }>(
  'end_exclusions',
  `with standing as (
     select epoch, wallet, cause, from_allocation from reward_exclusions
     where epoch = $1 and cause = $3 and wallet = any($4::text[]) and to_allocation is null),
   deleted as (
     delete from reward_exclusions x using standing s
     where (x.epoch, x.wallet, x.cause, x.from_allocation) = (s.epoch, s.wallet, s.cause, s.from_allocation) and s.from_allocation = $2::smallint
     returning x.wallet::text as wallet),
   ended as (
     update reward_exclusions x set to_allocation = $2::smallint from standing s
     where (x.epoch, x.wallet, x.cause, x.from_allocation) = (s.epoch, s.wallet, s.cause, s.from_allocation) and s.from_allocation < $2::smallint
     returning x.wallet::text as wallet)
   select wallet from deleted union all select wallet from ended`,
);

/** Ends exclusions. Precondition: the row of the epoch is locked. @returns the wallets whose exclusions ended */
export async function endExclusions(
  tx: Tx,
  { epoch, next, cause, wallets }: { epoch: number; next: number; cause: Cause; wallets: readonly string[] },
): Promise<string[]> {
  return wallets.length === 0 ? [] : (await tx.query(endChosen, [epoch, next, cause, wallets])).map(({ wallet }) => wallet);
}

interface Exclusion {
  wallet: string;
  cause: Cause;
  reason: string;
  at: string;
}

/** Returns one page of the exclusions of an allocation in the order of the addresses, and the number of all of them. */
export async function listExclusions(
  db: Queryable,
  { epoch, allocation, limit, offset }: { epoch: number; allocation: number; limit: number; offset: number },
): Promise<{ exclusions: Exclusion[]; total: number }> {
  const inForce = build
    .selectFrom('reward_exclusions')
    .where('epoch', '=', epoch)
    .where('from_allocation', '<=', allocation)
    .where(({ eb, or }) => or([eb('to_allocation', 'is', null), eb('to_allocation', '>', allocation)]));
  const page = inForce
    .select(['wallet', 'cause', 'reason', isoInstant('at').as('at')])
    .orderBy('wallet')
    .orderBy('cause');
  const [rows, counted] = await Promise.all([
    run(db, page.limit(limit).offset(offset)),
    run(db, inForce.select(sql<number>`count(*)::int`.as('total'))),
  ]);
  return { exclusions: rows, total: counted[0]?.total ?? 0 };
}

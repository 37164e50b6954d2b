import { sql } from 'kysely';
import { statement } from '#platform/db/sql.ts';
import { build } from '../build.ts';

/** A lane of payouts: a durable-nonce account, and the batch that uses it at present. */
export interface Lane {
  lane: number;
  /** Address of the nonce account. Its authority is the fee payer that was configured when the account was opened. */
  address: string;
  authority: string;
  /** Nonce for the next batch; null before the account was read for the first time. */
  nonce: string | null;
  /** Finalized slot at which `nonce` was read. */
  nonceSlot: number;
  batch: string | null;
  /** Signature of the newest transaction in the database that used a nonce of the lane. */
  landed: string | null;
  landedSlot: number;
  /** Whether a transaction may have used `nonce` since it was read from the account. */
  stale: boolean;
  /**
   * Whether an operator decided to continue with the present nonce of the account, although the transaction that used the stored nonce is not known.
   */
  accepted: boolean;
  /** Reason why no batch can use the lane at present; null when there is none. */
  reason: string | null;
  /** Time since which the lane has a reason, as a duration in ms; null without a reason. */
  waited: number | null;
}

export const selectLanes = build
  .selectFrom('payout_lanes')
  .select(({ cast }) => [
    ...(['lane', 'address', 'authority', 'nonce', 'batch', 'landed', 'stale', 'accepted', 'reason'] as const),
    cast<number>('nonce_slot', 'float8').as('nonceSlot'),
    cast<number>('landed_slot', 'float8').as('landedSlot'),
    sql<number | null>`extract(epoch from app_now() - waiting_since)::float8 * 1000`.as('waited'),
  ])
  .orderBy('lane');
export const selectLane = (lane: number) => selectLanes.where('lane', '=', lane);

/**
 * Inserts a lane. If the lane exists with the nonce account of an earlier fee payer, stores the nonce account of the present fee payer instead. Does
 * not change a lane that is stale or that a batch uses.
 */
export const insertLane = statement(
  'insert_payout_lane',
  `insert into payout_lanes as l (lane, address, authority) values ($1, $2, $3)
   on conflict (lane) do update set address = excluded.address, authority = excluded.authority, nonce = null, nonce_slot = 0,
     landed = null, landed_slot = 0, stale = true, reason = null, waiting_since = null, changed_at = app_now()
   where l.address <> excluded.address and l.batch is null and not l.stale`,
);

/** Marks lanes as stale, because a transaction may have used their nonce since the nonce was read. */
export const markStale = (lanes: readonly number[]) =>
  build.updateTable('payout_lanes').set({ stale: true }).where('lane', '=', sql<number>`any(${lanes}::smallint[])`).where('stale', '=', false);

/**
 * Stores the present nonce of the lane's account and sets `stale` to false. Skips a lane that a batch uses, and a lane whose account or nonce has
 * changed since the caller read the row.
 */
export const settleLane = statement<{ lane: number }>(
  'settle_payout_lane',
  `update payout_lanes set nonce = $3, nonce_slot = $4::int8, landed = coalesce($5, landed), landed_slot = greatest(landed_slot, $6::int8),
     stale = false, accepted = false, reason = null, waiting_since = null, changed_at = app_now()
   where lane = $1 and address = $2 and nonce is not distinct from $7 and batch is null and nonce_slot <= $4::int8 returning lane::int`,
);

/** Stores the reason why a lane waits. Sets `stale`, so that the planner reads the lane again soon. */
export const storeReason = statement(
  'store_reason_of_payout_lane',
  `update payout_lanes set reason = $3, waiting_since = coalesce(waiting_since, app_now()), stale = true
   where lane = $1 and address = $2 and nonce is not distinct from $4 and (reason is distinct from $3 or not stale)`,
);

/** Selects the lanes that have a pending payment that is due. Reads one index entry per lane and currency. */
export const selectLanesInDemand = statement<{ lane: number }>(
  'select_payout_lanes_in_demand',
  `select distinct n::int as lane
   from generate_series(0, (select coalesce(max(lane), -1) from payments where payer = 'treasury' and state = 'pending')) n
   cross join unnest($1::text[]) as c(currency)
   where (select p.next_at from payments p where p.lane = n and p.currency = c.currency and p.state = 'pending' and p.payer = 'treasury'
     order by p.next_at limit 1) <= (select app_now())
   order by 1`,
);

/** Locks a lane if no batch uses the lane, the lane is not stale, and its nonce still equals the nonce of the planned batch. */
export const lockLane = statement<{ lane: number }>(
  'lock_payout_lane',
  `select lane::int from payout_lanes where lane = $1 and address = $2 and nonce = $3 and batch is null and not stale for update skip locked`,
);

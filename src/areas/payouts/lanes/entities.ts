import { defineEntity } from '@mikro-orm/core';
import { array, bigint, boolean, byteText, checks, index, integer, jsonb, oneOf, smallint, text, timestamp, uuid } from '#platform/db/columns.ts';

/** A token transfer, as the instruction TransferChecked gives it. */
export interface Transfer {
  readonly to: string;
  readonly mint: string;
  /** Amount in base units, as text. */
  readonly amount: string;
}

/** A row is a payout lane: one durable nonce account, which at most one batch uses at a time. */
export const PayoutLanesTable = defineEntity({
  name: 'PayoutLanes',
  tableName: 'payout_lanes',
  properties: {
    lane: smallint().primary(),
    /** Address of the nonce account. */
    address: byteText(),
    /** The fee payer that was configured when the account was opened. */
    authority: byteText(),
    /** Value that the next batch uses; null until the worker has read the account. */
    nonce: byteText().nullable(),
    /** Finalized slot at which the nonce was read. */
    nonceSlot: bigint().defaultRaw('0'),
    /** The live batch of the lane; references `payout_batches`. */
    batch: uuid().nullable(),
    /** Signature of the last transaction that is known to have used the nonce. */
    landed: byteText().nullable(),
    /** Slot of this transaction. */
    landedSlot: bigint().defaultRaw('0'),
    /** Whether a transaction may have used the nonce since the worker read the account. */
    stale: boolean().default(true),
    /** Whether an operator has accepted the nonce that the account has now. */
    accepted: boolean().default(false),
    changedAt: timestamp().defaultRaw('app_now()'),
    /** Reason why no batch can use the lane at present; null when there is none. */
    reason: text().nullable(),
    /** Time since which the lane has a reason. */
    waitingSince: timestamp().nullable(),
  },
  checks: checks('lane >= 0', '(reason is null) = (waiting_since is null)'),
  uniques: [{ name: 'payout_lanes_address_key', properties: ['address'] }],
});

/**
 * A row is a history of a lane's nonce account that is being read, from the newest transaction back to the slot `floor`. It exists while the database
 * does not know which transaction used the nonce of the lane.
 */
export const PayoutLaneScansTable = defineEntity({
  name: 'PayoutLaneScans',
  tableName: 'payout_lane_scans',
  properties: {
    lane: smallint().primary(),
    /** Address of the nonce account. */
    address: byteText(),
    /** Transactions up to this slot need not be read. */
    floor: bigint(),
    /** Slot of the newest transaction that was read; null at the beginning. */
    topSlot: bigint().nullable(),
    /** Signature of the oldest transaction that was read; null at the beginning. */
    before: byteText().nullable(),
    /** Slot of the transaction that opened the account; null when it was not read. */
    openedSlot: bigint().nullable(),
    /** Number of transactions that the RPC node listed, and number of these that were read. */
    listed: integer().default(0),
    read: integer().default(0),
    /** Whether every transaction between `floor` and `topSlot` was read. */
    complete: boolean().default(false),
    /** Time until which one run may read the next part alone; null while no run reads. */
    readingUntil: timestamp().nullable(),
    startedAt: timestamp().defaultRaw('app_now()'),
    changedAt: timestamp().defaultRaw('app_now()'),
  },
});

/** A row is a transaction that names the nonce account of a lane, and that is not among the attempts in the database. */
export const PayoutFindingsTable = defineEntity({
  name: 'PayoutFindings',
  tableName: 'payout_findings',
  properties: {
    signature: byteText().primary(),
    lane: smallint(),
    /** Address of the nonce account. */
    address: byteText(),
    /** Nonce that the transaction used; null when it used none. */
    nonce: byteText().nullable(),
    slot: bigint(),
    /** Batch id in the memo of the transaction; null when the transaction has no memo of a batch. */
    batch: uuid().nullable(),
    /** Members hash in the memo. */
    membersHash: text().nullable(),
    transfers: jsonb<Transfer[]>(),
    /**
     * harmless: failed on the chain, or only advances the nonce. unmatched: moves tokens, and no open payment explains the transfer,
     * so payouts are paused. matched: paid the payments in `payments`. acknowledged: was unmatched, and an operator has checked it.
     */
    verdict: oneOf('harmless', 'unmatched', 'matched', 'acknowledged'),
    reason: text().nullable(),
    /** Ids of the payments that the transaction paid. */
    payments: array('uuid').defaultRaw("'{}'::uuid[]"),
    /** Name of the admin token with which the transaction was acknowledged. */
    decidedBy: text().nullable(),
    foundAt: timestamp().defaultRaw('app_now()'),
    changedAt: timestamp().defaultRaw('app_now()'),
  },
  indexes: [
    index('create index payout_findings_nonce on payout_findings (address, nonce) where nonce is not null'),
    index("create index payout_findings_unmatched on payout_findings (found_at) where verdict = 'unmatched'"),
  ],
});

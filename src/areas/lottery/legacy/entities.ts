import { defineEntity } from '@mikro-orm/core';
import { bigint, byteText, checks, index, integer, reference, timestamp } from '#platform/db/columns.ts';
import { RoundsTable } from '../entities.ts';

/**
 * A row is the reader of the transactions that name a token account of the treasury. It lists them from the newest back to those that were listed
 * before. The listing may take several runs.
 */
export const TicketScansTable = defineEntity({
  name: 'TicketScans',
  tableName: 'ticket_scans',
  properties: {
    account: byteText().primary(),
    /** Slot up to which every transaction was listed; 0 before the first listing has ended. */
    doneSlot: bigint().defaultRaw('0'),
    /** Slot of the newest transaction of the current listing; null while no listing has begun. */
    headSlot: bigint().nullable(),
    /** Signature of the oldest transaction that the current listing has listed; null while no listing has begun. */
    before: byteText().nullable(),
    /** Time from which a listing also lists the slots shortly before `doneSlot` again, because RPC nodes may index a transaction late. */
    relistAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('(head_slot is null) = (before is null)'),
});

/** A row is a transaction whose memo names a legacy round with paid tickets. It may be the payment of a ticket that no wallet requested. */
export const TicketPaymentsTable = defineEntity({
  name: 'TicketPayments',
  tableName: 'ticket_payments',
  properties: {
    signature: byteText().primary(),
    round: reference(RoundsTable, 'round'),
    slot: bigint(),
    /** Number of attempts to read the transaction. */
    tries: integer().default(0),
    /**
     * Time from which a run may read the transaction. The first seconds are left to the wallet, which may name the transaction in a request. A run that
     * leases the transaction sets a later time.
     */
    nextAt: timestamp().defaultRaw("(app_now() + '00:00:05'::interval)"),
    foundAt: timestamp().defaultRaw('app_now()'),
    /** Time at which the transaction was read, and its ticket recorded if it pays for one; null before. */
    readAt: timestamp().nullable(),
  },
  indexes: [
    index('create index ticket_payments_read on ticket_payments (read_at) where read_at is not null'),
    index('create index ticket_payments_unread on ticket_payments (round, slot) where read_at is null'),
  ],
});

/** Tables of the reader that finds payments for tickets. */
export const ticketPaymentTables = [TicketPaymentsTable, TicketScansTable] as const;

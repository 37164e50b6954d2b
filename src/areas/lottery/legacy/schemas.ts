import { z } from 'zod';
import { CURRENCIES, PAYMENT_STATES } from '#areas/payouts';
import { RoundId, Units } from '#lib/draw/bytes.ts';
import { Count, decodeBase58, Id, Instant, Wallet } from '#lib/scalars.ts';
import { Receipt } from '../receipts.ts';
import { TICKET_STATES } from './rows.ts';

const MOST_PRICE = 10n ** 12n;
/** Tickets of a round, also where it names no limit. */
export const MOST_TICKETS = 1_000_000;
const SIGNATURE = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';

/** How a legacy round is asked for. */
export const LegacyRoundTerms = z
  .strictObject({
    ticketPrice: Units.refine((text) => text.length < 20 && BigInt(text) <= MOST_PRICE, `must be at most ${MOST_PRICE}`).meta({
      description: 'Stablecoin base units; "0": free, one for each wallet.',
      example: '1000000',
    }),
    maxTickets: z.int().min(1).max(MOST_TICKETS).optional().meta({ description: 'A million, where it is left out.', example: 500 }),
    closesAt: Instant.optional().meta({ description: 'In the future, at most 30 days ahead; 24 hours ahead where it is left out.' }),
  })
  .meta({ id: 'LegacyRoundTerms', example: { ticketPrice: '1000000', maxTickets: 500 } });
export type LegacyRoundTerms = z.output<typeof LegacyRoundTerms>;

/** The signature of a transaction: base58 of 64 bytes. Two texts are never the same signature. */
const Signature = z
  .string()
  .min(64, 'must be the signature of a transaction (base58 of 64 bytes)')
  .max(88, 'must be the signature of a transaction (base58 of 64 bytes)')
  .refine((text) => decodeBase58(text)?.length === 64, 'must be the signature of a transaction (base58 of 64 bytes)');

/** What a ticket is asked for with. */
export const TicketRequest = z
  .strictObject({
    transaction: Signature.optional().meta({
      description: 'The signature of the transaction that pays for the ticket; left out where tickets are free.',
      example: SIGNATURE,
    }),
  })
  .meta({ id: 'TicketRequest', example: { transaction: SIGNATURE } });

/** Identifies a ticket in a path. */
export const TicketPath = z.object({ id: RoundId, ticketId: Id.meta({ description: 'The ticket.' }) });

const Refund = z
  .strictObject({
    paymentId: Id,
    amount: Units.meta({ description: 'Base units.', example: '1000000' }),
    currency: z.enum(CURRENCIES),
    status: z.enum(PAYMENT_STATES).meta({ description: 'How the payment goes; `completed` is final.' }),
    signature: z.string().nullable().meta({ description: 'Of the transaction that paid it back.' }),
  })
  .meta({ id: 'TicketRefund' });

/** A ticket as it stands. */
export const TicketView = z
  .strictObject({
    ticketId: Id,
    roundId: RoundId,
    wallet: Wallet,
    status: z.enum(TICKET_STATES).meta({
      description:
        'checking: the transaction is waited for. confirmed: it counts. refused: it does not. refunded: it counted, and the round was void. ' +
        'What a refused or refunded ticket was paid with is paid back.',
    }),
    ticketNumber: Count.nullable().meta({
      description: 'Its index among the tickets of the round, from 0: what is drawn. null where it does not count.',
    }),
    transaction: z
      .strictObject({
        signature: z.string().meta({ example: SIGNATURE }),
        status: z.enum(['pending', 'finalized', 'not-found']).meta({ description: 'pending: not known to be final yet.' }),
      })
      .nullable()
      .meta({ description: 'null where tickets are free.' }),
    receipt: Receipt.nullable().meta({ description: 'Shows that the ticket was accepted; null where it does not count.' }),
    reason: z.string().nullable().meta({ description: 'Why it was refused.', example: null }),
    refunds: z.array(Refund).meta({ description: 'What is paid back: one for each currency.' }),
    requestedAt: Instant,
    decidedAt: Instant.nullable(),
  })
  .meta({ id: 'Ticket' });
export type TicketView = z.output<typeof TicketView>;

/** A legacy round that is drawn. */
export const LegacyResult = z
  .strictObject({
    winningTicket: Count.meta({ description: 'Its index, from 0.', example: 41 }),
    winner: Wallet,
    prizePool: Units.meta({ description: 'Stablecoin base units.', example: '12000000' }),
    payout: z
      .strictObject({
        paymentId: Id,
        status: z.enum(PAYMENT_STATES).meta({ description: 'How the payment goes; `completed` is final.' }),
        signature: z.string().nullable().meta({ description: 'Of the transaction that paid it, from confirmed on.' }),
      })
      .nullable()
      .meta({ description: 'null where tickets were free: there is no prize.' }),
  })
  .meta({ id: 'LegacyResult' });

import { z } from 'zod';
import { CURRENCIES, PAYMENT_STATES } from '#areas/payouts';
import { VoidReason } from '#lib/draw/audit.ts';
import { RoundId, Units } from '#lib/draw/bytes.ts';
import { Count, decodeBase58, Id, Instant, Wallet } from '#lib/scalars.ts';
import { TICKET_STATES } from '../entities.ts';
import { Receipt } from '../receipts.ts';
import { EntryRuleTerms } from '../terms.ts';

const MAX_PRICE = 10n ** 12n;
/** Maximum tickets of a round. */
export const MAX_TICKETS = 1_000_000;
const SIGNATURE = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';

/** The terms of a legacy round. */
export const LegacyRoundTerms = z
  .strictObject({
    ticketPrice: Units.refine((text) => text.length < 20 && BigInt(text) <= MAX_PRICE, `must be at most ${MAX_PRICE}`).meta({
      description: 'Price in base units of the stablecoin; "0" means free, with one ticket per wallet.',
      example: '1000000',
    }),
    maxTickets: z.int().min(1).max(MAX_TICKETS).optional().meta({ description: 'Maximum tickets of the round; default 1,000,000.', example: 500 }),
    closesAt: Instant.optional().meta({ description: 'Closing time: in the future and at most 30 days ahead; default 24 hours ahead.' }),
    entryRules: EntryRuleTerms.default({}).meta({
      description: 'Terms that a wallet must meet to get a ticket; the request of another wallet is refused (403).',
      example: {},
    }),
  })
  .meta({ id: 'LegacyRoundTerms', example: { ticketPrice: '1000000', maxTickets: 500 } });
export type LegacyRoundTerms = z.output<typeof LegacyRoundTerms>;

/** The signature of a transaction: base58 of 64 bytes. Each signature has exactly one base58 text, so equal signatures have equal texts. */
const Signature = z
  .string()
  .min(64, 'must be the signature of a transaction (base58 of 64 bytes)')
  .max(88, 'must be the signature of a transaction (base58 of 64 bytes)')
  .refine((text) => decodeBase58(text)?.length === 64, 'must be the signature of a transaction (base58 of 64 bytes)');

/** The request for a ticket. */
export const TicketRequest = z
  .strictObject({
    transaction: Signature.optional().meta({
      description: 'Signature of the transaction that pays for the ticket; omitted when tickets are free.',
      example: SIGNATURE,
    }),
  })
  .meta({ id: 'TicketRequest', example: { transaction: SIGNATURE } });

/** Identifies a ticket in a path. */
export const TicketPath = z.object({ id: RoundId.meta({ description: 'The round’s id.' }), ticketId: Id.meta({ description: 'The ticket’s id.' }) });

const Refund = z
  .strictObject({
    paymentId: Id,
    amount: Units.meta({ description: 'The amount in base units.', example: '1000000' }),
    currency: z.enum(CURRENCIES),
    status: z.enum(PAYMENT_STATES).meta({ description: 'Status of the payment; `completed` is final.' }),
    signature: z.string().nullable().meta({ description: 'Signature of the refund’s transaction.' }),
  })
  .meta({ id: 'TicketRefund' });

/** A ticket and its status. */
export const TicketView = z
  .strictObject({
    ticketId: Id,
    roundId: RoundId,
    wallet: Wallet,
    status: z.enum(TICKET_STATES).meta({
      description:
        'checking: the service waits for the transaction. confirmed: the ticket is accepted. refused: the ticket is not accepted; its payment is refunded.',
    }),
    ticketNumber: Count.nullable().meta({
      description: 'Index among the tickets of the round, starting at 0; the draw selects this number. null when the ticket is not confirmed.',
    }),
    transaction: z
      .strictObject({
        signature: z.string().meta({ example: SIGNATURE }),
        status: z
          .enum(['pending', 'finalized', 'not-found'])
          .meta({ description: 'pending: the transaction is not finalized yet. not-found: the RPC node does not know it.' }),
      })
      .nullable()
      .meta({ description: 'The paying transaction; null for a free ticket.' }),
    receipt: Receipt.nullable().meta({ description: 'Signed proof that the ticket was accepted; null when the ticket is not confirmed.' }),
    reason: z.string().nullable().meta({ description: 'Reason of the refusal; null when the ticket was not refused.', example: null }),
    refunds: z.array(Refund).meta({ description: 'Refunds of the ticket, one per currency.' }),
    requestedAt: Instant,
    decidedAt: Instant.nullable(),
  })
  .meta({ id: 'Ticket' });
export type TicketView = z.output<typeof TicketView>;

/** The result of an ended legacy round. */
export const LegacyResult = z
  .strictObject({
    status: z.enum(['finalized', 'void']).meta({ description: 'finalized: the winner is drawn. void: the round ended without a draw.' }),
    voidReason: VoidReason.nullable().meta({
      description: 'Reason why the round is void, for example `no-entries` for a round without tickets; null when it is drawn.',
      example: null,
    }),
    winningTicket: Count.nullable().meta({ description: 'Index of the winning ticket, starting at 0; null when the round is void.', example: 41 }),
    winner: Wallet.nullable().meta({ description: 'The wallet of the winning ticket; null when the round is void.' }),
    prizePool: Units.meta({ description: 'The prize in base units of the stablecoin; "0" when the round is void.', example: '12000000' }),
    payout: z
      .strictObject({
        paymentId: Id,
        status: z.enum(PAYMENT_STATES).meta({ description: 'Status of the payment; `completed` is final.' }),
        signature: z.string().nullable().meta({ description: 'Signature of the paying transaction; set when the payment is confirmed.' }),
      })
      .nullable()
      .meta({ description: 'Payment of the prize; null when there is no prize: tickets were free, or the round is void.' }),
  })
  .meta({ id: 'LegacyResult' });

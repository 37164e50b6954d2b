import { z } from 'zod';
import { Id, Instant, line, Wallet } from '#lib/scalars.ts';
import { CURRENCIES, PAYERS, PAYMENT_STATES } from './payments.ts';
import { isSignature } from './transfers.ts';

const MOST_UNITS = 18_446_744_073_709_551_615n;
const AMOUNT = 'must be a whole number of base units, as text, from 1 to 18446744073709551615';

/** Base units that are paid: a decimal string from 1 to 2^64 − 1. */
const PaidAmount = z
  .string(AMOUNT)
  .refine((text) => /^[1-9]\d{0,19}$/.test(text) && BigInt(text) <= MOST_UNITS, AMOUNT)
  .meta({ example: '2500000', description: 'Base units.' });

const Currency = z.enum(CURRENCIES, `must be ${CURRENCIES.join(' or ')}`);
const Status = z.enum(PAYMENT_STATES, `must be one of ${PAYMENT_STATES.join(', ')}`);

const SIGNATURE = 'must be the signature of a transaction (base58 of 64 bytes)';
const Signature = z
  .string(SIGNATURE)
  .refine(isSignature, SIGNATURE)
  .meta({ example: '5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv' });

export const PaymentView = z
  .strictObject({
    id: Id,
    wallet: Wallet,
    currency: Currency,
    amount: PaidAmount,
    cause: z.strictObject({ kind: z.string().meta({ example: 'prize' }), id: z.string().meta({ example: 'round-17:1' }) }),
    payer: z.enum(PAYERS),
    status: Status.meta({
      description:
        'pending: owed; batched: on its way; confirmed: landed, and may still vanish; completed: paid for good; manual: a person looks into it, it stays owed. Of the orchestrator’s: failed (still owed), reversed.',
      example: 'completed',
    }),
    signature: z.string().nullable().meta({ description: 'The transaction that paid it, from confirmed on.' }),
    reason: z.string().nullable().meta({ description: 'Why it is not paid yet.', example: null }),
    timestamp: Instant.meta({ description: 'When it came to be owed.' }),
    updatedAt: Instant,
    completedAt: Instant.nullable(),
  })
  .meta({ id: 'Payment' });

export const PendingView = z
  .strictObject({
    wallet: Wallet,
    currency: z.literal('usdc'),
    amount: z
      .string()
      .regex(/^\d+$/)
      .meta({ example: '2500000', description: 'Base units that are owed and not finally paid; "0" where nothing is.' }),
    payments: z.int(),
  })
  .meta({ id: 'PendingStablecoin' });

export const WalletPath = z.strictObject({ wallet: Wallet });
export const PaymentPath = z.strictObject({ id: Id });

export const PaymentFilterQuery = z.object({
  payer: z.enum(PAYERS, `must be ${PAYERS.join(' or ')}`).optional(),
  status: Status.optional(),
  currency: Currency.optional(),
  wallet: Wallet.optional(),
});

const REFERENCE = 'must be 1 to 128 printable characters without spaces';
export const OweRequest = z
  .strictObject({
    wallet: Wallet,
    currency: Currency,
    amount: PaidAmount,
    reference: z
      .string(REFERENCE)
      .regex(/^[\x21-\x7e]{1,128}$/, REFERENCE)
      .meta({ description: 'Names what it is for. Nothing is owed twice under one reference.', example: 'ticket-4711' }),
  })
  .meta({ id: 'OweRequest' });

export const PaymentResolution = z.strictObject({ signature: Signature }).meta({ id: 'PaymentResolution' });

export const HoldRequest = z.strictObject({ reason: line(200) }).meta({ id: 'HoldRequest', example: { reason: 'rotating the treasury’s key' } });
export const ReleaseRequest = z
  .strictObject({
    acknowledge: z.array(Signature).max(1_000).default([]).meta({
      description: 'The unmatched transactions that you have looked into; it must be all of them. What they paid is not marked as paid.',
      example: [],
    }),
    acceptLanes: z.array(z.int().min(0).max(63)).max(64).default([]).meta({
      description: 'Lanes whose nonce account is to be taken as it stands, though it is not known who used it.',
      example: [],
    }),
  })
  .meta({ id: 'ReleaseRequest' });

const LaneView = z.strictObject({
  lane: z.int(),
  address: z.string(),
  nonce: z.string().nullable(),
  batch: Id.nullable(),
  /** The last transaction known to have used the nonce. */
  landed: z.string().nullable(),
  stale: z.boolean(),
});
const FindingView = z.strictObject({
  signature: z.string(),
  lane: z.int(),
  slot: z.int(),
  verdict: z.enum(['harmless', 'unmatched', 'matched', 'acknowledged']),
  reason: z.string().nullable(),
  transfers: z.array(z.strictObject({ to: z.string(), mint: z.string(), amount: z.string() })),
  payments: z.array(Id),
  at: Instant,
});
export const PayoutsView = z
  .strictObject({
    paused: z.string().nullable().meta({ description: 'Why nothing is paid at the moment.', example: null }),
    held: z.string().nullable().meta({ description: 'What a person stopped payouts for.', example: null }),
    doubt: z
      .string()
      .nullable()
      .meta({ description: 'What of the chain does not fit the record; when it is explained, payouts go on by themselves.', example: null }),
    counts: z
      .record(z.string(), z.int())
      .meta({ description: 'The treasury’s payments that are not completed, by status.', example: { pending: 3, manual: 1 } }),
    lanes: z.array(LaneView),
    findings: z.array(FindingView).meta({ description: 'Transactions of lanes that the record did not know; unmatched ones first, at most 100.' }),
  })
  .meta({ id: 'Payouts' });

export const TransactionPath = z.strictObject({ id: Id });
export const TransactionsQuery = z.object({ state: z.enum(['manual', 'failed'], 'must be manual or failed').default('manual') });
export const TransactionView = z
  .strictObject({
    id: Id,
    kind: z.string().meta({ example: 'payout-batch' }),
    subject: z.string(),
    state: z.enum(['manual', 'failed', 'queued']).meta({ description: '`queued`: it was set aside, and is tried again.' }),
    attempts: z.int(),
    /** Of the latest attempt. */
    signature: z.string().nullable(),
    error: z.json().meta({
      description: 'Why: `{ name, message, instruction, code }`.',
      example: { name: 'Unclear', message: 'the history does not reach back' },
    }),
    evidence: z.json().meta({ description: 'What the last look at the latest attempt saw.', example: null }),
    createdAt: Instant,
    changedAt: Instant,
  })
  .meta({ id: 'ChainTransaction' });

const ORCHESTRATED = ['pending', 'completed', 'failed', 'reversed'] as const;
export type Reported = (typeof ORCHESTRATED)[number];

/** What the orchestrator delivers; read loosely, so that fields may be added there. */
export const PaymentStatus = z
  .looseObject({
    type: line(100).meta({ example: 'payment.status' }),
    timestamp: z.iso.datetime({ offset: true, error: 'must be an instant, ISO 8601' }).meta({ example: '2026-11-21T12:00:00.000Z' }),
    data: z.looseObject({
      paymentId: Id,
      wallet: Wallet,
      amount: PaidAmount,
      currency: z.string().max(32).meta({ example: 'usdc' }),
      status: z.enum(ORCHESTRATED, `must be one of ${ORCHESTRATED.join(', ')}`),
      transactionSignature: Signature.nullish(),
    }),
  })
  .meta({ id: 'PaymentStatus' });
export type PaymentStatus = z.infer<typeof PaymentStatus>;

import { z } from 'zod';
import { Count, Id, Instant, line, Wallet } from '#lib/scalars.ts';
import { CURRENCIES, PAYERS, PAYMENT_STATES } from './payments.ts';
import { isSignature } from './transfers.ts';

const MAX_UNITS = 18_446_744_073_709_551_615n;
const AMOUNT = 'must be a whole number of base units, as text, from 1 to 18446744073709551615';

/** The amount of a payment in base units: a decimal string from 1 to 2^64 − 1. */
const PaidAmount = z
  .string(AMOUNT)
  .refine((text) => /^[1-9]\d{0,19}$/.test(text) && BigInt(text) <= MAX_UNITS, AMOUNT)
  .meta({ example: '2500000', description: 'Amount, base units.' });

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
        'pending: not sent yet; batched: in a batch that is being sent; confirmed: the transaction landed, but a fork can still drop it; completed: the transaction is finalized; manual: an operator must decide, the amount stays owed. Only payments of the payer orchestrator have these: failed (the amount stays owed), reversed (a completed payment was taken back).',
      example: 'completed',
    }),
    signature: z
      .string()
      .nullable()
      .meta({ description: 'Signature of the transaction that paid the payment; null before the status confirmed, or when it is not known.' }),
    reason: z.string().nullable().meta({ description: 'Reason why the payment is delayed, failed or reversed; null otherwise.', example: null }),
    timestamp: Instant.meta({ description: 'Creation time of the payment.' }),
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
      .meta({ example: '2500000', description: 'Sum of the payments that are neither completed nor reversed, base units; "0" when there are none.' }),
    payments: Count,
  })
  .meta({ id: 'PendingStablecoin' });

export const WalletPath = z.strictObject({ wallet: Wallet });
export const PaymentPath = z.strictObject({ id: Id.meta({ description: 'The id of the payment.' }) });

export const PaymentFilterQuery = z.object({
  payer: z
    .enum(PAYERS, `must be ${PAYERS.join(' or ')}`)
    .optional()
    .meta({ description: 'Only payments of this payer.' }),
  status: Status.optional().meta({ description: 'Only payments with this status.' }),
  currency: Currency.optional().meta({ description: 'Only payments in this currency.' }),
  wallet: Wallet.optional().meta({ description: 'Only payments to this wallet.' }),
});

const REFERENCE = 'must be 1 to 128 printable characters without spaces';
export const CreatePaymentRequest = z
  .strictObject({
    wallet: Wallet,
    currency: Currency,
    amount: PaidAmount,
    reference: z
      .string(REFERENCE)
      .regex(/^[\x21-\x7e]{1,128}$/, REFERENCE)
      .meta({ description: 'Unique reference of the payment, chosen by the caller. One reference has at most one payment.', example: 'ticket-4711' }),
  })
  .meta({ id: 'OweRequest' });

export const PaymentResolution = z.strictObject({ signature: Signature }).meta({ id: 'PaymentResolution' });

export const PauseRequest = z.strictObject({ reason: line(200) }).meta({ id: 'HoldRequest', example: { reason: 'rotating the treasury’s key' } });
export const ResumeRequest = z
  .strictObject({
    acknowledge: z.array(Signature).max(1_000).default([]).meta({
      description:
        'Signatures of all transactions with the verdict unmatched. An acknowledged transaction no longer pauses payouts, and it completes no payment.',
      example: [],
    }),
    acceptLanes: z.array(z.int().min(0).max(63)).max(64).default([]).meta({
      description:
        'Numbers of the lanes to continue with the nonce that their account has now, although the transaction that used the nonce before it is unknown. Earlier transactions of these lanes are not read any more.',
      example: [],
    }),
  })
  .meta({ id: 'ReleaseRequest' });

const LaneView = z.strictObject({
  lane: Count,
  address: z.string(),
  nonce: z.string().nullable(),
  batch: Id.nullable(),
  /** Signature of the newest transaction in the database that used a nonce of the lane. */
  landed: z.string().nullable(),
  stale: z.boolean(),
  reason: z.string().nullable().meta({ description: 'Reason why no batch can use the lane at present; null when there is none.', example: null }),
  waitingSince: Instant.nullable().meta({ description: 'Time since which the lane has a reason.', example: null }),
  history: z.strictObject({ listed: Count, read: Count, complete: z.boolean() }).nullable().meta({
    description:
      'Progress of reading the transaction history of the lane: the number of transactions that were listed and read. Null while the database explains the nonce of the lane.',
    example: null,
  }),
});
const UnknownTransactionView = z.strictObject({
  signature: z.string(),
  lane: Count,
  slot: Count,
  verdict: z.enum(['harmless', 'unmatched', 'matched', 'acknowledged']),
  reason: z.string().nullable(),
  transfers: z.array(z.strictObject({ to: z.string(), mint: z.string(), amount: z.string() })),
  payments: z.array(Id),
  at: Instant,
});
export const PayoutsView = z
  .strictObject({
    paused: z.string().nullable().meta({ description: 'Reason why payouts are paused; null when payouts are not paused.', example: null }),
    held: z
      .string()
      .nullable()
      .meta({ description: 'Reason that an operator gave for pausing payouts; null when no operator paused them.', example: null }),
    doubt: z.string().nullable().meta({
      description:
        'Difference between the chain and the database because of which payouts are paused; null when there is none. Payouts resume automatically when the difference is resolved.',
      example: null,
    }),
    distributor: z.string().nullable().meta({
      description:
        'Reason why no epoch is opened: the deployed distributor program differs from the committed one, has an unexpected upgrade authority, or cannot be read. Null when there is none.',
      example: null,
    }),
    counts: z
      .record(z.string(), Count)
      .meta({ description: 'Number of the treasury’s payments that are not completed, by status.', example: { pending: 3, manual: 1 } }),
    lanes: z.array(LaneView),
    findings: z.array(UnknownTransactionView).meta({
      description:
        'Transactions on lanes that were found on the chain but not in the database. At most 100; transactions with the verdict unmatched first.',
    }),
  })
  .meta({ id: 'Payouts' });

export const TransactionPath = z.strictObject({ id: Id.meta({ description: 'The id of the transaction.' }) });
export const TransactionsQuery = z.object({
  state: z
    .enum(['manual', 'failed'], 'must be manual or failed')
    .default('manual')
    .meta({ description: 'manual: an operator must decide. failed: the chain refused the transaction.' }),
});
export const TransactionView = z
  .strictObject({
    id: Id,
    kind: z.string().meta({ example: 'payout-batch' }),
    subject: z.string(),
    state: z.enum(['manual', 'failed', 'queued']).meta({ description: '`queued`: a retry is scheduled.' }),
    attempts: Count,
    /** Signature of the latest attempt to send the transaction; null when it was never signed. */
    signature: z.string().nullable(),
    error: z.json().meta({
      description: 'Error of the latest attempt: `{ name, message, instruction, code }`.',
      example: { name: 'Unclear', message: 'the node’s history starts after the signing' },
    }),
    evidence: z.json().meta({ description: 'Result of the latest status check of the latest attempt.', example: null }),
    createdAt: Instant,
    changedAt: Instant,
  })
  .meta({ id: 'ChainTransaction' });

const ORCHESTRATED = ['pending', 'completed', 'failed', 'reversed'] as const;
export type ReportedStatus = (typeof ORCHESTRATED)[number];

/** Types of a status report. The type `payment.status` allows every status; each other type names the status that the report must have. */
const REPORT_TYPES = ['payment.status', ...ORCHESTRATED.map((status) => `payment.${status}` as const)] as const;
type ReportType = (typeof REPORT_TYPES)[number];
export const isReportType = (type: string): type is ReportType => REPORT_TYPES.some((known) => known === type);

/**
 * A status report of the orchestrator about a payment, as the worker that processes it requires it. Unknown fields are accepted, so the orchestrator
 * may add fields.
 */
export const PaymentReport = z
  .looseObject({
    type: z.enum(REPORT_TYPES),
    timestamp: z.iso.datetime({ offset: true, error: 'must be an instant, ISO 8601' }),
    data: z.looseObject({
      paymentId: Id,
      wallet: Wallet,
      amount: PaidAmount,
      currency: z.string().max(32),
      status: z.enum(ORCHESTRATED, `must be one of ${ORCHESTRATED.join(', ')}`),
      transactionSignature: Signature.nullish(),
    }),
  })
  .refine(({ type, data }) => type === 'payment.status' || type === `payment.${data.status}`, {
    path: ['type'],
    error: 'must agree with data.status',
  });
export type PaymentReport = z.infer<typeof PaymentReport>;

/**
 * A delivery of the orchestrator. The endpoint accepts any values and a worker validates them later, because the orchestrator would resend a delivery
 * that the endpoint refuses.
 */
export const PaymentStatus = z
  .looseObject({
    type: z
      .unknown()
      .optional()
      .meta({
        description: `\`payment.status\`, or \`payment.\` and the status in data: ${REPORT_TYPES.slice(1).join(', ')}. A delivery of another type has no effect.`,
        example: 'payment.status',
      }),
    timestamp: z.unknown().optional().meta({ description: 'Time of the status, ISO 8601.', example: '2026-11-21T12:00:00.000Z' }),
    data: z
      .unknown()
      .optional()
      .meta({
        description: `\`paymentId\`, \`wallet\`, \`amount\` and \`currency\` of the payment; \`status\`: ${ORCHESTRATED.join(', ')}; \`transactionSignature\`: optional.`,
        example: {
          paymentId: '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a',
          wallet: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
          amount: '2500000',
          currency: 'usdc',
          status: 'completed',
        },
      }),
  })
  .meta({ id: 'PaymentStatus' });

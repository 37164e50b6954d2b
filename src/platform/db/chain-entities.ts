import { defineEntity } from '@mikro-orm/core';
import {
  array,
  bigint,
  bytes,
  byteText,
  checks,
  index,
  integer,
  jsonb,
  numeric,
  oneOf,
  reference,
  smallint,
  text,
  timestamp,
  uuid,
} from '#platform/db/columns.ts';

/**
 * A row is a transaction that must land on the chain exactly once, such as a claim, an epoch root or a batch of payouts. An area identifies it by
 * `kind` and `subject`.
 */
export const ChainTransactionsTable = defineEntity({
  name: 'ChainTransactions',
  tableName: 'chain_transactions',
  properties: {
    id: uuid().primary().defaultRaw('gen_random_uuid()'),
    /** Name of the transaction type. */
    kind: text(),
    /** Key of the area's row that needs the transaction, such as the id of a claim. */
    subject: byteText(),
    /** queued: waits to be signed. live: an attempt is pending. manual: the outcome was unclear for too long, so an operator must decide. */
    state: oneOf('queued', 'live', 'confirmed', 'finalized', 'failed', 'manual').default('queued'),
    /** Number of signed attempts, which is the number `n` of the latest attempt. */
    attempts: integer().default(0),
    /** Attempts that landed and failed. A retry by an operator sets the number to 0. */
    refusals: integer().default(0),
    /** Failed simulations and errors since the last signed attempt. They make the retry delay longer. */
    tries: integer().default(0),
    /** Time from which a queued transaction may be signed. */
    nextAt: timestamp().defaultRaw('app_now()'),
    /** Class of the transaction. Each class has its own queue and its own reserve in the daily limits. */
    priority: oneOf('commitments', 'roots', 'payouts', 'claims').default('claims'),
    /** Wallet that caused the transaction; null for a transaction of the service or of an operator. */
    caller: byteText().nullable(),
    /** Number of pending transactions of the caller when the transaction was submitted. A lower rank is signed first. */
    rank: integer().default(1),
    /** Signature and slot of the attempt that landed. */
    signature: byteText().nullable(),
    slot: bigint().nullable(),
    error: jsonb().nullable(),
    createdAt: timestamp().defaultRaw('app_now()'),
    changedAt: timestamp().defaultRaw('app_now()'),
  },
  uniques: [{ name: 'chain_transactions_kind_subject_key', properties: ['kind', 'subject'] }],
  checks: checks('rank > 0'),
  indexes: [
    index("create index chain_transactions_due on chain_transactions (priority, next_at) where state = 'queued'"),
    index("create index chain_transactions_caller on chain_transactions (caller) where state in ('queued', 'live') and caller is not null"),
    index("create index chain_transactions_unclear on chain_transactions (changed_at) where state in ('manual', 'failed')"),
  ],
});

/**
 * A row is an attempt to submit a transaction. Its signed bytes are committed before they are sent. An attempt expires with its blockhash or with its
 * durable nonce.
 */
export const ChainAttemptsTable = defineEntity({
  name: 'ChainAttempts',
  tableName: 'chain_attempts',
  properties: {
    transactionId: reference(ChainTransactionsTable, 'transaction_id').primary(),
    n: integer().primary(),
    /** signed, sent and confirmed: the attempt is pending. failed: it landed and failed. dead: it can never land. */
    state: oneOf('signed', 'sent', 'confirmed', 'finalized', 'failed', 'dead').default('signed'),
    signature: byteText(),
    /** The signed transaction; empty when the attempt ended long ago. */
    bytes: bytes(),
    signers: array('text'),
    /** Number of instructions that the service added before the transaction's own instructions. */
    preamble: smallint(),
    /** Block height after which the blockhash is no longer valid; null for an attempt with a nonce. */
    lastValidHeight: bigint().nullable(),
    nonceAccount: byteText().nullable(),
    nonce: byteText().nullable(),
    /** Slot that the chain had reached when the attempt was signed. */
    signedSlot: bigint(),
    signedAt: timestamp().defaultRaw('app_now()'),
    /** Time of the next poll of the status, while the attempt is pending. */
    pollAt: timestamp().defaultRaw('app_now()'),
    /** Slot that the chain had reached when the attempt was last sent; null when it was never sent. */
    sentSlot: bigint().nullable(),
    slot: bigint().nullable(),
    error: jsonb().nullable(),
    /** Time of the last expiry check. */
    lookedAt: timestamp().nullable(),
    /** Proof by the last expiry check that the attempt expired; null without a proof. Two successive proofs make the attempt dead. */
    doubt: jsonb().nullable(),
    /** Time since which each expiry check has proved that the attempt expired. */
    doubtedAt: timestamp().nullable(),
    /** List of `{ asset, amount }` that the attempt has reserved against the daily limits; amounts are base units as text. */
    spends: jsonb(),
    /** Day of `chain_outflows` that reserves the spends. */
    spendDay: integer(),
    /** Class of the transaction. */
    priority: oneOf('commitments', 'roots', 'payouts', 'claims').default('claims'),
    /** Fee, lamports, which the spend of `sol` contains; null for an attempt that was signed before fees were stored. */
    fee: bigint().nullable(),
    /** Ids of further transactions whose effects the attempt has too. */
    carried: array('uuid').default('{}'),
    /** Number of the attempt among the live attempts of its transaction. */
    place: smallint().default(1),
    /** Priority price, millionths of a lamport per compute unit; null for an attempt that was signed before prices were stored. */
    price: bigint().nullable(),
    /**
     * List of `{ asset, amount }` that the attempt spends if it lands. `spends` is the part that this attempt has reserved: an earlier live attempt of the
     * same transaction may have reserved the rest. Null for an attempt that was signed before this list was stored; it has reserved all its costs.
     */
    costs: jsonb().nullable(),
  },
  checks: checks(
    '(last_valid_height is null) <> (nonce is null)',
    '(nonce is null) = (nonce_account is null)',
    '(place >= 1) and (place <= 3)',
    "(place = 1) or ((nonce is null) and (priority <> 'payouts'::text))",
  ),
  uniques: [{ name: 'chain_attempts_signature_key', properties: ['signature'] }],
  indexes: [
    index("create unique index chain_attempts_live on chain_attempts (transaction_id, place) where state in ('signed', 'sent', 'confirmed')"),
    index('create index chain_attempts_nonce on chain_attempts (nonce_account, nonce) where nonce is not null'),
    index("create index chain_attempts_ended on chain_attempts (signed_at) where state in ('finalized', 'failed', 'dead') and bytes <> ''"),
    index("create index chain_attempts_pending on chain_attempts (priority, poll_at) where state in ('signed', 'sent', 'confirmed')"),
  ],
});

/**
 * A row is the amount of an asset that a class of transactions has spent or may still spend on a UTC day. It counts against the daily limit of the
 * asset.
 */
export const ChainOutflowsTable = defineEntity({
  name: 'ChainOutflows',
  tableName: 'chain_outflows',
  properties: {
    /** UTC days since 1970. */
    day: integer().primary(),
    /** A mint address, `sol`, or `token-accounts` for the rent of token accounts. */
    asset: byteText().primary(),
    /** Class of the transactions. */
    priority: oneOf('commitments', 'roots', 'payouts', 'claims').primary(),
    /** Base units; lamports for `sol` and `token-accounts`. */
    reserved: numeric(),
  },
  checks: checks('reserved >= (0)::numeric'),
});

/** A row stops the signing of the transactions in a scope. */
export const ChainPausesTable = defineEntity({
  name: 'ChainPauses',
  tableName: 'chain_pauses',
  properties: {
    /** Name of a group of transaction types, such as 'payouts'. */
    scope: text().primary(),
    reason: text(),
    at: timestamp().defaultRaw('app_now()'),
  },
});

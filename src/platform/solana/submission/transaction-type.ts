import type { PublicKey, TransactionInstruction } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Role } from '../config.ts';

/** An amount that a transaction spends. `asset` is a mint address (base units), `sol` (lamports) or another asset with a daily limit. */
export interface Spend {
  readonly asset: string;
  readonly amount: bigint;
}

/** A transaction to sign. Signing adds the compute budget instructions and reserves the fee against the daily SOL limit. */
export interface TransactionDraft {
  readonly do: 'sign';
  readonly instructions: readonly TransactionInstruction[];
  readonly feePayer: Role;
  /** Signers besides the fee payer. */
  readonly signers?: readonly Role[];
  /**
   * Reserved against the daily limits. Released when the attempt expires or fails; after a failure `sol` stays reserved.
   * Rent that this service pays is a spend of `sol`.
   */
  readonly spends?: readonly Spend[];
  /** A durable nonce in place of a blockhash. At most one transaction with this value can land. The fee payer must be the nonce authority. */
  readonly nonce?: { readonly account: PublicKey; readonly value: string };
  /** Number of earlier transactions for the same purpose. The priority price does not depend on it yet. */
  readonly urgency?: number;
}

/** The result of composing when there is nothing to sign. */
export type ComposeOutcome =
  /** The effect is finalized on the chain already. The transaction may be another sender's. */
  | { readonly do: 'done'; readonly signature: string | null; readonly slot: number | null }
  /** Composing is repeated after `ms`. */
  | { readonly do: 'wait'; readonly ms: number; readonly reason: string }
  /** The transaction fails for good. Precondition: no attempt is pending. */
  | { readonly do: 'fail'; readonly error: ChainError }
  /** An operator must decide. */
  | { readonly do: 'manual'; readonly reason: string };

/** The reason why a transaction failed; stored and shown to operators. */
export interface ChainError {
  /** Error name of the program, such as `AlreadyClaimed` or `InsufficientFunds`; `Dead` for an expired attempt. */
  readonly name: string;
  readonly message: string;
  /** Index of the failed instruction in the draft; null when the error names no instruction. */
  readonly instruction: number | null;
  /** Custom error code of the program. */
  readonly code: number | null;
}

/** An attempt whose transaction is signed and not committed yet. */
export interface SignedAttempt {
  readonly subject: string;
  readonly signature: string;
  readonly draft: TransactionDraft;
}

/** A transaction that landed without an error. `signature` is null when the sender is not known. */
export interface LandedTransaction {
  readonly subject: string;
  readonly signature: string | null;
  readonly slot: number | null;
}

/** A transaction that ended without effect: it expired, failed on the chain, or was never signed. */
export interface FailedTransaction {
  readonly subject: string;
  readonly signature: string | null;
  readonly error: ChainError;
}

/**
 * A type of transaction: composes the transaction of a subject, and updates the rows that depend on it.
 * The hooks run inside the database transaction that changes the state, with all transactions of one batch.
 * A hook may receive the same subject again, so hooks must be idempotent.
 */
export interface TransactionType {
  readonly name: string;
  /** While this scope is paused, no transaction of this type is signed. */
  readonly scope: string;
  /**
   * After an attempt failed or expired: `again` composes the transaction again, `over` ends it.
   * With `again`, `compose` must detect on the chain that the effect has happened already.
   */
  readonly afterFailure: 'again' | 'over';
  /** Reads the database and the chain (through `rpc`). Must return `done` when the effect is on the chain already. */
  compose(app: App, subject: string): Promise<TransactionDraft | ComposeOutcome>;
  /** Decides after a failed simulation; nothing is signed. By default composing is retried, and the transaction fails after several attempts. */
  simulationFailed?(app: App, subject: string, error: ChainError): Promise<ComposeOutcome | undefined>;
  /**
   * Runs in the database transaction that commits an attempt, before it is sent. An exception rolls the attempt back:
   * nothing is sent, and composing is retried later.
   */
  signed?(tx: Tx, attempt: SignedAttempt): Promise<void>;
  /** Runs when transactions are confirmed. A confirmed transaction can still be rolled back by a fork. */
  confirmed?(tx: Tx, landed: readonly LandedTransaction[]): Promise<void>;
  /** Runs when a fork rolled confirmed transactions back. */
  retracted?(tx: Tx, subjects: readonly string[]): Promise<void>;
  /** Runs when transactions are finalized. */
  finalized(tx: Tx, landed: readonly LandedTransaction[]): Promise<void>;
  /** Runs when transactions ended without effect. */
  failed(tx: Tx, failures: readonly FailedTransaction[]): Promise<void>;
  /** Runs when a nonce transaction did not land in `LANDING_GIVE_UP_MS`. The owner of the nonce may sign a transaction that only advances it. */
  overdue?(tx: Tx, subjects: readonly string[]): Promise<void>;
}

import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Role } from '../config.ts';
import type { Address, Instruction } from '../primitives.ts';
import type { Priority } from './priorities.ts';

/**
 * An amount that a transaction spends. `asset` is a mint address (amount in base units), `sol` (amount in lamports), or another asset with a daily
 * limit.
 */
export interface Spend {
  readonly asset: string;
  readonly amount: bigint;
}

/**
 * The draft of a transaction to sign. The signer adds the compute budget instructions to the draft, and reserves the fee against the daily SOL limit.
 */
export interface TransactionDraft {
  readonly do: 'sign';
  readonly instructions: readonly Instruction[];
  readonly feePayer: Role;
  /** Signers besides the fee payer. */
  readonly signers?: readonly Role[];
  /**
   * Amounts that are reserved against the daily limits, without the fee. An expired or failed attempt releases them; a failed attempt keeps its fee.
   * Rent that this service pays counts as `sol`.
   */
  readonly spends?: readonly Spend[];
  /**
   * A durable nonce that replaces the blockhash. At most one transaction with the same nonce value can land. The fee payer must be the nonce
   * authority.
   */
  readonly nonce?: { readonly account: Address; readonly value: string };
  /** Further transactions of the same type whose effects this transaction has too: those of the `claimed` ones that it contains. */
  readonly carries?: CarriedTransactions;
  /** Number that is added to the number of earlier attempts when the priority price is computed. A higher number gives a higher price. */
  readonly urgency?: number;
}

/** Queued transactions that one attempt of another transaction carries. */
export interface CarriedTransactions {
  /** The time at which their lease ends, as the database wrote it. */
  readonly lease: string;
  readonly members: readonly { readonly id: string; readonly subject: string }[];
}

/** The result of composing when there is no transaction to sign at the moment. */
export type ComposeOutcome =
  /** The effect of the transaction is finalized on the chain already, possibly by a transaction of another sender. */
  | { readonly do: 'done'; readonly signature: string | null; readonly slot: number | null }
  /**
   * Composing is repeated after `ms` milliseconds. `isRefused`: the chain refused this very transaction, so it carries no others from then on, and no
   * other transaction carries it.
   */
  | { readonly do: 'wait'; readonly ms: number; readonly reason: string; readonly isRefused?: boolean }
  /** The transaction ends as failed. Precondition: no attempt is pending. */
  | { readonly do: 'fail'; readonly error: ChainError }
  /** The transaction stops until an operator decides. */
  | { readonly do: 'manual'; readonly reason: string };

/** The reason why a transaction failed; stored and shown to operators. */
export interface ChainError {
  /** Name of the error, such as `AlreadyClaimed` or `InsufficientFunds`; `Dead` for an expired attempt. */
  readonly name: string;
  readonly message: string;
  /** Index of the failed instruction among the draft's own instructions; null when the error names no instruction. */
  readonly instruction: number | null;
  /** Custom error code of the program; null when the error has none. */
  readonly code: number | null;
}

/** A signed attempt that is about to be committed to the database. */
export interface SignedAttempt {
  readonly subject: string;
  readonly signature: string;
  /** Whether an earlier attempt of the transaction may still land. */
  readonly isFurther?: boolean;
  readonly draft: TransactionDraft;
}

/** A transaction that landed without an error. `signature` is null when the signature is not known. */
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
 * A type of transaction. It composes the transaction of a subject (such as a claim or a payout batch), and its hooks update the rows that depend on
 * the transaction. The hooks run inside the database transaction that changes the state; one call receives all transactions whose state this database
 * transaction changes. A hook may receive the same subject again, so hooks must be idempotent.
 */
export interface TransactionType {
  readonly name: string;
  /** Scope that operators can pause. While it is paused, no transaction of this type is signed. */
  readonly scope: string;
  /** Class of the transactions, unless `submit` is called with another one. */
  readonly priority: Priority;
  /**
   * `again`: after an attempt has failed or expired, the transaction is composed again. `over`: the transaction ends as failed. With `again`,
   * `compose` must detect that the effect is on the chain already.
   */
  readonly afterFailure: 'again' | 'over';
  /**
   * Returns the delay before the next attempt, ms, after `failures` attempts of the transaction landed and failed. By default there is no delay. A type
   * with this function keeps the number of failures when the transaction is requested again, so that repeated failures of one transaction cost little.
   */
  failureDelayMs?(failures: number): number;
  /**
   * Whether an account on the chain guards the effect, so that it cannot happen twice. One proof that an attempt expired is then enough to sign again,
   * without a second one after `LANDING_RECHECK_MS`.
   */
  readonly isGuarded?: boolean;
  /**
   * Maximum number of live attempts of one transaction, each with a higher fee than the earlier ones (1). More than one only if an account on the chain
   * guards the effect. With more than one, `compose` and `signed` also run while an earlier attempt may land.
   */
  readonly maxLive?: 1 | 2 | 3;
  /**
   * Returns the subjects whose effects may be in the transaction of a subject too, the preferred ones first, and the maximum number of them. Those whose
   * transactions wait to be signed are passed to `compose`. Only for guarded types, because an effect may be in two attempts.
   */
  candidatesFor?(app: App, subject: string): Promise<{ readonly subjects: readonly string[]; readonly limit: number }>;
  /**
   * Composes the transaction of a subject from the database and the chain (read through `app.chain.node`). Must return `done` when the effect is on the chain
   * already.
   * @param claimed further transactions that no other attempt carries now
   */
  compose(app: App, subject: string, claimed?: CarriedTransactions | null): Promise<TransactionDraft | ComposeOutcome>;
  /**
   * Decides how to continue after a failed simulation; no attempt was signed. By default the simulation is retried, and the transaction ends as
   * failed after several failed simulations. Afterwards the transactions that the draft carries are due, unless this function has postponed them.
   */
  simulationFailed?(app: App, subject: string, error: ChainError, draft: TransactionDraft): Promise<ComposeOutcome | undefined>;
  /**
   * Runs in the database transaction that commits attempts, before they are sent. An exception rolls the attempts back: they are not sent. Attempts of a
   * batch are then committed one by one, and composing is retried later for those that fail alone.
   */
  signed?(tx: Tx, attempts: readonly SignedAttempt[]): Promise<void>;
  /** Runs when transactions are confirmed. A confirmed transaction can still be rolled back by a fork. */
  confirmed?(tx: Tx, landed: readonly LandedTransaction[]): Promise<void>;
  /** Runs when a fork rolled confirmed transactions back. */
  retracted?(tx: Tx, subjects: readonly string[]): Promise<void>;
  /** Runs when transactions are finalized. */
  finalized(tx: Tx, landed: readonly LandedTransaction[]): Promise<void>;
  /** Runs when transactions ended without effect. */
  failed(tx: Tx, failures: readonly FailedTransaction[]): Promise<void>;
  /**
   * Runs when a transaction with a nonce has not landed after `LANDING_GIVE_UP_MS`. The owner of the nonce may then sign another transaction that
   * only advances the nonce, so that the overdue transaction can no longer land.
   */
  overdue?(tx: Tx, subjects: readonly string[]): Promise<void>;
  /**
   * Returns the signature of a finalized transaction that used a nonce and is not an attempt of this service; null when none is known. An attempt
   * with this nonce can then never land.
   */
  nonceUser?(app: App, nonce: { readonly account: string; readonly nonce: string }): Promise<string | null>;
}

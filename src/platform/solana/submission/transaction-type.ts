import type { PublicKey, TransactionInstruction } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Role } from '../config.ts';

/** Something that leaves us: a mint's base units, `sol` in lamports, or what else a daily limit is set on. */
export interface Spend {
  readonly asset: string;
  readonly amount: bigint;
}

/** What to sign. Fees and the compute budget are the engine's part; so is their share of the day's SOL. */
export interface Draft {
  readonly do: 'sign';
  readonly instructions: readonly TransactionInstruction[];
  readonly feePayer: Role;
  /** Who else signs. */
  readonly signers?: readonly Role[];
  /** Reserved against the day's limits while this attempt may land, and for good once it has. Rents that we pay are spends of `sol`. */
  readonly spends?: readonly Spend[];
  /** A durable nonce instead of a blockhash: of all that is ever signed with this value, at most one lands. The fee payer is its authority. */
  readonly nonce?: { readonly account: PublicKey; readonly value: string };
  /** As if so many attempts had gone before: each doubles what is offered for priority. For kinds that give up and ask anew. */
  readonly urgency?: number;
}

/** What else may come of composing. */
export type Outcome =
  /** The chain has it already, by whoever's transaction; finalized. */
  | { readonly do: 'done'; readonly signature: string | null; readonly slot: number | null }
  /** Not now. */
  | { readonly do: 'wait'; readonly ms: number; readonly reason: string }
  /** It cannot be done, and nothing of ours is on its way. */
  | { readonly do: 'fail'; readonly error: ChainError }
  /** Nobody but a person can tell. */
  | { readonly do: 'manual'; readonly reason: string };

/** Why the chain refused: what is stored and shown. */
export interface ChainError {
  /** As programs name it: `AlreadyClaimed`, `InsufficientFunds`; `Dead` where the attempt can never land. */
  readonly name: string;
  readonly message: string;
  /** The instruction that failed, counted among those of the draft; null where none did. */
  readonly instruction: number | null;
  /** A program's own code. */
  readonly code: number | null;
}

/** An attempt that is being committed. */
export interface Signing {
  readonly subject: string;
  readonly signature: string;
  readonly draft: Draft;
}

/** What landed. `signature` is null where it is not known whose transaction it was. */
export interface Landing {
  readonly subject: string;
  readonly signature: string | null;
  readonly slot: number | null;
}

/** What is over without having landed, or landed as an error. */
export interface Failure {
  readonly subject: string;
  readonly signature: string | null;
  readonly error: ChainError;
}

/**
 * A kind of transaction as a value: what is to be signed for a subject, and the books that follow. The books are kept in
 * the transaction that moves the state; each sees what one round of following found, so it does many at once.
 * Every hook may see the same subject again and must not count it twice.
 */
export interface TransactionType {
  readonly name: string;
  /** While this scope is paused, nothing of this kind is signed. */
  readonly scope: string;
  /**
   * After an attempt that landed as an error, or died: compose again, or be over. What is composed again must see from the chain
   * whether it is done.
   */
  readonly afterFailure: 'again' | 'over';
  /** Reads the record and the chain; asks through `rpc`. Must see by itself what has been done already. */
  compose(app: App, subject: string): Promise<Draft | Outcome>;
  /** What a refusal of the simulation means; by default it is tried again, and fails after a few times. Nothing has been signed. */
  refused?(app: App, subject: string, error: ChainError): Promise<Outcome | undefined>;
  /**
   * An attempt is about to be committed, in this transaction, and sent after it. Throwing takes it back: nothing of it has
   * left us, and the subject is composed anew a little later.
   */
  signed?(tx: Tx, signing: Signing): Promise<void>;
  /** The cluster has voted for it; it may be shown, and may still vanish. */
  confirmed?(tx: Tx, landings: readonly Landing[]): Promise<void>;
  /** What was confirmed has vanished again. */
  retracted?(tx: Tx, subjects: readonly string[]): Promise<void>;
  /** It is final: books close. */
  finalized(tx: Tx, landings: readonly Landing[]): Promise<void>;
  /** It is over without effect. */
  failed(tx: Tx, failures: readonly Failure[]): Promise<void>;
  /** A nonce attempt has not landed for long; the lane may sign what only advances the nonce. */
  overdue?(tx: Tx, subjects: readonly string[]): Promise<void>;
}

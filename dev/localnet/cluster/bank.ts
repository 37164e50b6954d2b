import { base58Of, type Key, LOOKUP_TABLE_PROGRAM, SLOT_HASHES_SYSVAR } from '../keys.ts';
import type { Accounts } from './accounts.ts';
import type { Blockhashes } from './blockhashes.ts';
import { innerInstructions, returnDataOf, type TransactionMeta, tokenBalances } from './meta.ts';
import { durableNonce, nextNonce, nonceOf, withNonce } from './nonces.ts';
import type { SlotClock } from './slots.ts';
import type { ExecutionOutcome, Simulation, Svm, SvmAccount } from './svm.ts';
import type { TransactionError } from './transaction-errors.ts';
import { mayWrite, type WireMessage, type WireTransaction } from './wire.ts';

/** Number of blocks for which a blockhash is valid. */
export const BLOCKHASH_BLOCKS = 150;

/** The result of a transaction that is part of a block. */
export interface Execution {
  /** Every account key of the transaction, including the keys from lookup tables. */
  readonly keys: readonly Key[];
  readonly meta: TransactionMeta;
  /** The changed accounts with their new states. */
  readonly writes: readonly (readonly [Key, SvmAccount | null])[];
}

/** A nonce account whose nonce is changed in the SVM during one execution. `real`: the original nonce. `value`: the temporary nonce. */
interface MaskedNonce {
  readonly key: Key;
  readonly real: Key;
  readonly value: Key;
}

/** Executes transactions in blocks. The bank checks blockhashes and nonces; the SVM (Solana virtual machine) executes the instructions. */
export class Bank {
  readonly #svm: Svm;
  readonly #accounts: Accounts;
  readonly #clock: SlotClock;
  readonly #hashes: Blockhashes;
  #preparedSlot = -1;

  constructor(parts: { svm: Svm; accounts: Accounts; clock: SlotClock; hashes: Blockhashes }) {
    this.#svm = parts.svm;
    this.#accounts = parts.accounts;
    this.#clock = parts.clock;
    this.#hashes = parts.hashes;
  }

  /** Returns the last block height at which a blockhash is valid; null if the blockhash is unknown or belongs to a slot after `slot`. */
  lastValidHeight(hash: Key, slot: number): number | null {
    const at = this.#hashes.slotOf(hash);
    if (at === null || at > slot || !this.#clock.hasBlock(at)) return null;
    return this.#clock.height(at) + BLOCKHASH_BLOCKS;
  }

  /** Returns whether a blockhash is valid in a block at `slot`. */
  knowsBlockhash(hash: Key, slot: number): boolean {
    const last = this.lastValidHeight(hash, slot);
    return last !== null && this.#clock.height(slot) <= last;
  }

  /**
   * Checks the blockhash or nonce of a transaction for a block at `slot`.
   * @param seen newest slot whose blockhash a transaction may use
   * @returns null if the blockhash or nonce is valid, else the error
   */
  blockhashError(message: WireMessage, slot: number, seen: number): TransactionError | null {
    const at = this.#hashes.slotOf(message.blockhash);
    if (at !== null && at <= seen && this.knowsBlockhash(message.blockhash, slot)) return null;
    return this.#usableNonce(message, slot) === null ? 'BlockhashNotFound' : null;
  }

  simulate(tx: WireTransaction, slot: number, verifySignatures: boolean): Simulation {
    this.#prepare(tx, slot);
    const masked = this.#maskNonces(tx, slot);
    const result = this.#svm.simulate(tx, verifySignatures);
    this.#unmaskNonces(masked, slot);
    return result;
  }

  /**
   * Executes a transaction in the block of `slot`.
   * @returns the result of the execution. If the transaction paid no fee, it is in no block, and the error is returned instead.
   */
  land(tx: WireTransaction, slot: number): Execution | TransactionError {
    const missing = tx.instructions.some(({ programIndex }) => this.#accounts.newest(tx.keys[programIndex] ?? '') === null);
    if (missing) return 'ProgramAccountNotFound';
    const nonce = this.knowsBlockhash(tx.blockhash, slot) ? null : this.#usableNonce(tx, slot);
    this.#prepare(tx, slot);
    const { keys, loaded } = this.#allKeys(tx);
    const before = keys.map((key) => this.#accounts.newest(key));
    const masked = this.#maskNonces(tx, slot);
    const outcome = this.#svm.send(tx);
    this.#unmaskNonces(masked, slot);
    const payer = this.#svm.get(keys[0] ?? '');
    if (outcome.err !== null && payer?.lamports === before[0]?.lamports) return outcome.err;
    if (outcome.err !== null && nonce !== null) this.#advanceNonce(nonce, slot);
    const writes: [Key, SvmAccount | null][] = [];
    const after = keys.map((key, i) => {
      const old = before[i] ?? null;
      const may = i < tx.keys.length ? mayWrite(tx, i) : i < tx.keys.length + loaded.writable.length;
      if (!may) return old;
      const account = this.#applyBlockNonce(key, old, slot);
      if (isSameAccount(old, account)) return old;
      this.#accounts.write(key, slot, account, old);
      writes.push([key, account]);
      return account;
    });
    return { keys, meta: this.#meta(outcome, keys, before, after, loaded), writes };
  }

  /** Returns the value that a durable nonce gets when a transaction in the block of `slot` advances this nonce. */
  #nextNonce(slot: number): Key {
    return nextNonce(this.#hashes.of(this.#clock.lastBlock(slot - 1)));
  }

  /** Returns the nonce account of a durable-nonce transaction if the nonce can be advanced in the block of `slot`, else null. */
  #usableNonce(message: WireMessage, slot: number): Key | null {
    const named = durableNonce(message);
    const nonce = named && nonceOf(this.#accounts.newest(named.account));
    if (!named || !nonce || nonce.value !== message.blockhash || !named.signers.includes(nonce.authority)) return null;
    // If the nonce already has the value for this block, a transaction of this block has advanced it. A second advance in the same block is not
    // allowed.
    return this.#nextNonce(slot) === nonce.value ? null : named.account;
  }

  /**
   * Changes nonces in the SVM before an execution, so that the SVM refuses to advance a nonce in the same cases as a real cluster:
   * - The SVM refuses if the nonce derives from the transaction's blockhash.
   * - A real cluster refuses if a transaction of the same block has already advanced the nonce.
   */
  #maskNonces(tx: WireTransaction, slot: number): MaskedNonce[] {
    const [moved, unmovable] = [this.#nextNonce(slot), nextNonce(tx.blockhash)];
    return tx.keys.flatMap((key) => {
      const account = this.#accounts.newest(key);
      const real = nonceOf(account)?.value;
      if (!account || real === undefined || (real !== moved && real !== unmovable) || moved === unmovable) return [];
      const value = real === moved ? unmovable : nextNonce(real);
      this.#svm.set(key, withNonce(account, value));
      return { key, real, value };
    });
  }

  /**
   * Undoes `#maskNonces` after an execution. A nonce that the transaction advanced gets the value for the block of `slot`; any other nonce gets its
   * original value back.
   */
  #unmaskNonces(masked: readonly MaskedNonce[], slot: number): void {
    for (const { key, real, value } of masked) {
      const account = this.#svm.get(key);
      const now = nonceOf(account)?.value;
      if (account && now !== undefined) this.#svm.set(key, withNonce(account, now === value ? real : this.#nextNonce(slot)));
    }
  }

  #advanceNonce(key: Key, slot: number): void {
    const account = this.#svm.get(key);
    if (account) this.#svm.set(key, withNonce(account, this.#nextNonce(slot)));
  }

  /**
   * Corrects the value of a nonce that the transaction advanced. The SVM derives this value from the transaction's blockhash; a real cluster derives
   * it from the hash of the previous block.
   */
  #applyBlockNonce(key: Key, old: SvmAccount | null, slot: number): SvmAccount | null {
    const account = this.#svm.get(key);
    const nonce = nonceOf(account);
    if (!account || !nonce || nonce.value === nonceOf(old)?.value) return account;
    const moved = withNonce(account, this.#nextNonce(slot));
    this.#svm.set(key, moved);
    return moved;
  }

  /** Sets the clock sysvar to `slot`. Also sets the slot hashes sysvar if the transaction may read it. */
  #prepare(tx: WireTransaction, slot: number): void {
    if (slot !== this.#preparedSlot) {
      this.#svm.setClock(slot, this.#clock.unixSeconds(slot));
      this.#preparedSlot = slot;
    }
    if (tx.lookups.length > 0 || tx.keys.includes(LOOKUP_TABLE_PROGRAM) || tx.keys.includes(SLOT_HASHES_SYSVAR)) this.#setSlotHashes(slot);
  }

  #setSlotHashes(slot: number): void {
    const height = this.#clock.height(this.#clock.lastBlock(slot - 1));
    const slots = Array.from({ length: Math.min(512, height + 1) }, (_, i) => this.#clock.slotAtHeight(height - i));
    this.#svm.setSlotHashes(slots.map((at) => ({ slot: BigInt(at), hash: this.#hashes.textOf(at) })));
  }

  #allKeys(tx: WireTransaction): { keys: readonly Key[]; loaded: { writable: Key[]; readonly: Key[] } } {
    const loaded = { writable: this.#lookUp(tx, 'writable'), readonly: this.#lookUp(tx, 'readonly') };
    return { keys: [...tx.keys, ...loaded.writable, ...loaded.readonly], loaded };
  }

  #lookUp(tx: WireTransaction, kind: 'writable' | 'readonly'): Key[] {
    return tx.lookups.flatMap((lookup) => {
      const data = this.#accounts.newest(lookup.table)?.data ?? new Uint8Array();
      // The addresses of a lookup table begin at byte 56.
      return [...lookup[kind]].map((index) => Buffer.from(data.subarray(56 + 32 * index, 88 + 32 * index)).toString('latin1'));
    });
  }

  #meta(
    outcome: ExecutionOutcome,
    keys: readonly Key[],
    before: readonly (SvmAccount | null)[],
    after: readonly (SvmAccount | null)[],
    loaded: { writable: Key[]; readonly: Key[] },
  ): TransactionMeta {
    const preBalances = before.map((account) => account?.lamports ?? 0n);
    const postBalances = after.map((account) => account?.lamports ?? 0n);
    const sum = (balances: readonly bigint[]) => balances.reduce((total, balance) => total + balance, 0n);
    const returnData = returnDataOf(outcome);
    return {
      err: outcome.err,
      status: outcome.err === null ? { Ok: null } : { Err: outcome.err },
      // The fee is the sum of the balances before minus the sum after, because all other amounts only move between accounts of the transaction.
      fee: Number(sum(preBalances) - sum(postBalances)),
      preBalances: preBalances.map(Number),
      postBalances: postBalances.map(Number),
      innerInstructions: innerInstructions(outcome),
      logMessages: outcome.logs,
      preTokenBalances: tokenBalances(keys, before, this.#accounts),
      postTokenBalances: tokenBalances(keys, after, this.#accounts),
      rewards: [],
      loadedAddresses: { writable: loaded.writable.map(base58Of), readonly: loaded.readonly.map(base58Of) },
      ...(returnData ? { returnData } : {}),
      computeUnitsConsumed: outcome.units,
    };
  }
}

function isSameAccount(a: SvmAccount | null, b: SvmAccount | null): boolean {
  if (a === null || b === null) return a === b;
  return a.lamports === b.lamports && a.owner === b.owner && a.executable === b.executable && Buffer.compare(a.data, b.data) === 0;
}

import { base58Of, type Key, LOOKUP_TABLE_PROGRAM, SLOT_HASHES_SYSVAR } from '../keys.ts';
import type { Accounts } from './accounts.ts';
import type { Blockhashes } from './blockhashes.ts';
import { innerInstructions, returnDataOf, type TransactionMeta, tokenBalances } from './meta.ts';
import { durableNonce, nextNonce, nonceOf, withNonce } from './nonces.ts';
import type { SlotClock } from './slots.ts';
import type { Account, Outcome, Simulation, Svm } from './svm.ts';
import type { TransactionError } from './transaction-errors.ts';
import { mayWrite, type WireMessage, type WireTransaction } from './wire.ts';

/** Blocks for which a blockhash is good. */
export const BLOCKHASH_BLOCKS = 150;

/** A transaction that has become part of a block. */
export interface Execution {
  /** Every key of the message, those of lookup tables included. */
  readonly keys: readonly Key[];
  readonly meta: TransactionMeta;
  /** The accounts it changed, as they are since. */
  readonly writes: readonly (readonly [Key, Account | null])[];
}

/** A nonce of which the SVM was told another value than its real one. */
interface ShownNonce {
  readonly key: Key;
  readonly real: Key;
  readonly value: Key;
}

/** Executes transactions in blocks: what a blockhash and a nonce mean is decided here, what instructions do by the SVM. */
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

  /** Last block height in which a transaction with this blockhash may land; null for an unknown or future one. */
  lastValidHeight(hash: Key, slot: number): number | null {
    const at = this.#hashes.slotOf(hash);
    if (at === null || at > slot || !this.#clock.hasBlock(at)) return null;
    return this.#clock.height(at) + BLOCKHASH_BLOCKS;
  }

  /** Whether a bank at `slot` takes a blockhash. Its own one exists only when the block is complete. */
  knowsBlockhash(hash: Key, slot: number): boolean {
    const last = this.lastValidHeight(hash, slot);
    return last !== null && this.#clock.height(slot) <= last;
  }

  /**
   * Why a transaction may not be in a block at `slot`, or null.
   * @param seen the newest slot whose blockhash the asking bank knows
   */
  ageError(message: WireMessage, slot: number, seen: number): TransactionError | null {
    const at = this.#hashes.slotOf(message.blockhash);
    if (at !== null && at <= seen && this.knowsBlockhash(message.blockhash, slot)) return null;
    return this.#usableNonce(message, slot) === null ? 'BlockhashNotFound' : null;
  }

  simulate(tx: WireTransaction, slot: number, verifySignatures: boolean): Simulation {
    this.#prepare(tx, slot);
    const shown = this.#showNonces(tx, slot);
    const result = this.#svm.simulate(tx, verifySignatures);
    this.#hideNonces(shown, slot);
    return result;
  }

  /**
   * Executes a transaction in the block of `slot`.
   * @returns an error alone where no fee was paid: then it is in no block
   */
  land(tx: WireTransaction, slot: number): Execution | TransactionError {
    const missing = tx.instructions.some(({ programIndex }) => this.#accounts.newest(tx.keys[programIndex] ?? '') === null);
    if (missing) return 'ProgramAccountNotFound';
    const nonce = this.knowsBlockhash(tx.blockhash, slot) ? null : this.#usableNonce(tx, slot);
    this.#prepare(tx, slot);
    const { keys, loaded } = this.#allKeys(tx);
    const before = keys.map((key) => this.#accounts.newest(key));
    const shown = this.#showNonces(tx, slot);
    const outcome = this.#svm.send(tx);
    this.#hideNonces(shown, slot);
    const payer = this.#svm.get(keys[0] ?? '');
    if (outcome.err !== null && payer?.lamports === before[0]?.lamports) return outcome.err;
    if (outcome.err !== null && nonce !== null) this.#advanceNonce(nonce, slot);
    const writes: [Key, Account | null][] = [];
    const after = keys.map((key, i) => {
      const old = before[i] ?? null;
      const may = i < tx.keys.length ? mayWrite(tx, i) : i < tx.keys.length + loaded.writable.length;
      if (!may) return old;
      const account = this.#nonceOfThisBlock(key, old, slot);
      if (same(old, account)) return old;
      this.#accounts.write(key, slot, account, old);
      writes.push([key, account]);
      return account;
    });
    return { keys, meta: this.#meta(outcome, keys, before, after, loaded), writes };
  }

  /** The value that a durable nonce in a block at `slot` moves to. */
  #nextNonce(slot: number): Key {
    return nextNonce(this.#hashes.of(this.#clock.lastBlock(slot - 1)));
  }

  /** The nonce account whose value stands where the blockhash would, if it may be used in this block. */
  #usableNonce(message: WireMessage, slot: number): Key | null {
    const named = durableNonce(message);
    const nonce = named && nonceOf(this.#accounts.newest(named.account));
    if (!named || !nonce || nonce.value !== message.blockhash || !named.signers.includes(nonce.authority)) return null;
    // A nonce moves once a block.
    return this.#nextNonce(slot) === nonce.value ? null : named.account;
  }

  /**
   * The SVM refuses to move a nonce that came from the transaction's blockhash, a cluster one that has moved in this block. It is
   * shown such values that both say the same.
   */
  #showNonces(tx: WireTransaction, slot: number): ShownNonce[] {
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

  /** What was not moved is again what it was; what was is this block's. */
  #hideNonces(shown: readonly ShownNonce[], slot: number): void {
    for (const { key, real, value } of shown) {
      const account = this.#svm.get(key);
      const now = nonceOf(account)?.value;
      if (account && now !== undefined) this.#svm.set(key, withNonce(account, now === value ? real : this.#nextNonce(slot)));
    }
  }

  #advanceNonce(key: Key, slot: number): void {
    const account = this.#svm.get(key);
    if (account) this.#svm.set(key, withNonce(account, this.#nextNonce(slot)));
  }

  /** The SVM moves nonces by the transaction's blockhash; a cluster by the hash of the block before. */
  #nonceOfThisBlock(key: Key, old: Account | null, slot: number): Account | null {
    const account = this.#svm.get(key);
    const nonce = nonceOf(account);
    if (!account || !nonce || nonce.value === nonceOf(old)?.value) return account;
    const moved = withNonce(account, this.#nextNonce(slot));
    this.#svm.set(key, moved);
    return moved;
  }

  /** Brings the sysvars to a slot. */
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
      // Addresses follow 56 bytes of state.
      return [...lookup[kind]].map((index) => Buffer.from(data.subarray(56 + 32 * index, 88 + 32 * index)).toString('latin1'));
    });
  }

  #meta(
    outcome: Outcome,
    keys: readonly Key[],
    before: readonly (Account | null)[],
    after: readonly (Account | null)[],
    loaded: { writable: Key[]; readonly: Key[] },
  ): TransactionMeta {
    const preBalances = before.map((account) => account?.lamports ?? 0n);
    const postBalances = after.map((account) => account?.lamports ?? 0n);
    const sum = (balances: readonly bigint[]) => balances.reduce((total, balance) => total + balance, 0n);
    const returnData = returnDataOf(outcome);
    return {
      err: outcome.err,
      status: outcome.err === null ? { Ok: null } : { Err: outcome.err },
      // Nothing else leaves a transaction.
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

function same(a: Account | null, b: Account | null): boolean {
  if (a === null || b === null) return a === b;
  return a.lamports === b.lamports && a.owner === b.owner && a.executable === b.executable && Buffer.compare(a.data, b.data) === 0;
}

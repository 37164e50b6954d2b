import { bytesOf, CLOCK_SYSVAR, type Key } from '../keys.ts';
import { Accounts } from './accounts.ts';
import { Bank, type Execution } from './bank.ts';
import { Blockhashes, type Fork } from './blockhashes.ts';
import { Congestion, type Market } from './congestion.ts';
import { Faucet } from './faucet.ts';
import { FeeHistory } from './fee-history.ts';
import { computeUnitPrice } from './fees.ts';
import { type Journal, type JournalPosition, memoryJournal, openJournal } from './journal.ts';
import { accountOf, type JournalEntry, type StoredTransaction, splitKeys, writeOf } from './journal-entries.ts';
import { type LandedTransaction, Ledger } from './ledger.ts';
import { memoOf, type TransactionMeta } from './meta.ts';
import { type Anchor, SlotClock } from './slots.ts';
import { Svm, type SvmAccount } from './svm.ts';
import { clockSysvar } from './sysvars.ts';
import type { TransactionError } from './transaction-errors.ts';
import { mayWrite, parseTransaction, type WireTransaction } from './wire.ts';

export interface ChainOptions {
  /** Length of a slot, ms. */
  readonly slotMs: number;
  /** A block is confirmed when `confirmedAfter` later blocks exist, and finalized when `finalizedAfter` later blocks exist. */
  readonly confirmedAfter: number;
  readonly finalizedAfter: number;
  /** File of the journal. If undefined, the journal is in memory. */
  readonly journalPath?: string | undefined;
  /** 32 bytes from which block hashes and keys derive. A journal must always be opened with the seed with which it was created. */
  readonly seed: Buffer;
}

/** Slots begin at 1000 and block heights at 900, so that code that confuses slots and heights fails at once. */
const FIRST_SLOT = 1_000;
const FIRST_HEIGHT = 900;

interface ScheduledAction {
  readonly slot: number;
  readonly act: (slot: number) => void;
}

/**
 * The simulated Solana cluster. Both RPC nodes of the localnet share this cluster's slot clock, accounts and ledger, until the command `split` gives the
 * second node a copy of the accounts and the ledger.
 */
export class Chain {
  readonly svm = new Svm();
  readonly accounts: Accounts;
  readonly ledger = new Ledger();
  readonly fees = new FeeHistory();
  readonly hashes: Blockhashes;
  readonly clock: SlotClock;
  readonly bank: Bank;
  readonly faucet: Faucet;
  readonly options: ChainOptions;
  readonly #journal: Journal;
  #scheduled: ScheduledAction[] = [];
  /** The competition for blocks; null while each transaction lands at once. */
  #congestion: Congestion | null = null;
  #slot = 0;

  /** @param source the chain of which the new one is a copy with its own accounts and ledger and the same slot clock; undefined: a chain of its own */
  constructor(options: ChainOptions, source?: Chain) {
    this.options = options;
    this.hashes = new Blockhashes(options.seed);
    this.accounts = new Accounts((key, slot) => (key === CLOCK_SYSVAR ? clockSysvar(this.clock, slot, this.svm.slotsPerEpoch) : this.svm.get(key)));
    const anchors: Anchor[] = [];
    const replay = (entry: unknown, position: JournalPosition) => this.#replay(entry as JournalEntry, position, anchors);
    this.#journal = options.journalPath === undefined ? memoryJournal() : openJournal(options.journalPath, replay);
    if (source) {
      source.#journal.replay((entry) => replay(entry, this.#append(entry as JournalEntry)));
      this.#restore(this.accounts.keys());
      this.clock = source.clock;
    } else {
      this.clock = this.#startClock(anchors);
    }
    this.bank = new Bank({ svm: this.svm, accounts: this.accounts, clock: this.clock, hashes: this.hashes });
    this.faucet = new Faucet(this, options.seed);
  }

  /** Returns a copy in memory of the accounts and the ledger, with the same slot clock. */
  copy(): Chain {
    const copy = new Chain({ ...this.options, journalPath: undefined }, this);
    if (this.#congestion) copy.congest(this.#congestion.market);
    return copy;
  }

  /** Number of transactions that wait for a block. */
  get waiting(): number {
    return this.#congestion?.waiting ?? 0;
  }

  /** Makes transactions compete for the blocks. Null ends the congestion: the waiting transactions land at once, and later ones when they are sent. */
  congest(market: Market | null): void {
    const slot = this.tick();
    const waiting = this.#congestion?.drain() ?? [];
    this.#congestion = market && new Congestion(this, market, slot);
    for (const tx of waiting) this.receive(tx);
  }

  /** Receives a transaction from a node: it lands in the current slot or, while the cluster is congested, waits for a block. */
  receive(tx: WireTransaction): void {
    const slot = this.tick();
    if (!this.#congestion) this.land(tx, slot);
    else if (this.rejectionReason(tx, slot, slot - 1) === null) this.#congestion.add(tx);
  }

  /** Makes the hashes of all later blocks differ from the hashes of the same blocks in other copies of this chain. */
  forkHashes(): void {
    this.hashes.addFork({ from: this.tick() + 1, to: Number.MAX_SAFE_INTEGER, id: 1_000_000 + this.hashes.forks });
  }

  /** Starts the slot clock at the given anchors, or at the first slot if there are none. */
  #startClock(anchors: Anchor[]): SlotClock {
    if (anchors.length === 0) {
      anchors.push(...firstAnchors(this.options.slotMs));
      for (const anchor of anchors) this.#append({ t: 'clock', anchor });
    } else this.#restore(this.accounts.keys());
    const clock = new SlotClock(anchors, (anchor) => this.#append({ t: 'clock', anchor }));
    if (clock.paused) clock.resume();
    if (clock.slotMs !== this.options.slotMs) clock.setSlotMs(this.options.slotMs);
    return clock;
  }

  /**
   * The slot of the last `tick`. A node reads all parts of an answer at this slot: if the answer read the clock twice, a scheduled fork could drop a
   * transaction between the two reads, and the answer could state that this transaction is finalized.
   */
  get slot(): number {
    return this.#slot;
  }

  /**
   * Advances to the current slot of the clock: fills the blocks of a congested cluster and runs the scheduled actions that are due. Every request calls
   * this method first.
   * @returns the current slot
   */
  tick(): number {
    this.#slot = this.clock.slot;
    this.#congestion?.fillUntil(this.#slot, (filled) => this.#runScheduled(filled));
    this.#runScheduled(this.#slot);
    return this.#slot;
  }

  #runScheduled(slot: number): void {
    while (this.#scheduled[0] && this.#scheduled[0].slot <= slot) {
      const due = this.#scheduled.shift();
      due?.act(this.clock.lastBlock(due.slot));
    }
  }

  /**
   * Schedules the action `act` for `slot`. `tick` calls `act` with `slot` or, if `slot` has no block, with the last earlier slot that has a block.
   * Actions run in the order of their slots.
   */
  schedule(slot: number, act: (slot: number) => void): void {
    this.#scheduled.push({ slot, act });
    this.#scheduled.sort((a, b) => a.slot - b.slot);
  }

  /** Cancels all scheduled actions. */
  cancelScheduled(): void {
    this.#scheduled = [];
  }

  /**
   * Returns the reason why a transaction cannot land in a slot; null if it can land.
   * @param seen newest slot whose blockhash a transaction may use
   */
  rejectionReason(tx: WireTransaction, slot: number, seen: number): TransactionError | null {
    const age = this.bank.blockhashError(tx, slot, seen);
    if (age !== null) return age;
    return this.ledger.find(tx.signature) ? 'AlreadyProcessed' : null;
  }

  /** Executes a transaction in the block of a slot (default: the current slot). @returns the reason if the transaction did not land, else null */
  land(tx: WireTransaction, slot = this.tick()): TransactionError | null {
    const refused = this.rejectionReason(tx, slot, slot - 1);
    if (refused !== null) return refused;
    const done = this.bank.land(tx, slot);
    if (typeof done === 'string' || !('writes' in done)) return done;
    this.record(tx, slot, done);
    return null;
  }

  /** Adds an executed transaction to the block of a slot. */
  record(tx: WireTransaction, slot: number, { keys, meta, writes }: Execution): void {
    const { signature } = tx;
    const memo = memoOf(tx);
    const price = computeUnitPrice(tx);
    const position = this.#append({
      t: 'tx',
      slot,
      signature,
      memo,
      price: price.toString(),
      keys: Buffer.concat(keys.map(bytesOf)).toString('base64'),
      tx: tx.raw.toString('base64'),
      meta,
      writes: writes.map(writeOf),
    });
    this.ledger.add({ signature, slot, err: meta.err, memo, price, keys, position });
    const writable = tx.keys.filter((_, index) => mayWrite(tx, index));
    this.fees.record(slot, Number(price), writable);
  }

  /** Reads the bytes and the meta of a transaction from the journal. */
  storedTransaction(landed: LandedTransaction): { raw: Buffer; meta: TransactionMeta } {
    const { tx, meta } = this.#journal.read(landed.position) as StoredTransaction;
    return { raw: Buffer.from(tx, 'base64'), meta };
  }

  /** Sets the states of accounts without a transaction. */
  setAccounts(accounts: readonly (readonly [Key, SvmAccount | null])[]): void {
    const slot = this.tick();
    for (const [key, account] of accounts) {
      const before = this.accounts.newest(key);
      this.svm.set(key, account);
      this.accounts.write(key, slot, account, before);
    }
    this.#append({ t: 'set', slot, writes: accounts.map(writeOf) });
  }

  /**
   * Replaces the block of a transaction and all later blocks, as in a fork. The transaction disappears from the chain. The other transactions of the
   * replaced blocks land again in the block of `slot` if their blockhashes are still valid.
   * @returns false if the transaction has not landed or its block is finalized
   */
  fork(signature: string, slot = this.tick()): boolean {
    const lost = this.ledger.find(signature);
    if (!lost || lost.slot <= this.finalized(slot)) return false;
    const fork = { from: lost.slot, to: slot, id: this.hashes.forks + 1 };
    const undone = this.#rollBack(fork);
    this.#append({ t: 'fork', fork });
    for (const landed of undone) if (landed.signature !== signature) this.land(parseTransaction(this.storedTransaction(landed).raw), slot);
    return true;
  }

  /** Returns the slot of the newest block that is confirmed when `slot` is the newest slot. */
  confirmed(slot: number): number {
    return this.#below(slot, this.options.confirmedAfter);
  }

  finalized(slot: number): number {
    return this.#below(slot, this.options.finalizedAfter);
  }

  close(): void {
    this.#journal.close();
  }

  /** Copies the newest states of accounts into the SVM. */
  #restore(keys: Iterable<Key>): void {
    const states = [...keys].map((key) => ({ key, account: this.accounts.newest(key) }));
    // When a program account is written, the SVM loads the program from its data account. So executable accounts are written last.
    states.sort((a, b) => Number(a.account?.executable ?? false) - Number(b.account?.executable ?? false));
    for (const { key, account } of states) this.svm.set(key, account);
  }

  #below(slot: number, blocks: number): number {
    return this.clock.slotAtHeight(Math.max(0, this.clock.height(slot) - blocks));
  }

  #append(entry: JournalEntry): JournalPosition {
    return this.#journal.append(entry);
  }

  #rollBack(fork: Fork): LandedTransaction[] {
    this.hashes.addFork(fork);
    this.fees.rollBack(fork.from);
    this.#restore(this.accounts.rollBack(fork.from));
    return this.ledger.rollBack(fork.from);
  }

  #replay(entry: JournalEntry, position: JournalPosition, anchors: Anchor[]): void {
    if (entry.t === 'clock') anchors.push(entry.anchor);
    else if (entry.t === 'fork') this.#rollBack(entry.fork);
    else {
      for (const [key, account] of entry.writes.map(accountOf)) this.accounts.write(key, entry.slot, account, this.accounts.newest(key));
      if (entry.t === 'set') return;
      const { signature, slot, memo, meta, price } = entry;
      const keys = splitKeys(Buffer.from(entry.keys, 'base64'));
      this.ledger.add({ signature, slot, err: meta.err, memo, price: BigInt(price), keys, position });
    }
  }
}

function firstAnchors(slotMs: number): Anchor[] {
  const common = { at: Date.now(), slotMs, paused: false, offset: 0 };
  return [
    { ...common, slot: 0, height: 0, skipped: 0 },
    { ...common, slot: FIRST_SLOT, height: FIRST_HEIGHT, skipped: FIRST_SLOT - FIRST_HEIGHT },
  ];
}

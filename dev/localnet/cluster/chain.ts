import { Faucet } from '../control/faucet.ts';
import { bytesOf, CLOCK_SYSVAR, type Key, keyOf } from '../keys.ts';
import { Accounts } from './accounts.ts';
import { Bank, type Execution } from './bank.ts';
import { Blockhashes, type Fork } from './blockhashes.ts';
import { computeUnitPrice } from './fees.ts';
import { type Journal, memoryJournal, openJournal, type Place } from './journal.ts';
import { type Landed, Ledger } from './ledger.ts';
import { memoOf, type TransactionMeta } from './meta.ts';
import { type Anchor, SlotClock } from './slots.ts';
import { type Account, Svm } from './svm.ts';
import { clockSysvar } from './sysvars.ts';
import type { TransactionError } from './transaction-errors.ts';
import { parseTransaction, type WireTransaction } from './wire.ts';

export interface ChainOptions {
  /** Length of a slot, ms. */
  readonly slotMs: number;
  /** Blocks after which a block is confirmed, and finalized. */
  readonly confirmedAfter: number;
  readonly finalizedAfter: number;
  /** Where the journal is kept; in memory without it. */
  readonly journalPath?: string | undefined;
  /** Makes blockhashes; the same for all of a folder's lives. */
  readonly seed: Buffer;
}

/** An account in the journal: key, then lamports, owner, data and executable unless it was closed; base64. */
type Write = [key: string, lamports?: string, owner?: string, data?: string, executable?: 0 | 1];

type Entry =
  | { t: 'clock'; anchor: Anchor }
  | { t: 'set'; slot: number; writes: Write[] }
  | { t: 'fork'; fork: Fork }
  | ({ t: 'tx'; slot: number; signature: string; memo: string | null; price: string; keys: string } & Body & { writes: Write[] });

/** A transaction as it can be read back. */
interface Body {
  tx: string;
  meta: TransactionMeta;
}

/** Slots begin at 1000 and heights at 900: who takes one for the other finds out at once. */
const FIRST_SLOT = 1_000;
const FIRST_HEIGHT = 900;

interface Late {
  readonly slot: number;
  readonly act: (slot: number) => void;
}

/** The one cluster behind all nodes: its clock, its accounts, its ledger. */
export class Chain {
  readonly svm = new Svm();
  readonly accounts: Accounts;
  readonly ledger = new Ledger();
  readonly hashes: Blockhashes;
  readonly clock: SlotClock;
  readonly bank: Bank;
  readonly faucet: Faucet;
  readonly options: ChainOptions;
  readonly #journal: Journal;
  #late: Late[] = [];

  constructor(options: ChainOptions) {
    this.options = options;
    this.hashes = new Blockhashes(options.seed);
    this.accounts = new Accounts((key, slot) => (key === CLOCK_SYSVAR ? clockSysvar(this.clock, slot, this.svm.slotsPerEpoch) : this.svm.get(key)));
    const anchors: Anchor[] = [];
    const replay = (entry: unknown, place: Place) => this.#replay(entry as Entry, place, anchors);
    this.#journal = options.journalPath === undefined ? memoryJournal() : openJournal(options.journalPath, replay);
    if (anchors.length === 0) {
      anchors.push(...firstAnchors(options.slotMs));
      for (const anchor of anchors) this.#append({ t: 'clock', anchor });
    } else this.#restore(this.accounts.keys());
    this.clock = new SlotClock(anchors, (anchor) => this.#append({ t: 'clock', anchor }));
    if (this.clock.paused) this.clock.resume();
    if (this.clock.slotMs !== options.slotMs) this.clock.setSlotMs(options.slotMs);
    this.bank = new Bank({ svm: this.svm, accounts: this.accounts, clock: this.clock, hashes: this.hashes });
    this.faucet = new Faucet(this, options.seed);
  }

  /** Does what has become due, and returns the slot of now. Everybody who asks anything asks this first. */
  tick(): number {
    const slot = this.clock.slot;
    while (this.#late[0] && this.#late[0].slot <= slot) {
      const due = this.#late.shift();
      due?.act(this.clock.lastBlock(due.slot));
    }
    return slot;
  }

  /** Does something in a later slot. The slot handed over has a block, and nothing later has happened yet. */
  at(slot: number, act: (slot: number) => void): void {
    this.#late.push({ slot, act });
    this.#late.sort((a, b) => a.slot - b.slot);
  }

  /** Forgets what was to be done later. */
  forgetLate(): void {
    this.#late = [];
  }

  /** Why a transaction would not be taken into a block now, or null. */
  refusal(tx: WireTransaction, slot: number, seen: number): TransactionError | null {
    const age = this.bank.ageError(tx, slot, seen);
    if (age !== null) return age;
    return this.ledger.find(tx.signature) ? 'AlreadyProcessed' : null;
  }

  /** Takes a transaction into the block of a slot, this one if none is named. @returns why it is in no block */
  land(tx: WireTransaction, slot = this.tick()): TransactionError | null {
    const refused = this.refusal(tx, slot, slot - 1);
    if (refused !== null) return refused;
    const done = this.bank.land(tx, slot);
    if (typeof done === 'string' || !('writes' in done)) return done;
    this.#record(tx, slot, done);
    return null;
  }

  /** What a transaction did. */
  body(landed: Landed): { raw: Buffer; meta: TransactionMeta } {
    const { tx, meta } = this.#journal.read(landed.place) as Body;
    return { raw: Buffer.from(tx, 'base64'), meta };
  }

  /** Writes accounts from outside of any transaction. */
  setAccounts(accounts: readonly (readonly [Key, Account | null])[]): void {
    const slot = this.tick();
    for (const [key, account] of accounts) {
      const before = this.accounts.newest(key);
      this.svm.set(key, account);
      this.accounts.write(key, slot, account, before);
    }
    this.#append({ t: 'set', slot, writes: accounts.map(writeOf) });
  }

  /**
   * The block of a transaction and all after it turn out to have been a minority's. The others' transactions land again now, if
   * their blockhashes still hold; this one is gone.
   * @returns false where it is in no block or its block is final
   */
  fork(signature: string, slot = this.tick()): boolean {
    const lost = this.ledger.find(signature);
    if (!lost || lost.slot <= this.finalized(slot)) return false;
    const fork = { from: lost.slot, to: slot, id: this.hashes.forks + 1 };
    const undone = this.#rollBack(fork);
    this.#append({ t: 'fork', fork });
    for (const landed of undone) if (landed.signature !== signature) this.land(parseTransaction(this.body(landed).raw), slot);
    return true;
  }

  /** Newest confirmed block, seen from a slot. */
  confirmed(slot: number): number {
    return this.#below(slot, this.options.confirmedAfter);
  }

  finalized(slot: number): number {
    return this.#below(slot, this.options.finalizedAfter);
  }

  close(): void {
    this.#journal.close();
  }

  /** Gives the SVM the newest state of some accounts. */
  #restore(keys: Iterable<Key>): void {
    const states = [...keys].map((key) => ({ key, account: this.accounts.newest(key) }));
    // A program is loaded from its data when it is written.
    states.sort((a, b) => Number(a.account?.executable ?? false) - Number(b.account?.executable ?? false));
    for (const { key, account } of states) this.svm.set(key, account);
  }

  #below(slot: number, blocks: number): number {
    return this.clock.slotAtHeight(Math.max(0, this.clock.height(slot) - blocks));
  }

  #record(tx: WireTransaction, slot: number, { keys, meta, writes }: Execution): void {
    const { signature } = tx;
    const memo = memoOf(tx);
    const price = computeUnitPrice(tx);
    const place = this.#append({
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
    this.ledger.add({ signature, slot, err: meta.err, memo, price, keys, place });
  }

  #append(entry: Entry): Place {
    return this.#journal.append(entry);
  }

  #rollBack(fork: Fork): Landed[] {
    this.hashes.addFork(fork);
    this.#restore(this.accounts.rollBack(fork.from));
    return this.ledger.rollBack(fork.from);
  }

  #replay(entry: Entry, place: Place, anchors: Anchor[]): void {
    if (entry.t === 'clock') anchors.push(entry.anchor);
    else if (entry.t === 'fork') this.#rollBack(entry.fork);
    else {
      for (const [key, account] of entry.writes.map(accountOf)) this.accounts.write(key, entry.slot, account, this.accounts.newest(key));
      if (entry.t === 'set') return;
      const { signature, slot, memo, meta, price } = entry;
      const keys = splitKeys(Buffer.from(entry.keys, 'base64'));
      this.ledger.add({ signature, slot, err: meta.err, memo, price: BigInt(price), keys, place });
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

function splitKeys(bytes: Buffer): Key[] {
  return Array.from({ length: bytes.length / 32 }, (_, i) => keyOf(bytes.subarray(32 * i, 32 * i + 32)));
}

function writeOf([key, account]: readonly [Key, Account | null]): Write {
  const name = bytesOf(key).toString('base64');
  if (!account) return [name];
  const data = Buffer.from(account.data).toString('base64');
  return [name, account.lamports.toString(), bytesOf(account.owner).toString('base64'), data, account.executable ? 1 : 0];
}

function accountOf([name, lamports, owner, data, executable]: Write): [Key, Account | null] {
  const key = keyOf(Buffer.from(name, 'base64'));
  if (lamports === undefined || owner === undefined || data === undefined) return [key, null];
  const bytes = new Uint8Array(Buffer.from(data, 'base64'));
  return [key, { lamports: BigInt(lamports), owner: keyOf(Buffer.from(owner, 'base64')), data: bytes, executable: executable === 1 }];
}

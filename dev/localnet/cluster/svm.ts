import native from 'litesvm/dist/internal.js';
import { bytesOf, type Key, keyOf, SYSTEM_PROGRAM } from '../keys.ts';
import { type TransactionError, transactionErrorOf } from './transaction-errors.ts';
import type { WireTransaction } from './wire.ts';

/** An account. Its `data` is never modified; a change replaces the object. */
export interface SvmAccount {
  readonly lamports: bigint;
  readonly owner: Key;
  readonly executable: boolean;
  readonly data: Uint8Array;
}

export interface InnerInstruction {
  readonly programIndex: number;
  readonly accounts: Uint8Array;
  readonly data: Uint8Array;
  readonly stackHeight: number;
}

/** The result of an execution. */
export interface ExecutionOutcome {
  readonly err: TransactionError | null;
  readonly logs: readonly string[];
  readonly units: number;
  /** Inner instructions per top-level instruction. */
  readonly inner: readonly (readonly InnerInstruction[])[];
  readonly returnData: { readonly program: Key; readonly data: Uint8Array } | null;
}

export interface Simulation extends ExecutionOutcome {
  /** The writable accounts after the transaction; empty if it failed. */
  readonly accounts: ReadonlyMap<Key, SvmAccount>;
}

type NativeMetadata = ReturnType<InstanceType<typeof native.FailedTransactionMetadata>['meta']>;

/**
 * LiteSVM with its builtin and SPL programs and the newest state of every account. LiteSVM's own checks of blockhashes and duplicate transactions are
 * off, because LiteSVM knows only one blockhash, while a cluster accepts many recent blockhashes. `Chain` and `Bank` do these checks.
 */
export class Svm {
  readonly #vm = new native.LiteSvm();

  constructor() {
    this.#vm.setBlockhashCheck(false);
    this.#vm.setTransactionHistory(0n);
  }

  get(key: Key): SvmAccount | null {
    const account = this.#vm.getAccount(bytesOf(key));
    return account ? accountOf(account) : null;
  }

  /** Writes an account, or deletes it (null). Precondition: the data account of a program is written before the program account. */
  set(key: Key, account: SvmAccount | null): void {
    const { lamports, data, owner, executable } = account ?? { lamports: 0n, data: new Uint8Array(), owner: SYSTEM_PROGRAM, executable: false };
    this.#vm.setAccount(bytesOf(key), new native.Account(lamports, data, bytesOf(owner), executable, 0n));
  }

  /** Sets the clock sysvar to a slot and a time. */
  setClock(slot: number, unixSeconds: number): void {
    const { slotsPerEpoch } = this.#vm.getEpochSchedule();
    const epoch = BigInt(slot) / slotsPerEpoch;
    this.#vm.setClock(new native.Clock(BigInt(slot), 0n, epoch, epoch + 1n, BigInt(unixSeconds)));
  }

  /** Sets the slot hashes sysvar. `hashes` begins with the newest slot. */
  setSlotHashes(hashes: readonly { slot: bigint; hash: string }[]): void {
    this.#vm.setSlotHashes([...hashes]);
  }

  get slotsPerEpoch(): number {
    return Number(this.#vm.getEpochSchedule().slotsPerEpoch);
  }

  minimumBalance(bytes: number): bigint {
    return this.#vm.minimumBalanceForRentExemption(BigInt(bytes));
  }

  /** Executes a transaction and stores its changes. If the transaction fails but pays the fee, stores only the fee. */
  send(tx: WireTransaction): ExecutionOutcome {
    const result = tx.version === 'legacy' ? this.#vm.sendLegacyTransaction(tx.raw) : this.#vm.sendVersionedTransaction(tx.raw);
    return result instanceof native.FailedTransactionMetadata ? outcomeOf(transactionErrorOf(result.err()), result.meta()) : outcomeOf(null, result);
  }

  /** Executes a transaction without storing its changes. */
  simulate(tx: WireTransaction, verifySignatures: boolean): Simulation {
    this.#vm.setSigverify(verifySignatures);
    try {
      const result = tx.version === 'legacy' ? this.#vm.simulateLegacyTransaction(tx.raw) : this.#vm.simulateVersionedTransaction(tx.raw);
      if (result instanceof native.FailedTransactionMetadata) {
        return { ...outcomeOf(transactionErrorOf(result.err()), result.meta()), accounts: new Map() };
      }
      const accounts = new Map(result.postAccounts().map((entry) => [keyOf(entry.address), accountOf(entry.account())]));
      return { ...outcomeOf(null, result.meta()), accounts };
    } finally {
      this.#vm.setSigverify(true);
    }
  }
}

function accountOf(account: InstanceType<typeof native.Account>): SvmAccount {
  return { lamports: account.lamports(), owner: keyOf(account.owner()), executable: account.executable(), data: account.data() };
}

function outcomeOf(err: TransactionError | null, meta: NativeMetadata): ExecutionOutcome {
  const returned = meta.returnData();
  const data = returned.data();
  return {
    err,
    logs: meta.logs(),
    units: Number(meta.computeUnitsConsumed()),
    inner: meta.innerInstructions().map((list) =>
      list.map((entry) => {
        const instruction = entry.instruction();
        return {
          programIndex: instruction.programIdIndex(),
          accounts: instruction.accounts(),
          data: instruction.data(),
          stackHeight: entry.stackHeight(),
        };
      }),
    ),
    returnData: data.length > 0 ? { program: keyOf(returned.programId()), data } : null,
  };
}

import { type Keypair, PublicKey, SystemProgram, Transaction, type TransactionInstruction } from '@solana/web3.js';
import native from 'litesvm/dist/internal.js';
import { distributorError } from '#platform/solana/distributor/index.ts';
import { drawsError } from '#platform/solana/draws/index.ts';

/** The feature sets of the tests: the features of current clusters, and all features. */
export const FEATURES = ['default features', 'all features'] as const;
export type Features = (typeof FEATURES)[number];

/** An account. Changes of `data` take effect through `set`. */
export interface SvmAccount {
  owner: PublicKey;
  lamports: bigint;
  data: Buffer;
  executable: boolean;
}

/** A change to an account: new fields, or a function that changes a copy. */
export type AccountChange = Partial<SvmAccount> | ((account: SvmAccount) => unknown);

/** The result of a transaction. `error` is the error name of a program of this project, `Custom 17` for another program, or the runtime's text; null on success. */
export interface SvmResult {
  readonly error: string | null;
  readonly units: number;
  readonly logs: readonly string[];
}

function nameOf(error: ReturnType<InstanceType<typeof native.FailedTransactionMetadata>['err']>, logs: readonly string[]): string {
  if (!(error instanceof native.TransactionErrorInstructionError)) return `transaction error ${String(error)}`;
  const inner = error.err();
  if (inner instanceof native.InstructionErrorCustom) return (distributorError(inner.code) ?? drawsError(inner.code))?.name ?? `Custom ${inner.code}`;
  return /failed: (.*)/.exec(logs.at(-1) ?? '')?.[1] ?? `instruction error ${String(inner)}`;
}

/** Serializes a transaction. Unlike `serialize`, it accepts more than 1,232 bytes, which newer formats allow. */
export function wireOf(tx: Transaction): Buffer {
  const message = tx.compileMessage();
  const signatures = Array.from({ length: message.header.numRequiredSignatures }, (_, i) => tx.signatures[i]?.signature ?? Buffer.alloc(64));
  return Buffer.concat([Buffer.from([signatures.length]), ...signatures, message.serialize()]);
}

/** The real SVM with the programs of every cluster. Its clock changes only when it is set. */
export class Svm {
  readonly #vm = new native.LiteSvm();

  constructor(features: Features) {
    if (features === 'all features') {
      this.#vm.setFeatureSet(native.FeatureSet.allEnabled());
      this.#vm.setBuiltins();
      this.#vm.setDefaultPrograms();
      this.#vm.setSysvars();
    }
    this.#vm.setTransactionHistory(0n);
    this.now = 1_800_000_000;
  }

  get slot(): number {
    return Number(this.#vm.getClock().slot);
  }

  /** Unix time in seconds. */
  get now(): number {
    return Number(this.#vm.getClock().unixTimestamp);
  }

  /** Sets the Unix time in seconds. A bigint can be any time of 64 bits. */
  set now(seconds: number | bigint) {
    const { slot, epochStartTimestamp, epoch, leaderScheduleEpoch } = this.#vm.getClock();
    this.#vm.setClock(new native.Clock(slot, epochStartTimestamp, epoch, leaderScheduleEpoch, BigInt(seconds)));
  }

  /** Advances one slot. A deployed program can be called from the next slot on. */
  nextSlot(): void {
    this.#vm.warpToSlot(this.#vm.getClock().slot + 1n);
  }

  setRent(lamportsPerByteYear: bigint, threshold: number): void {
    this.#vm.setRent(new native.Rent(lamportsPerByteYear, threshold, 50));
  }

  rent(bytes: number): number {
    return Number(this.#vm.minimumBalanceForRentExemption(BigInt(bytes)));
  }

  addProgram(program: PublicKey, bytes: Uint8Array): void {
    this.#vm.addProgram(program.toBytes(), bytes);
  }

  /** Adds lamports to an account. */
  fund(key: PublicKey, lamports: bigint): void {
    const account = this.get(key) ?? { owner: SystemProgram.programId, lamports: 0n, data: Buffer.alloc(0), executable: false };
    this.set(key, { ...account, lamports: account.lamports + lamports });
  }

  get(key: PublicKey): SvmAccount | null {
    const account = this.#vm.getAccount(key.toBytes());
    if (!account || account.lamports() === 0n) return null;
    return {
      owner: new PublicKey(account.owner()),
      lamports: account.lamports(),
      data: Buffer.from(account.data()),
      executable: account.executable(),
    };
  }

  /** Writes an account directly, without a transaction. */
  set(key: PublicKey, { owner, lamports, data, executable }: SvmAccount): void {
    this.#vm.setAccount(key.toBytes(), new native.Account(lamports, data, owner.toBytes(), executable, 0n));
  }

  /** Returns an account. @throws when it does not exist */
  account(key: PublicKey): SvmAccount {
    const account = this.get(key);
    if (!account) throw new Error(`no account at ${key.toBase58()}`);
    return account;
  }

  /** Runs `then` while an account is changed, and restores the account. */
  withForgedAccount<T>(key: PublicKey, change: AccountChange, then: () => T): T {
    const real = this.account(key);
    const forged = { ...real, data: Buffer.from(real.data) };
    if (typeof change === 'function') change(forged);
    else Object.assign(forged, change);
    this.set(key, forged);
    try {
      return then();
    } finally {
      this.set(key, real);
    }
  }

  lamports(key: PublicKey): bigint {
    return this.get(key)?.lamports ?? 0n;
  }

  /** Signs and executes a transaction. The first signer pays the fee; the others sign only if an instruction needs them. */
  send(instructions: readonly TransactionInstruction[], signers: readonly [Keypair, ...Keypair[]]): SvmResult {
    const tx = new Transaction({ recentBlockhash: this.#vm.latestBlockhash(), feePayer: signers[0].publicKey });
    tx.add(...instructions);
    const needed = new Set(instructions.flatMap(({ keys }) => keys.filter(({ isSigner }) => isSigner).map(({ pubkey }) => pubkey.toBase58())));
    tx.sign(...signers.filter(({ publicKey }, i) => i === 0 || needed.has(publicKey.toBase58())));
    const result = this.#vm.sendLegacyTransaction(wireOf(tx));
    const failed = result instanceof native.FailedTransactionMetadata;
    const meta = failed ? result.meta() : result;
    return { error: failed ? nameOf(result.err(), meta.logs()) : null, units: Number(meta.computeUnitsConsumed()), logs: meta.logs() };
  }

  /** Sends a transaction. @throws with the logs when it fails */
  must(instructions: readonly TransactionInstruction[], signers: readonly [Keypair, ...Keypair[]]): SvmResult {
    const outcome = this.send(instructions, signers);
    if (outcome.error !== null) throw new Error(`${outcome.error}\n${outcome.logs.join('\n')}`);
    return outcome;
  }
}

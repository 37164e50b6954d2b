import { type Keypair, PublicKey, SystemProgram, Transaction, type TransactionInstruction } from '@solana/web3.js';
import native from 'litesvm/dist/internal.js';
import { distributorError } from '#platform/solana/distributor/index.ts';

/** As clusters have them now, and with everything that is being prepared. */
export const FEATURES = ['default features', 'all features'] as const;
export type Features = (typeof FEATURES)[number];

/** An account; `data` may be written to, and goes back by `set`. */
export interface Account {
  owner: PublicKey;
  lamports: bigint;
  data: Buffer;
  executable: boolean;
}

/** How an account is forged. */
export type Change = Partial<Account> | ((account: Account) => unknown);

/** What came of a transaction: `error` is the program's own name for it, `Custom 17` for another program's, or the runtime's; null: it landed. */
export interface Outcome {
  readonly error: string | null;
  readonly units: number;
  readonly logs: readonly string[];
}

function nameOf(error: ReturnType<InstanceType<typeof native.FailedTransactionMetadata>['err']>, logs: readonly string[]): string {
  if (!(error instanceof native.TransactionErrorInstructionError)) return `transaction error ${String(error)}`;
  const inner = error.err();
  if (inner instanceof native.InstructionErrorCustom) return distributorError(inner.code)?.name ?? `Custom ${inner.code}`;
  return /failed: (.*)/.exec(logs.at(-1) ?? '')?.[1] ?? `instruction error ${String(inner)}`;
}

/** A transaction's bytes; unlike `serialize`, longer ones too: newer formats carry more than 1,232. */
export function wireOf(tx: Transaction): Buffer {
  const message = tx.compileMessage();
  const signatures = Array.from({ length: message.header.numRequiredSignatures }, (_, i) => tx.signatures[i]?.signature ?? Buffer.alloc(64));
  return Buffer.concat([Buffer.from([signatures.length]), ...signatures, message.serialize()]);
}

/** The real SVM with the programs every cluster has. Its clock stands until it is set. */
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

  /** Unix time in seconds. */
  get now(): number {
    return Number(this.#vm.getClock().unixTimestamp);
  }

  set now(seconds: number) {
    const { slot, epochStartTimestamp, epoch, leaderScheduleEpoch } = this.#vm.getClock();
    this.#vm.setClock(new native.Clock(slot, epochStartTimestamp, epoch, leaderScheduleEpoch, BigInt(seconds)));
  }

  /** A program that is deployed can be called from the next slot on. */
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

  /** Makes lamports out of nothing. */
  fund(key: PublicKey, lamports: bigint): void {
    const account = this.get(key) ?? { owner: SystemProgram.programId, lamports: 0n, data: Buffer.alloc(0), executable: false };
    this.set(key, { ...account, lamports: account.lamports + lamports });
  }

  get(key: PublicKey): Account | null {
    const account = this.#vm.getAccount(key.toBytes());
    if (!account || account.lamports() === 0n) return null;
    return {
      owner: new PublicKey(account.owner()),
      lamports: account.lamports(),
      data: Buffer.from(account.data()),
      executable: account.executable(),
    };
  }

  /** Writes an account as no transaction could. */
  set(key: PublicKey, { owner, lamports, data, executable }: Account): void {
    this.#vm.setAccount(key.toBytes(), new native.Account(lamports, data, owner.toBytes(), executable, 0n));
  }

  /** @throws Error where there is none */
  account(key: PublicKey): Account {
    const account = this.get(key);
    if (!account) throw new Error(`no account at ${key.toBase58()}`);
    return account;
  }

  /** What comes of something while an account is other than any transaction could make it; then it is as before. */
  forging<T>(key: PublicKey, change: Change, then: () => T): T {
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

  /** Signs, by whoever of these must, and executes; the first pays the fee. */
  send(instructions: readonly TransactionInstruction[], signers: readonly [Keypair, ...Keypair[]]): Outcome {
    const tx = new Transaction({ recentBlockhash: this.#vm.latestBlockhash(), feePayer: signers[0].publicKey });
    tx.add(...instructions);
    const needed = new Set(instructions.flatMap(({ keys }) => keys.filter(({ isSigner }) => isSigner).map(({ pubkey }) => pubkey.toBase58())));
    tx.sign(...signers.filter(({ publicKey }, i) => i === 0 || needed.has(publicKey.toBase58())));
    const result = this.#vm.sendLegacyTransaction(wireOf(tx));
    const failed = result instanceof native.FailedTransactionMetadata;
    const meta = failed ? result.meta() : result;
    return { error: failed ? nameOf(result.err(), meta.logs()) : null, units: Number(meta.computeUnitsConsumed()), logs: meta.logs() };
  }

  /** Sends what must land. @throws Error with the logs where it did not */
  must(instructions: readonly TransactionInstruction[], signers: readonly [Keypair, ...Keypair[]]): Outcome {
    const outcome = this.send(instructions, signers);
    if (outcome.error !== null) throw new Error(`${outcome.error}\n${outcome.logs.join('\n')}`);
    return outcome;
  }
}

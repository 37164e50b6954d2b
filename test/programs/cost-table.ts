import { Keypair, Transaction, type TransactionInstruction } from '@solana/web3.js';
import { type Svm, wireOf } from './svm.ts';

const FEE = 5_000n;

/** The costs of one transaction. */
export interface Run {
  readonly units: number;
  /** Lamports paid without the fee; negative when lamports were received. */
  readonly lamports: number;
  /** Bytes of the signed transaction. */
  readonly bytes: number;
}

/** The costs of many transactions of one kind. */
export interface Cost {
  readonly name: string;
  /** Median of the compute units. */
  readonly units: number;
  /** Maximum of the compute units. */
  readonly max: number;
  readonly lamports: number;
  readonly bytes: number;
}

/** Returns the size of a signed transaction, bytes. */
export function sizeOf(instructions: readonly TransactionInstruction[], payer: Keypair): number {
  const recentBlockhash = Keypair.generate().publicKey.toBase58();
  return wireOf(new Transaction({ recentBlockhash, feePayer: payer.publicKey }).add(...instructions)).length;
}

/** Sends a transaction and measures it. The first signer pays the fee. @param whose the account whose lamports are compared */
export function measureOne(
  svm: Svm,
  instructions: readonly TransactionInstruction[],
  signers: readonly [Keypair, ...Keypair[]],
  whose = signers[0],
): Run {
  const before = svm.lamports(whose.publicKey);
  const { units } = svm.must(instructions, signers);
  const fee = whose === signers[0] ? FEE * BigInt(signers.length) : 0n;
  return { units, lamports: Number(before - svm.lamports(whose.publicKey) - fee), bytes: sizeOf(instructions, signers[0]) };
}

/** Measures the same transactions `times` times. */
export function measureAll(runs: () => readonly (readonly [name: string, run: Run])[], times: number): Cost[] {
  const found = new Map<string, Run[]>();
  for (let i = 0; i < times; i++) for (const [name, run] of runs()) found.set(name, [...(found.get(name) ?? []), run]);
  return [...found].map(([name, list]) => {
    const units = list.map((run) => run.units).sort((a, b) => a - b);
    const [one] = list;
    return { name, units: units[units.length >> 1] ?? 0, max: units.at(-1) ?? 0, lamports: one?.lamports ?? 0, bytes: one?.bytes ?? 0 };
  });
}

/** Prints costs as a table of Markdown. */
export function printCosts(costs: readonly Cost[]): void {
  const number = new Intl.NumberFormat('en');
  process.stdout.write('| transaction | compute units | maximum | lamports | bytes |\n| --- | ---: | ---: | ---: | ---: |\n');
  for (const { name, ...cost } of costs) {
    process.stdout.write(`| ${[name, ...[cost.units, cost.max, cost.lamports, cost.bytes].map((value) => number.format(value))].join(' | ')} |\n`);
  }
}

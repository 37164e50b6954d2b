import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Keypair, type PublicKey, type TransactionInstruction } from '@solana/web3.js';
import type { CommitmentAccount, DrawsAccount } from '#lib/draw/accounts.ts';
import {
  commitmentAddress,
  commitRound,
  decodeCommitment,
  decodeDraws,
  drawsAddress,
  initDraws,
  rotateCommitter,
} from '#platform/solana/draws/index.ts';
import { key } from '../instructions.ts';
import { type Features, Svm, type SvmResult } from '../svm.ts';

const PROGRAM_BYTES = readFileSync(join(import.meta.dirname, '../../../programs/draws/draws.so'));

type Init = Parameters<typeof initDraws>[0];
type Commit = Parameters<typeof commitRound>[0];

/** An SVM with the draws program, a payer, a founder and a committer. The beacon has a period of 1 s, so tests can choose times to the second. */
export class DrawsWorld {
  readonly svm: Svm;
  readonly program: PublicKey;
  readonly payer = Keypair.generate();
  readonly founder = Keypair.generate();
  readonly committer = Keypair.generate();
  readonly draws: PublicKey;
  readonly chainHash = randomBytes(32).toString('hex');
  readonly receiptKey = key();
  /** Time of round 1 of the beacon. */
  readonly genesis: number;

  constructor(features: Features, deployed?: { svm: Svm; program: PublicKey }) {
    this.svm = deployed?.svm ?? new Svm(features);
    this.program = deployed?.program ?? key();
    if (!deployed) this.svm.addProgram(this.program, PROGRAM_BYTES);
    for (const { publicKey } of [this.payer, this.founder, this.committer]) this.svm.fund(publicKey, 1_000_000_000_000n);
    this.draws = drawsAddress(this.program, this.founder.publicKey);
    this.genesis = this.svm.now - 1_000_000;
  }

  /** Deploys the same program at another address. */
  addCopy(): PublicKey {
    const program = key();
    this.svm.addProgram(program, PROGRAM_BYTES);
    return program;
  }

  /** Sends a transaction. The payer pays; the founder and the committer sign if an instruction needs them. */
  send(instructions: readonly TransactionInstruction[], ...signers: Keypair[]): SvmResult {
    return this.svm.send(instructions, [this.payer, this.founder, this.committer, ...signers]);
  }

  must(instructions: readonly TransactionInstruction[], ...signers: Keypair[]): SvmResult {
    return this.svm.must(instructions, [this.payer, this.founder, this.committer, ...signers]);
  }

  /** Sends a transaction. @returns its error; null on success */
  errorOf(instructions: readonly TransactionInstruction[], ...signers: Keypair[]): string | null {
    return this.send(instructions, ...signers).error;
  }

  founding(change: Partial<Init> = {}): TransactionInstruction {
    return initDraws({
      program: this.program,
      payer: this.payer.publicKey,
      founder: this.founder.publicKey,
      committer: this.committer.publicKey,
      chainHash: this.chainHash,
      receiptKey: this.receiptKey,
      period: 1,
      genesis: this.genesis,
      margin: 60,
      window: 600,
      ...change,
    });
  }

  /** Creates the draws account of the founder. */
  found(change: Partial<Init> = {}): void {
    this.must([this.founding(change)]);
  }

  rotating(committer: PublicKey, founder = this.founder.publicKey): TransactionInstruction {
    return rotateCommitter({ program: this.program, founder, committer });
  }

  /** Returns the beacon round whose time is `seconds` ahead of the clock, for a period of 1 s. */
  ahead(seconds: number): number {
    return this.svm.now + seconds - this.genesis + 1;
  }

  committing(change: Partial<Commit> = {}): TransactionInstruction {
    return commitRound({
      program: this.program,
      payer: this.payer.publicKey,
      committer: this.committer.publicKey,
      draws: this.draws,
      roundId: randomUUID(),
      leaf: randomBytes(32).toString('hex'),
      beaconRound: this.ahead(300),
      ...change,
    });
  }

  /** Commits a round. @returns the id of the round */
  commit(change: Partial<Commit> = {}): string {
    const roundId = randomUUID();
    this.must([this.committing({ roundId, ...change })]);
    return roundId;
  }

  commitmentOf(roundId: string, draws = this.draws): PublicKey {
    return commitmentAddress(this.program, draws, roundId);
  }

  facts(draws = this.draws): DrawsAccount | null {
    return decodeDraws(this.program, this.svm.get(draws));
  }

  commitment(roundId: string, draws = this.draws): CommitmentAccount | null {
    return decodeCommitment(this.program, this.svm.get(this.commitmentOf(roundId, draws)));
  }
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Keypair, type PublicKey, SystemProgram, TransactionInstruction } from '@solana/web3.js';
import {
  claimReward,
  closeEpoch,
  closePage,
  decodeEpoch,
  decodePage,
  type EpochAccount,
  epochAddress,
  isClaimed,
  openEpoch,
  pageAddress,
  pageOf,
  settleEpoch,
  vaultAddress,
} from '#platform/solana/distributor/index.ts';
import {
  associatedTokenAddress,
  createAssociatedTokenAccount,
  decodeTokenAccount,
  MINT_BYTES,
  mintTo,
  TOKEN_PROGRAM,
} from '#platform/solana/tokens.ts';
import { account, key } from '../instructions.ts';
import { type Features, Svm, type SvmResult } from '../svm.ts';
import { type EpochTree, type TreeClaim, treeOf } from './tree.ts';

export const PROGRAM_BYTES = readFileSync(join(import.meta.dirname, '../../../programs/distributor/distributor.so'));
export const DAY = 86_400;

/** An epoch with its tree and addresses; it may not be opened yet. */
export interface SvmEpoch extends EpochTree {
  readonly program: PublicKey;
  readonly authority: PublicKey;
  readonly mint: PublicKey;
  readonly epochAccount: PublicKey;
  readonly vault: PublicKey;
  readonly refund: PublicKey;
}

/** An SVM with the program, a payer, an epoch authority, and a treasury that owns the refund accounts. */
export class World {
  readonly svm: Svm;
  readonly program: PublicKey;
  readonly payer = Keypair.generate();
  readonly authority = Keypair.generate();
  readonly treasury = Keypair.generate();

  constructor(features: Features, deployed?: { svm: Svm; program: PublicKey }) {
    this.svm = deployed?.svm ?? new Svm(features);
    this.program = deployed?.program ?? key();
    if (!deployed) this.svm.addProgram(this.program, PROGRAM_BYTES);
    for (const { publicKey } of [this.payer, this.authority, this.treasury]) this.svm.fund(publicKey, 1_000_000_000_000n);
  }

  /** Sends a transaction of the payer, with additional signers. */
  send(instructions: readonly TransactionInstruction[], ...signers: Keypair[]): SvmResult {
    return this.svm.send(instructions, [this.payer, ...signers]);
  }

  must(instructions: readonly TransactionInstruction[], ...signers: Keypair[]): SvmResult {
    return this.svm.must(instructions, [this.payer, ...signers]);
  }

  /** Sends a transaction. @returns its error; null on success */
  errorOf(instructions: readonly TransactionInstruction[], ...signers: Keypair[]): string | null {
    return this.send(instructions, ...signers).error;
  }

  /** Creates a mint of the authority, and the treasury's token account. */
  mint(freezeAuthority?: PublicKey): PublicKey {
    const mint = Keypair.generate();
    const initialize = Buffer.concat([
      Buffer.from([20, 6]),
      this.authority.publicKey.toBuffer(),
      freezeAuthority ? Buffer.concat([Buffer.from([1]), freezeAuthority.toBuffer()]) : Buffer.from([0]),
    ]);
    this.must(
      [
        SystemProgram.createAccount({
          fromPubkey: this.payer.publicKey,
          newAccountPubkey: mint.publicKey,
          space: MINT_BYTES,
          lamports: this.svm.rent(MINT_BYTES),
          programId: TOKEN_PROGRAM,
        }),
        new TransactionInstruction({ programId: TOKEN_PROGRAM, keys: [account(mint.publicKey, true)], data: initialize }),
        this.tokenAccount(this.treasury.publicKey, mint.publicKey),
      ],
      mint,
    );
    return mint.publicKey;
  }

  tokenAccount(owner: PublicKey, mint: PublicKey): TransactionInstruction {
    return createAssociatedTokenAccount(this.payer.publicKey, owner, mint);
  }

  /** Returns an epoch without opening it. */
  plan(mint: PublicKey, claims: readonly TreeClaim[] | EpochTree, epoch = 1n): SvmEpoch {
    const plan = 'root' in claims ? claims : treeOf(claims, epoch);
    const authority = this.authority.publicKey;
    const epochAccount = epochAddress(this.program, authority, mint, plan.epoch);
    const vault = vaultAddress(epochAccount, mint);
    const refund = associatedTokenAddress(this.treasury.publicKey, mint);
    return { ...plan, program: this.program, authority, mint, epochAccount, vault, refund };
  }

  /** Builds the instructions that open and fund the vault. */
  funding(epoch: SvmEpoch, amount = epoch.total): TransactionInstruction[] {
    return [this.tokenAccount(epoch.epochAccount, epoch.mint), mintTo(epoch.mint, epoch.vault, this.authority.publicKey, amount)];
  }

  opening(epoch: SvmEpoch, change: Partial<Parameters<typeof openEpoch>[0]> = {}): TransactionInstruction {
    const payer = this.payer.publicKey;
    return openEpoch({ ...epoch, payer, expiry: this.svm.now + 90 * DAY, refundOwner: this.treasury.publicKey, ...change });
  }

  open(mint: PublicKey, claims: readonly TreeClaim[] | EpochTree, epoch = 1n): SvmEpoch {
    const planned = this.plan(mint, claims, epoch);
    this.must([...this.funding(planned), this.opening(planned, { mintMayFreeze: true })], this.authority);
    return planned;
  }

  /** Builds the claim of a leaf. Precondition: the wallet's token account exists. */
  claiming(epoch: SvmEpoch, index: number): TransactionInstruction {
    const claim = epoch.claim(index);
    return claimReward({ ...epoch, payer: this.payer.publicKey, index, ...claim, proof: epoch.proof(index) });
  }

  /** Opens the token account of a leaf's wallet. */
  destination(epoch: SvmEpoch, index: number): PublicKey {
    const { wallet } = epoch.claim(index);
    this.must([this.tokenAccount(wallet, epoch.mint)]);
    return associatedTokenAddress(wallet, epoch.mint);
  }

  /** Opens the wallet's token account and claims a leaf, in one transaction. */
  claim(epoch: SvmEpoch, index: number): SvmResult {
    return this.must([this.tokenAccount(epoch.claim(index).wallet, epoch.mint), this.claiming(epoch, index)]);
  }

  settling = (epoch: SvmEpoch): TransactionInstruction => settleEpoch(epoch);
  closing = (epoch: SvmEpoch): TransactionInstruction => closeEpoch(epoch);
  closingPage = (epoch: SvmEpoch, page: number): TransactionInstruction => closePage({ ...epoch, page });

  balance(tokenAccount: PublicKey): bigint {
    return decodeTokenAccount(this.svm.get(tokenAccount))?.amount ?? 0n;
  }

  paid(epoch: SvmEpoch, index: number): bigint {
    return this.balance(associatedTokenAddress(epoch.claim(index).wallet, epoch.mint));
  }

  state(epoch: SvmEpoch): EpochAccount {
    const state = decodeEpoch(this.program, this.svm.get(epoch.epochAccount));
    if (!state) throw new Error('the epoch does not exist');
    return state;
  }

  page(epoch: SvmEpoch, index: number): PublicKey {
    return pageAddress(this.program, epoch.epochAccount, pageOf(index));
  }

  isClaimed(epoch: SvmEpoch, index: number): boolean {
    const page = decodePage(this.program, this.svm.get(this.page(epoch, index)));
    return page !== null && isClaimed(page, index);
  }
}

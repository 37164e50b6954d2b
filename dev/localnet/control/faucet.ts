import { createHash } from 'node:crypto';
import { ComputeBudgetProgram, Keypair, PublicKey, SystemProgram, Transaction } from '@solana/web3.js';
import type { Accounts } from '../cluster/accounts.ts';
import type { Blockhashes } from '../cluster/blockhashes.ts';
import type { SlotClock } from '../cluster/slots.ts';
import type { Account } from '../cluster/svm.ts';
import { describeError, type TransactionError } from '../cluster/transaction-errors.ts';
import { parseTransaction, type WireTransaction } from '../cluster/wire.ts';
import { bytesOf, type Key, keyOf, SYSTEM_PROGRAM } from '../keys.ts';

/** 9 million SOL: the most whose lamports are still exact in JSON. */
const HOARD = 9_000_000_000_000_000n;

const MOST_TRIES = 10;

/** What a faucet needs of a chain. */
interface Chain {
  readonly clock: SlotClock;
  readonly hashes: Blockhashes;
  readonly accounts: Accounts;
  tick(): number;
  land(tx: WireTransaction): TransactionError | null;
  setAccounts(accounts: readonly (readonly [Key, Account | null])[]): void;
}

/** Where the cluster's SOL comes from: airdrops are transfers like any other. */
export class Faucet {
  readonly #chain: Chain;
  readonly #keypair: Keypair;
  #given = 0;

  constructor(chain: Chain, seed: Buffer) {
    this.#chain = chain;
    this.#keypair = Keypair.fromSeed(createHash('sha256').update('faucet').update(seed).digest());
  }

  /** Sends lamports to an address. @returns the signature */
  give(to: Key, lamports: bigint): string {
    this.#fill();
    for (let tries = 1; ; tries++) {
      const wire = this.#transfer(to, lamports);
      const error = this.#chain.land(wire);
      if (error === null) return wire.signature;
      // The process stood still for longer than a blockhash lives, which is not long where slots are short.
      if (error !== 'BlockhashNotFound' || tries === MOST_TRIES) throw new Error(`airdrop: ${describeError(error)}`);
    }
  }

  #transfer(to: Key, lamports: bigint): WireTransaction {
    const tx = new Transaction({ feePayer: this.#keypair.publicKey, blockhash: this.#blockhash(), lastValidBlockHeight: 0 });
    // No two airdrops are the same transaction.
    tx.add(ComputeBudgetProgram.setComputeUnitLimit({ units: 1_000 + (this.#given++ % 1_000_000) }));
    tx.add(SystemProgram.transfer({ fromPubkey: this.#keypair.publicKey, toPubkey: new PublicKey(bytesOf(to)), lamports }));
    tx.sign(this.#keypair);
    return parseTransaction(tx.serialize({ verifySignatures: false }));
  }

  #blockhash(): string {
    const { clock, hashes } = this.#chain;
    return hashes.textOf(clock.lastBlock(this.#chain.tick() - 1));
  }

  #fill(): void {
    const key = keyOf(this.#keypair.publicKey.toBytes());
    if ((this.#chain.accounts.newest(key)?.lamports ?? 0n) > HOARD / 2n) return;
    this.#chain.setAccounts([[key, { lamports: HOARD, owner: SYSTEM_PROGRAM, data: new Uint8Array(), executable: false }]]);
  }
}

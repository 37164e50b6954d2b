import { createHash } from 'node:crypto';
import { addressOfBytes, type Signer, signerFromSeed } from '#platform/solana/primitives.ts';
import { transferLamports } from '#platform/solana/system-program.ts';
import { buildTransaction, computeUnitLimit, signTransaction } from '#platform/solana/transactions.ts';
import { bytesOf, type Key, keyOf, SYSTEM_PROGRAM } from '../keys.ts';
import type { Accounts } from './accounts.ts';
import type { Blockhashes } from './blockhashes.ts';
import type { SlotClock } from './slots.ts';
import type { SvmAccount } from './svm.ts';
import { describeError, type TransactionError } from './transaction-errors.ts';
import { parseTransaction, type WireTransaction } from './wire.ts';

/** Balance of the faucet's account after a refill, lamports: 9 million SOL. A JSON number can represent it exactly. */
const FAUCET_LAMPORTS = 9_000_000_000_000_000n;

const MAX_ATTEMPTS = 10;

/** The parts of the chain that the faucet uses. */
interface Chain {
  readonly clock: SlotClock;
  readonly hashes: Blockhashes;
  readonly accounts: Accounts;
  tick(): number;
  land(tx: WireTransaction): TransactionError | null;
  setAccounts(accounts: readonly (readonly [Key, SvmAccount | null])[]): void;
}

/** Sends airdrops as ordinary transfers from the faucet's own account. Refills this account when at most half of FAUCET_LAMPORTS is left. */
export class Faucet {
  readonly #chain: Chain;
  readonly #signer: Signer;
  #given = 0;

  constructor(chain: Chain, seed: Buffer) {
    this.#chain = chain;
    this.#signer = signerFromSeed(createHash('sha256').update('faucet').update(seed).digest());
  }

  /** Sends lamports to an address. @returns the signature */
  airdrop(to: Key, lamports: bigint): string {
    this.#fill();
    for (let tries = 1; ; tries++) {
      const wire = this.#transfer(to, lamports);
      const error = this.#chain.land(wire);
      if (error === null) return wire.signature;
      // Retries if the blockhash has expired (for example because slots are very short). Every other error is thrown at once.
      if (error !== 'BlockhashNotFound' || tries === MAX_ATTEMPTS) throw new Error(`the airdrop failed: ${describeError(error)}`);
    }
  }

  #transfer(to: Key, lamports: bigint): WireTransaction {
    const from = this.#signer.publicKey;
    // Each airdrop gets a different compute unit limit. Otherwise two equal airdrops with the same blockhash would be the same transaction.
    const limit = computeUnitLimit(1_000 + (this.#given++ % 1_000_000));
    const transfer = transferLamports(from, addressOfBytes(bytesOf(to)), lamports);
    return parseTransaction(signTransaction(buildTransaction(from, [limit, transfer], this.#blockhash()), [this.#signer]).bytes);
  }

  #blockhash(): string {
    const { clock, hashes } = this.#chain;
    return hashes.textOf(clock.lastBlock(this.#chain.tick() - 1));
  }

  #fill(): void {
    const key = keyOf(this.#signer.publicKey.toBytes());
    if ((this.#chain.accounts.newest(key)?.lamports ?? 0n) > FAUCET_LAMPORTS / 2n) return;
    this.#chain.setAccounts([[key, { lamports: FAUCET_LAMPORTS, owner: SYSTEM_PROGRAM, data: new Uint8Array(), executable: false }]]);
  }
}

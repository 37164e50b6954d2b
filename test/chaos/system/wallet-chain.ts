import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, PublicKey, Transaction } from '@solana/web3.js';
import bs58 from 'bs58';
import { associatedTokenAddress, memo, transferChecked } from '#platform/solana/tokens.ts';
import { connect } from '#test/support/solana/chain.ts';
import type { TestWallet } from '#test/support/wallet.ts';

const STEP_MS = 100;
/** Blocks beyond the last one that a transaction can be in, until it is taken for dead. */
const BEYOND = 20;
/** How long a payment is followed, ms. */
const PATIENCE_MS = 60_000;

/** What a wallet does on the chain by itself, through a node that no fault is ordered for. */
export class WalletChain {
  readonly connection: Connection;
  readonly #url: string;
  readonly #mint: PublicKey;
  readonly #treasury: PublicKey;

  constructor(url: string, mint: string, treasury: PublicKey) {
    this.#url = url;
    this.#mint = new PublicKey(mint);
    this.#treasury = treasury;
    this.connection = connect(`${url}/second`);
  }

  /** Gives a wallet SOL and `usdc` whole tokens. @throws when the cluster does not do it, which may be because it is down */
  async fund(wallet: string, usdc: number): Promise<void> {
    const body = JSON.stringify({ wallet, sol: 1, usdc });
    const response = await fetch(`${this.#url}/faucet`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    if (!response.ok) throw new Error(`the faucet answered ${response.status}: ${await response.text()}`);
  }

  /**
   * Pays the treasury, with a memo: signed once, sent until it is final or can never be.
   * @param signed told of the signature before anything is sent
   * @returns the signature of what is final; null when it did not land
   */
  async pay(key: TestWallet, amount: bigint, text: string, signed: (signature: string) => void, isOver: () => boolean): Promise<string | null> {
    const end = performance.now() + PATIENCE_MS;
    const latest = await this.#try(() => this.connection.getLatestBlockhash('finalized'));
    if (latest === undefined) return null;
    const owner = new PublicKey(key.address);
    const transaction = new Transaction({ feePayer: owner, ...latest }).add(
      transferChecked({
        from: associatedTokenAddress(owner, this.#mint),
        to: associatedTokenAddress(this.#treasury, this.#mint),
        owner,
        mint: this.#mint,
        decimals: 6,
        amount,
      }),
      memo(text),
    );
    const bytes = key.sign(transaction.serializeMessage());
    transaction.addSignature(owner, Buffer.from(bytes));
    const signature = bs58.encode(bytes);
    signed(signature);
    while (performance.now() < end && !isOver()) {
      await this.#try(() => this.connection.sendRawTransaction(transaction.serialize(), { skipPreflight: true, maxRetries: 0 }));
      await sleep(STEP_MS);
      const status = await this.#try(() => this.connection.getSignatureStatus(signature, { searchTransactionHistory: true }));
      if (status?.value?.confirmationStatus === 'finalized') return status.value.err === null ? signature : null;
      const height = await this.#try(() => this.connection.getBlockHeight('finalized'));
      if (status?.value === null && height !== undefined && height > latest.lastValidBlockHeight + BEYOND) return null;
    }
    return null;
  }

  /** The cluster may be down. */
  async #try<T>(what: () => Promise<T>): Promise<T | undefined> {
    return await what().catch(() => undefined);
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, memo, transferChecked } from '#platform/solana/tokens.ts';
import { connect, signedBy, type TestConnection } from '#test/support/solana/chain.ts';
import type { TestWallet } from '#test/support/wallet.ts';

const STEP_MS = 100;
/** Blocks after the last valid block height of a transaction until it counts as expired. */
const EXPIRY_MARGIN_BLOCKS = 20;
/** Maximum time for which a payment is resent and polled, ms. */
const PAYMENT_TIMEOUT_MS = 60_000;

/** Sends the transactions of wallets, through the second node, which has no faults. */
export class WalletChain {
  readonly connection: TestConnection;
  readonly #url: string;
  readonly #mint: Address;
  readonly #treasury: Address;

  constructor(url: string, mint: string, treasury: Address) {
    this.#url = url;
    this.#mint = parseAddress(mint);
    this.#treasury = treasury;
    this.connection = connect(`${url}/second`);
  }

  /** Sends 1 SOL and `usdc` whole tokens to a wallet. @throws when the localnet refuses or is down */
  async fund(wallet: string, usdc: number): Promise<void> {
    const body = JSON.stringify({ wallet, sol: 1, usdc });
    const response = await fetch(`${this.#url}/faucet`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    if (!response.ok) throw new Error(`the faucet returned ${response.status}: ${await response.text()}`);
  }

  /**
   * Pays the treasury, with a memo. The transaction is signed once and sent until it is finalized or has expired.
   * @param signed is called with the signature before the first send
   * @returns the signature of the finalized transaction; null when it did not land
   */
  async pay(key: TestWallet, amount: bigint, text: string, signed: (signature: string) => void, isOver: () => boolean): Promise<string | null> {
    const end = performance.now() + PAYMENT_TIMEOUT_MS;
    const latest = await this.#try(() => this.connection.getLatestBlockhash('finalized'));
    if (latest === undefined) return null;
    const owner = parseAddress(key.address);
    const instructions = [
      transferChecked({
        from: associatedTokenAddress(owner, this.#mint),
        to: associatedTokenAddress(this.#treasury, this.#mint),
        owner,
        mint: this.#mint,
        decimals: 6,
        amount,
      }),
      memo(text),
    ];
    const { signature, bytes } = signedBy(key, instructions, latest.blockhash);
    signed(signature);
    while (performance.now() < end && !isOver()) {
      await this.#try(() => this.connection.sendRawTransaction(bytes, { skipPreflight: true, maxRetries: 0 }));
      await sleep(STEP_MS);
      const status = await this.#try(() => this.connection.getSignatureStatus(signature, { searchTransactionHistory: true }));
      if (status?.value?.confirmationStatus === 'finalized') return status.value.err === null ? signature : null;
      const height = await this.#try(() => this.connection.getBlockHeight('finalized'));
      if (status?.value === null && height !== undefined && height > latest.lastValidBlockHeight + EXPIRY_MARGIN_BLOCKS) return null;
    }
    return null;
  }

  /** Returns undefined when the request fails, because the localnet may be down. */
  async #try<T>(send: () => Promise<T>): Promise<T | undefined> {
    return await send().catch(() => undefined);
  }
}

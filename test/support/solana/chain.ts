import { Connection, Keypair, type PublicKey, SystemProgram, Transaction, type TransactionInstruction } from '@solana/web3.js';
import { type Localnet, type LocalnetOptions, startLocalnet } from '#dev/localnet/localnet.ts';

/** A test cluster, in memory, in the test's process. */
export interface TestChain {
  readonly localnet: Localnet;
  /** A connection with commitment `confirmed`. */
  readonly connection: Connection;
  /** Environment variables for `startTestApp({ env })`. */
  readonly env: Localnet['env'];
  readonly keys: Localnet['keys'];
  readonly control: Localnet['control'];
  /** Transfers SOL and tokens to a wallet, by default a new one. */
  fundWallet(gift?: { lamports?: number; reward?: bigint; usdc?: bigint }, wallet?: Keypair): Promise<Keypair>;
  /** Sends a transaction without a simulation. The first signer pays. @returns the signature */
  send(instructions: readonly TransactionInstruction[], signers: readonly [Keypair, ...Keypair[]], blockhash?: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts a cluster with slots of 10 ms that are finalized after 8 slots. The genesis accounts are finalized. */
export async function startTestChain(options: LocalnetOptions = {}): Promise<TestChain> {
  const localnet = await startLocalnet({ slotMs: 10, finalizedAfter: 8, beaconMs: 1_000, ...options });
  const { env, keys, control } = localnet;
  const connection = connect(localnet.url);
  return {
    localnet,
    connection,
    env,
    keys,
    control,
    async fundWallet(gift = { lamports: 1_000_000_000 }, wallet = Keypair.generate()) {
      await localnet.fund(wallet.publicKey, gift);
      return wallet;
    },
    async send(instructions, signers, blockhash) {
      const transaction = signed(instructions, signers, blockhash ?? (await connection.getLatestBlockhash()).blockhash);
      return connection.sendRawTransaction(transaction.serialize(), { skipPreflight: true, maxRetries: 0 });
    },
    close: () => localnet.close(),
  };
}

/** Opens a connection without retries. */
export function connect(url: string): Connection {
  return new Connection(url, {
    commitment: 'confirmed',
    disableRetryOnRateLimit: true,
    // Wraps errors, because Connection ignores errors of another realm and never settles, and in Jest `fetch` belongs to another realm.
    fetch: (input, init) =>
      fetch(input, init).catch((cause: unknown) => {
        throw new Error(String(cause), { cause });
      }),
  });
}

/** Builds and signs a legacy transaction. The first signer pays. */
export function signed(instructions: readonly TransactionInstruction[], signers: readonly [Keypair, ...Keypair[]], blockhash: string): Transaction {
  const transaction = new Transaction({ feePayer: signers[0].publicKey, blockhash, lastValidBlockHeight: 0 }).add(...instructions);
  transaction.sign(...signers);
  return transaction;
}

/** Builds a transfer of lamports. */
export function transfer(from: Keypair, to: PublicKey, lamports: number): TransactionInstruction {
  return SystemProgram.transfer({ fromPubkey: from.publicKey, toPubkey: to, lamports });
}

import { Connection, Keypair, type PublicKey, SystemProgram, Transaction, type TransactionInstruction } from '@solana/web3.js';
import { type Localnet, type LocalnetOptions, startLocalnet } from '#dev/localnet/localnet.ts';

/** A cluster of a test's own, in this process and in memory. */
export interface TestChain {
  readonly localnet: Localnet;
  /** Reads at `confirmed`. */
  readonly connection: Connection;
  /** For `startTestApp({ env })`. */
  readonly env: Localnet['env'];
  readonly keys: Localnet['keys'];
  readonly control: Localnet['control'];
  /** Gives a wallet SOL and base units of tokens: a new one, or the one named. */
  fundWallet(gift?: { lamports?: number; reward?: bigint; usdc?: bigint }, wallet?: Keypair): Promise<Keypair>;
  /** Sends instructions, paid by the first signer, without asking first whether they would succeed. @returns the signature */
  send(instructions: readonly TransactionInstruction[], signers: readonly [Keypair, ...Keypair[]], blockhash?: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts a cluster with slots of 10 ms, final after 8; what it begins with is final. */
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

/** A connection that tries nothing twice. */
export function connect(url: string): Connection {
  return new Connection(url, {
    commitment: 'confirmed',
    disableRetryOnRateLimit: true,
    // Connection drops what is no `Error` of its own realm, and answers nothing then: in tests fetch comes from another one.
    fetch: (input, init) =>
      fetch(input, init).catch((cause: unknown) => {
        throw new Error(String(cause), { cause });
      }),
  });
}

/** A legacy transaction, paid by the first signer. */
export function signed(instructions: readonly TransactionInstruction[], signers: readonly [Keypair, ...Keypair[]], blockhash: string): Transaction {
  const transaction = new Transaction({ feePayer: signers[0].publicKey, blockhash, lastValidBlockHeight: 0 }).add(...instructions);
  transaction.sign(...signers);
  return transaction;
}

/** Moves lamports. */
export function transfer(from: Keypair, to: PublicKey, lamports: number): TransactionInstruction {
  return SystemProgram.transfer({ fromPubkey: from.publicKey, toPubkey: to, lamports });
}

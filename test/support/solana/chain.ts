import {
  Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  type TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from '@solana/web3.js';
import bs58 from 'bs58';
import { type Localnet, type LocalnetOptions, startLocalnet } from '#dev/localnet/localnet.ts';
import type { TestWallet } from '../wallet.ts';

/** A client of an RPC node that is independent of the service's own client. */
export type TestConnection = Connection;

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
  /** Sends a transaction of version 0, as `send` sends a legacy transaction. */
  sendVersioned(instructions: readonly TransactionInstruction[], signer: Keypair): Promise<string>;
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
    async sendVersioned(instructions, signer) {
      const transaction = new VersionedTransaction((await messageOf(connection, signer.publicKey, instructions)).compileToV0Message());
      transaction.sign([signer]);
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

async function messageOf(connection: Connection, payerKey: PublicKey, instructions: readonly TransactionInstruction[]): Promise<TransactionMessage> {
  const { blockhash } = await connection.getLatestBlockhash();
  return new TransactionMessage({ payerKey, recentBlockhash: blockhash, instructions: [...instructions] });
}

/**
 * Builds a legacy transaction that a test wallet signs and pays. The wallet's native signer is faster than that of web3.js.
 * @returns the signature and the bytes of the transaction
 */
export function signedBy(
  wallet: Pick<TestWallet, 'address' | 'sign'>,
  instructions: readonly TransactionInstruction[],
  blockhash: string,
): { signature: string; bytes: Buffer } {
  const payer = new PublicKey(wallet.address);
  const transaction = new Transaction({ feePayer: payer, recentBlockhash: blockhash }).add(...instructions);
  const signature = Buffer.from(wallet.sign(transaction.serializeMessage()));
  transaction.addSignature(payer, signature);
  return { signature: bs58.encode(signature), bytes: transaction.serialize({ verifySignatures: false }) };
}

/** Returns the size of a legacy transaction with its signatures, bytes. */
export function sizeOf(payer: PublicKey, instructions: readonly TransactionInstruction[]): number {
  const recentBlockhash = PublicKey.default.toBase58();
  const message = new TransactionMessage({ payerKey: payer, recentBlockhash, instructions: [...instructions] }).compileToLegacyMessage();
  return 1 + 64 * message.header.numRequiredSignatures + message.serialize().length;
}

/** Derives the address that the system program derives from an address and a seed. */
export const addressWithSeed = (base: PublicKey, seed: string): Promise<PublicKey> => PublicKey.createWithSeed(base, seed, SystemProgram.programId);

/** Returns the address of a secret key (JSON array of 64 numbers), as it stands in an environment variable. */
export const addressOfKey = (secret: string | undefined): PublicKey => Keypair.fromSecretKey(Uint8Array.from(JSON.parse(secret ?? '[]'))).publicKey;

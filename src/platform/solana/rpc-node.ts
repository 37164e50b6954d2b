import { type Commitment as AnyCommitment, Connection } from '@solana/web3.js';
import { z } from 'zod';
import { HttpError, unavailable } from '#lib/errors.ts';
import { decodeTransaction, type FetchedTransaction } from './fetched-transaction.ts';
import type { Account, Address, FetchedAccount, TransactionError } from './primitives.ts';
import type { RequestBudget } from './request-budget.ts';
import { Accounts, Signature, SimulationResult, Statuses, toAccount } from './rpc-answers.ts';
import { NodeUnreachable, RpcTransport } from './rpc-transport.ts';
import { encodeUnsigned, type UnsignedTransaction } from './transactions.ts';

/** How final the chain state is that an RPC node returns. */
export type Commitment = Extract<AnyCommitment, 'processed' | 'confirmed' | 'finalized'>;

/** An entry in the transaction history of an address. */
export interface HistoryEntry {
  readonly signature: string;
  readonly slot: number;
  readonly failed: boolean;
  /** Whether the transaction is finalized. A transaction that is only confirmed may still disappear. */
  readonly final: boolean;
  /** The texts of the transaction's memos; null when the transaction has none or the RPC node omits memos. */
  readonly memo: string | null;
  /** Time of the transaction's block, seconds since 1970; null when the RPC node does not return it. */
  readonly blockTime: number | null;
}

/** A page of the transaction history of an address. `until` and `before` are signatures, which are not on the page. */
export interface HistoryPage {
  readonly limit: number;
  readonly before?: string | undefined;
  readonly until?: string | undefined;
  /** Slot that the RPC node must have reached. */
  readonly minContextSlot?: number;
}

/** The status of a transaction. */
export interface TransactionStatus {
  readonly slot: number;
  /** Null when the transaction has succeeded. */
  readonly err: TransactionError | null;
  readonly confirmationStatus?: Commitment | null | undefined;
}

/** The result of a simulated transaction. `unitsConsumed` is the number of compute units. */
interface Simulation {
  readonly err: TransactionError | null;
  readonly logs: readonly string[] | null;
  readonly unitsConsumed?: number | undefined;
}

/**
 * A client of one RPC node. Each method sends one request.
 * @throws 503 when the RPC node does not answer, limits the rate, or fails. An error about the request itself is thrown unchanged
 */
export class RpcNode {
  readonly #connection: Connection;
  readonly #transport: RpcTransport;

  /**
   * @param options.retriesRateLimit whether a request is repeated when the RPC node limits the rate. By default only the caller repeats requests
   * @param options.budget number of requests per second; by default there is no limit
   */
  constructor(url: string, { retriesRateLimit = false, budget }: { retriesRateLimit?: boolean; budget?: RequestBudget } = {}) {
    this.#transport = new RpcTransport(url, budget, retriesRateLimit);
    this.#connection = new Connection(url, { commitment: 'confirmed', disableRetryOnRateLimit: !retriesRateLimit, fetch: this.#transport.fetch });
  }

  async account(address: Address, commitment: Commitment): Promise<{ slot: number; account: FetchedAccount }> {
    const { context, value } = await request(() => this.#connection.getAccountInfoAndContext(address, commitment));
    return { slot: context.slot, account: value };
  }

  /**
   * Reads at most 100 accounts, all at the same slot.
   * @param minContextSlot slot that the RPC node must have reached
   * @returns the accounts in the order of the addresses
   */
  async accounts(
    addresses: readonly Address[],
    commitment: Commitment,
    minContextSlot?: number,
  ): Promise<{ slot: number; accounts: readonly FetchedAccount[] }> {
    const config = { commitment, encoding: 'base64', ...(minContextSlot === undefined ? {} : { minContextSlot }) };
    const { context, value } = await this.#read(Accounts, 'getMultipleAccounts', [addresses.map((address) => address.toBase58()), config]);
    return { slot: context.slot, accounts: value.map((account) => account && toAccount(account)) };
  }

  /** Returns the rent-exempt minimum balance of an account of `bytes` bytes, lamports. */
  rentOf(bytes: number): Promise<number> {
    return request(() => this.#connection.getMinimumBalanceForRentExemption(bytes));
  }

  /** Reads the token accounts that a wallet has for a mint. The RPC node must have an index of token accounts by owner. */
  async tokenAccountsOf(owner: Address, mint: Address): Promise<Account[]> {
    const { value } = await request(() => this.#connection.getTokenAccountsByOwner(owner, { mint }));
    return value.map(({ account }) => account);
  }

  /** Returns the largest token accounts of a mint, with the amounts in base units as text. */
  async largestTokenAccounts(mint: Address): Promise<readonly { address: Address; amount: string }[]> {
    return (await request(() => this.#connection.getTokenLargestAccounts(mint, 'finalized'))).value;
  }

  /** Reads the value of a nonce account; null when the nonce account does not exist. */
  async nonce(address: Address): Promise<{ slot: number; value: string | null }> {
    const { context, value } = await request(() => this.#connection.getNonceAndContext(address, 'finalized'));
    return { slot: context.slot, value: value?.nonce ?? null };
  }

  /** Lists the transactions that name an address, newest first. */
  async history(
    address: Address,
    { limit, before, until, minContextSlot }: HistoryPage,
    commitment: 'confirmed' | 'finalized',
  ): Promise<HistoryEntry[]> {
    const options = {
      limit,
      ...(before === undefined ? {} : { before }),
      ...(until === undefined ? {} : { until }),
      ...(minContextSlot === undefined ? {} : { minContextSlot }),
    };
    const listed = await request(() => this.#connection.getSignaturesForAddress(address, options, commitment));
    return listed.map(({ signature, slot, err, memo, blockTime, confirmationStatus }) => ({
      signature,
      slot,
      failed: err !== null,
      final: confirmationStatus === 'finalized',
      memo,
      blockTime: blockTime ?? null,
    }));
  }

  /** Reads a transaction. Returns null when the RPC node does not have it. */
  async transaction(signature: string, commitment: 'confirmed' | 'finalized'): Promise<FetchedTransaction | null> {
    const found = await request(() => this.#connection.getTransaction(signature, { commitment, maxSupportedTransactionVersion: 1 }));
    return found && decodeTransaction(found);
  }

  /**
   * Reads the statuses of at most 256 transactions. A status is null when the RPC node does not know the transaction.
   * @param searchHistory whether to search the whole history of the RPC node; otherwise only recent statuses are returned
   */
  async statuses(
    signatures: readonly string[],
    { searchHistory }: { searchHistory: boolean },
  ): Promise<{ slot: number; statuses: readonly (TransactionStatus | null)[] }> {
    const options = { searchTransactionHistory: searchHistory };
    const { context, value } = await this.#read(Statuses, 'getSignatureStatuses', [signatures, options]);
    return { slot: context.slot, statuses: value };
  }

  /** Reads the blockhash and the time (seconds since 1970) of a finalized block. Returns null when the RPC node does not have both. */
  async block(slot: number): Promise<{ blockhash: string; blockTime: number } | null> {
    const options = { commitment: 'finalized', maxSupportedTransactionVersion: 1, transactionDetails: 'none', rewards: false } as const;
    const block = await request(() => this.#connection.getBlock(slot, options));
    const blockTime = block?.blockTime ?? null;
    return block === null || blockTime === null ? null : { blockhash: block.blockhash, blockTime };
  }

  /** Returns the hash of the block before a finalized block. Returns null when the RPC node does not have the block of the slot. */
  async previousBlockhash(slot: number): Promise<string | null> {
    const options = { commitment: 'finalized', maxSupportedTransactionVersion: 1, transactionDetails: 'none', rewards: false } as const;
    const block = await request(() =>
      this.#connection.getBlock(slot, options).catch((error: unknown) => {
        if (Error.isError(error) && 'code' in error && MISSING_BLOCK_CODES.has(Number(error.code))) return null;
        throw error;
      }),
    );
    return block?.previousBlockhash ?? null;
  }

  /** Returns the slot of the first block that the RPC node still has. */
  firstBlock(): Promise<number> {
    return request(() => this.#connection.getFirstAvailableBlock());
  }

  /** Returns the genesis hash, base58. It identifies the cluster. */
  genesisHash(): Promise<string> {
    return request(() => this.#connection.getGenesisHash());
  }

  finalizedSlot(): Promise<number> {
    return request(() => this.#connection.getSlot('finalized'));
  }

  /** Returns the time of a block, seconds since 1970; null when the RPC node does not know it. */
  blockTime(slot: number): Promise<number | null> {
    return request(() => this.#connection.getBlockTime(slot));
  }

  /** Returns the latest finalized slot and block height. */
  async finalizedHeight(): Promise<{ slot: number; height: number }> {
    const info = await request(() => this.#connection.getEpochInfo('finalized'));
    if (info.blockHeight === undefined) throw new Error('the RPC node returned no block height');
    return { slot: info.absoluteSlot, height: info.blockHeight };
  }

  /** Returns the latest blockhash, the last block height at which it is valid, and the slot of the response. */
  async latestBlockhash(commitment: Commitment): Promise<{ blockhash: string; lastValidBlockHeight: number; slot: number }> {
    const { context, value } = await request(() => this.#connection.getLatestBlockhashAndContext(commitment));
    return { ...value, slot: context.slot };
  }

  /** Calls a method that web3.js lacks, or calls only without the parameters of some providers. The caller parses the result. */
  call(method: string, params: readonly unknown[]): Promise<unknown> {
    return request(() => this.#transport.call(method, params));
  }

  #read<Answer>(answer: z.ZodType<Answer>, method: string, params: readonly unknown[]): Promise<Answer> {
    return request(async () => answer.parse(await this.#transport.call(method, params)));
  }

  /**
   * Simulates a transaction without signatures.
   * @param replacesBlockhash whether the RPC node replaces the blockhash by a recent one
   */
  async simulate(transaction: UnsignedTransaction, replacesBlockhash: boolean): Promise<Simulation> {
    const options = { encoding: 'base64', sigVerify: false, replaceRecentBlockhash: replacesBlockhash, commitment: 'confirmed' };
    return (await this.#read(SimulationResult, 'simulateTransaction', [encodeUnsigned(transaction), options])).value;
  }

  /**
   * Sends the bytes of a signed transaction.
   * @param preflight commitment of the state on which the RPC node simulates the transaction first; null skips the simulation
   */
  send(bytes: Buffer, preflight: Commitment | null): Promise<string> {
    // Without a simulation, the node looks up the blockhash in the state of this commitment, and counts it as expired when the state is older.
    const skips = { skipPreflight: true, preflightCommitment: 'processed', maxRetries: 0 };
    const options = { encoding: 'base64', ...(preflight === null ? skips : { preflightCommitment: preflight }) };
    return this.#read(Signature, 'sendTransaction', [bytes.toString('base64'), options]);
  }

  /** Requests lamports for an address. Only test clusters serve this request. */
  airdrop(address: Address, lamports: number): Promise<string> {
    return request(() => this.#connection.requestAirdrop(address, lamports));
  }
}

async function request<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof HttpError || !isNodeFailure(error)) throw error;
    throw Object.assign(unavailable('the RPC node does not answer at the moment, try again', 2), { cause: error });
  }
}

/** JSON-RPC error codes of an RPC node that is unhealthy, lags behind, or does not have the requested slot or block. */
const NODE_CODES = new Set([-32004, -32005, -32007, -32014, -32015, -32016, -32603]);

/** JSON-RPC error codes of an RPC node that does not have a block: the node has deleted it, skipped it, or not stored it yet. */
const MISSING_BLOCK_CODES = new Set([-32001, -32004, -32007, -32009]);

/** Returns whether an error is caused by the RPC node, and not by the request. */
function isNodeFailure(error: unknown): boolean {
  if (!Error.isError(error)) return false;
  // A response that does not have the documented form, or is no JSON.
  if (error instanceof z.ZodError || error.name === 'SyntaxError') return true;
  if ('code' in error && typeof error.code === 'number') return NODE_CODES.has(error.code);
  // web3.js reports other failures only in the message: an HTTP status (`503 Service Unavailable: …`), an invalid or truncated response. Some web3.js
  // methods put their own text before this message.
  return (
    error instanceof NodeUnreachable ||
    /(?:^|: Error: )(?:429|5\d\d) |the RPC node cannot be reached|terminated|aborted|Expected .+ but received|Unexpected (?:token|end)/i.test(
      error.message,
    )
  );
}

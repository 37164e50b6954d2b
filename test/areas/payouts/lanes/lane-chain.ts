import { createHash } from 'node:crypto';
import { selectLane } from '#areas/payouts/lanes/rows.ts';
import { run } from '#platform/db/query-builder.ts';
import type { FetchedTransaction, ParsedInstruction } from '#platform/solana/fetched-transaction.ts';
import { addressOfBytes, parseAddress } from '#platform/solana/primitives.ts';
import type { HistoryEntry } from '#platform/solana/rpc-node.ts';
import { nonceAfter, SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, MEMO_PROGRAM, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { nonceAccount, randomAddress, type StoredLane, storeLane } from '#test/support/areas/payout-rows.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';

const USDC = randomAddress();

/** A payment that a transaction of a lane makes. */
export interface LanePayment {
  readonly wallet: string;
  readonly amount: bigint;
  readonly mint?: string;
}

export const historyEntry = (signature: string, at: number): HistoryEntry => ({
  ...{ signature, slot: at, failed: false, final: true, memo: null, blockTime: null },
});

/** Slot at which the nonces of the lanes in these tests were read. */
export const OPENED_SLOT = 100;

/** An application whose RPC node returns the accounts, transactions and histories of this object. Histories are newest first. */
export class LaneChain {
  readonly accounts = new Map<string, string>();
  readonly transactions = new Map<string, FetchedTransaction>();
  readonly histories = new Map<string, readonly HistoryEntry[]>();
  /** Slots whose blocks the RPC node does not have. */
  readonly missingBlocks = new Set<number>();
  /** Number of requests for a page of a history, and for a transaction. */
  requests = { history: 0, transaction: 0 };
  /** The slot of each response. */
  slot = 1_000;
  readonly t: TestApp;

  private constructor(t: TestApp) {
    this.t = t;
    const { node } = t.app.chain;
    const account = (address: string) => {
      const nonce = this.accounts.get(address);
      return nonce === undefined ? null : nonceAccount(nonce);
    };
    node.account = async (address) => ({ slot: this.slot, account: account(address.toBase58()) });
    node.accounts = async (addresses) => ({ slot: this.slot, accounts: addresses.map((address) => account(address.toBase58())) });
    node.transaction = async (signature) => {
      this.requests.transaction++;
      return this.transactions.get(signature) ?? null;
    };
    node.previousBlockhash = async (slot) => (this.missingBlocks.has(slot) ? null : blockhashBefore(slot));
    node.history = async (address, { limit, before, until }) => {
      this.requests.history++;
      const all = this.histories.get(address.toBase58()) ?? [];
      const [first, end] = [before, until].map((signature) => all.findIndex((one) => one.signature === signature));
      if (before !== undefined && first === -1) return [];
      return all.slice((first ?? -1) + 1, end === -1 ? undefined : end).slice(0, limit);
    };
  }

  static async start(env: Readonly<Record<string, string>> = {}): Promise<LaneChain> {
    return new LaneChain(await startTestApp({ workers: false, env: { USDC_MINT: USDC, ...env } }));
  }

  /** Deletes all lanes and sets the slot back. */
  async reset(): Promise<void> {
    this.slot = 1_000;
    this.requests = { history: 0, transaction: 0 };
    this.missingBlocks.clear();
    await sql(this.t.app, 'update payout_lanes set batch = null');
    await sql(this.t.app, 'delete from payout_lanes');
  }

  /** Inserts a stale lane whose account was opened at `OPENED_SLOT`. */
  async newLane(): Promise<StoredLane> {
    const lane = await storeLane(this.t.app, { stale: true, nonceSlot: OPENED_SLOT });
    this.histories.set(lane.address, [historyEntry(this.#addOpening(lane), OPENED_SLOT)]);
    return lane;
  }

  /** Returns the nonce that a lane has after a transaction in a slot. */
  nonceAfter(slot: number): string {
    return nonceAfter(blockhashBefore(slot));
  }

  async laneOf(stored: StoredLane) {
    const [lane] = await run(this.t.app.db, selectLane(stored.lane));
    if (!lane) throw new Error('the lane does not exist');
    return lane;
  }

  /** Adds a transaction to the chain. It uses a nonce of a lane and pays wallets. @returns its signature */
  addTransaction(
    { address, authority }: StoredLane,
    nonce: string,
    {
      payments = [],
      memo,
      failed = false,
      at = 500,
      signer = authority,
    }: { payments?: readonly LanePayment[]; memo?: string; failed?: boolean; at?: number; signer?: string } = {},
  ): string {
    const signature = randomSignature();
    const transfer = ({ wallet, amount, mint = USDC }: LanePayment): ParsedInstruction => {
      const data = Buffer.alloc(10);
      data.writeUInt8(12, 0);
      data.writeBigUInt64LE(amount, 1);
      const to = associatedTokenAddress(parseAddress(wallet), parseAddress(mint)).toBase58();
      return { program: TOKEN_PROGRAM.toBase58(), accounts: [randomAddress(), mint, to, randomAddress()], data };
    };
    const text = memo === undefined ? [] : [{ program: MEMO_PROGRAM.toBase58(), accounts: [], data: Buffer.from(memo) }];
    const advance = { program: SYSTEM_PROGRAM.toBase58(), accounts: [address], data: Buffer.from([4, 0, 0, 0]) };
    this.transactions.set(signature, {
      signature,
      slot: at,
      blockTime: null,
      blockhash: nonce,
      signers: [signer],
      instructions: [advance, ...text, ...payments.map(transfer)],
      outcome: { failed, tokensBefore: [], tokensAfter: [], innerInstructions: [] },
    });
    this.histories.set(address, [historyEntry(signature, at), ...(this.histories.get(address) ?? [])]);
    return signature;
  }

  /** Adds transactions of strangers that name the account of a lane, oldest first. @returns their signatures, newest first */
  addStrangers({ address }: StoredLane, n: number, firstSlot = 200): string[] {
    const memo: ParsedInstruction = { program: MEMO_PROGRAM.toBase58(), accounts: [], data: Buffer.from('hello') };
    const signatures = Array.from({ length: n }, randomSignature);
    for (const [i, signature] of signatures.entries()) this.#add(signature, firstSlot + n - 1 - i, [memo]);
    const entries = signatures.map((signature, i) => historyEntry(signature, firstSlot + n - 1 - i));
    this.histories.set(
      address,
      [...entries, ...(this.histories.get(address) ?? [])].sort((a, b) => b.slot - a.slot),
    );
    return signatures;
  }

  #addOpening({ address }: StoredLane): string {
    const signature = randomSignature();
    this.#add(signature, OPENED_SLOT, [{ program: SYSTEM_PROGRAM.toBase58(), accounts: [address], data: Buffer.from([6, 0, 0, 0]) }]);
    return signature;
  }

  #add(signature: string, slot: number, instructions: readonly ParsedInstruction[]): void {
    const outcome = { failed: false, tokensBefore: [], tokensAfter: [], innerInstructions: [] };
    this.transactions.set(signature, { signature, slot, blockTime: null, blockhash: randomAddress(), signers: [], instructions, outcome });
  }
}

/** Returns the hash of the block before a slot. */
const blockhashBefore = (slot: number): string => addressOfBytes(createHash('sha256').update(`block before ${slot}`).digest()).toBase58();

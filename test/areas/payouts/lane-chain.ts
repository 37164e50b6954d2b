import { selectLane } from '#areas/payouts/lanes/rows.ts';
import { run } from '#platform/db/query-builder.ts';
import type { FetchedTransaction, ParsedInstruction } from '#platform/solana/fetched-transaction.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import type { HistoryEntry } from '#platform/solana/rpc-node.ts';
import { SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, MEMO_PROGRAM, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { nonceAccount, randomAddress, type StoredLane } from '#test/support/areas/payout-rows.ts';
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

/** An application whose RPC node returns the accounts, transactions and histories of this object. Histories are newest first. */
export class LaneChain {
  readonly accounts = new Map<string, string>();
  readonly transactions = new Map<string, FetchedTransaction>();
  readonly histories = new Map<string, readonly HistoryEntry[]>();
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
    node.transaction = async (signature) => this.transactions.get(signature) ?? null;
    node.history = async (address, { limit, before, until }) => {
      const all = this.histories.get(address.toBase58()) ?? [];
      const [first, end] = [before, until].map((signature) => all.findIndex((one) => one.signature === signature));
      return all.slice((first ?? -1) + 1, end === -1 ? undefined : end).slice(0, limit);
    };
  }

  static async start(): Promise<LaneChain> {
    return new LaneChain(await startTestApp({ workers: false, env: { USDC_MINT: USDC } }));
  }

  /** Deletes all lanes and sets the slot back. */
  async reset(): Promise<void> {
    this.slot = 1_000;
    await sql(this.t.app, 'update payout_lanes set batch = null');
    await sql(this.t.app, 'delete from payout_lanes');
  }

  async laneOf(stored: StoredLane) {
    const [lane] = await run(this.t.app.db, selectLane(stored.lane));
    if (!lane) throw new Error('the lane does not exist');
    return lane;
  }

  /** Adds a transaction to the chain. It uses a nonce of a lane and pays wallets. @returns its signature */
  addTransaction(
    { address }: StoredLane,
    nonce: string,
    { payments = [], memo, failed = false, at = 500 }: { payments?: readonly LanePayment[]; memo?: string; failed?: boolean; at?: number } = {},
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
      signers: [],
      instructions: [advance, ...text, ...payments.map(transfer)],
      outcome: { failed, tokensBefore: [], tokensAfter: [], innerInstructions: [] },
    });
    this.histories.set(address, [historyEntry(signature, at), ...(this.histories.get(address) ?? [])]);
    return signature;
  }
}

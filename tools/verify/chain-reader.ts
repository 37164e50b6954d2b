import type { LandedCommitment } from '#lib/draw/audit.ts';
import { instantOf } from '#lib/draw/bytes.ts';
import { MEMO_PREFIX } from '#lib/draw/commitment.ts';
import type { FetchedTransaction } from '#platform/solana/fetched-transaction.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { Unreadable } from './epoch-published.ts';

/** A memo that was signed with a committer's key, in a finalized successful transaction. */
export interface SignedMemo {
  readonly memo: string;
  readonly signature: string;
  readonly slot: number;
}

/** The change of a wallet's token balance in a transaction. */
export interface BalanceChange {
  readonly wallet: string;
  readonly mint: string;
  readonly amount: bigint;
}

/** Reads finalized data from an RPC node of the verifier's choice. Every method throws `Unreadable` when the node does not answer. */
export interface ChainReader {
  /** Returns the memos that were signed with a key and that may be commitments to lottery rounds, oldest first. */
  memosOf(key: string): Promise<SignedMemo[]>;
  /**
   * Returns the commitment in a memo, with the time and blockhash of the block that contains it.
   * @param committer the address of the key that signed the memo
   */
  landed(memo: SignedMemo, committer: string): Promise<LandedCommitment>;
  /** Returns the balance changes of a transaction; null when the node has no finalized successful transaction with this signature. */
  received(signature: string): Promise<BalanceChange[] | null>;
  /** Returns the slot of the first block that the node still has. */
  firstBlock(): Promise<number>;
}

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const SIGNATURES_PER_PAGE = 1_000;
const MAX_CONCURRENT = 8;

/** Returns the error to throw when a request to an RPC node failed. Its message contains the error that the node or the network returned. */
export function unreadableNode(rpc: string, error: unknown): Unreadable {
  const cause = Error.isError(error) ? (error.cause ?? error) : error;
  return new Unreadable(`${rpc} cannot be read: ${Error.isError(cause) ? cause.message : String(cause)}`);
}

export function openChainReader(rpc: string): ChainReader {
  const node = new RpcNode(rpc, { retriesRateLimit: true });

  async function request<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      throw unreadableNode(rpc, error);
    }
  }
  const transaction = (signature: string) => request(() => node.transaction(signature, 'finalized'));

  /**
   * Returns the signatures of transactions that may contain a commitment by a key, newest first. These transactions succeeded, and the key is one of
   * their accounts.
   */
  async function signaturesOf(key: string): Promise<string[]> {
    const found: string[] = [];
    for (let before: string | undefined; ; ) {
      const page = await request(() => node.history(parseAddress(key), { limit: SIGNATURES_PER_PAGE, before }, 'finalized'));
      // The RPC node lists the memo of each transaction, so this code loads only transactions whose memo may be a commitment.
      for (const { signature, failed, memo } of page) if (!failed && (memo?.includes(MEMO_PREFIX) ?? true)) found.push(signature);
      before = page.at(-1)?.signature;
      if (before === undefined) return found;
    }
  }

  return {
    async memosOf(key) {
      const signatures = (await signaturesOf(key)).reverse();
      const memos: SignedMemo[] = [];
      for (let from = 0; from < signatures.length; from += MAX_CONCURRENT) {
        const chunk = signatures.slice(from, from + MAX_CONCURRENT);
        const found = await Promise.all(chunk.map(transaction));
        for (const [i, one] of found.entries()) {
          const signature = chunk[i] ?? '';
          if (one === null) throw new Unreadable(`${rpc} does not have the transaction ${signature}, although it lists it`);
          memos.push(...memosIn(one, key).map((memo) => ({ memo, signature, slot: one.slot })));
        }
      }
      return memos;
    },
    async landed({ memo, signature, slot }, committer) {
      const block = await request(() => node.block(slot));
      if (block === null) throw new Unreadable(`${rpc} does not have the block of slot ${slot}`);
      return { memo, committer, signature, slot, blockhash: block.blockhash, blockTime: instantOf(block.blockTime * 1_000) };
    },
    async received(signature) {
      const found = await transaction(signature);
      if (!found?.outcome || found.outcome.failed) return null;
      const { tokensBefore, tokensAfter } = found.outcome;
      const signed = [...tokensBefore.map((one) => [one, -1n] as const), ...tokensAfter.map((one) => [one, 1n] as const)];
      return signed.map(([{ owner, mint, amount }, sign]) => ({ wallet: owner ?? '', mint, amount: sign * amount }));
    },
    firstBlock: () => request(() => node.firstBlock()),
  };
}

/** Returns the memos of a transaction's memo instructions that list the key as a signer. */
function memosIn({ outcome, signers, instructions }: FetchedTransaction, key: string): string[] {
  // Any wallet can list the key as an account of a transaction, so only memos that the key signed count.
  if (outcome?.failed !== false || !signers.includes(key)) return [];
  return instructions.filter(({ program, accounts }) => program === MEMO_PROGRAM && accounts.includes(key)).map(({ data }) => data.toString('utf8'));
}

import { Connection, PublicKey, type VersionedTransactionResponse } from '@solana/web3.js';
import type { LandedCommitment } from '#lib/draw/audit.ts';
import { instantOf } from '#lib/draw/bytes.ts';
import { MEMO_PREFIX } from '#lib/draw/commitment.ts';
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
const READ_OPTIONS = { commitment: 'finalized', maxSupportedTransactionVersion: 1 } as const;

export function openChainReader(rpc: string): ChainReader {
  const connection = new Connection(rpc, { commitment: 'finalized' });

  async function request<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      throw new Unreadable(`${rpc} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const transaction = (signature: string) => request(() => connection.getTransaction(signature, READ_OPTIONS));

  /**
   * Returns the signatures of transactions that may contain a commitment by a key, newest first. These transactions succeeded, and the key is one of
   * their accounts.
   */
  async function signaturesOf(key: string): Promise<string[]> {
    const found: string[] = [];
    for (let before: string | undefined; ; ) {
      const options = { limit: SIGNATURES_PER_PAGE, ...(before === undefined ? {} : { before }) };
      const page = await request(() => connection.getSignaturesForAddress(new PublicKey(key), options, 'finalized'));
      // The RPC node lists the memo of each transaction, so this code loads only transactions whose memo may be a commitment.
      for (const { signature, err, memo } of page) if (err === null && (memo?.includes(MEMO_PREFIX) ?? true)) found.push(signature);
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
      const block = await request(() => connection.getBlock(slot, { ...READ_OPTIONS, transactionDetails: 'none', rewards: false }));
      if (block?.blockTime == null) throw new Unreadable(`${rpc} does not have the block of slot ${slot}`);
      return { memo, committer, signature, slot, blockhash: block.blockhash, blockTime: instantOf(block.blockTime * 1_000) };
    },
    async received(signature) {
      const found = await transaction(signature);
      if (!found?.meta || found.meta.err !== null) return null;
      const { preTokenBalances, postTokenBalances } = found.meta;
      const signed = [...(preTokenBalances ?? []).map((one) => [one, -1n] as const), ...(postTokenBalances ?? []).map((one) => [one, 1n] as const)];
      return signed.map(([{ owner, mint, uiTokenAmount }, sign]) => ({ wallet: owner ?? '', mint, amount: sign * BigInt(uiTokenAmount.amount) }));
    },
    firstBlock: () => request(() => connection.getFirstAvailableBlock()),
  };
}

/** Returns the memos of a transaction's memo instructions that list the key as a signer. */
function memosIn({ meta, transaction: { message } }: VersionedTransactionResponse, key: string): string[] {
  if (meta?.err !== null) return [];
  const keys = message.staticAccountKeys.map((one) => one.toBase58());
  // Any wallet can list the key as an account of a transaction, so only memos that the key signed count.
  const isSigned = (index: number) => keys[index] === key && message.isAccountSigner(index);
  return message.compiledInstructions
    .filter(({ programIdIndex, accountKeyIndexes }) => keys[programIdIndex] === MEMO_PROGRAM && accountKeyIndexes.some(isSigned))
    .map(({ data }) => Buffer.from(data).toString('utf8'));
}

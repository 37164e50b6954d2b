import { Connection, PublicKey, type VersionedTransactionResponse } from '@solana/web3.js';
import type { LandedCommitment } from '#lib/draw/audit.ts';
import { instantOf } from '#lib/draw/bytes.ts';
import { MEMO_PREFIX } from '#lib/draw/commitment.ts';
import { Unreadable } from './published.ts';

/** A memo that a key signed, in a finalized transaction that succeeded. */
export interface SignedMemo {
  readonly memo: string;
  readonly signature: string;
  readonly slot: number;
}

/** What a token of a wallet grew by. */
export interface Received {
  readonly wallet: string;
  readonly mint: string;
  readonly amount: bigint;
}

/** A node of the verifier's own choice, asked for what is final. Every method throws `Unreadable` where it does not answer. */
export interface Ledger {
  /** The memos that a key signed and that may be commitments, in the order of the chain. */
  memosOf(key: string): Promise<SignedMemo[]>;
  /** A memo with its block. */
  landed(memo: SignedMemo, committer: string): Promise<LandedCommitment>;
  /** What wallets received in a transaction; null where the node does not know one that succeeded. */
  received(signature: string): Promise<Received[] | null>;
  /** The first block of the node's history. */
  begins(): Promise<number>;
}

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const SIGNATURES_PER_PAGE = 1_000;
const AT_ONCE = 8;
const READING = { commitment: 'finalized', maxSupportedTransactionVersion: 1 } as const;

export function openLedger(rpc: string): Ledger {
  const connection = new Connection(rpc, { commitment: 'finalized' });

  async function ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      throw new Unreadable(`${rpc} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const transaction = (signature: string) => ask(() => connection.getTransaction(signature, READING));

  /** Newest first. */
  async function signaturesOf(key: string): Promise<string[]> {
    const found: string[] = [];
    for (let before: string | undefined; ; ) {
      const options = { limit: SIGNATURES_PER_PAGE, ...(before === undefined ? {} : { before }) };
      const page = await ask(() => connection.getSignaturesForAddress(new PublicKey(key), options, 'finalized'));
      // Nodes tell the memos along: what cannot be a commitment is not read.
      for (const { signature, err, memo } of page) if (err === null && (memo?.includes(MEMO_PREFIX) ?? true)) found.push(signature);
      before = page.at(-1)?.signature;
      if (before === undefined) return found;
    }
  }

  return {
    async memosOf(key) {
      const signatures = (await signaturesOf(key)).reverse();
      const memos: SignedMemo[] = [];
      for (let from = 0; from < signatures.length; from += AT_ONCE) {
        const chunk = signatures.slice(from, from + AT_ONCE);
        const found = await Promise.all(chunk.map(transaction));
        for (const [i, one] of found.entries()) {
          const signature = chunk[i] ?? '';
          if (one === null) throw new Unreadable(`${rpc} does not have the transaction ${signature}, which it lists`);
          memos.push(...memosIn(one, key).map((memo) => ({ memo, signature, slot: one.slot })));
        }
      }
      return memos;
    },
    async landed({ memo, signature, slot }, committer) {
      const block = await ask(() => connection.getBlock(slot, { ...READING, transactionDetails: 'none', rewards: false }));
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
    begins: () => ask(() => connection.getFirstAvailableBlock()),
  };
}

/** The memos of a transaction that a key signed as such: it is among the accounts of their instructions. */
function memosIn({ meta, transaction: { message } }: VersionedTransactionResponse, key: string): string[] {
  if (meta?.err !== null) return [];
  const keys = message.staticAccountKeys.map((one) => one.toBase58());
  // Anybody may name the key in a transaction: only its own signature binds it.
  const isSigned = (index: number) => keys[index] === key && message.isAccountSigner(index);
  return message.compiledInstructions
    .filter(({ programIdIndex, accountKeyIndexes }) => keys[programIdIndex] === MEMO_PROGRAM && accountKeyIndexes.some(isSigned))
    .map(({ data }) => Buffer.from(data).toString('utf8'));
}

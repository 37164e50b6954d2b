import { setTimeout as sleep } from 'node:timers/promises';
import { HttpError } from '#lib/errors.ts';
import type { Instruction, Signer } from '#platform/solana/primitives.ts';
import type { RpcNode } from '#platform/solana/rpc-node.ts';
import { buildTransaction, computeBudget, signTransaction } from '#platform/solana/transactions.ts';

/** A transaction to send. The first signer pays the fee. */
export interface Draft {
  readonly instructions: readonly Instruction[];
  readonly signers: readonly [Signer, ...Signer[]];
}

/** How transactions are sent. */
export interface LandingOptions {
  readonly node: RpcNode;
  /** Priority price, millionths of a lamport per compute unit. */
  readonly price: number;
  /** Time between two polls of the statuses, ms. */
  readonly pollMs?: number;
}

/** A compute limit that suffices for each transaction of a deployment. */
const MAX_UNITS = 200_000;
/** Number of polls after which pending transactions are sent again. */
const POLLS_PER_RESEND = 4;
/** Maximum transactions in flight. Public RPC nodes limit the rate of requests. */
const MAX_IN_FLIGHT = 10;

interface Signed {
  readonly draft: Draft;
  readonly signature: string;
  readonly bytes: Buffer;
}

/** Returns the instructions of a draft after the compute budget. */
export const withBudget = ({ instructions }: Draft, price: number): Instruction[] => [...computeBudget(MAX_UNITS, price), ...instructions];

/**
 * Sends transactions until all of them have the wanted status. A transaction that has expired is signed again, which is safe because it can no longer
 * land.
 * @throws when a transaction fails
 */
export async function land(drafts: readonly Draft[], options: LandingOptions, wanted: 'confirmed' | 'finalized'): Promise<void> {
  let rest = [...drafts];
  while (rest.length > 0) {
    const batch = rest.slice(0, MAX_IN_FLIGHT);
    const expired = await landOnce(batch, options, wanted);
    rest = [...expired, ...rest.slice(MAX_IN_FLIGHT)];
  }
}

/** Signs and sends transactions with one blockhash. @returns the transactions that expired */
async function landOnce(drafts: readonly Draft[], options: LandingOptions, wanted: 'confirmed' | 'finalized'): Promise<Draft[]> {
  const { node, price, pollMs = 500 } = options;
  const { blockhash, lastValidBlockHeight } = await node.latestBlockhash('confirmed');
  let pending = drafts.map((draft): Signed => {
    const transaction = buildTransaction(draft.signers[0].publicKey, withBudget(draft, price), blockhash);
    return { draft, ...signTransaction(transaction, draft.signers) };
  });
  for (let poll = 0; pending.length > 0; poll++) {
    if (poll % POLLS_PER_RESEND === 0) await Promise.all(pending.map(({ bytes }) => retrying(() => node.send(bytes, null))));
    await sleep(pollMs);
    // The height is read before the statuses: if the last valid block is finalized and a status is still missing, the transaction cannot land.
    const height = await retrying(() => node.finalizedHeight());
    const found = await retrying(() =>
      node.statuses(
        pending.map(({ signature }) => signature),
        { searchHistory: true },
      ),
    );
    if (!height || !found) continue;
    const statusOf = new Map(pending.map(({ signature }, i) => [signature, found.statuses[i] ?? null]));
    for (const [signature, status] of statusOf) {
      if (status?.err) throw new Error(`transaction ${signature} failed: ${JSON.stringify(status.err)}`);
    }
    pending = pending.filter(({ signature }) => {
      const level = statusOf.get(signature)?.confirmationStatus;
      return level !== 'finalized' && level !== wanted;
    });
    if (height.height > lastValidBlockHeight && pending.every(({ signature }) => !statusOf.get(signature))) return pending.map(({ draft }) => draft);
  }
  return [];
}

/** Returns the result of a request, or null when the RPC node does not answer at the moment. */
async function retrying<T>(request: () => Promise<T>): Promise<T | null> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof HttpError) return null;
    throw error;
  }
}

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
  /** Priority price of the first attempt, and its maximum, millionths of a lamport per compute unit. */
  readonly price: number;
  readonly maxPrice: number;
  /** Time between two polls of the statuses, ms. */
  readonly pollMs: number;
}

/** A compute limit that suffices for each transaction of a deployment. */
const MAX_UNITS = 200_000;
/** Fee per signature, lamports. */
const SIGNATURE_FEE = 5_000;
/** Number of polls after which pending transactions are sent again. */
const POLLS_PER_RESEND = 4;
/** Maximum transactions in flight. Public RPC nodes limit the rate of requests. */
const MAX_IN_FLIGHT = 10;
/** Maximum number of times that the transactions of one step may expire. The price doubles each time. */
const MAX_EXPIRIES = 10;

/** Thrown when the cluster refuses a transaction, so that repeating it is of no use. */
export class TransactionRefused extends Error {}

interface Signed {
  readonly draft: Draft;
  readonly signature: string;
  readonly bytes: Buffer;
}

/** Returns the signers of a draft, each once. */
const signersOf = ({ signers }: Draft): Signer[] => [...new Map(signers.map((signer) => [signer.publicKey.toBase58(), signer])).values()];

const transactionOf = (draft: Draft, price: number, blockhash: string) =>
  buildTransaction(draft.signers[0].publicKey, [...computeBudget(MAX_UNITS, price), ...draft.instructions], blockhash);

/** Returns the fee of a transaction, lamports. */
export const feeOf = (draft: Draft, price: number): number => SIGNATURE_FEE * signersOf(draft).length + Math.ceil((MAX_UNITS * price) / 1_000_000);

/** Lets the cluster simulate a transaction. @throws TransactionRefused when the transaction would fail */
export async function simulate({ node, price }: LandingOptions, draft: Draft): Promise<void> {
  const { blockhash } = await node.latestBlockhash('confirmed');
  const { err, logs } = await node.simulate(transactionOf(draft, price, blockhash), true);
  if (err !== null)
    throw new TransactionRefused(`the cluster refuses the transaction: ${JSON.stringify(err)} ${logs?.slice(-3).join(' ') ?? ''}`.trim());
}

/**
 * Sends transactions until all of them are confirmed. A transaction that has expired is signed again with twice the priority price, which is safe
 * because it can no longer land.
 * @throws TransactionRefused when a transaction fails
 */
export async function land(drafts: readonly Draft[], options: LandingOptions): Promise<void> {
  let rest = [...drafts];
  let { price } = options;
  for (let expiries = 0; rest.length > 0; ) {
    const expired = await landOnce(rest.slice(0, MAX_IN_FLIGHT), options, price);
    rest = [...expired, ...rest.slice(MAX_IN_FLIGHT)];
    if (expired.length === 0) continue;
    if (++expiries >= MAX_EXPIRIES)
      throw new Error(
        `a transaction expired ${expiries} times at a priority price of up to ${price}: raise maxPriorityPrice, then repeat the command`,
      );
    price = Math.min(options.maxPrice, Math.max(1, 2 * price));
  }
}

/** Signs and sends transactions with one blockhash. @returns the transactions that expired */
async function landOnce(drafts: readonly Draft[], { node, pollMs }: LandingOptions, price: number): Promise<Draft[]> {
  const { blockhash, lastValidBlockHeight } = await node.latestBlockhash('confirmed');
  let pending = drafts.map((draft): Signed => ({ draft, ...signTransaction(transactionOf(draft, price, blockhash), signersOf(draft)) }));
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
      if (status?.err) throw new TransactionRefused(`transaction ${signature} failed: ${JSON.stringify(status.err)}`);
    }
    pending = pending.filter(({ signature }) => {
      const level = statusOf.get(signature)?.confirmationStatus;
      return level !== 'finalized' && level !== 'confirmed';
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

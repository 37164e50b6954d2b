import bs58 from 'bs58';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { leafHash, verifyWithMerkletreejs } from '#lib/merkle.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { retry, submit } from '#platform/solana/submission/transactions.ts';
import { CLAIM, type ClaimRow, insertClaim, lockClaim, requeueClaim } from './rows.ts';

/** Claims are not relayed any more so long before their epoch expires: what is signed then might come too late. */
export const RELAY_MARGIN = `interval '10 minutes'`;

interface Leaf {
  index: number;
  amount: string;
  state: string;
  root: Buffer;
  settling: boolean;
  late: boolean;
}
const selectLeaf = statement<Leaf>(
  'select_leaf_to_claim',
  `select l.index, l.amount::text, e.state, e.root, e.settle_requested_at is not null as settling,
     e.expires_at is not null and e.expires_at - ${RELAY_MARGIN} <= app_now() as late
   from reward_leaves l join epochs e on e.epoch = l.epoch where l.epoch = $1 and l.wallet = $2 and l.amount > 0 and e.root is not null`,
);

/** What is asked for: the caller's leaf of an epoch. */
export interface ClaimRequest {
  readonly epoch: number;
  /** The siblings from the leaf up, 32 bytes each. */
  readonly proof: readonly Buffer[];
}

/**
 * Asks for a wallet's leaf of an epoch to be claimed. Again while it is on its way: the same claim; after it failed, it is tried anew.
 * @returns the claim's id
 * @throws 404 there is no such leaf; 400 the proof does not verify; 409 it is claimed, settled off-chain, not committed, or expired
 */
export async function requestClaim(tx: Tx, wallet: string, { epoch, proof }: ClaimRequest): Promise<string> {
  const leaf = (await tx.query(selectLeaf, [epoch, wallet]))[0];
  if (!leaf) throw fail(404, `epoch ${epoch} has no reward for this wallet`);
  const hash = leafHash({ epoch, index: leaf.index, wallet: bs58.decode(wallet), amount: BigInt(leaf.amount) });
  if (!verifyWithMerkletreejs(leaf.root, hash, proof)) throw fail(400, `proof must lead from this wallet’s leaf to the root of epoch ${epoch}`);
  const standing = (await tx.query(lockClaim, [epoch, leaf.index]))[0];
  if (standing && standing.state !== 'failed') return standing.state === 'claimed' ? refuseClaimed(standing) : standing.id;
  refuseClosed(epoch, leaf);

  const nodes = Buffer.concat([...proof]);
  if (standing) {
    await tx.query(requeueClaim, [standing.id, nodes]);
    await retry(tx, CLAIM, [standing.id]);
    return standing.id;
  }
  const id = newId();
  const inserted = await tx.query(insertClaim, [id, epoch, leaf.index, wallet, leaf.amount, nodes]);
  if (inserted.length > 0) {
    await submit(tx, CLAIM, [id]);
    return id;
  }
  // Somebody else was first, and has committed by now.
  const first = (await tx.query(lockClaim, [epoch, leaf.index]))[0];
  if (!first) throw new Error(`claim ${epoch}/${leaf.index} is neither new nor there`);
  return first.state === 'claimed' ? refuseClaimed(first) : first.id;
}

function refuseClaimed({ epoch, signature }: ClaimRow): never {
  throw fail(409, signature === null ? `epoch ${epoch} is claimed already` : `epoch ${epoch} is claimed already, by transaction ${signature}`);
}

function refuseClosed(epoch: number, { state, settling, late }: Leaf): void {
  if (state === 'settled') throw fail(409, `epoch ${epoch} is settled off-chain`);
  if (settling) throw fail(409, `epoch ${epoch} is being settled off-chain`);
  if (state === 'expired' || late) throw fail(409, `epoch ${epoch} is expired: its rewards cannot be claimed any more`);
  if (state !== 'committed') throw fail(409, `epoch ${epoch} is not committed to the chain yet`);
}

import bs58 from 'bs58';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { leafHash, verifyWithMerkletreejs } from '#lib/merkle.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { runAgainAfterConflict } from '#platform/db/turns.ts';
import { pendingOf, retry } from '#platform/solana/submission/index.ts';
import { refuseParked } from './parking.ts';
import { CLAIM, type ClaimRow, insertClaims, lockClaimOfWallet, requeueClaim } from './rows.ts';

/** Maximum claims of a wallet that wait to be signed or are in flight. */
export const MAX_PENDING = 100;

/** Time before the expiry of an epoch during which no claim is sent, because a claim might land after the expiry. */
export const RELAY_MARGIN = `interval '10 minutes'`;

/** A leaf, with what the database knows about the openness of its epoch. */
export interface Leaf {
  index: number;
  amount: string;
  state: string;
  root: Buffer;
  settling: boolean;
  relayEnded: boolean;
}
/**
 * Returns SQL that selects the leaf of a wallet.
 * @param epoch SQL expression
 * @param wallet SQL expression
 */
export const leafOf = (epoch: string, wallet: string): string =>
  `select l.index, l.amount::text, e.state, e.root, e.settle_requested_at is not null as settling,
     e.expires_at is not null and e.expires_at - ${RELAY_MARGIN} <= (select app_now()) as "relayEnded"
   from reward_leaves l join epochs e on e.epoch = l.epoch and e.allocation = l.allocation
   where l.epoch = ${epoch} and l.wallet = ${wallet} and l.amount > 0 and e.root is not null`;
const selectLeaf = statement<Leaf>('select_leaf_to_claim', leafOf('$1', '$2'));

/** A request of the signed-in wallet to claim its leaf of an epoch. */
export interface ClaimRequest {
  readonly epoch: number;
  /** Sibling hashes from the leaf to the root, 32 bytes each. */
  readonly proof: readonly Buffer[];
}

/**
 * Creates and submits the claim of a wallet's leaf. If a claim of the leaf is in flight already, returns its id. If the earlier claim of the leaf
 * failed, retries that claim. Precondition: the transaction runs in the work of `inTurn`, which runs again if another process inserts the same claim.
 * @returns the id of the claim
 * @throws 404 when the wallet has no leaf in this epoch; 400 when the proof is invalid; 409 when the leaf is claimed, or the epoch is settled,
 * expired or not committed; 429 when the wallet has too many claims in flight, or the claim is parked after repeated failures
 */
export async function requestClaim(tx: Tx, wallet: string, { epoch, proof }: ClaimRequest): Promise<string> {
  // Started together, so that the statements share a round trip.
  const [leaves, claims, pending] = await Promise.all([
    tx.query(selectLeaf, [epoch, wallet]),
    tx.query(lockClaimOfWallet, [epoch, wallet]),
    pendingOf(tx, wallet),
  ]);
  const [leaf] = leaves;
  if (!leaf) throw fail(404, `epoch ${epoch} has no reward for this wallet`);
  if (!provesLeaf(wallet, { epoch, proof }, leaf)) throw fail(400, `proof must lead from this wallet’s leaf to the root of epoch ${epoch}`);
  const existing = claims.find(({ index }) => index === leaf.index);
  if (existing && existing.state !== 'failed') return existing.state === 'claimed' ? refuseClaimed(existing) : existing.id;
  refuseClosed(epoch, leaf);

  if (pending >= MAX_PENDING) {
    const message = `the wallet has ${MAX_PENDING} claims in flight; request the next one when one of them is finished`;
    throw tooManyRequests(message, { name: 'claims', quota: MAX_PENDING, windowMs: null, waitMs: 5_000 });
  }
  const nodes = Buffer.concat([...proof]);
  if (existing) {
    await refuseParked(tx, existing.id, epoch);
    await run(tx, requeueClaim(existing.id, nodes));
    await retry(tx, CLAIM, [existing.id], { keepFailures: true });
    return existing.id;
  }
  const id = newId();
  // The insert fails if another process has inserted the claim since the look-up above.
  await insertClaims(tx, [{ id, epoch, index: leaf.index, wallet, amount: leaf.amount, proof: nodes }]).catch(runAgainAfterConflict);
  return id;
}

/** Returns whether the proof of a request leads from the leaf of the wallet to the root of the epoch. */
export function provesLeaf(wallet: string, { epoch, proof }: ClaimRequest, { index, amount, root }: Leaf): boolean {
  return verifyWithMerkletreejs(root, leafHash({ epoch, index, wallet: bs58.decode(wallet), amount: BigInt(amount) }), proof);
}

export function refuseClaimed({ epoch, signature }: Pick<ClaimRow, 'epoch' | 'signature'>): never {
  throw fail(409, signature === null ? `epoch ${epoch} is claimed already` : `epoch ${epoch} is claimed already, by transaction ${signature}`);
}

/** Whether the leaves of an epoch can be claimed, as the database knows it. */
type Openness = Pick<Leaf, 'state' | 'settling' | 'relayEnded'>;

/** Returns the reason why the leaves of an epoch cannot be claimed now, one sentence; null when they can be claimed. */
export function closedReason(epoch: number, { state, settling, relayEnded }: Openness): string | null {
  if (state === 'settled') return `epoch ${epoch} is settled off-chain`;
  if (settling) return `epoch ${epoch} is being settled off-chain`;
  if (state === 'expired' || relayEnded) return `epoch ${epoch} is expired; its rewards cannot be claimed any more`;
  if (state === 'empty') return `epoch ${epoch} has no rewards`;
  return state === 'committed' ? null : `epoch ${epoch} is not committed to the chain yet`;
}

/** @throws 409 when the leaves of an epoch cannot be claimed now, with the reason */
export function refuseClosed(epoch: number, openness: Openness): void {
  const reason = closedReason(epoch, openness);
  if (reason !== null) throw fail(409, reason);
}

import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { CLAIM } from './rows.ts';

/** Delay before the next attempt of a claim after its second failed attempt, ms. Each further failure multiplies the delay by `DELAY_FACTOR`. */
const DELAY_MS = 5_000;
const DELAY_FACTOR = 6;
const MAX_DELAY_MS = 86_400_000;

/**
 * Returns the delay before the next attempt of a claim, ms. Each failed attempt costs the service a fee, and the owner of a leaf can cause failures
 * without limit, for example by closing and reopening the token account. So the delay grows for this leaf: 5 s, 30 s, 3 min, 18 min … 24 h. The first
 * failure causes no delay, because a claim may fail once without a fault of its owner.
 * @param failures number of attempts of the claim that landed and failed
 */
export const failureDelayMs = (failures: number): number => (failures < 2 ? 0 : Math.min(MAX_DELAY_MS, DELAY_MS * DELAY_FACTOR ** (failures - 2)));

const selectParked = statement<{ failures: number; seconds: number }>(
  'select_parked_claim',
  `select refusals as failures, ceil(extract(epoch from next_at - app_now()))::int as seconds from chain_transactions
   where kind = $1 and subject = $2 and state = 'failed' and next_at > (select app_now())`,
);

/**
 * Checks that a failed claim may be sent again.
 * @throws 429 while the claim is parked after repeated failures
 */
export async function refuseParked(tx: Tx, claim: string, epoch: number): Promise<void> {
  const parked = (await tx.query(selectParked, [CLAIM.name, claim]))[0];
  if (!parked) return;
  const message = `the claim of epoch ${epoch} failed on the chain ${parked.failures} times; it can be requested again in ${parked.seconds} seconds`;
  const waitMs = parked.seconds * 1_000;
  throw tooManyRequests(message, { name: 'failed-claims', quota: 1, windowMs: waitMs, waitMs });
}

import { gather } from '#lib/concurrency/gather.ts';
import { newId } from '#lib/ids.ts';
import { type App, perApp } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { isConflict } from '#platform/db/turns.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { type ClaimRequest, closedReason, type Leaf, leafOf, MAX_PENDING, provesLeaf } from './request.ts';
import { insertClaims } from './rows.ts';

/** Time for which the requests of new claims are collected, ms. A claim is final after 13 s. */
const COLLECT_MS = 50;

const selectUnclaimed = statement<Leaf & { n: number; pending: number }>(
  'select_unclaimed_leaves',
  `select k.n::int - 1 as n, l.*, (select count(*)::int from chain_transactions where caller = k.wallet and state in ('queued', 'live')) as pending
   from unnest($1::int[], $2::text[]) with ordinality as k(epoch, wallet, n), lateral (${leafOf('k.epoch', 'k.wallet')}) l
   where not exists (select from claims c where c.epoch = k.epoch and c.index = l.index)`,
);

interface WalletRequest extends ClaimRequest {
  readonly wallet: string;
}

const collected = perApp((app) => gather((requests: readonly [WalletRequest, ...WalletRequest[]]) => createOrLeave(app, requests), COLLECT_MS));

/**
 * Creates and submits the claim of a wallet's leaf, in one transaction with the claims that other requests to this process ask for at the same time.
 * Precondition: the process serves one request of a wallet at a time.
 * @returns the id of the claim; null if the claim needs a transaction of its own: `requestClaim` then finds the earlier claim of the leaf, or the reason of the refusal
 */
export async function createWithOthers(app: App, request: WalletRequest): Promise<string | null> {
  return (await app.state(collected)('all', request)).get(request) ?? null;
}

/** Creates the claims of requests. Creates none if a claim conflicts, for example because another process has inserted it; then each gets a transaction of its own. */
async function createOrLeave(app: App, requests: readonly WalletRequest[]): Promise<ReadonlyMap<WalletRequest, string>> {
  try {
    return await app.tx((tx) => createClaims(tx, requests));
  } catch (error) {
    if (isUnavailable(error)) throw error;
    if (!isConflict(error)) app.log.error({ err: error }, 'a batch of claims failed; each claim is requested in a transaction of its own');
    return new Map();
  }
}

async function createClaims(tx: Tx, requests: readonly WalletRequest[]): Promise<ReadonlyMap<WalletRequest, string>> {
  const leaves = await tx.query(selectUnclaimed, [requests.map(({ epoch }) => epoch), requests.map(({ wallet }) => wallet)]);
  const created = leaves.flatMap(({ n, pending, ...leaf }) => {
    const request = requests[n];
    const isClaimable = request && pending < MAX_PENDING && closedReason(request.epoch, leaf) === null && provesLeaf(request.wallet, request, leaf);
    if (!isClaimable) return [];
    const { epoch, wallet, proof } = request;
    return [{ request, claim: { id: newId(), epoch, index: leaf.index, wallet, amount: leaf.amount, proof: Buffer.concat([...proof]) } }];
  });
  const claims = created.map(({ claim }) => claim);
  if (claims.length > 0) await tx.last(() => insertClaims(tx, claims));
  return new Map(created.map(({ request, claim }) => [request, claim.id]));
}

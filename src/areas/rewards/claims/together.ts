import { gather } from '#lib/concurrency/gather.ts';
import { newId } from '#lib/ids.ts';
import { type App, perApp } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { isConflict } from '#platform/db/turns.ts';
import { isUnavailable } from '#platform/http/errors.ts';
import { submitAll } from '#platform/solana/submission/index.ts';
import { type ClaimRequest, closedReason, type Leaf, leafOf, MAX_PENDING, provesLeaf } from './request.ts';
import { CLAIM } from './rows.ts';

/** Time for which the requests of new claims are collected, ms. A claim is final after 13 s. */
const COLLECT_MS = 50;

const selectUnclaimed = statement<Leaf & { n: number; pending: number }>(
  'select_unclaimed_leaves',
  `select k.n::int - 1 as n, l.*, (select count(*)::int from chain_transactions where caller = k.wallet and state in ('queued', 'live')) as pending
   from unnest($1::int[], $2::text[]) with ordinality as k(epoch, wallet, n), lateral (${leafOf('k.epoch', 'k.wallet')}) l
   where not exists (select from claims c where c.epoch = k.epoch and c.index = l.index)`,
);

// Inserts in the order of the key, so that two processes that insert the same claims do not deadlock.
const insertClaims = statement<never>(
  'insert_claims',
  `insert into claims (id, epoch, index, wallet, amount, state, requested_by, proof)
   select id, epoch, index, wallet, amount, 'queued', wallet, proof
   from unnest($1::uuid[], $2::int[], $3::int[], $4::text[], $5::numeric[], $6::bytea[]) as c(id, epoch, index, wallet, amount, proof) order by epoch, index`,
);

/** A request of a wallet, without an earlier claim of its leaf. */
interface NewClaim extends ClaimRequest {
  readonly wallet: string;
}

const collected = perApp((app) => gather((requests: readonly [NewClaim, ...NewClaim[]]) => createOrLeave(app, requests), COLLECT_MS));

/**
 * Creates and submits the claim of a wallet's leaf, in one transaction with the claims that other requests to this process ask for at the same time.
 * Precondition: the process serves one request of a wallet at a time.
 * @returns the id of the claim; null if the claim needs a transaction of its own: `requestClaim` then finds the earlier claim of the leaf, or the reason of the refusal
 */
export async function createWithOthers(app: App, request: NewClaim): Promise<string | null> {
  return (await app.state(collected)('all', request)).get(request) ?? null;
}

/** Creates the claims of requests. Creates none if a claim conflicts, for example because another process has inserted it; then each gets a transaction of its own. */
async function createOrLeave(app: App, requests: readonly NewClaim[]): Promise<ReadonlyMap<NewClaim, string>> {
  try {
    return await app.tx((tx) => createClaims(tx, requests), { readsFirst: true });
  } catch (error) {
    if (isUnavailable(error)) throw error;
    if (!isConflict(error)) app.log.error({ err: error }, 'a batch of claims failed; each claim is requested in a transaction of its own');
    return new Map();
  }
}

async function createClaims(tx: Tx, requests: readonly NewClaim[]): Promise<ReadonlyMap<NewClaim, string>> {
  const leaves = await tx.query(selectUnclaimed, [requests.map(({ epoch }) => epoch), requests.map(({ wallet }) => wallet)]);
  const created = leaves.flatMap(({ n, pending, ...leaf }) => {
    const request = requests[n];
    const isClaimable = request && pending < MAX_PENDING && closedReason(request.epoch, leaf) === null && provesLeaf(request.wallet, request, leaf);
    return isClaimable ? [{ id: newId(), request, leaf }] : [];
  });
  if (created.length > 0) await tx.last(() => insertAll(tx, created));
  return new Map(created.map(({ id, request }) => [request, id]));
}

const insertAll = (tx: Tx, created: readonly { readonly id: string; readonly request: NewClaim; readonly leaf: Leaf }[]) =>
  Promise.all([
    tx.query(insertClaims, [
      created.map(({ id }) => id),
      created.map(({ request }) => request.epoch),
      created.map(({ leaf }) => leaf.index),
      created.map(({ request }) => request.wallet),
      created.map(({ leaf }) => leaf.amount),
      created.map(({ request }) => Buffer.concat([...request.proof])),
    ]),
    submitAll(
      tx,
      CLAIM,
      created.map(({ id, request }) => ({ subject: id, caller: request.wallet })),
    ),
  ]);

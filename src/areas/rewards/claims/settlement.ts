import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { FailedTransaction, LandedTransaction } from '#platform/solana/submission/index.ts';
import { claimConfirmed, claimFailed } from '../events.ts';

interface MovedClaim {
  id: string;
  epoch: number;
  wallet: string;
  amount: string;
  signature: string | null;
  reason: string | null;
}
const MOVED = 'c.id::text, c.epoch, c.wallet, c.amount::text, c.signature, c.reason';

// Every statement that updates several claims locks them in the order of epoch and index, so that two statements cannot deadlock.
const lockedById = (conditions: string) => `
  given as (select * from unnest($1::uuid[], $2::text[]) as g(id, value)),
  locked as (select c.id, g.value from given g join claims c on c.id = g.id where ${conditions} order by c.epoch, c.index for update of c)`;

const confirm = statement<MovedClaim>(
  'confirm_claims',
  `with ${lockedById(`c.state in ('queued', 'submitted')`)}
   update claims c set state = 'confirmed', signature = l.value, changed_at = app_now() from locked l where c.id = l.id returning ${MOVED}`,
);
const retract = statement(
  'retract_claims',
  `with ${lockedById(`c.state = 'confirmed'`)}
   update claims c set state = 'submitted', changed_at = app_now() from locked l where c.id = l.id`,
);
const fail = statement<MovedClaim>(
  'fail_claims',
  `with ${lockedById(`c.state in ('queued', 'submitted', 'confirmed')`)},
   released as (delete from token_accounts_opened o using locked l where o.cause = l.id)
   update claims c set state = 'failed', signature = null, reason = l.value, changed_at = app_now() from locked l where c.id = l.id returning ${MOVED}`,
);
const finish = statement<MovedClaim>(
  'finish_claims',
  `with ${lockedById(`c.state <> 'claimed'`)}
   update claims c set state = 'claimed', signature = l.value, reason = null, proof = null, changed_at = app_now() from locked l where c.id = l.id
   returning ${MOVED}`,
);
const finishByIndex = statement<MovedClaim>(
  'finish_claims_by_index',
  `insert into claims as c (epoch, index, wallet, amount, state, signature)
   select l.epoch, l.index, l.wallet, l.amount, 'claimed', g.signature
   from unnest($2::int[], $3::text[]) as g(index, signature) join epochs e on e.epoch = $1
   join reward_leaves l on l.epoch = e.epoch and l.allocation = e.allocation and l.index = g.index order by l.index
   on conflict (epoch, index) do update set state = 'claimed', signature = excluded.signature, reason = null, proof = null, changed_at = app_now()
   where c.state <> 'claimed' returning ${MOVED}`,
);
const setSignaturesByIndex = statement(
  'name_claims_signatures',
  `with named as (
     select c.id, g.signature from unnest($2::int[], $3::text[]) as g(index, signature) join claims c on c.epoch = $1 and c.index = g.index
     where c.state = 'claimed' and c.signature is null and g.signature is not null order by c.index for update of c)
   update claims c set signature = n.signature from named n where c.id = n.id`,
);
const setSignatures = statement(
  'name_claim_signatures',
  `with ${lockedById(`c.state = 'claimed' and c.signature is null and g.value is not null`)}
   update claims c set signature = l.value from locked l where c.id = l.id`,
);
const addClaimed = statement('add_claimed', `update epoch_accounts set claimed = claimed + $2::numeric, claims = claims + $3::int where epoch = $1`);

const ids = (landings: readonly LandedTransaction[]) => landings.map(({ subject }) => subject);
const signatures = (landings: readonly LandedTransaction[]) => landings.map(({ signature }) => signature);

/** Marks claims as `confirmed`. Does not change claims that are `claimed`. */
export async function confirmClaims(tx: Tx, landings: readonly LandedTransaction[]): Promise<void> {
  emitConfirmed(tx, await tx.query(confirm, [ids(landings), signatures(landings)]), false);
}

/** Sets confirmed claims back to `submitted` after a fork dropped their transactions. */
export async function retractClaims(tx: Tx, claims: readonly string[]): Promise<void> {
  await tx.query(retract, [claims, claims.map(() => null)]);
}

/** Marks claims as `claimed` when their transaction is finalized. Idempotent. */
export async function finishClaims(tx: Tx, landings: readonly LandedTransaction[]): Promise<void> {
  await addToEpochTotals(tx, await tx.query(finish, [ids(landings), signatures(landings)]));
  await tx.query(setSignatures, [ids(landings), signatures(landings)]);
}

/** A leaf that is claimed on the finalized chain. `signature` is null when the transaction that claimed the leaf is not known. */
export interface ClaimedIndex {
  readonly index: number;
  readonly signature: string | null;
}

/**
 * Marks leaves of an epoch as claimed. The transactions that claimed the leaves may come from any sender.
 * @returns the number of leaves that were not marked before
 */
export async function finishLeaves(tx: Tx, epoch: number, claimed: readonly ClaimedIndex[]): Promise<number> {
  // Keeps one entry per leaf, because the statement must not update the same row twice.
  const byIndex = new Map(claimed.map((one) => [one.index, one]));
  const given = [epoch, [...byIndex.keys()], [...byIndex.values()].map(({ signature }) => signature)];
  const moved = await tx.query(finishByIndex, given);
  await addToEpochTotals(tx, moved);
  await tx.query(setSignaturesByIndex, given);
  return moved.length;
}

/**
 * Marks claims as `failed` and emits their events. Does not change claims that are `claimed`.
 * @param reasonOf function that returns the text that is stored and sent to the wallet
 */
export async function failClaims(tx: Tx, failures: readonly FailedTransaction[], reasonOf: (failure: FailedTransaction) => string): Promise<void> {
  const rows = await tx.query(fail, [failures.map(({ subject }) => subject), failures.map(reasonOf)]);
  for (const { id, epoch, wallet, reason } of rows) tx.emit(claimFailed, { claimId: id, epoch, wallet, reason: reason ?? '' }, wallet);
}

/**
 * Adds finalized claims to the totals of their epochs and emits their events. Updates the epochs in ascending order, so that two calls cannot
 * deadlock.
 */
async function addToEpochTotals(tx: Tx, moved: readonly MovedClaim[]): Promise<void> {
  const byEpoch = [...Map.groupBy(moved, ({ epoch }) => epoch)].sort(([a], [b]) => a - b);
  for (const [epoch, rows] of byEpoch) {
    const sum = rows.reduce((total, { amount }) => total + BigInt(amount), 0n);
    await tx.query(addClaimed, [epoch, String(sum), rows.length]);
  }
  emitConfirmed(tx, moved, true);
}

function emitConfirmed(tx: Tx, rows: readonly MovedClaim[], final: boolean): void {
  tx.emitAll(
    claimConfirmed,
    rows.map(({ id, epoch, wallet, amount, signature }) => ({ claimId: id, epoch, wallet, amount, signature, final })),
  );
}

import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Failure, Landing } from '#platform/solana/submission/transactions.ts';
import { claimConfirmed, claimFailed } from '../events.ts';

interface Moved {
  id: string;
  epoch: number;
  wallet: string;
  amount: string;
  signature: string | null;
  reason: string | null;
}
const MOVED = 'c.id::text, c.epoch, c.wallet, c.amount::text, c.signature, c.reason';

// Rows are locked in the order of epoch and index by everybody who moves several.
const lockedById = (conditions: string) => `
  given as (select * from unnest($1::uuid[], $2::text[]) as g(id, value)),
  locked as (select c.id, g.value from given g join claims c on c.id = g.id where ${conditions} order by c.epoch, c.index for update of c)`;

const confirm = statement<Moved>(
  'confirm_claims',
  `with ${lockedById(`c.state in ('queued', 'submitted')`)}
   update claims c set state = 'confirmed', signature = l.value, changed_at = app_now() from locked l where c.id = l.id returning ${MOVED}`,
);
const retract = statement(
  'retract_claims',
  `with ${lockedById(`c.state = 'confirmed'`)}
   update claims c set state = 'submitted', changed_at = app_now() from locked l where c.id = l.id`,
);
const refuse = statement<Moved>(
  'fail_claims',
  `with ${lockedById(`c.state in ('queued', 'submitted', 'confirmed')`)},
   released as (delete from token_accounts_opened o using locked l where o.cause = l.id)
   update claims c set state = 'failed', signature = null, reason = l.value, changed_at = app_now() from locked l where c.id = l.id returning ${MOVED}`,
);
const finish = statement<Moved>(
  'finish_claims',
  `with ${lockedById(`c.state <> 'claimed'`)}
   update claims c set state = 'claimed', signature = l.value, reason = null, proof = null, changed_at = app_now() from locked l where c.id = l.id
   returning ${MOVED}`,
);
const finishByIndex = statement<Moved>(
  'finish_claims_by_index',
  `insert into claims as c (epoch, index, wallet, amount, state, signature)
   select l.epoch, l.index, l.wallet, l.amount, 'claimed', g.signature
   from unnest($2::int[], $3::text[]) as g(index, signature) join reward_leaves l on l.epoch = $1 and l.index = g.index order by l.index
   on conflict (epoch, index) do update set state = 'claimed', signature = excluded.signature, reason = null, proof = null, changed_at = app_now()
   where c.state <> 'claimed' returning ${MOVED}`,
);
const nameSignatures = statement(
  'name_claims_signatures',
  `with named as (
     select c.id, g.signature from unnest($2::int[], $3::text[]) as g(index, signature) join claims c on c.epoch = $1 and c.index = g.index
     where c.state = 'claimed' and c.signature is null and g.signature is not null order by c.index for update of c)
   update claims c set signature = n.signature from named n where c.id = n.id`,
);
const nameSignature = statement(
  'name_claim_signatures',
  `with ${lockedById(`c.state = 'claimed' and c.signature is null and g.value is not null`)}
   update claims c set signature = l.value from locked l where c.id = l.id`,
);
const addClaimed = statement('add_claimed', `update epoch_accounts set claimed = claimed + $2::numeric, claims = claims + $3::int where epoch = $1`);

const ids = (landings: readonly Landing[]) => landings.map(({ subject }) => subject);
const signatures = (landings: readonly Landing[]) => landings.map(({ signature }) => signature);

/** The cluster has voted for our transactions. What is final already stays so. */
export async function confirmClaims(tx: Tx, landings: readonly Landing[]): Promise<void> {
  report(tx, await tx.query(confirm, [ids(landings), signatures(landings)]), false);
}

/** What was confirmed has vanished; it is on its way again. */
export async function retractClaims(tx: Tx, claims: readonly string[]): Promise<void> {
  await tx.query(retract, [claims, claims.map(() => null)]);
}

/** Claims are final, by transactions that were ours or that we found by composing. Once more the same: nothing. */
export async function finishClaims(tx: Tx, landings: readonly Landing[]): Promise<void> {
  await keepBooks(tx, await tx.query(finish, [ids(landings), signatures(landings)]));
  await tx.query(nameSignature, [ids(landings), signatures(landings)]);
}

/** A bit that is set, finally; `signature` null where it is not known whose transaction did it. */
export interface ClaimedIndex {
  readonly index: number;
  readonly signature: string | null;
}

/** Leaves of an epoch are claimed, finally, by whoever. @returns how many were not known to be */
export async function finishLeaves(tx: Tx, epoch: number, claimed: readonly ClaimedIndex[]): Promise<number> {
  // Of several that name the same leaf, one: only one of them can have paid it.
  const byIndex = new Map(claimed.map((one) => [one.index, one]));
  const given = [epoch, [...byIndex.keys()], [...byIndex.values()].map(({ signature }) => signature)];
  const moved = await tx.query(finishByIndex, given);
  await keepBooks(tx, moved);
  await tx.query(nameSignatures, given);
  return moved.length;
}

/** Claims are over without effect; what is claimed by somebody else is no failure. */
export async function failClaims(tx: Tx, failures: readonly Failure[], reasonOf: (failure: Failure) => string): Promise<void> {
  const rows = await tx.query(refuse, [failures.map(({ subject }) => subject), failures.map(reasonOf)]);
  for (const { id, epoch, wallet, reason } of rows) tx.emit(claimFailed, { claimId: id, epoch, wallet, reason: reason ?? '' }, wallet);
}

/** Adds what has become final to its epochs, in their order, and reports it. */
async function keepBooks(tx: Tx, moved: readonly Moved[]): Promise<void> {
  const byEpoch = [...Map.groupBy(moved, ({ epoch }) => epoch)].sort(([a], [b]) => a - b);
  for (const [epoch, rows] of byEpoch) {
    const sum = rows.reduce((total, { amount }) => total + BigInt(amount), 0n);
    await tx.query(addClaimed, [epoch, String(sum), rows.length]);
  }
  report(tx, moved, true);
}

function report(tx: Tx, rows: readonly Moved[], final: boolean): void {
  for (const { id, epoch, wallet, amount, signature } of rows) tx.emit(claimConfirmed, { claimId: id, epoch, wallet, amount, signature, final });
}

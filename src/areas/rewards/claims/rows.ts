import { sql } from 'kysely';
import { columnArrays } from '#platform/db/column-arrays.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { submitAll } from '#platform/solana/submission/index.ts';
import { build } from '../query-builder.ts';

/**
 * States of a claim. `queued`: its transaction is not signed yet. `submitted`: its transaction is signed and sent. `confirmed`: its transaction is on
 * the chain, but a fork can still drop it. `claimed`: its transaction is finalized. `failed`: the wallet can request the claim again.
 */
export const CLAIM_STATES = ['queued', 'submitted', 'confirmed', 'claimed', 'failed'] as const;
export type ClaimState = (typeof CLAIM_STATES)[number];

/**
 * Name and class of the transaction type of claims. They are declared in this file, because `transaction-type.ts` imports this file, so an import from
 * `transaction-type.ts` would be circular.
 */
export const CLAIM = { name: 'claim', priority: 'claims' } as const;

/** A claim, as the database stores it. Amounts: base units as text. */
export interface ClaimRow {
  id: string;
  epoch: number;
  index: number;
  wallet: string;
  amount: string;
  state: ClaimState;
  signature: string | null;
  reason: string | null;
  created_at: string;
  changed_at: string;
}

const isoColumn = (column: string) => `${instant(column)} as ${column}`;
const CLAIM_COLUMNS = `id::text, epoch, index, wallet, amount::text, state, signature, reason, ${isoColumn('created_at')}, ${isoColumn('changed_at')}`;

export const selectClaims = statement<ClaimRow>('select_claims', `select ${CLAIM_COLUMNS} from claims where id = any($1::uuid[])`);

/** Locks the claim of a wallet's leaf of an epoch. */
export const lockClaimOfWallet = statement<ClaimRow>(
  'lock_claim_of_wallet',
  `select ${CLAIM_COLUMNS} from claims where epoch = $1 and index = any(array(
     select l.index from reward_leaves l join epochs e on e.epoch = l.epoch and e.allocation = l.allocation where l.epoch = $1 and l.wallet = $2))
   for update`,
);

const selectOwnClaims = statement<{ total: number } & (ClaimRow | { id: null })>(
  'select_own_claims',
  `select n.total, c.* from (select count(*)::int as total from claims where wallet = $1) n
   left join lateral (
     select ${CLAIM_COLUMNS} from claims k where k.wallet = $1 order by k.created_at desc, k.id desc limit $2 offset $3) c on true`,
);

/** Reads a page of the claims of a wallet's rewards, newest first, and the number of all of them. */
export async function listOwnClaims(db: Queryable, wallet: string, limit: number, offset: number): Promise<{ claims: ClaimRow[]; total: number }> {
  const rows = await db.query(selectOwnClaims, [wallet, limit, offset]);
  return { claims: rows.flatMap(({ total: _total, ...row }) => (row.id === null ? [] : [row])), total: rows[0]?.total ?? 0 };
}

/** A claim to insert. `amount`: base units as text. `proof`: the sibling hashes from the leaf to the root, 32 bytes each. */
export interface NewClaim extends Pick<ClaimRow, 'id' | 'epoch' | 'index' | 'wallet' | 'amount'> {
  readonly proof: Buffer;
}

// Inserts in the order of the key, so that two transactions that insert the same claims do not deadlock.
const insertRows = statement<never>(
  'insert_claims',
  `insert into claims (id, epoch, index, wallet, amount, state, requested_by, proof)
   select id, epoch, index, wallet, amount, 'queued', wallet, proof
   from unnest($1::uuid[], $2::int[], $3::int[], $4::text[], $5::numeric[], $6::bytea[]) as c(id, epoch, index, wallet, amount, proof) order by epoch, index`,
);
const claimColumns = columnArrays<NewClaim>(
  (c) => c.id,
  (c) => c.epoch,
  (c) => c.index,
  (c) => c.wallet,
  (c) => c.amount,
  (c) => c.proof,
);

/** Inserts and submits claims, in one round trip. Fails with a unique violation when a leaf has a claim already. */
export const insertClaims = (tx: Tx, claims: readonly NewClaim[]): Promise<unknown> =>
  Promise.all([
    tx.query(insertRows, claimColumns(claims)),
    submitAll(
      tx,
      CLAIM,
      claims.map(({ id, wallet }) => ({ subject: id, caller: wallet })),
    ),
  ]);

/** Builds the update that returns a failed claim to the state `queued`. */
export const requeueClaim = (id: string, proof: Buffer) =>
  build
    .updateTable('claims')
    .set({ state: 'queued', reason: null, signature: null, requested_by: sql.ref('wallet'), proof, changed_at: sql`app_now()` })
    .where('id', '=', id)
    .where('state', '=', 'failed');

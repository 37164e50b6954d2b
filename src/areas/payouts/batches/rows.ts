import { run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import { build } from '../build.ts';
import type { BatchMember, BatchTerms } from './members.ts';

/** A batch of payments with its terms, nonce, state and members. */
export interface Batch extends BatchTerms {
  readonly lane: number;
  readonly nonce: string;
  readonly state: 'live' | 'paid' | 'over';
  /** Rent of one token account, lamports. */
  readonly rent: bigint;
  /**
   * Urgency of the transaction: each unit doubles the priority fee. Each member counts its earlier expired batches; the urgency is the highest of
   * these counts.
   */
  readonly urgency: number;
  readonly members: readonly BatchMember[];
  /** Whether all members are still in the payment state `batched`. */
  readonly complete: boolean;
}

const batches = build
  .selectFrom('payout_batches')
  .select(['id', 'lane', 'address', 'nonce', 'fee_payer as feePayer', 'treasury', 'mint', 'decimals', 'rent', 'urgency', 'state']);
const batchMembers = build
  .selectFrom('payout_batch_members as m')
  .innerJoin('payments as p', 'p.id', 'm.payment')
  .select(['m.payment', 'p.wallet', 'p.amount', 'm.opens', 'p.state', 'p.cause_kind', 'p.cause_id'])
  .orderBy('m.position');

/** Returns a batch with its members in batch order, or undefined when the batch does not exist. */
export async function readBatch(db: Queryable, id: string): Promise<Batch | undefined> {
  const [[row], members] = await Promise.all([run(db, batches.where('id', '=', id)), run(db, batchMembers.where('m.batch', '=', id))]);
  if (!row) return undefined;
  return {
    ...row,
    rent: BigInt(row.rent),
    members: members.map(({ payment, wallet, amount, opens, cause_kind: kind, cause_id: id }) => ({
      ...{ payment, wallet, amount: BigInt(amount), opens, cause: { kind, id } },
    })),
    complete: members.every(({ state }) => state === 'batched'),
  };
}

import { type Queryable, statement } from '#platform/db/sql.ts';
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

interface BatchRow extends BatchTerms {
  lane: number;
  nonce: string;
  state: Batch['state'];
  rent: string;
  urgency: number;
}
interface MemberRow {
  payment: string;
  wallet: string;
  amount: string;
  opens: boolean;
  state: string;
}

const selectBatch = statement<BatchRow>(
  'select_payout_batch',
  `select id::text, lane::int, address, nonce, fee_payer as "feePayer", treasury, mint, decimals::int, rent::text, urgency::int, state
   from payout_batches where id = $1`,
);
const selectMembers = statement<MemberRow>(
  'select_payout_members',
  `select m.payment::text, p.wallet, p.amount::text, m.opens, p.state from payout_batch_members m join payments p on p.id = m.payment
   where m.batch = $1 order by m.position`,
);

/** Returns a batch with its members in batch order, or undefined when the batch does not exist. */
export async function readBatch(db: Queryable, id: string): Promise<Batch | undefined> {
  const [batches, members] = await Promise.all([db.query(selectBatch, [id]), db.query(selectMembers, [id])]);
  const row = batches[0];
  if (!row) return undefined;
  return {
    ...row,
    rent: BigInt(row.rent),
    members: members.map(({ payment, wallet, amount, opens }) => ({ payment, wallet, amount: BigInt(amount), opens })),
    complete: members.every(({ state }) => state === 'batched'),
  };
}

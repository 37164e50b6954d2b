import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Member, Terms } from './members.ts';

/** A batch as it is composed: its terms, its nonce, and how it stands. */
export interface Batch extends Terms {
  readonly lane: number;
  readonly nonce: string;
  readonly state: 'live' | 'paid' | 'over';
  /** What opening one token account costs, lamports. */
  readonly rent: bigint;
  readonly urgency: number;
  readonly members: readonly Member[];
  /** Whether all of its members wait for this batch, and for nothing else. */
  readonly whole: boolean;
}

interface BatchRow extends Terms {
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

/** A batch with its members in their order. */
export async function readBatch(db: Queryable, id: string): Promise<Batch | undefined> {
  const [batches, members] = await Promise.all([db.query(selectBatch, [id]), db.query(selectMembers, [id])]);
  const row = batches[0];
  if (!row) return undefined;
  return {
    ...row,
    rent: BigInt(row.rent),
    members: members.map(({ payment, wallet, amount, opens }) => ({ payment, wallet, amount: BigInt(amount), opens })),
    whole: members.every(({ state }) => state === 'batched'),
  };
}

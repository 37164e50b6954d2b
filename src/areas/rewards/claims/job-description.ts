import { type Queryable, statement } from '#platform/db/sql.ts';
import type { JobDescription } from '#platform/jobs/description.ts';
import { describeTransactions } from '#platform/solana/submission/index.ts';

const selectClaims = statement<{ transaction: string; claim: string; epoch: number; wallet: string; amount: string; state: string }>(
  'select_claims_for_board',
  `select t.id as transaction, c.id as claim, c.epoch, c.wallet, c.amount::text as amount, c.state
   from chain_transactions t join claims c on c.id = t.subject::uuid where t.kind = 'claim' and t.id = any($1::uuid[])`,
);

/** Describes the transactions that jobs sign for claims. */
export async function describeClaims(db: Queryable, payloads: readonly { id: string }[]): Promise<(payload: { id: string }) => JobDescription> {
  const [describe, rows] = await Promise.all([describeTransactions(db, payloads), db.query(selectClaims, [payloads.map(({ id }) => id)])]);
  const byTransaction = new Map(rows.map(({ transaction, ...claim }) => [transaction, claim]));
  return (payload) => {
    const description = describe(payload);
    const claim = byTransaction.get(payload.id);
    if (!claim) return description;
    return { ...description, about: `claim of wallet ${claim.wallet} in epoch ${claim.epoch}`, record: { claim, transaction: description.record } };
  };
}

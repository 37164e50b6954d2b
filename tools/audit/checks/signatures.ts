import type { TransactionStatus } from '#platform/solana/rpc-node.ts';
import { Candidates } from '../candidates.ts';
import type { AuditContext, Check } from '../check.ts';

/** Maximum signatures per RPC request. */
const SIGNATURES_PER_REQUEST = 256;

/** A transaction and its outcome as stored in the database. */
interface RecordedSignature {
  readonly signature: string;
  /** Description of the transaction for operators (for example `payment 7`). */
  readonly about: string;
  /**
   * Outcome of the transaction in the database. `succeeded`: finalized without an error. `failed`: finalized with an error. `unclear`: the service
   * does not know the outcome, so an operator must decide.
   */
  readonly end: 'succeeded' | 'failed' | 'unclear';
  /** Slot of the transaction; null when the database does not store the slot. */
  readonly slot: number | null;
}

const SELECT_RECORDED = (days: string, limit: string) => `
  with since as materialized (select app_now() - interval '${days} days' as at),
  recorded as (
    select a.signature, t.kind || ' ' || t.subject as about, case a.state when 'finalized' then 'succeeded' else 'failed' end as "end", a.slot, a.signed_at as at
    from chain_attempts a join chain_transactions t on t.id = a.transaction_id where a.state in ('finalized', 'failed')
    union all select signature, 'claim of epoch ' || epoch || '/' || index, 'succeeded', null, changed_at from claims where state = 'claimed'
    union all select signature, 'payment ' || id, 'succeeded', null, completed_at from payments where state = 'completed'
    union all select signature, 'commitment of round ' || round, 'succeeded', slot, at from commitments
    union all select commit_signature, 'root of epoch ' || epoch, 'succeeded', null, committed_at from epochs)
  (select signature, min(about) as about, "end", max(slot)::float8 as slot from recorded where signature is not null and at > (select at from since)
   group by signature, "end" order by max(at) desc limit ${limit})
  union all
  select a.signature, t.kind || ' ' || t.subject, 'unclear', null
  from chain_transactions t join chain_attempts a on a.transaction_id = t.id and a.state in ('signed', 'sent', 'confirmed') where t.state = 'manual'`;

async function statusesOf({ chain }: AuditContext, recorded: readonly RecordedSignature[]): Promise<readonly (TransactionStatus | null)[]> {
  const signatures = recorded.map(({ signature }) => signature);
  const { node, second } = chain;
  const { statuses } = await node.statuses(signatures, { searchHistory: true });
  if (second === null || statuses.every((status) => status !== null)) return statuses;
  const others = await second.statuses(signatures, { searchHistory: true });
  return statuses.map((status, i) => status ?? others.statuses[i] ?? null);
}

/** Compares a stored outcome with the status on the chain. Returns the difference as a sentence, or null when both match. */
function findFault({ signature, about, end }: RecordedSignature, status: TransactionStatus | null): string | null {
  const what = `${about}: transaction ${signature}`;
  const isFinal = status?.confirmationStatus === 'finalized';
  if (end === 'unclear') return isFinal ? `${what} is finalized, but the database waits for an operator` : null;
  if (status === null) return `${what} is not known to the chain`;
  if (!isFinal) return `${what} is ${status.confirmationStatus}, not finalized`;
  return (status.err === null) === (end === 'succeeded') ? null : `${what} ${status.err === null ? 'has succeeded' : 'has failed'} on the chain`;
}

/**
 * Compares stored transactions with the chain. RPC nodes delete old blocks, so the check skips transactions in blocks that the RPC node no longer
 * has. The check fails when this applies to all transactions.
 */
export const signatures: Check = {
  name: 'signatures',
  invariant: 'landed transactions are finalized on the chain with the outcome stored in the database',
  live: true,
  async run(audit) {
    const { scope, db, chain } = audit;
    const sql = scope.all ? SELECT_RECORDED('36500', 'all') : SELECT_RECORDED(String(Math.trunc(scope.days)), String(Math.trunc(scope.sample)));
    const recorded = await db.query<RecordedSignature>({ text: sql });
    const firstBlock = recorded.length === 0 ? 0 : await chain.node.firstBlock();
    const verifiable = recorded.filter(({ slot }) => slot === null || slot >= firstBlock);
    if (verifiable.length === 0 && recorded.length > 0)
      throw new Error(
        `the RPC node has no blocks before ${firstBlock}, so none of ${recorded.length} transactions can be checked; use an RPC node with older blocks`,
      );
    const candidates = new Candidates<RecordedSignature>();
    const compare = async (some: readonly RecordedSignature[]) => {
      const found = new Map<RecordedSignature, string>();
      for (let i = 0; i < some.length; i += SIGNATURES_PER_REQUEST) {
        const chunk = some.slice(i, i + SIGNATURES_PER_REQUEST);
        const statuses = await statusesOf(audit, chunk);
        for (const [n, one] of chunk.entries()) {
          const fault = findFault(one, statuses[n] ?? null);
          if (fault !== null) found.set(one, fault);
        }
      }
      return found;
    };
    for (const one of (await compare(verifiable)).keys()) candidates.add(one);
    return await candidates.confirm(audit, compare);
  },
};

import type { SignatureStatus } from '@solana/web3.js';
import { rpc } from '#platform/solana/solana.ts';
import type { Audit, Check } from '../check.ts';
import { Suspects } from '../suspects.ts';

/** Signatures that nodes answer at once. */
const AT_ONCE = 256;

/** What the record says of a transaction, and which. */
interface Said {
  readonly signature: string;
  /** What it is, for people. */
  readonly about: string;
  /** How it ended: finally with success, finally as an error, or that nobody can tell. */
  readonly end: 'succeeded' | 'failed' | 'unclear';
  /** Where it is known. */
  readonly slot: number | null;
}

const SELECT_SAID = (days: string, limit: string) => `
  with since as materialized (select app_now() - interval '${days} days' as at),
  said as (
    select a.signature, t.kind || ' ' || t.subject as about, case a.state when 'finalized' then 'succeeded' else 'failed' end as "end", a.slot, a.signed_at as at
    from chain_attempts a join chain_transactions t on t.id = a.transaction_id where a.state in ('finalized', 'failed')
    union all select signature, 'claim of epoch ' || epoch || '/' || index, 'succeeded', null, changed_at from claims where state = 'claimed'
    union all select signature, 'payment ' || id, 'succeeded', null, completed_at from payments where state = 'completed'
    union all select signature, 'commitment ' || sequence, 'succeeded', slot, block_time from commitments
    union all select commit_signature, 'root of epoch ' || epoch, 'succeeded', null, committed_at from epochs)
  (select signature, min(about) as about, "end", max(slot)::float8 as slot from said where signature is not null and at > (select at from since)
   group by signature, "end" order by max(at) desc limit ${limit})
  union all
  select a.signature, t.kind || ' ' || t.subject, 'unclear', null
  from chain_transactions t join chain_attempts a on a.transaction_id = t.id and a.state in ('signed', 'sent', 'confirmed') where t.state = 'manual'`;

async function statusesOf({ chain }: Audit, said: readonly Said[]): Promise<(SignatureStatus | null)[]> {
  const signatures = said.map(({ signature }) => signature);
  const ask = { searchTransactionHistory: true };
  const { value } = await rpc(() => chain.connection.getSignatureStatuses(signatures, ask));
  const { second } = chain;
  if (second === null || value.every((status) => status !== null)) return value;
  const others = await rpc(() => second.getSignatureStatuses(signatures, ask));
  return value.map((status, i) => status ?? others.value[i] ?? null);
}

/** What differs; null: nothing. */
function faultOf({ signature, about, end }: Said, status: SignatureStatus | null): string | null {
  const what = `${about}: transaction ${signature}`;
  const isFinal = status?.confirmationStatus === 'finalized';
  if (end === 'unclear') return isFinal ? `${what} is final, and a person is asked for` : null;
  if (status === null) return `${what} is not known to the chain`;
  if (!isFinal) return `${what} is ${status.confirmationStatus}, not final`;
  return (status.err === null) === (end === 'succeeded') ? null : `${what} ${status.err === null ? 'has succeeded' : 'has failed'} on the chain`;
}

/** Nodes forget: what lies before their history says nothing. Nothing at all left of it is no answer. */
export const signatures: Check = {
  name: 'signatures',
  invariant: 'what has landed is known to the chain, final, and ended as the record says',
  live: true,
  async run(audit) {
    const { scope, db, chain } = audit;
    const sql = scope.all ? SELECT_SAID('36500', 'all') : SELECT_SAID(String(Math.trunc(scope.days)), String(Math.trunc(scope.sample)));
    const said = await db.query<Said>({ text: sql });
    const begins = said.length === 0 ? 0 : await rpc(() => chain.connection.getFirstAvailableBlock());
    const known = said.filter(({ slot }) => slot === null || slot >= begins);
    if (known.length === 0 && said.length > 0)
      throw new Error(`the node’s history begins at block ${begins}, after all of ${said.length} transactions`);
    const suspects = new Suspects<Said>();
    const look = async (some: readonly Said[]) => {
      const found = new Map<Said, string>();
      for (let i = 0; i < some.length; i += AT_ONCE) {
        const asked = some.slice(i, i + AT_ONCE);
        const statuses = await statusesOf(audit, asked);
        for (const [n, one] of asked.entries()) {
          const fault = faultOf(one, statuses[n] ?? null);
          if (fault !== null) found.set(one, fault);
        }
      }
      return found;
    };
    for (const one of (await look(known)).keys()) suspects.add(one);
    return await suspects.confirm(audit, look);
  },
};

import { z } from 'zod';
import { RoundId, Units } from '#lib/draw/bytes.ts';
import { Count, Id, Instant } from '#lib/scalars.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { ROUND_STATES, TICKET_STATES } from './entities.ts';

/** An entry of a chat round, or a ticket of a legacy round. */
export const OwnEntry = z
  .strictObject({
    id: Id.meta({ description: 'Id of the entry, or of the ticket.' }),
    kind: z.enum(['chat', 'legacy']).meta({ description: 'chat: an entry of a chat round. legacy: a ticket of a legacy round.' }),
    roundId: RoundId,
    roundStatus: z.enum(ROUND_STATES),
    status: z.enum(TICKET_STATES).meta({ description: 'Status of the ticket; confirmed for an entry of a chat round.' }),
    index: Count.nullable().meta({ description: 'Index among the entries of the round, from 0 on; null for a ticket that is not confirmed.' }),
    numbers: z.array(Count).meta({ description: 'The chosen numbers in ascending order; empty for a ticket.', example: [3, 7, 12, 30, 41] }),
    reason: z.string().nullable().meta({ description: 'Reason why the ticket was refused; null otherwise.', example: null }),
    prize: z
      .strictObject({ place: Count, amount: Units, mint: z.enum(['reward', 'usdc']) })
      .nullable()
      .meta({ description: 'The prize of the entry, base units; null without a prize, and before the draw.' }),
    at: Instant.meta({ description: 'Time of the entry, or of the request of the ticket.' }),
  })
  .meta({ id: 'OwnEntry' });
type OwnEntry = z.infer<typeof OwnEntry>;

// Each half reads at most `offset + limit` rows of its index. A confirmed ticket has an entry with the same id and without numbers, so the condition
// on the numbers lists it once.
const selectPage = statement<{ total: number } & (OwnEntry | { id: null })>(
  'select_own_entries',
  `select n.total, p.* from (
     select (select count(*)::int from entries where wallet = $1 and cardinality(numbers) > 0) + (select count(*)::int from tickets where wallet = $1) as total) n
   left join lateral (
     select k.id::text, k.kind, r.id::text as "roundId", r.state as "roundStatus", k.status, k.index, k.numbers, k.reason,
       (select json_build_object('place', w.place, 'amount', w.amount::text, 'mint', w.mint)
        from round_winners w where w.round = k.round and w.wallet = $1 and w.index = k.index) as prize, ${instant('k.at')} as at
     from (
       select * from (
         (select e.id, 'chat' as kind, e.round, 'confirmed' as status, e.index, e.numbers, null::text as reason, e.at
          from entries e where e.wallet = $1 and cardinality(e.numbers) > 0 order by e.at desc, e.id desc limit $2::int + $3::int)
         union all
         (select t.id, 'legacy', t.round, t.state, null, '{}', t.reason, t.created_at
          from tickets t where t.wallet = $1 order by t.created_at desc, t.id desc limit $2::int + $3::int)) both_kinds
       order by at desc, id desc limit $2::int offset $3::int) page
     cross join lateral (
       select page.id, page.kind, page.round, page.status, page.numbers, page.reason, page.at,
         case when page.kind = 'chat' then page.index when page.status = 'confirmed' then (select e.index from entries e where e.id = page.id) end as index) k
     join rounds r on r.id = k.round
     order by k.at desc, k.id desc) p on true`,
);

/** Reads a page of a wallet's entries of chat rounds and tickets of legacy rounds, newest first, and the number of all of them. */
export async function listOwnEntries(db: Queryable, wallet: string, limit: number, offset: number): Promise<{ entries: OwnEntry[]; total: number }> {
  const rows = await db.query(selectPage, [wallet, limit, offset]);
  return { entries: rows.flatMap(({ total: _total, ...row }) => (row.id === null ? [] : [row])), total: rows[0]?.total ?? 0 };
}

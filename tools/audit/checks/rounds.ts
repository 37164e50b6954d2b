import { recordCheck } from '../check.ts';

const HEX = '[0-9a-f]{64}';

/** Rounds, their entries, and what was committed to. */
export const roundChecks = [
  recordCheck(
    'entries',
    'a round has as many entries as it says, numbered without gaps; a ticket that counts is one of them, and no ticket else',
    `with counted as (select round as id, count(*) as n, max(index) + 1 as next from entries group by 1)
     select format('round %s says that it has %s entries, and has %s up to %s', id, r.entries, coalesce(c.n, 0), coalesce(c.next, 0)) as what
     from rounds r left join counted c using (id) where (r.entries, r.entries) is distinct from (coalesce(c.n, 0), coalesce(c.next, 0))
     union all select format('ticket %s of %s is %s, and the entry is that of %s in round %s', id, t.wallet, t.state, e.wallet, e.round)
     from tickets t full join (select e.* from entries e join rounds r on r.id = e.round and r.kind = 'legacy') e using (id)
     where (e.round is not null) <> coalesce(t.state in ('confirmed', 'refunded'), false) or (e.round is not null and (t.wallet, t.round) is distinct from (e.wallet, e.round))`,
  ),
  recordCheck(
    'commitments',
    'commitments of a key run 1, 2, 3, … without a gap, each names the one before, and only the last may not have landed',
    `with chained as (
       select c.*, lag(hash, 1, repeat('0', 64)) over in_order as before, lead(sequence) over in_order as next, row_number() over in_order as n,
         regexp_match(memo, '^coinop/commitment/1 seq=(\\d+) round=(\\S+) root=(${HEX}) count=(\\d+) params=(${HEX}) drand=${HEX} beacon=(\\d+) prev=(${HEX})$') as said
       from commitments c window in_order as (partition by committer order by sequence))
     select format('commitment %s of round %s does not follow from the one before', sequence, round) as what from chained
     where sequence <> n or previous is distinct from before or (memo is null and next is not null)
     union all select format('commitment %s: its memo says %s', sequence, memo) from chained c join rounds r on r.id = c.round
     where memo is not null and (hash <> encode(sha256(convert_to(memo, 'UTF8')), 'hex')
       or said is distinct from array[sequence::text, round::text, encode(r.root, 'hex'), r.entries::text, r.parameters_hash, coalesce(r.beacon_round::text, said[6]), previous])
     union all select format('round %s is %s, and nothing was committed to', r.id, r.state) from rounds r
     where r.state in ('committed', 'finalized') and not exists (select from commitments c where c.round = r.id and c.memo is not null)`,
  ),
  recordCheck(
    'chat-entries',
    'a message that made an entry names it, and every entry of a chat has its message',
    `select format('message %s names entry %s of %s', m.id, m.entry, coalesce(e.wallet, 'nobody')) as what
     from chat_messages m left join entries e on e.id = m.entry where m.entry is not null and m.wallet is distinct from e.wallet
     union all select format('entry %s of round %s has no message %s %s', e.id, e.round, e.source, e.message_id)
     from entries e join rounds r on r.id = e.round and r.kind = 'chat'
     where not exists (select from chat_messages m where m.source = e.source and m.wallet = e.wallet
       and case m.source when 'chat' then m.id::text else m.source_id end = e.message_id)`,
  ),
];

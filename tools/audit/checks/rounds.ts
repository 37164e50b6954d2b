import { databaseCheck } from '../check.ts';

const HEX = '[0-9a-f]{64}';

/** Checks of lottery rounds, their entries and their commitments. */
export const roundChecks = [
  databaseCheck(
    'entries',
    'the entries of a round are numbered without gaps, and their number equals the stored count; a ticket has an entry exactly when it is confirmed or refunded',
    `with counted as (select round as id, count(*) as n, max(index) + 1 as next from entries group by 1)
     select format('round %s has count %s, but %s entries numbered up to %s', id, r.entries, coalesce(c.n, 0), coalesce(c.next, 0)) as what
     from rounds r left join counted c using (id) where (r.entries, r.entries) is distinct from (coalesce(c.n, 0), coalesce(c.next, 0))
     union all select format('ticket %s of %s is %s, but its entry belongs to %s in round %s', id, t.wallet, t.state, e.wallet, e.round)
     from tickets t full join (select e.* from entries e join rounds r on r.id = e.round and r.kind = 'legacy') e using (id)
     where (e.round is not null) <> coalesce(t.state in ('confirmed', 'refunded'), false) or (e.round is not null and (t.wallet, t.round) is distinct from (e.wallet, e.round))`,
  ),
  databaseCheck(
    'commitments',
    'the commitments of a key are numbered 1, 2, 3, … without a gap, each names the hash of the previous one, and all but the last have landed',
    `with chained as (
       select c.*, lag(hash, 1, repeat('0', 64)) over in_order as before, lead(sequence) over in_order as next, row_number() over in_order as n,
         regexp_match(memo, '^coinop/commitment/1 seq=(\\d+) round=(\\S+) root=(${HEX}) count=(\\d+) params=(${HEX}) drand=${HEX} beacon=(\\d+) prev=(${HEX})$') as parsed
       from commitments c window in_order as (partition by committer order by sequence))
     select format('commitment %s of round %s does not follow the previous commitment', sequence, round) as what from chained
     where sequence <> n or previous is distinct from before or (memo is null and next is not null)
     union all select format('commitment %s: its memo does not match the database: %s', sequence, memo) from chained c join rounds r on r.id = c.round
     where memo is not null and (hash <> encode(sha256(convert_to(memo, 'UTF8')), 'hex')
       or parsed is distinct from array[sequence::text, round::text, encode(r.root, 'hex'), r.entries::text, r.parameters_hash, coalesce(r.beacon_round::text, parsed[6]), previous])
     union all select format('round %s is %s, but has no commitment on the chain', r.id, r.state) from rounds r
     where r.state in ('committed', 'finalized') and not exists (select from commitments c where c.round = r.id and c.memo is not null)`,
  ),
  databaseCheck(
    'chat-entries',
    'a chat message that created an entry references it, and every entry of a chat round has its message',
    `select format('message %s references entry %s of %s', m.id, m.entry, coalesce(e.wallet, 'nobody')) as what
     from chat_messages m left join entries e on e.id = m.entry where m.entry is not null and m.wallet is distinct from e.wallet
     union all select format('entry %s of round %s has no message %s %s', e.id, e.round, e.source, e.message_id)
     from entries e join rounds r on r.id = e.round and r.kind = 'chat'
     where not exists (select from chat_messages m where m.source = e.source and m.wallet = e.wallet
       and case m.source when 'chat' then m.id::text else m.source_id end = e.message_id)`,
  ),
];

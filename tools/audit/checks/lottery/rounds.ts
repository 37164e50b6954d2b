import { databaseCheck } from '../../check.ts';

/** Checks of lottery rounds, their entries and their commitments. */
export const roundChecks = [
  databaseCheck(
    'entries',
    'the entries of a round are numbered without gaps, and their number equals the stored count; a ticket has an entry exactly when it is confirmed; a round has the running hash of its last entry',
    `with counted as (select round as id, count(*) as n, max(index) + 1 as next from entries group by 1)
     select format('round %s has count %s, but %s entries numbered up to %s', id, r.entries, coalesce(c.n, 0), coalesce(c.next, 0)) as what
     from rounds r left join counted c using (id) where (r.entries, r.entries) is distinct from (coalesce(c.n, 0), coalesce(c.next, 0))
     union all select format('ticket %s of %s is %s, but its entry belongs to %s in round %s', id, t.wallet, t.state, e.wallet, e.round)
     from tickets t full join (select e.* from entries e join rounds r on r.id = e.round and r.kind = 'legacy') e using (id)
     where (e.round is not null) <> coalesce(t.state = 'confirmed', false) or (e.round is not null and (t.wallet, t.round) is distinct from (e.wallet, e.round))
     union all select format('round %s has running hash %s, but its last entry has %s', r.id, encode(r.running_hash, 'hex'), encode(e.running_hash, 'hex'))
     from rounds r join entries e on e.round = r.id and e.index = r.entries - 1 where r.running_hash is distinct from e.running_hash
     union all select format('round %s closed with %s entries, but has %s', r.id, r.closed #>> '{statement,count}', r.entries)
     from rounds r where (r.closed #>> '{statement,count}')::int <> r.entries`,
  ),
  databaseCheck(
    'commitments',
    'every committed or finalized round has a commitment, and no other round has one; both name the same beacon round',
    `select format('round %s is %s, but has no commitment', r.id, r.state) as what from rounds r
     where r.state in ('committed', 'finalized') and not exists (select from commitments c where c.round = r.id)
     union all select format('round %s has a commitment, but is %s', r.id, r.state) from commitments c join rounds r on r.id = c.round
     where r.state not in ('committed', 'finalized')
     union all select format('round %s waits for beacon round %s, but its commitment names %s', r.id, r.beacon_round, c.beacon_round)
     from commitments c join rounds r on r.id = c.round where r.beacon_round is distinct from c.beacon_round`,
  ),
  databaseCheck(
    'restrictions',
    'a wallet that is on the deny list, or that excluded itself, has no paid ticket and no entry in a chat round with prizes in stablecoin from that time on; a minute is left for what was being accepted',
    `with restricted as (
       select wallet, since, 'infinity'::timestamptz as until, 'is denied' as why from denied_wallets
       union all select wallet, since, until, 'excluded itself' from exclusions)
     select format('wallet %s %s since %s, but ticket %s was confirmed at %s', t.wallet, x.why, x.since, t.id, t.decided_at) as what
     from restricted x join tickets t on t.wallet = x.wallet join rounds r on r.id = t.round
     where t.state = 'confirmed' and r.ticket_price > 0 and t.decided_at > x.since + interval '1 minute' and t.decided_at < x.until
     union all select format('wallet %s %s since %s, but entry %s of round %s was accepted at %s', e.wallet, x.why, x.since, e.index, e.round, e.at)
     from restricted x join entries e on e.wallet = x.wallet and cardinality(e.numbers) > 0 join rounds r on r.id = e.round
     where r.prizes @> '[{"mint": "usdc"}]' and e.at > x.since + interval '1 minute' and e.at < x.until`,
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

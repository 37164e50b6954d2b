import { DAY, databaseCheck, FROM } from '../check.ts';

const LIVE = `('signed', 'sent', 'confirmed')`;
/** Maximum number of live attempts of a transaction. After one of them has landed, the others stay live until they fail or expire. */
const MAX_LIVE = 3;

/** Checks of chain transactions, their attempts, and the amounts that they spend per day. */
export const transactionChecks = [
  databaseCheck(
    'transactions',
    'the state of a transaction matches its attempts, and at most one attempt has landed with an effect',
    `with attempts as (
       select transaction_id as id, max(n) as last, count(*) filter (where state in ${LIVE}) as live, count(*) filter (where state = 'finalized') as landed,
         min(signature) filter (where state = 'finalized') as signature, bool_or(state = 'confirmed') as confirmed
       from chain_attempts group by 1)
     select format('%s %s is %s with signature %s, but of its %s attempts %s are live and %s have landed (signature %s)', t.kind, t.subject, t.state, t.signature,
       t.attempts, coalesce(a.live, 0), coalesce(a.landed, 0), a.signature) as what
     from chain_transactions t left join attempts a using (id)
     where t.attempts <> coalesce(a.last, 0) or coalesce(a.landed, 0) > 1 or (a.landed = 1 and (t.state <> 'finalized' or t.signature is distinct from a.signature))
       or case t.state when 'live' then coalesce(a.live, 0) not between 1 and ${MAX_LIVE} or a.confirmed when 'confirmed' then a.confirmed is distinct from true
         when 'finalized' then coalesce(a.live, 0) > case when a.landed = 1 then ${MAX_LIVE} - 1 else 0 end when 'manual' then false else coalesce(a.live, 0) <> 0 end`,
  ),
  databaseCheck(
    'nonces',
    'of all attempts with the same nonce, at most one has landed',
    `select format('nonce %s of account %s was used by %s', nonce, nonce_account, string_agg(signature, ', ')) as what
     from chain_attempts where nonce is not null and state in ('finalized', 'failed') group by nonce_account, nonce having count(*) > 1`,
  ),
  databaseCheck(
    'outflows',
    'the daily outflow of each class equals the spending of the attempts of that day',
    // Attempts are never deleted, so the sum of their spending is complete. A failed transaction spent its fee and nothing else. The fee of an old
    // attempt is unknown; then all its SOL counts.
    `with spent as (
       select a.spend_day as day, s->>'asset' as asset, a.priority,
         sum(case when a.state = 'failed' and s->>'asset' = 'sol' then coalesce(a.fee, (s->>'amount')::numeric) else (s->>'amount')::numeric end) as amount
       from chain_attempts a, jsonb_array_elements(a.spends) s
       where a.spend_day >= ${FROM} and a.state <> 'dead' and (a.state <> 'failed' or s->>'asset' = 'sol') group by 1, 2, 3)
     select format('day %s, %s, %s: attempts spend %s, but the daily limit has counted %s', day, asset, priority, s.amount, o.reserved) as what
     from spent s full join (select * from chain_outflows where day between ${FROM} and ${DAY} + 1) o using (day, asset, priority)
     where coalesce(s.amount, 0) <> coalesce(o.reserved, 0)`,
  ),
];

import { AT, databaseCheck } from '../check.ts';

/** Checks of erased content and deleted accounts. */
export const privacyChecks = [
  databaseCheck(
    'erasures',
    'content that was erased on a lawful request is gone',
    `select format('%s %s was erased, but its content is stored', e.kind, e.subject) as what from erasures e
     where case e.kind
       when 'record' then exists (select from game_records r where r.id::text = e.subject and r.salt is not null)
       when 'clip' then exists (select from clips c where c.id::text = e.subject and c.state = 'ready')
       when 'chat' then exists (select from chat_messages m where m.id::text = e.subject and m.text <> '')
       else false end`,
  ),
  databaseCheck(
    'account-deletions',
    'accounts are deleted within an hour of the request, with the contents of records, the clips and the texts of messages up to the request',
    `select format('the account of %s waits for its deletion since %s', wallet, requested_at) as what from account_deletions
     where completed_at is null and requested_at < ${AT} - interval '1 hour'
     union all select format('the account of %s is deleted, but the content of record %s is stored', d.wallet, r.id)
     from account_deletions d join game_records r on r.wallet = d.wallet where d.completed_at is not null and r.salt is not null and r.at <= d.requested_at
     union all select format('the account of %s is deleted, but clip %s is visible', d.wallet, c.id)
     from account_deletions d join clips c on c.wallet = d.wallet where d.completed_at is not null and c.state = 'ready' and c.created_at <= d.requested_at
     union all select format('the account of %s is deleted, but message %s has a text', d.wallet, m.id)
     from account_deletions d join chat_messages m on m.wallet = d.wallet where d.completed_at is not null and m.text <> '' and m.at <= d.requested_at`,
  ),
];

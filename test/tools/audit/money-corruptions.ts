import { type Corruption, HOURS_AGO, one } from './corruption.ts';

const CLAIM = `(select id::text from claims limit 1)`;

/** Corruptions of payments, transactions, claims, epochs, rounds and logs, and of data outside the database. */
export const MONEY_CORRUPTIONS: readonly Corruption[] = [
  [
    'payments',
    `update payments set signature = 'another' where ${one('payments', `cause_kind = 'test'`)}`,
    /is completed with signature another, but 1 transactions have paid it/,
  ],
  [
    'payments',
    `insert into payout_findings (signature, lane, address, slot, transfers, verdict, payments)
     select 'again', 0, '', 0, '[]', 'matched', array[id] from payments where cause_kind = 'test' limit 1`,
    /but 2 transactions have paid it/,
  ],
  ['payments', `update payments set state = 'batched' where ${one('payments', `cause_kind = 'test'`)}`, /is batched, but in 0 live batches/],
  [
    'payments',
    `update payments set cause_id = 'another' where ${one('payments', `cause_kind = 'test'`)}`,
    /has an id that does not match its cause test another/,
  ],
  [
    'payout-batches',
    `update chain_transactions set state = 'failed' where kind = 'payout-batch'`,
    /is paid with signature \w+, but its transaction is failed/,
  ],
  ['payout-batches', `delete from payout_batches where ${one('payout_batches')}`, /^batch \S+ is\s+with signature/],
  ['payout-members', `update payout_batches set members_hash = 'none'`, /its members do not match its memo/],
  ['payout-batches', `update payout_batch_members set live = true`, /is paid, but the live flag of member \S+ does not match/],
  ['payout-batches', `update payout_lanes set batch = (select id from payout_batches limit 1)`, /^lane \d+ has batch/],
  ['prizes', `delete from payments where cause_kind = 'prize'`, /^prize \S+:1: expected \d+ \w+ for \w+, but/],
  ['prizes', `update round_winners set amount = amount + 1`, /^prize \S+:1: /],
  ['refunds', `update payments set amount = amount + 1 where cause_kind = 'refund'`, /^ticket \S+: expected a refund of 999 usdc to/],
  ['transactions', `update chain_transactions set attempts = attempts + 1`, /but of its \d+ attempts 0 are live/],
  ['transactions', `update chain_attempts set state = 'sent'`, /is finalized with signature \w+, but of its 1 attempts 1 are live/],
  ['nonces', `update chain_attempts set nonce = 'same', nonce_account = 'same', last_valid_height = null`, /^nonce same of account same was used by/],
  ['outflows', `update chain_outflows set reserved = reserved + 1`, /attempts spend \d+, but the daily limit has counted/],
  ['claims', `update reward_leaves set amount = amount + 1`, /^claim \S+ of epoch \d+\/\d+ pays/],
  ['claims', `update claims set state = 'failed'`, /is failed with signature \w+, but its transaction is finalized/],
  [
    'claims',
    `delete from chain_transactions where subject = ${CLAIM}; update claims set state = 'submitted', proof = ''`,
    /is submitted with signature \w+, but its transaction is missing/,
  ],
  ['claimed-sums', `update epoch_accounts set claims = claims + 1`, /1 claims sum to \d+, but the epoch has 2 claims/],
  ['epoch-states', `delete from epoch_accounts`, /is committed, but its account was opened at never/],
  ['epoch-states', `update epochs set expires_at = ${HOURS_AGO}`, /expired at .*, but is still committed/],
  ['epoch-rules', `update epochs set rules_version = 77`, /has rules version 77, which does not exist/],
  ['entries', `delete from entries where ${one('entries', 'index = 0')}`, /has count 2, but 1 entries numbered up to 2/],
  [
    'entries',
    `update tickets set state = 'refused', reason = 'none' where state = 'confirmed' and signature is not null`,
    /is refused, but its entry belongs to/,
  ],
  ['entries', `update rounds set running_hash = sha256(running_hash) where entries > 0`, /has running hash \w+, but its last entry has/],
  ['commitments', `update commitments set beacon_round = beacon_round + 1`, /waits for beacon round \d+, but its commitment names \d+/],
  ['commitments', `delete from commitments`, /is finalized, but has no commitment/],
  [
    'erasures',
    `insert into erasures (id, kind, subject, reason, by) select gen_random_uuid(), 'chat', id::text, 'request', 'admin' from chat_messages where text <> '' limit 1`,
    /^chat \S+ was erased, but its content is stored/,
  ],
  [
    'account-deletions',
    `insert into account_deletions (wallet, requested_at) select wallet, ${HOURS_AGO} from players limit 1`,
    /waits for its deletion since/,
  ],
  [
    'account-deletions',
    `insert into account_deletions (wallet, requested_at, completed_at) select wallet, app_now(), app_now() from chat_messages where text <> '' and wallet is not null limit 1`,
    /is deleted, but message \S+ has a text/,
  ],
  ['chat-entries', `delete from chat_messages`, /has no message chat/],
  ['chat-entries', `update chat_messages set entry = gen_random_uuid()`, /references entry \S+ of nobody/],
  [
    'restrictions',
    `insert into denied_wallets (wallet, since) select t.wallet, t.decided_at - interval '2 minutes' from tickets t join rounds r on r.id = t.round
     where t.state = 'confirmed' and r.ticket_price > 0 limit 1`,
    /is denied since .*, but ticket \S+ was confirmed/,
  ],
  [
    'restrictions',
    `update rounds set prizes = '[{"mint": "usdc"}]' where kind = 'chat';
     insert into exclusions (wallet, since, until) select e.wallet, e.at - interval '2 minutes', e.at + interval '1 day' from entries e
     join rounds r on r.id = e.round where r.prizes @> '[{"mint": "usdc"}]' limit 1`,
    /excluded itself since .*, but entry \d+ of round/,
  ],
  ['outbox', `delete from outbox where publication = (select max(publication) - 3 from outbox)`, /^event \d+ is followed by event \d+/],
  ['outbox', `update outbox_counter set publication = publication + 1`, /^the last event has number/],
  ['outbox', `insert into outbox (type, payload, at) values ('none', '{}', ${HOURS_AGO})`, /^1 events have been waiting for a number/],
  ['record-chains', `update game_records set previous_hash = hash where sequence = 2`, /^record 2 of \w+ in alpha does not follow/],
  ['record-chains', `update game_records set content_hash = hash where sequence = 1`, /^record 1 of \w+ in alpha does not follow/],
  ['record-chains', `update game_records set salt = null, record = null where sequence = 1`, /^record 1 of \w+ in alpha is erased, but the log/],
  [
    'record-chains',
    `insert into game_record_erasures (record_id, erased_by, reason) select id, 'a', 'b' from game_records where sequence = 2`,
    /^record 2 of \w+ in alpha is in the log of erasures, but it is not erased$/,
  ],
  [
    'webhooks',
    `insert into webhook_deliveries (source, id, body_hash, body, received_at) values ('x', 'one', '', '', ${HOURS_AGO})`,
    /^x one has been waiting since/,
  ],
  ['guards', `alter table ledger disable trigger ledger_append_only`, /ledger_append_only of ledger is disabled/],
  ['guards', `drop trigger payments_fixed on payments`, /payments_fixed of payments is missing/],
  ['for-people', `update chain_transactions set state = 'manual' where subject = ${CLAIM}`, /^transaction claim \S+ has been in state manual/],
  ['for-people', `insert into chain_pauses (scope, reason) values ('payouts', 'a test')`, /^payouts is paused: a test/],
  ['for-people', `update payout_watch set held = 'a test'`, /^payouts are paused: a test/],
  ['for-people', `update payments set state = 'manual' where cause_kind = 'test'`, /is manual/],
  ['epoch-leaves', `update reward_leaves set points = points + 1 where index = 0`, /^epoch \d+, allocation 1: its leaves give \d+ wallets/],
  ['epoch-leaves', `delete from reward_leaves where index = 0`, /^epoch \d+, allocation 1: its leaves give \d+ wallets/],
  [
    'epoch-points',
    `update ledger set points = points + 1 where day < app_day() and rewards and mode = 'regular'`,
    /^epoch \d+, allocation 1: \w+ has \d+ counted points in the ledger and \d+ in the allocation/,
  ],
  ['epoch-allocations', `update epochs set allocation = 2`, /^epoch \d+ is at allocation 2, but 0 earlier ones are stored/],
  [
    'epoch-allocations',
    `insert into reward_exclusions (epoch, wallet, cause, from_allocation, reason) select epoch, 'a', 'ban', 2, 'a test' from epochs`,
    /the exclusion of a begins with allocation 2 and ends with , but the allocation in force is 1/,
  ],
  [
    'epoch-allocations',
    `update epochs set exclusions_changed_at = app_now() where state = 'committed'`,
    /^epoch \d+ is committed, but its exclusions changed/,
  ],
  [
    'epoch-allocations',
    `update epochs set review_ends_at = app_now() + interval '1 day'`,
    /^the root of epoch \d+ was signed at .*, before the end of its review/,
  ],
  [
    'epoch-roots',
    `update reward_leaves set amount = amount + 1 where index = 0`,
    /its leaves have the root [0-9a-f]{64}, but the stored root is [0-9a-f]{64}/,
  ],
  ['epoch-roots', `update reward_trees set hashes = sha256(hashes) where level = 0`, /chunk 0 of the stored tree does not match its leaves/],
  ['epoch-roots', `update reward_trees set hashes = sha256(hashes) where level = 5`, /level 5 of the stored tree does not match its leaves/],
  ['draws', `update entries set at = at - interval '1 second' where ${one('entries')}`, /^round \S+: entries/],
  ['draws', `update rounds set audit = replace(audit, '"counter":0', '"counter":1') where kind = 'chat' and state = 'finalized'`, /^round \S+: draw/],
  ['draws', `update round_levels set nodes = sha256(nodes) where level = 0`, /^round \S+: its stored tree has other leaves/],
  ['draws', `update round_winners set wallet = 'nobody'`, /its audit has the winners .* but the database has .*nobody/],
  ['draws', `update commitments set blockhash = account`, /^round \S+: its block is \w+, but the database has/],
  ['admin-audit', `update admin_audit set path = '/elsewhere' where id = 2`, /^entry 2 does not match its hash/],
  ['admin-audit', `delete from admin_audit where id = 2`, /^entry 2 is missing/],
  ['record-hashes', `update game_records set record = '{"n": 7}' where sequence = 1`, /^record 1 of \w+ in alpha does not match its hash/],
  [
    'boards',
    `update standings set total = total + 1 where ${one('standings', `board = 'global' and mode = 'regular'`)}`,
    /^global: \w+ has .* in the database and .* in Redis/,
  ],
  [
    'boards',
    `delete from standings where ${one('standings', `board = 'global' and mode = 'regular' and total > 0`)}`,
    /^global: \w+ has nothing in the database and .* in Redis/,
  ],
  [
    'boards',
    `insert into standings select 'none', mode, wallet, version, total, day, day_value, day_before, day_before_value, week, week_value, week_before,
     week_before_value, month, month_value, month_before, month_before_value, year, year_value, year_before, year_before_value from standings where board = 'global'`,
    /^none: the board in Redis is incomplete/,
  ],
  [
    'clip-media',
    `insert into clips (id, wallet, game_id, type, bytes, sha256, day, state) values (gen_random_uuid(), 'nobody', 'alpha', 'image/gif', 1, sha256(''), 0, 'ready')`,
    /^clip \S+: its file cannot be read/,
  ],
  ['clip-media', `update clips set bytes = bytes + 1 where ${one('clips')}`, /^clip \S+: its file cannot be read to the end/],
  ['vaults', `update epoch_accounts set claimed = claimed + 1`, /^epoch \d+ has claimed \d+ on the chain, but \d+ in the database/],
  ['vaults', `update claims set index = index + 1`, /^epoch \d+ has leaf \d+ (not )?claimed on the chain, but not so in the database/],
  ['vaults', `update claims set state = 'failed'`, /^epoch \d+ has leaf \d+ claimed on the chain, but not so in the database/],
  ['vaults', `update epochs set root = sha256(root)`, /^epoch \d+ has root/],
  ['vaults', `update epoch_accounts set address = mint`, /^epoch \d+ has no account on the chain/],
  ['signatures', `update claims set signature = (select repeat('1', 64))`, /^claim of epoch \S+: transaction 1{64} is not known to the chain/],
  ['signatures', `update chain_attempts set state = 'failed' where ${one('chain_attempts', `state = 'finalized'`)}`, /has succeeded on the chain/],
  [
    'signatures',
    `update chain_attempts set state = 'sent'; update chain_transactions set state = 'manual'`,
    /is finalized, but the database waits for an operator/,
  ],
  [
    'treasury',
    `insert into payments (id, wallet, currency, amount, cause_kind, cause_id, payer, lane)
     values (gen_random_uuid(), 'nobody', 'usdc', 18446744073709551615, 'test', 'much', 'treasury', 0)`,
    /^the treasury holds \d+ usdc, but 18446744073709551615 are owed/,
  ],
  [
    'hand-payments',
    `update payout_batches set state = 'over', signature = null; update payments set amount = amount + 1 where cause_kind = 'test'`,
    /transaction \w+ has paid only \d+/,
  ],
  ['hand-payments', `update payments set signature = repeat('1', 64) where cause_kind = 'test'`, /transaction 1{64} is missing/],
  ['feed', `update outbox_counter set publication = publication + 1`, /^the event stream ends with \S+, but publication number \d+ exists/],
  ['feed', `update outbox_counter set publication = publication - 1`, /^the event stream ends with \S+, but the last publication number is/],
];

/** SQL that gives one score an idempotency key. */
const KEYED = `with keyed as (update scores set idempotency_key = 'a key' where id = (select id from scores limit 1) returning wallet, id)
  insert into score_keys (wallet, key, score_id) select wallet, 'a key', id from keyed`;
/** SQL that creates rows for references that the test history does not use. */
const FINDING = `insert into payout_findings (signature, lane, address, slot, transfers, verdict, payments) select 'one', lane, '', 0, '[]', 'matched', array[id] from payments limit 1`;
export const MISSING_ROWS: Readonly<Record<string, string>> = {
  'board_refreshes: board, wallet of (select distinct board, wallet from standings)': `insert into board_refreshes (board, wallet, version) select board, wallet, 1 from standings limit 1`,
  'chain_attempts: id of chain_transactions': `with added as (insert into chain_transactions (kind, subject, state) values ('test', 'carried', 'finalized') returning id)
    update chain_attempts set carried = array[(select id from added)]`,
  'link_attempts: wallet of players': `insert into link_attempts select '', wallet, 'x', 'oauth', '', app_now(), null from players limit 1`,
  'payout_findings: lane of payout_lanes': FINDING,
  'payout_findings: id of payments': FINDING,
  'payments: lane of payout_lanes': `update payments set state = 'batched'`,
  'reward_allocations: epoch of epochs': `insert into reward_allocations (epoch, allocation, wallets, points, leaves, total, undistributed, computed_at) select epoch, 9, 0, 0, 0, 0, 0, app_now() from epochs limit 1`,
  'reward_exclusions: epoch of epochs': `insert into reward_exclusions (epoch, wallet, cause, from_allocation, reason) select epoch, 'a', 'ban', 9, 'a test' from epochs limit 1`,
  'quest_checks: quest_id of quests': `insert into quest_checks (wallet, quest_id, day, first_at, last_at) select p.wallet, q.id::text, 1, app_now(), app_now() from players p, quests q limit 1`,
  'quest_checks: wallet of players': `delete from burns; insert into quest_checks (wallet, quest_id, day, first_at, last_at) select wallet, '', 1, app_now(), app_now() from players limit 1`,
  'quest_completions: wallet of players': 'delete from burns',
  'scores: wallet, idempotency_key, id of score_keys': KEYED,
  'score_keys: score_id, wallet, key of scores': KEYED,
  'score_restorations: score_id of scores': `insert into score_restorations (score_id, points, voided_at, voided_by, restored_at, restored_by, reason)
    select id, 0, app_now(), 'a', app_now(), 'b', 'a test' from scores limit 1`,
  'reward_imports: epoch of epochs': `insert into reward_imports (id, epoch, state, hash, rows, decided_at) select gen_random_uuid(), epoch, 'done', '', 1, app_now() from epochs limit 1`,
};

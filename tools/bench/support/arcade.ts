import type pg from 'pg';
import { bucketOf, PERIODS } from '#lib/periods.ts';
import { type PastEpoch, storePastEpoch } from './past-epochs.ts';

/** Tables to fill. Their indexes are dropped first and created again at the end, because inserting into indexed tables takes three times as long. */
const TABLES = [
  ...[
    'players',
    'sessions',
    'plays',
    'scores',
    'score_plays',
    'ledger',
    'activities',
    'wallet_weeks',
    'standings',
    'finals',
    'quest_completions',
    'game_records',
  ],
  ...['referrals', 'claims', 'chain_transactions', 'chain_attempts', 'entries', 'chat_messages', 'outbox', 'payments'],
];

const SCORES_EACH = 5;
const ROUNDS = 20;
/** Number of wallets per referrer, battle, payment and so on. For example, 1,000 wallets give 10 referrers. */
const SHARES = { referrer: 100, battle: 20, payment: 10, entry: 200, claim: 2, event: 5, record: 5 };
/** Day of the finished epoch whose rewards half of the wallets have claimed, UTC days before today. */
const CLAIMED_EPOCH = 90;

/** Returns an SQL expression for the address of wallet number `i`. The private keys of these addresses are unknown. */
const address = (i: string) => `'5' || translate(left(md5(${i}::text) || md5('w' || ${i}), 43), '0', 'z')`;
/**
 * Returns an SQL expression for an id that sorts by time, like the ids of the service.
 * @param sec an SQL expression for the time, seconds since 1970
 * @param n an SQL expression for a number that distinguishes ids of the same time
 */
const idAt = (sec: string, n: string) => `(lpad(to_hex((${sec}) * 1000::bigint), 12, '0') || '70008' || lpad(to_hex((${n})::bigint), 15, '0'))::uuid`;
/** Returns an SQL expression for a pseudo-random integer from 0 to `n` − 1 that depends only on `seed`. */
const any = (seed: string, n: string | number) => `(hashint4(${seed}) & 2147483647) % ${n}`;
const sumOf = (column: string, from: string) => `coalesce(sum(${column}) filter (where day >= ${from}), 0)`;

/** SQL statements that create the data, in this order. $d stands for today's UTC day number, $n for the number of wallets. */
const STATEMENTS: readonly string[] = [
  `create temp table w as select i, ${address('i')} as wallet from generate_series(0, $n - 1) i`,
  'create unique index on w (i)',
  'create temp table g as select row_number() over (order by id) - 1 as n, id from games',
  'analyze w, g',
  // Creates five scores per wallet in three games: one yesterday, one today, one 2 to 8 days ago, and two 9 to 58 days ago.
  `create temp table s as
   select i, k, wallet, game_id, day, to_timestamp(sec) as at, ${idAt('sec', '8 * i + k')} as id, ${idAt('sec - 60', '8 * i + k')} as play_id,
     normalized, 1 + normalized / 200 as points, null::uuid as battle_id
   from (
     select i, k, wallet, g.id as game_id, day, sec, ${any('i * 7 + k', 10_001)} as normalized
     from generate_series(0, ${SCORES_EACH - 1}) k, w, g,
       lateral (select case k when 0 then $d - 1 when 1 then $d when 2 then $d - 2 - ${any('i', 7)} else $d - 9 - ${any('i * 3 + k', 50)} end as day) d,
       lateral (select day * 86400 + 60 + ${any('i * 5 + k', `(case when day = $d then greatest(1, extract(epoch from now())::int % 86400 - 120) else 86300 end)`)} as sec) t
     where g.n = (i + ${any('i + k', 3)}) % (select count(*)::int from g) order by sec) s`,
  'analyze s',
  `create temp table b as select j, gen_random_uuid() as id, least(w0.wallet, w1.wallet) as first, greatest(w0.wallet, w1.wallet) as second
   from generate_series(0, $n / ${SHARES.battle} - 1) j join w w0 on w0.i = 2 * j join w w1 on w1.i = 2 * j + 1`,
  `insert into battles (id, game_id, created_by, max_players, duration_sec, state, created_at, due_at, started_at, ended_at)
   select b.id, s.game_id, first, 2, 86400, 'expired', to_timestamp(($d - 1) * 86400), to_timestamp($d * 86400), null, to_timestamp($d * 86400)
   from b join s on s.i = 2 * j and s.k = 0`,
  `insert into battle_seats (battle_id, seat, wallet, joined_at) select id, n, wallet, to_timestamp(($d - 1) * 86400) from b, unnest(array[first, second]) with ordinality u(wallet, n)`,
  `insert into plays (id, wallet, game_id, started_at) select play_id, wallet, game_id, at - interval '1 minute' from s`,
  `insert into score_plays (play_id, score_id) select play_id, id from s`,
  `insert into scores (id, wallet, game_id, game_version, play_id, body_hash, score, normalized, points, personal_best, status, mode, duration_ms, day, at)
   select id, wallet, game_id, 1, play_id, sha256('x'), normalized, normalized, points, true, 'accepted', 'regular', 60000, day, at from s`,
  `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
   select wallet, 'regular', 'game', 'score', 'score', id::text, points, true, day, at, cause_day('score', id::text) from s`,
  `insert into quest_completions (wallet, mode, window_key, quest_id, version, points, at)
   select wallet, 'regular', 'once', q.id, 1, (definition->>'points')::int, s.at from s, (select * from quests order by id limit 1) q where k = 0`,
  `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, factors, day, at, cause_day)
   select wallet, 'regular', 'quest', 'quest', 'quest', quest_id || ':' || window_key, points, true, jsonb_build_object('basePoints', points, 'basisPoints', 10000), $d - 1, at,
     cause_day('quest', quest_id || ':' || window_key)
   from quest_completions`,
  `insert into referral_links (wallet, n, code) select wallet, 1, lpad(i::text, 8, '0') from w where i < $n / ${SHARES.referrer}`,
  `insert into referrals (wallet, referrer, code, bound_at) select w.wallet, l.wallet, l.code, to_timestamp(($d - 70) * 86400.0)
   from w join referral_links l on l.code = lpad((w.i % ($n / ${SHARES.referrer}))::text, 8, '0') where w.i % 3 = 0 and w.i >= $n / ${SHARES.referrer}`,
  `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, factors, day, at, cause_day)
   select r.referrer, 'regular', 'referral', 'referral', 'score', s.id::text, s.points / 10, true, jsonb_build_object('referred', s.wallet, 'percent', 10), s.day, s.at,
     cause_day('score', s.id::text)
   from s join referrals r using (wallet) where s.k < 3 and s.points >= 10`,
  `update referrals r set points = g.points from (select factors->>'referred' as wallet, sum(points) as points from ledger where kind = 'referral' group by 1) g where g.wallet = r.wallet`,
  `insert into referral_days (referrer, day, used, points) select wallet, day, sum(points), sum(points) from ledger where kind = 'referral' group by 1, 2`,
  // As an earlier release stored them, so that `bin/bench compare` works with it: today, plays and scores have a batch and no rows here.
  `insert into activities (kind, source_id, wallet, game_id, amount, day, at, battle_id, batch, cause_day)
   select 'play', play_id::text, wallet, game_id, 0, floor(extract(epoch from at - interval '1 minute') / 86400)::int, at - interval '1 minute', null::uuid, 1, cause_day('play', play_id::text) from s
   union all select 'score', id::text, wallet, game_id, normalized, day, at, null, 1, cause_day('score', id::text) from s`,
  `insert into activities (kind, source_id, wallet, day, at, batch, cause_day) select 'bind', wallet, referrer, $d - 70, bound_at, 1, 0 from referrals`,
  // Counts each play on the day of its score, so plays and scores have the same counts.
  `insert into wallet_weeks (wallet, week, kind, subject, counts, bests)
   select wallet, week, kind, game_id, counts, case kind when 'score' then bests else array[0, 0, 0, 0, 0, 0, 0] end
   from (
     select i, week, game_id, array[${days((d) => `count(*) filter (where day - week = ${d})`)}] as counts, array[${days((d) => `coalesce(max(normalized) filter (where day - week = ${d}), 0)`)}] as bests
     from s, lateral (select day - (day + 3) % 7 as week) x where day >= $d - ($d + 3) % 7 - 7 group by 1, 2, 3) t
   join w using (i), (values ('play'), ('score')) k(kind)`,
  `insert into wallet_weeks (wallet, week, kind, subject, counts, bests)
   select wallet, week, kind, '', array[${days((d) => `count(*) filter (where day - week = ${d})`)}], array[0, 0, 0, 0, 0, 0, 0]
   from activities, lateral (select day - (day + 3) % 7 as week) x where kind = 'bind' and day >= $d - ($d + 3) % 7 - 7 group by 1, 2, 3`,
  `insert into players (wallet, tally, earned_day, earned, earned_by_game, created_at)
   select wallet, jsonb_build_object('regular', games), $d, earned, coalesce(by_game, '{}'), to_timestamp(($d - 80) * 86400.0)
   from (
     select i, jsonb_object_agg(game_id, jsonb_build_object('scores', scores, 'points', points)) as games, sum(earned) as earned,
       jsonb_object_agg(game_id, earned) filter (where earned > 0) as by_game
     from (select i, game_id, count(*) as scores, sum(points) as points, coalesce(sum(points) filter (where day = $d), 0) as earned from s group by 1, 2) t group by 1) p
   join w using (i)`,
  `insert into sessions (key, wallet, created_at, extended_at, expires_at) select sha256(wallet::bytea), wallet, now(), now(), now() + interval '7 days' from w`,
  `insert into game_players (game_id, wallet) select distinct game_id, wallet from s`,
  `insert into game_counters (game_id, shard, plays, players, scores, score_sum) select game_id, 0, count(*), count(distinct wallet), count(*), sum(normalized) from s group by 1
   on conflict (game_id, shard) do update set plays = excluded.plays, players = excluded.players, scores = excluded.scores, score_sum = excluded.score_sum`,
  `insert into point_totals (day, shard, mode, kind, points, entries) select day, 0, mode, kind, sum(points), count(*) from ledger group by day, mode, kind`,
  `insert into game_records (wallet, game_id, sequence, id, salt, record, content_hash, previous_hash, hash, at)
   select s.wallet, s.game_id, 1, s.id, zeros, '{"n":1}', sha256(zeros || '{"n":1}'), zeros, sha256(zeros || sha256(zeros || '{"n":1}')), s.at
   from s, decode(repeat('00', 32), 'hex') zeros where k = 0 and i % ${SHARES.record} = 0`,
  `insert into storage_usage (wallet, kind, bytes) select wallet, 'records', sum(256 + octet_length(record::text)) from game_records group by wallet`,
  `insert into storage_totals as t (kind, shard, bytes) select kind, hashtext(wallet) & 63, sum(bytes) from storage_usage where kind = 'records' group by 1, 2
   on conflict (kind, shard) do update set bytes = t.bytes + excluded.bytes`,
  `insert into outbox (publication, type, wallet, payload, at)
   select i, 'quest_completed', null, '{}', now() - interval '50 minutes' + i * interval '1 millisecond' from generate_series(1, $n / ${SHARES.event}) i`,
  `update outbox_counter set publication = $n / ${SHARES.event}, appended = $n / ${SHARES.event}, published_at = now()`,
  // Creates only void rounds, because `bin/bench rounds` measures drawn rounds.
  `create temp table r as select n, gen_random_uuid() as id, now() - n * interval '1 hour' as at from generate_series(1, ${ROUNDS}) n`,
  `insert into rounds (id, kind, state, title, created_by, picks, range, max_entries_per_wallet, prizes, duration_sec, parameters, parameters_hash, opens_at, closes_at, entries, void_reason, closed_at, ended_at, running_hash, announcement, closed)
   select id, 'chat', 'void', 'A round', 'admin-1', 1, 100, 1, '[]', 600, '{}', '', at, at, $n / ${SHARES.entry}, 'no-entries', at, at, sha256(''), '{}', '{}' from r`,
  `create temp table e as select r.id as round, j, wallet, at, gen_random_uuid() as id, gen_random_uuid() as message from r, generate_series(0, $n / ${SHARES.entry} - 1) j join w on w.i = j`,
  `insert into entries (round, index, id, wallet, numbers, source, message_id, at, running_hash)
   select round, j, id, wallet, '{1}', 'chat', message::text, at, sha256('') from e`,
  `insert into chat_messages (seq, id, source, wallet, text, entry, at) overriding system value select row_number() over (), message, 'chat', wallet, '!enter 1', id, at from e`,
  ...claims(),
  ...payments(),
];

/** Returns the SQL statements that create claims: half of the wallets have claimed their reward of a finished epoch. */
function claims(): string[] {
  const epoch = `($d - ${CLAIMED_EPOCH})`;
  const count = `($n / ${SHARES.claim})`;
  return [
    `create temp table c as select index, wallet, gen_random_uuid() as id, ${idAt('0', 'index')} as transaction, 'claim' || md5(i::text) || md5('c' || i) as signature, to_timestamp(($d - 80) * 86400.0 + i % 600000) as at
     from (select *, row_number() over (order by wallet) - 1 as index from w) w where index < ${count}`,
    `insert into claims (id, epoch, index, wallet, amount, state, signature, requested_by, created_at, changed_at)
     select id, ${epoch}, index, wallet, 1000, 'claimed', signature, wallet, at, at from c`,
    `insert into chain_transactions (id, kind, subject, state, attempts, signature, slot, created_at, changed_at)
     select transaction, 'claim', id::text, 'finalized', 1, signature, 1, at, at from c`,
    `insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, preamble, last_valid_height, signed_slot, signed_at, slot, spends, spend_day)
     select transaction, 1, 'finalized', signature, decode(repeat(md5(signature), 10), 'hex'), '{relayer}', 0, 1, 1, at, 1, '[{"asset": "sol", "amount": "5000"}]', floor(extract(epoch from at) / 86400)::int from c`,
    `insert into chain_outflows (day, asset, priority, reserved) select spend_day, 'sol', priority, count(*) * 5000 from chain_attempts group by 1, 3`,
  ];
}

/** Returns the SQL statements that create completed payments which were made outside the service. */
function payments(): string[] {
  const hash = `substring(sha256(convert_to(concat_ws(E'\\n', 'coinop/payment/1', 'test', i::text), 'UTF8')) for 16)`;
  return [
    `insert into payments (id, wallet, currency, amount, cause_kind, cause_id, payer, state, signature, created_at, completed_at)
     select encode(set_byte(set_byte(h, 6, get_byte(h, 6) & 15 | 128), 8, get_byte(h, 8) & 63 | 128), 'hex')::uuid, wallet, 'usdc', 1000, 'test', i::text, 'orchestrator', 'completed', 'paid' || md5(i::text), at, at
     from w, lateral (select ${hash} as h, to_timestamp(($d - 40) * 86400.0 + i) as at) t where i < $n / ${SHARES.payment}`,
  ];
}

function days(column: (day: number) => string): string {
  return Array.from({ length: 7 }, (_, day) => column(day)).join(', ');
}

/**
 * Returns the SQL statements that compute the standings from ledger and scores.
 * @param today the number of the current day, week, month and year, by period
 * @param first the first UTC day of the current day, week, month and year, by period
 */
const STANDINGS = (today: Readonly<Record<string, number>>, first: Readonly<Record<string, number>>): string[] => {
  const spans = PERIODS.map((p) => `${p}, ${p}_value`).join(', ');
  const sums = PERIODS.map((p) => `${today[p]}, ${sumOf('points', String(first[p]))}`).join(', ');
  const bests = PERIODS.map((p) => `coalesce(max(normalized) filter (where day >= ${first[p]}), 0) as ${p}`).join(', ');
  const fed = (board: string, where: string) =>
    `insert into standings (board, mode, wallet, version, total, ${spans}) select '${board}', 'regular', wallet, 1, sum(points), ${sums} from ledger where ${where} group by wallet`;
  return [
    fed('global', 'true'),
    fed('quests', `kind = 'quest'`),
    fed('referrals', `kind = 'referral'`),
    `insert into standings (board, mode, wallet, version, total, ${spans}) select 'game:' || game_id, 'regular', wallet, 1, max, ${PERIODS.map((p) => `${today[p]}, ${p}`).join(', ')}
     from (select i, game_id, max(normalized), ${bests} from s group by 1, 2) t join w using (i)`,
  ];
};

/**
 * Fills an empty database with the data of an arcade with many wallets. The data passes the checks of `bin/audit`. Precondition: no other process
 * writes to the database.
 * @param print a function that receives one line per step that takes more than 100 ms
 */
export async function fillArcadeHistory(db: pg.Client, wallets: number, print: (line: string) => void): Promise<void> {
  const { day = 0 } = (await db.query<{ day: number }>('select app_day() as day')).rows[0] ?? {};
  const run = async (text: string) => {
    const begin = performance.now();
    await db.query(text.replaceAll('$d', String(day)).replaceAll('$n', String(wallets)));
    const ms = performance.now() - begin;
    if (ms > 100) print(`  ${(ms / 1_000).toFixed(1).padStart(6)} s  ${text.trim().replace(/\s+/g, ' ').slice(0, 80)}`);
  };
  await run(`set session_replication_role = replica; set work_mem = '256MB'; set maintenance_work_mem = '512MB'; set jit = off`);
  // Truncates the tables in the transaction that fills them, because PostgreSQL can then skip the write-ahead log for the new rows.
  await run(`begin; truncate ${TABLES.join(', ')} cascade`);
  // Drops all indexes of the tables, except indexes that foreign keys reference.
  const { rows: indexes } = await db.query<{ drop: string; create: string }>(
    `select case when c.oid is null then format('drop index %s', i.indexrelid::regclass) else format('alter table %s drop constraint %I', i.indrelid::regclass, c.conname) end as drop,
       case when c.oid is null then replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') else format('alter table %s add constraint %I %s', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) end as create
     from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.conrelid = i.indrelid and c.contype in ('p', 'u')
     where i.indrelid = any($1::regclass[]) and not exists (select from pg_constraint f where f.conindid = i.indexrelid and f.contype = 'f')`,
    [TABLES],
  );
  for (const { drop } of indexes) await run(drop);
  for (const text of STATEMENTS) await run(text);

  const all = Array.from({ length: 60 }, (_, i) => day - 59 + i);
  const today = Object.fromEntries(PERIODS.map((p) => [p, bucketOf(p, day)]));
  const first = Object.fromEntries(PERIODS.map((p) => [p, Math.max(day - 400, firstDay(p, day))]));
  for (const text of STANDINGS(today, first)) await run(text);
  const ended = PERIODS.flatMap((p) =>
    [...new Set(all.map((one) => bucketOf(p, one)))].filter((b) => b < bucketOf(p, day)).map((b) => [p, b] as const),
  );
  await db.query(
    `insert into closed_periods (period, bucket, closed_at, finals_at) select p, b, now(), now() from unnest($1::text[], $2::int[]) u(p, b) on conflict do nothing`,
    [ended.map(([p]) => p), ended.map(([, b]) => b)],
  );
  for (const p of PERIODS) {
    const last = Math.max(...ended.filter(([of]) => of === p).map(([, b]) => b));
    const within = all.filter((one) => bucketOf(p, one) === last);
    if (within.length > 0) for (const text of finals(p, last, within)) await run(text);
  }
  for (const { create } of indexes) await run(create);
  const computed = [1, 2, 3].map((ago): PastEpoch => ({ epoch: day - ago, source: 'computed', leaves: earned(day - ago), claims: 0 }));
  const claims = Math.floor(wallets / SHARES.claim);
  const claimed: PastEpoch = {
    epoch: day - CLAIMED_EPOCH,
    source: 'import',
    leaves: 'select wallet, null::int8 as points, 1000 as amount from w',
    claims,
  };
  for (const epoch of [...computed, claimed]) await storePastEpoch(db, epoch);
  await run('drop table w, g, s, b, r, e, c; commit');
  await run('reset session_replication_role');
  await run('vacuum analyze');
}

const earned = (day: number) =>
  `select wallet, sum(points) as points, sum(points) * 1000 as amount from ledger where day = ${day} and mode = 'regular' and rewards and kind <> 'conversion' group by 1 having sum(points) > 0`;

function firstDay(period: (typeof PERIODS)[number], day: number): number {
  const bucket = bucketOf(period, day);
  let first = day;
  while (bucketOf(period, first - 1) === bucket) first--;
  return first;
}

const finals = (period: string, bucket: number, within: readonly number[]) =>
  [
    ['global', 'true'],
    ['quests', `kind = 'quest'`],
    ['referrals', `kind = 'referral'`],
  ].map(
    ([board, where]) => `
    insert into finals (board, period, bucket, position, rank, wallet, value)
    select '${board}', '${period}', ${bucket}, row_number() over (order by value desc, wallet desc), rank() over (order by value desc), wallet, value
    from (select wallet, sum(points) as value from ledger where ${where} and day between ${within[0]} and ${within.at(-1)} group by 1) t`,
  );

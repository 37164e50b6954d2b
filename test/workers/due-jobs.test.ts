import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jobs } from '#jobs/index.ts';
import { QUEUES, type QueueName } from '#jobs/queues.ts';
import { schedule } from '#jobs/schedule.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { deleteKeys, findKeys } from '#test/support/redis-keys.ts';
import { createWallet } from '#test/support/wallet.ts';
import { EVERY_MS, enqueueDueJobs } from '#workers/due-jobs.ts';

const ROUND = '01900000-0000-7000-8000-000000000001';
const GAME = 'due-jobs';
const wallet = createWallet().address;

/** Per job: the SQL that inserts a row which is due at `at`. */
const INSERTS: readonly (readonly [name: keyof typeof jobs, insert: (at: string) => string])[] = [
  [
    'advanceBattles',
    (at) => `insert into battles (id, game_id, created_by, max_players, duration_sec, created_at, due_at)
       values (gen_random_uuid(), '${GAME}', '${wallet}', 2, 60, app_now(), ${at})`,
  ],
  [
    'completeQuests',
    (at) => `insert into quest_checks (wallet, quest_id, day, first_at, last_at, try_at)
       values ('${wallet}', gen_random_uuid()::text, 1, app_now(), app_now(), ${at})`,
  ],
  ['beginScheduled', (at) => `insert into scheduled_themes (id, patch, starts_at, by) values (gen_random_uuid(), '{}', ${at}, 'test')`],
  [
    'scheduleRounds',
    (at) => `insert into round_schedule (interval_sec, template, started_by, next_at) values (60, '{}', 'test', ${at})
       on conflict (singleton) do update set next_at = excluded.next_at`,
  ],
  [
    'sweepRounds',
    (
      at,
    ) => `insert into rounds (id, kind, state, created_by, ticket_price, parameters, parameters_hash, opens_at, closes_at, running_hash, announcement,
         look_at)
       values ('${ROUND}', 'legacy', 'active', 'test', 0, '{}', '', app_now(), app_now(), '', '{}', ${at})
       on conflict (id) do update set look_at = excluded.look_at`,
  ],
  [
    'sweepTickets',
    (at) => `insert into tickets (id, round, wallet, signature, state, next_at)
       values (gen_random_uuid(), '${ROUND}', '${wallet}', gen_random_uuid()::text, 'checking', ${at})`,
  ],
  ['pollTransactions', (at) => `insert into chain_transactions (kind, subject, next_at) values ('test', gen_random_uuid()::text, ${at})`],
];

/** The jobs that run for as long as rows exist, each with the SQL that inserts a row. */
const LASTING: readonly (readonly [name: keyof typeof EVERY_MS, insert: string])[] = [
  [
    'sweepWebhooks',
    `insert into webhook_deliveries (source, id, body_hash, body, received_at) values ('x', 'due', '', '', app_now() - interval '1 minute')`,
  ],
  ['announceQuests', `insert into quests (id, version, definition, deleted_at, published_version) values ('withdrawn', 1, '{}', app_now(), 1)`],
  ['sweepQuests', `insert into quests (id, version, definition) values ('due', 1, '{}')`],
  ['findTicketPayments', `insert into ticket_payments (signature, round, slot, next_at) values ('due', '${ROUND}', 1, app_now())`],
  ['planPayouts', `insert into payout_lanes (lane, address, authority) values (0, 'due', 'due')`],
  [
    'ingestBurns',
    `insert into burn_events (id, title, mint, duration_sec, created_by, state, activated_at, ends_at)
     values (gen_random_uuid(), 'due', '${wallet}', 3600, '${wallet}', 'active', app_now(), app_now())`,
  ],
  [
    'followEpochs',
    `with e as (
       insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values (1, 'computed', 1, 0, 90, 0, 1) returning epoch)
     insert into epoch_accounts (epoch, address, program, authority, mint, vault, expires_at, opened_at)
     select epoch, '', '', '', '', '', app_now(), app_now() from e`,
  ],
  [
    'findClaimSignatures',
    `with c as (insert into claims (epoch, index, wallet, amount, state) values (1, 0, '${wallet}', 1, 'claimed') returning id)
     insert into claim_searches (claim, slot) select id, 0 from c`,
  ],
];

/** Per job with two kinds of rows: the SQL that inserts a due row of the second kind. */
const SECOND_KINDS = {
  beginScheduled: `insert into arcade_events (id, name, starts_at, ends_at) values (gen_random_uuid(), 'test', app_now(), app_now() + interval '1 hour')`,
  pollTransactions: `with t as (insert into chain_transactions (kind, subject, state) values ('test', 'attempt', 'live') returning id)
    insert into chain_attempts (transaction_id, n, signature, bytes, signers, preamble, last_valid_height, signed_slot, spends, spend_day)
    select id, 1, 'test', '', '{}', 0, 1, 1, '[]', 0 from t`,
};

let t: TestApp;
const waitingIn = async (queue: QueueName) => (await t.app.queues.all.get(queue)?.getJobs(['waiting', 'prioritized', 'delayed'])) ?? [];
const waiting = async () => (await Promise.all(QUEUES.map(waitingIn))).flat();
const namesOf = async () => (await waiting()).map(({ name }) => name).sort();
const removeAll = () => deleteKeys(t.app.redis, `{${t.env.REDIS_PREFIX}:*`);

beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, GAME);
  await removeAll();
});
afterAll(async () => await t.close());

test('rows that become due later enqueue no job; a due row enqueues its job, once while the job waits, and with one attempt', async () => {
  for (const [, insert] of INSERTS) await sql(t.app, insert(`app_now() + interval '1 hour'`));
  await enqueueDueJobs(t.app, QUEUES);
  expect(await namesOf()).toEqual([]);

  const expected: string[] = [];
  for (const [name, insert] of INSERTS) {
    await sql(t.app, insert(`app_now() - interval '1 second'`));
    expected.push(jobs[name].name);
    await enqueueDueJobs(t.app, QUEUES);
    expect(await namesOf()).toEqual([...expected].sort());
  }
  await sql(t.app, `insert into activity_batches (id, day, at, size, activities) values (1, 0, app_now(), 1, '[]')`);
  await Promise.all([enqueueDueJobs(t.app, QUEUES), enqueueDueJobs(t.app, QUEUES)]);
  expect(await namesOf()).toEqual([...expected, jobs.consumeActivities.name].sort());
  expect(new Set((await waiting()).map(({ opts }) => opts.attempts))).toEqual(new Set([1]));
});

test('a due one-time event, and an attempt whose poll is due, enqueue their jobs', async () => {
  await sql(t.app, 'delete from scheduled_themes');
  await sql(t.app, 'delete from chain_transactions');
  for (const [name, insert] of Object.entries(SECOND_KINDS)) {
    await removeAll();
    await enqueueDueJobs(t.app, QUEUES);
    expect(await namesOf()).not.toContain(jobs[name as keyof typeof SECOND_KINDS].name);
    await sql(t.app, insert);
    await enqueueDueJobs(t.app, QUEUES);
    expect(await namesOf()).toContain(jobs[name as keyof typeof SECOND_KINDS].name);
  }
});

const turnsOf = () => findKeys(t.app.redis, `${t.env.REDIS_PREFIX}:due:*`);
const removeTurns = () => deleteKeys(t.app.redis, `${t.env.REDIS_PREFIX}:due:*`);

test('a job that runs for as long as rows exist is enqueued at most once per interval by all workers, also after its run', async () => {
  for (const [name, insert] of LASTING) {
    await removeAll();
    await removeTurns();
    await enqueueDueJobs(t.app, QUEUES);
    expect(await namesOf()).not.toContain(jobs[name].name);
    await sql(t.app, insert);
    await enqueueDueJobs(t.app, QUEUES);
    expect(await namesOf()).toContain(jobs[name].name);
    const left = await t.app.redis.pttl(`${t.env.REDIS_PREFIX}:due:${name}`);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(EVERY_MS[name] ?? 0);
  }
  expect(LASTING.map(([name]) => name).sort()).toEqual(Object.keys(EVERY_MS).sort());

  // The intervals are prolonged, because the rest of the test may take longer than them.
  for (const [name] of LASTING) await t.app.redis.set(`${t.env.REDIS_PREFIX}:due:${name}`, '1', 'PX', 60_000);
  await removeAll();
  await enqueueDueJobs(t.app, QUEUES);
  const lasting = new Set<string>(LASTING.map(([name]) => jobs[name].name));
  const again = await namesOf();
  expect(again).toContain(jobs.consumeActivities.name);
  expect(again.filter((name) => lasting.has(name))).toEqual([]);
});

test('a worker does not ask Redis whether such a job may be enqueued until the interval ends that it began', async () => {
  const begun = new Map<keyof typeof EVERY_MS, number>();
  const endAll = (at: number) => LASTING.forEach(([name]) => void begun.set(name, at));
  await removeTurns();
  await enqueueDueJobs(t.app, QUEUES, begun);
  expect(begun.size).toBe(LASTING.length);
  // The intervals are prolonged, because the rest of the test may take longer than them.
  endAll(performance.now() + 60_000);
  await removeTurns();
  await enqueueDueJobs(t.app, QUEUES, begun);
  expect(await turnsOf()).toEqual([]);
  endAll(0);
  await enqueueDueJobs(t.app, QUEUES, begun);
  expect([...begun.values()]).not.toContain(0);
});

test('while a queue is paused, each such job waits in it once', async () => {
  for (let looks = 0; looks < 3; looks++) {
    await removeTurns();
    await enqueueDueJobs(t.app, QUEUES);
  }
  const names = await namesOf();
  expect(names).toEqual([...new Set(names)]);
  expect(await turnsOf()).toHaveLength(LASTING.length);
});

test('a worker enqueues only the due jobs of the queues that it serves', async () => {
  await removeAll();
  await removeTurns();
  await enqueueDueJobs(t.app, ['points', 'scores']);
  const { completeQuests, consumeActivities, sweepQuests, announceQuests } = jobs;
  expect(await namesOf()).toEqual([completeQuests, consumeActivities, sweepQuests, announceQuests].map(({ name }) => name).sort());
});

test('every job that due rows enqueue also runs by the schedule', () => {
  const names = [...INSERTS.map(([name]) => name), ...LASTING.map(([name]) => name), 'consumeActivities' as const];
  expect(names.filter((name) => schedule[name] === undefined)).toEqual([]);
});

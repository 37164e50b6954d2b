import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { computeEpoch } from '#areas/rewards';
import { excludeWallets } from '#areas/rewards/review/review.ts';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { DAY, epochOf, insertClosedDay, leavesOf, randomWallet, setRules, startRewards, trigger } from '#test/support/areas/epochs.ts';

let t: TestApp;
let intruder: pg.Client;
beforeAll(async () => {
  t = await startRewards('scores');
  await setRules(t);
  intruder = new pg.Client({ connectionString: t.env.DATABASE_URL });
  await intruder.connect();
  await intruder.query('set role none');
});
afterAll(async () => {
  await intruder.end();
  await t.close();
});

/** Cancels all statements that wait for a lock, repeatedly until the work ends, because statements of other work may wait first. */
async function breakOff(work: Promise<void>): Promise<PromiseSettledResult<void>> {
  let outcome: PromiseSettledResult<void> | undefined;
  const over = Promise.allSettled([work]).then(([settled]) => {
    outcome = settled;
  });
  while (!outcome) {
    await intruder.query(
      `select pg_cancel_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and cardinality(pg_blocking_pids(pid)) > 0`,
    );
    await Promise.race([over, sleep(20)]);
  }
  return outcome;
}

const nothingOf = async (epoch: number) =>
  (
    await sql<{ n: number }>(
      t.app,
      `select (select count(*) from reward_leaves where epoch = $1)::int + (select count(*) from reward_trees where epoch = $1)::int
         + (select count(*) from outbox where payload->>'epoch' = $1::text)::int as n`,
      [epoch],
    )
  )[0]?.n;

test.each([
  ['before its points are read', 'ledger'],
  ['before its leaves are stored', 'reward_leaves'],
  ['before its tree is stored', 'reward_trees'],
  ['before its event is stored', 'outbox'],
])('when the computation of an epoch fails %s, nothing is stored, and the next run computes the epoch', async (_when, table) => {
  const epoch = DAY + ['ledger', 'reward_leaves', 'reward_trees', 'outbox'].indexOf(table);
  const given = Array.from({ length: 3_000 }, (_, i) => ({ wallet: randomWallet(), points: i + 1 }));
  await insertClosedDay(t.app, epoch, given);
  await sql(
    t.app,
    `insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values ($1, 'computed', 1000000, 0, 90, 1, 1)`,
    [epoch],
  );

  await intruder.query('begin');
  await intruder.query(`lock table ${table} in access exclusive mode`);
  const outcome = await breakOff(computeEpoch(t.app, epoch));
  await intruder.query('rollback');
  expect(outcome.status).toBe('rejected');
  expect(await epochOf(t, epoch)).toMatchObject({ status: 'computing', root: null, leaves: null });
  expect(await nothingOf(epoch)).toBe(0);

  await computeEpoch(t.app, epoch);
  expect(await epochOf(t, epoch)).toMatchObject({ status: 'computed', wallets: 3_000, total: '1000000' });
  const { lines } = await leavesOf(t, epoch);
  expect(lines.reduce((sum, { amount }) => sum + BigInt(amount), 0n)).toBe(1_000_000n);
});

test.each([
  ['before its points are read', 'ledger'],
  ['before the earlier allocation is stored', 'reward_allocations'],
  ['before its leaves are stored', 'reward_leaves'],
  ['before its tree is stored', 'reward_trees'],
  ['before its event is stored', 'outbox'],
])('when a new allocation fails %s, the earlier one stays in force, and the next run computes the new one', async (_when, table) => {
  const epoch = DAY + 10 + ['ledger', 'reward_allocations', 'reward_leaves', 'reward_trees', 'outbox'].indexOf(table);
  const given = Array.from({ length: 40 }, (_, i) => ({ wallet: randomWallet(), points: i + 1 }));
  await insertClosedDay(t.app, epoch, given);
  await trigger(t, epoch, { Prefer: 'wait=0' });
  await computeEpoch(t.app, epoch);
  const before = await leavesOf(t, epoch);
  const wallets = given.slice(0, 5).map(({ wallet }) => wallet);
  await t.app.tx((tx) => excludeWallets(tx, epoch, wallets, 'a bot', 'test'));

  await intruder.query('begin');
  await intruder.query(`lock table ${table} in access exclusive mode`);
  const outcome = await breakOff(computeEpoch(t.app, epoch));
  await intruder.query('rollback');
  expect(outcome.status).toBe('rejected');
  expect(await epochOf(t, epoch)).toMatchObject({ status: 'computed', allocation: 1, allocationPending: true, root: before.header.root });
  expect(await leavesOf(t, epoch)).toEqual(before);

  await computeEpoch(t.app, epoch);
  expect(await epochOf(t, epoch)).toMatchObject({ status: 'computed', allocation: 2, allocationPending: false, wallets: 35, total: '1000000' });
  expect(await leavesOf(t, epoch, '?allocation=1')).toEqual(before);
});

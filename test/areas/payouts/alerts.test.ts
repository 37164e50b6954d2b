import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { alert } from '#areas/payouts/alerts.ts';
import { runPlanner, runReconciliation } from '#areas/payouts/planning/run.ts';
import { unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { nonceAccount, storeLane } from '#test/support/areas/payout-rows.ts';
import { asOwner } from '#test/support/database.ts';

let t: TestApp;
/** The application with a log that the test reads. */
let app: App;
let errors: { subject: string; reason: string; msg: string }[] = [];
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  app = { ...t.app, log: pino({ level: 'error' }, { write: (line: string) => void errors.push(JSON.parse(line)) }) };
});
beforeEach(async () => {
  errors = [];
  await sql(app, 'delete from payout_lanes');
});
afterAll(() => t.close());

const raised = () => errors.map(({ subject, reason }) => [subject, reason]);
const pauseReason = async () => (await sql<{ reason: string }>(app, `select reason from chain_pauses where scope = 'payouts'`))[0]?.reason ?? null;
const passTime = (ms: number) => t.clock.set(new Date(t.clock.now().getTime() + ms));

test('an alert is logged once a minute per subject and reason', async () => {
  for (const [subject, reason] of [
    ['one', 'a reason'],
    ['one', 'a reason'],
    ['one', 'another reason'],
    ['two', 'a reason'],
  ] as const)
    alert(app, subject, reason);
  expect(raised()).toEqual([
    ['one', 'a reason'],
    ['one', 'another reason'],
    ['two', 'a reason'],
  ]);
  await passTime(50_000);
  alert(app, 'one', 'a reason');
  expect(errors.length).toBe(3);
  await passTime(10_000);
  alert(app, 'one', 'a reason');
  expect(errors.length).toBe(4);
});

test('a reconciliation that finds differences pauses payouts and raises an alert with the first three, and the pause ends with them', async () => {
  const lanes = [await storeLane(app), await storeLane(app), await storeLane(app), await storeLane(app)];
  const missing = lanes.map(({ lane, address }) => `the nonce account ${address} of lane ${lane} does not exist any more`);
  app.chain.node.accounts = async (addresses) => ({ slot: 1, accounts: addresses.map(() => null) });
  await runReconciliation(app);
  const reason = missing.slice(0, 3).join('; ');
  expect(raised()).toEqual([['payouts', reason]]);
  expect(await pauseReason()).toBe(reason);

  app.chain.node.accounts = async (addresses) => ({
    slot: 1,
    accounts: addresses.map((address) => nonceAccount(lanes.find((lane) => lane.address === address.toBase58())?.nonce ?? '')),
  });
  errors = [];
  await runReconciliation(app);
  expect(raised()).toEqual([]);
  expect(await pauseReason()).toBeNull();
});

test('a planner that finds differences on stale lanes pauses payouts and raises an alert with the first three', async () => {
  app.chain.node.accounts = async (addresses) => ({ slot: 1, accounts: addresses.map(() => null) });
  // The first run of a process reconciles all lanes. There are none yet.
  expect(await runPlanner(app)).toBe(false);
  expect([raised(), await pauseReason()]).toEqual([[], null]);
  const healthy = await storeLane(app);
  expect(await runPlanner(app)).toBe(false);
  expect([raised(), await pauseReason()]).toEqual([[], null]);
  const lanes = [];
  for (let i = 0; i < 4; i++) lanes.push(await storeLane(app, { stale: true }));
  const reason = lanes
    .slice(0, 3)
    .map(({ lane, address }) => `the nonce account ${address} of lane ${lane} does not exist any more`)
    .join('; ');
  expect(await runPlanner(app)).toBe(false);
  expect(raised()).toEqual([['payouts', reason]]);
  expect(await pauseReason()).toBe(reason);
  expect(reason).not.toContain(healthy.address);
});

test('while the RPC node does not answer, the planner and the reconciliation raise an alert and change nothing', async () => {
  await storeLane(app, { stale: true });
  await sql(app, 'update payout_watch set doubt = null');
  const before = await sql(app, 'select * from payout_lanes');
  app.chain.node.accounts = async () => {
    throw unavailable('the RPC node is down', 1);
  };
  expect(await runPlanner(app)).toBe(false);
  expect(raised()).toEqual([['chain', 'the RPC node is down']]);
  await passTime(60_000);
  await runReconciliation(app);
  expect(raised()).toEqual([
    ['chain', 'the RPC node is down'],
    ['chain', 'the RPC node is down'],
  ]);
  expect(await sql(app, 'select * from payout_lanes')).toEqual(before);
});

test('a PostgreSQL role that may not read the identity of the database reconciles lanes, and the stored identity is deleted', async () => {
  const identity = () => sql(app, 'select system_identifier as system, timeline from payout_watch');
  app.chain.node.accounts = async () => ({ slot: 1, accounts: [] });
  await runReconciliation(app);
  expect(await identity()).toEqual([{ system: expect.stringMatching(/^\d+$/), timeline: 1 }]);
  await asOwner(app, (tx) => tx.query({ text: 'revoke execute on function pg_control_system() from public' }));
  await runReconciliation(app);
  expect(await identity()).toEqual([{ system: null, timeline: null }]);
  expect([raised(), await pauseReason()]).toEqual([[], null]);
});

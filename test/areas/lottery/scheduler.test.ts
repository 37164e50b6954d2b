import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { runScheduler } from '#areas/lottery';
import { getStatus, postStart, postStop } from '#areas/lottery/scheduler/routes.ts';
import type { App } from '#platform/app.ts';
import { startApi } from '#test/support/api.ts';
import { ADMIN_TOKEN, startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { adminOf, clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { send } from '#test/support/wallet.ts';

const NARROW = 'narrow-token-0123456789';
let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false, env: { ADMIN_TOKENS: `${ADMIN_TOKEN},editor:content:${NARROW}` } });
});
afterAll(() => t.close());
beforeEach(async () => {
  await endActive();
  await sql(t.app, 'delete from round_schedule');
  await sql(t.app, 'create table if not exists seen_rounds (id uuid)');
  await sql(t.app, 'insert into seen_rounds select id from rounds');
});

const HOUR_SEC = 3_600;
const template = { title: 'Draw {n} of {date}', prizes: [{ amount: '1000000', mint: 'usdc' as const }], durationSec: 600 };
const tooMuch = { ...template, title: 'Too much', prizes: [{ amount: '18446744073709551615', mint: 'usdc' as const }] };
const start = (body: { intervalSec?: number; template?: typeof template; startAt?: string } = {}) =>
  adminOf(t).ok(postStart, { body: { intervalSec: HOUR_SEC, template, ...body } });
const status = async () => (await adminOf(t).ok(getStatus)).body;

interface Round {
  id: string;
  state: string;
  title: string;
  created_by: string;
}
/** Reads the rounds of this test. */
const rounds = () =>
  sql<Round>(t.app, 'select id::text, state, title, created_by from rounds where id not in (select id from seen_rounds) order by created_at, id');
/** Closes the active round, as its closing time would, so that another can start. */
const endActive = () =>
  sql(t.app, `update rounds set state = 'closing', closed_at = app_now(), closed = '{}' where kind = 'chat' and state = 'active'`);
/** Makes the schedule due now. */
const makeDue = () => sql(t.app, `update round_schedule set next_at = app_now() - interval '1 second', look_at = app_now()`);
const lookAgain = () => sql(t.app, 'update round_schedule set look_at = app_now()');
const ago = (seconds: number) => new Date(t.clock.now().getTime() - seconds * 1_000).toISOString();

/** Returns an application whose process is killed before its n-th transaction. */
function dyingAt(n: number): App {
  let writes = 0;
  return {
    ...t.app,
    tx(work) {
      writes += 1;
      return writes >= n ? Promise.reject(new Error('killed')) : t.app.tx(work);
    },
  };
}

test('before the first start the status has no schedule', async () => {
  expect(await status()).toEqual({
    ...{ running: false, intervalSec: null, template: null, nextAt: null },
    ...{ lastRound: null, lastStartedAt: null, lastError: null, startedBy: null },
  });
  await runScheduler(t.app);
  expect(await rounds()).toEqual([]);
  expect((await adminOf(t).ok(postStop)).body.running).toBe(false);
});

test('a started schedule starts a round with the template’s terms immediately, and the status has the next start time', async () => {
  const { body } = await start();
  expect(body).toMatchObject({
    running: true,
    intervalSec: HOUR_SEC,
    startedBy: 'admin-1',
    lastRound: null,
    template: { ...template, picks: 5, range: 50 },
  });
  await runScheduler(t.app);
  const [round, ...more] = await rounds();
  expect(more).toEqual([]);
  expect(round).toMatchObject({ state: 'active', created_by: 'scheduler' });
  const { lastRound, lastStartedAt, nextAt, lastError } = await status();
  expect([lastRound, lastError]).toEqual([round?.id, null]);
  expect(Date.parse(nextAt ?? '')).toBe(Date.parse(body.nextAt ?? '') + HOUR_SEC * 1_000);
  expect(round?.title).toBe(`Draw 1 of ${lastStartedAt?.slice(0, 10)}`);
  await runScheduler(t.app);
  expect(await rounds()).toHaveLength(1);
});

test('workers start scheduled rounds without requests', async () => {
  await start();
  const worker = await startWorker({ ...t.env }, t.clock);
  try {
    await retryUntilPass(async () => expect(await rounds()).toMatchObject([{ state: 'active' }]), 60_000);
  } finally {
    await worker.close();
  }
});

test('concurrent workers start only one round', async () => {
  const other = await startApi(t.env, t.clock);
  try {
    await start();
    await Promise.all([t.app, other.app, t.app, other.app, t.app, other.app].map(runScheduler));
    expect(await rounds()).toMatchObject([{ state: 'active' }]);
  } finally {
    await other.close();
  }
});

test('after several missed start times one round starts, and the next one follows the original grid', async () => {
  const startAt = ago(50.5 * 60);
  await start({ intervalSec: 60, startAt });
  await runScheduler(t.app);
  await runScheduler(t.app);
  expect(await rounds()).toHaveLength(1);
  const { nextAt, lastStartedAt } = await status();
  const [next, started] = [Date.parse(nextAt ?? ''), Date.parse(lastStartedAt ?? '')];
  expect((next - Date.parse(startAt)) % 60_000).toBe(0);
  expect(next - started).toBeGreaterThan(0);
  expect(next - started).toBeLessThanOrEqual(60_000);
  await endActive();
  await sql(t.app, `update round_schedule set next_at = app_now() + interval '1 minute'`);
  await runScheduler(t.app);
  expect(await rounds()).toHaveLength(1);
});

test('the due round waits while another round is active, also one that an administrator started', async () => {
  await start();
  await runScheduler(t.app);
  await makeDue();
  await runScheduler(t.app);
  await runScheduler(t.app);
  expect(await rounds()).toHaveLength(1);
  expect((await status()).lastError).toBeNull();
  await endActive();
  await runScheduler(t.app);
  expect((await rounds()).map(({ state, title }) => [state, title.slice(0, 6)])).toEqual([
    ['closing', 'Draw 1'],
    ['active', 'Draw 2'],
  ]);
});

test('a round that cannot start is kept and retried with the current template; no further rounds are created', async () => {
  await start({ template: tooMuch });
  await runScheduler(t.app);
  expect((await status()).lastError).toMatch(/treasury/);
  // The retry is delayed.
  const [refused] = await rounds();
  await runScheduler(t.app);
  for (let i = 0; i < 3; i++) {
    await lookAgain();
    await runScheduler(t.app);
  }
  expect(await rounds()).toEqual([refused]);
  expect(refused).toMatchObject({ state: 'pending', title: 'Too much' });
  expect(await status()).toMatchObject({ running: true, lastRound: null });

  expect((await start()).body.lastError).toBeNull();
  await runScheduler(t.app);
  expect(await rounds()).toMatchObject([{ id: refused?.id, state: 'active', title: expect.stringMatching(/^Draw 1 of /) }]);
  expect(await status()).toMatchObject({ lastRound: refused?.id, lastError: null });
});

test('after a failed start the schedule waits 30 s, or the interval if it is shorter', async () => {
  for (const [intervalSec, wait] of [
    [HOUR_SEC, 30],
    [10, 10],
  ] as const) {
    await start({ intervalSec, template: tooMuch });
    await runScheduler(t.app);
    const rows = await sql<{ soon: boolean }>(t.app, 'select look_at <= app_now() + make_interval(secs => $1) as soon from round_schedule', [wait]);
    expect(rows).toEqual([{ soon: true }]);
  }
});

test('the next worker starts a round whose creator was killed before the start', async () => {
  await start();
  await expect(runScheduler(dyingAt(2))).rejects.toThrow('killed');
  const [made] = await rounds();
  expect(made?.state).toBe('pending');
  await lookAgain();
  await runScheduler(t.app);
  expect(await rounds()).toMatchObject([{ id: made?.id, state: 'active' }]);
  expect((await status()).lastRound).toBe(made?.id);
});

test('a worker killed after the start of a round causes no second round for the same start time', async () => {
  const { body } = await start();
  await expect(runScheduler(dyingAt(3))).rejects.toThrow('killed');
  expect(await rounds()).toMatchObject([{ state: 'active' }]);
  expect((await status()).lastRound).toBeNull();
  await endActive();
  await lookAgain();
  await runScheduler(t.app);
  const [begun, ...more] = await rounds();
  expect(more).toEqual([]);
  expect(await status()).toMatchObject({ lastRound: begun?.id, lastError: null });
  expect(Date.parse((await status()).nextAt ?? '')).toBe(Date.parse(body.nextAt ?? '') + HOUR_SEC * 1_000);
});

test('a stopped schedule starts no rounds, and a new start begins a new schedule', async () => {
  await start();
  await runScheduler(t.app);
  const { body } = await adminOf(t).ok(postStop);
  expect(body).toMatchObject({ running: false, nextAt: null, intervalSec: HOUR_SEC, template });
  expect(await rounds()).toMatchObject([{ state: 'active' }]);
  await endActive();
  await lookAgain();
  await runScheduler(t.app);
  expect(await rounds()).toHaveLength(1);
  await start();
  await runScheduler(t.app);
  expect((await rounds()).map(({ state }) => state)).toEqual(['closing', 'active']);
});

test('a start of a running schedule replaces interval and template and creates no additional round', async () => {
  await start();
  await runScheduler(t.app);
  const before = await status();
  const same = await start({ template: { ...template, title: 'Another' } });
  expect(same.body).toMatchObject({ nextAt: before.nextAt, template: { title: 'Another' }, lastRound: before.lastRound });
  const sooner = await start({ intervalSec: 60 });
  expect(Date.parse(sooner.body.nextAt ?? '')).toBeLessThan(Date.parse(before.nextAt ?? ''));
  await endActive();
  await runScheduler(t.app);
  expect(await rounds()).toHaveLength(1);
});

test('the first round waits for startAt', async () => {
  const startAt = new Date(t.clock.now().getTime() + 60_000).toISOString();
  expect((await start({ startAt })).body.nextAt).toBe(startAt);
  await runScheduler(t.app);
  expect(await rounds()).toEqual([]);
});

test('the schedule survives a restart', async () => {
  await start();
  await runScheduler(t.app);
  const before = await status();
  const restarted = await startApi(t.env, t.clock);
  try {
    expect((await adminOf(restarted).ok(getStatus)).body).toEqual(before);
  } finally {
    await restarted.close();
  }
});

test('an invalid schedule is refused with 400', async () => {
  const refused = async (body: object) => {
    const answer = await send(t, '/auto/start', { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` }, json: body });
    return [answer.status, JSON.stringify(await answer.json())];
  };
  const whole = { intervalSec: HOUR_SEC, template };
  for (const [body, field] of [
    [{ template }, 'intervalSec'],
    [{ ...whole, intervalSec: 9 }, 'intervalSec'],
    [{ ...whole, intervalSec: 2_592_001 }, 'intervalSec'],
    [{ intervalSec: 60 }, 'template'],
    [{ ...whole, template: { ...template, prizes: [] } }, 'prizes'],
    [{ ...whole, template: { ...template, title: `${'x'.repeat(112)} {date}` } }, 'title'],
    [{ ...whole, startAt: 'tomorrow' }, 'startAt'],
    [{ ...whole, startAt: '2036-01-01T00:00:00.000Z' }, 'startAt'],
    [{ ...whole, every: 1 }, 'every'],
  ] as const) {
    expect(await refused(body)).toEqual([400, expect.stringContaining(field)]);
  }
  expect((await status()).running).toBe(false);
});

test('only an admin token with the scope rounds can change the schedule', async () => {
  for (const client of [clientOf(t), adminOf(t, NARROW)]) {
    const answers = [
      await client.call(postStart, { body: { intervalSec: HOUR_SEC, template } }),
      await client.call(postStop),
      await client.call(getStatus),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([403, 403, 403]);
  }
});

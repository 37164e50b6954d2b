import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ACTIVITY_KINDS, appendActivities, appendPoints, LEDGER_CAUSES, type LedgerEntry, openDay } from '#areas/points';
import { windowOf } from '#areas/quests/windows.ts';
import { newId } from '#lib/ids.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const DAY_MS = 86_400_000;

/** Returns the days that the database computes for causes, in their order. */
async function causeDays(causes: readonly (readonly [cause: string, id: string])[]): Promise<number[]> {
  const rows = await sql<{ day: number }>(
    t.app,
    'select cause_day(c, id) as day from unnest($1::text[], $2::text[]) with ordinality as u(c, id, n) order by n',
    [causes.map(([cause]) => cause), causes.map(([, id]) => id)],
  );
  return rows.map(({ day }) => day);
}

/** Returns a UUIDv7 with the given time, ms since 1970. */
const idAt = (ms: number) =>
  newId().replace(
    /^.{13}/,
    ms
      .toString(16)
      .padStart(12, '0')
      .replace(/^(.{8})/, '$1-'),
  );

test('the day of a play, score, void, clip, conversion or adjustment is the day of its id', async () => {
  const causes = ['play', 'score', 'void', 'clip', 'conversion', 'adjustment'].flatMap((cause) =>
    [0, 1, 20_779, 30_000].flatMap((day) => [day * DAY_MS, (day + 1) * DAY_MS - 1].map((ms) => [cause, idAt(ms), day] as const)),
  );
  expect(await causeDays(causes.map(([cause, id]) => [cause, id]))).toEqual(causes.map(([, , day]) => day));
  const before = Math.floor(Date.now() / DAY_MS);
  const [now] = await causeDays([['score', newId()]]);
  expect([before, Math.floor(Date.now() / DAY_MS)]).toContain(now);
});

test('the day of a daily quest is its day, and the day of a weekly quest is the Monday of its week, over thirty years', async () => {
  const days = Array.from({ length: 11_000 }, (_, i) => 18_000 + i);
  for (const [repeat, dayOf] of [
    ['daily', (day: number) => day],
    ['weekly', (day: number) => day - ((day + 3) % 7)],
    ['once', () => 0],
  ] as const) {
    const keys = days.map((day) => ['quest', `a-quest:${windowOf(repeat, 0, null, day).key}`] as const);
    expect(await causeDays(keys)).toEqual(days.map(dayOf));
  }
});

test('the day of a burn is the date in its id, and a cause without a time has day 0', async () => {
  expect(
    await causeDays([
      ['burn', '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW:3:2026-11-22'],
      ['link', 'x:2026-11-22'],
      ['link', 'x:2026-99-99'],
      ['bind', 'So11111111111111111111111111111111111111112'],
      ['follow', 'x:12'],
      ['score', 'not-an-id'],
      ['score', '11111111-1111-4111-8111-111111111111'],
    ]),
  ).toEqual([20_779, 0, 0, 0, 0, 0, 0]);
});

test('every source of points and every kind of activity has a day or is known to have none', async () => {
  const withoutTime: readonly string[] = ['link', 'follow', 'repost', 'mention', 'bind'];
  const causes = [...new Set([...LEDGER_CAUSES.map(({ source }) => source), ...ACTIVITY_KINDS])].filter((cause) => !withoutTime.includes(cause));
  const days = await causeDays(causes.flatMap((cause) => [newId(), 'id:2026-11-22'].map((id) => [cause, id] as const)));
  expect(causes.filter((_, i) => days[2 * i] === 0 && days[2 * i + 1] === 0)).toEqual([]);
});

test('a retry on a later day adds no ledger row and no activity', async () => {
  const { wallet } = await signIn(t);
  const cause = { wallet, mode: 'regular', kind: 'game', reason: 'score', source: 'score', sourceId: newId(), points: 5, rewards: true } as const;
  const write = (entry: LedgerEntry) =>
    t.app.tx(async (tx) => {
      await appendPoints(tx, await openDay(tx), [entry]);
      await appendActivities(tx, [{ kind: 'score', sourceId: entry.sourceId, wallet, gameId: 'token-pusher', amount: 5 }]);
    });
  await write(cause);
  await t.clock.set(new Date(t.clock.now().getTime() + 3 * DAY_MS));
  await write(cause);
  const rows = 'select cause_day, day from ledger where wallet = $1 union all select cause_day, day from activities where wallet = $1';
  const [entry, activity] = await sql<{ cause_day: number; day: number }>(t.app, rows, [wallet]);
  expect(await sql(t.app, rows, [wallet])).toHaveLength(2);
  expect(entry).toEqual(activity);
});

test('every cause of points and every kind of activity that is written again in the next month adds no row', async () => {
  const { wallet } = await signIn(t);
  const now = t.clock.now();
  const firstOfNext = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  const lastDay = new Date(firstOfNext - 1).toISOString().slice(0, 10);
  const idOf = (cause: string) =>
    cause === 'quest' ? `a-quest:${lastDay}` : cause === 'burn' ? `signature:3:${lastDay}` : cause === 'bind' ? wallet : newId();
  const entries = LEDGER_CAUSES.map((cause) => ({
    ...cause,
    wallet,
    mode: 'regular' as const,
    sourceId: idOf(cause.source),
    points: 5,
    rewards: true,
  }));
  const activities = ACTIVITY_KINDS.map((kind) => ({ kind, sourceId: idOf(kind), wallet, gameId: null, amount: 0 }));
  const write = () =>
    t.app.tx(async (tx) => {
      await appendPoints(tx, await openDay(tx), entries);
      await appendActivities(tx, activities);
    });
  const count = async () => {
    const tables = ['ledger', 'activities'].map((table) => sql<{ day: number }>(t.app, `select day from ${table} where wallet = $1`, [wallet]));
    return (await Promise.all(tables)).map((rows) => rows.length);
  };
  await t.clock.set(new Date(firstOfNext - 60_000));
  await write();
  expect(await count()).toEqual([entries.length, activities.length]);
  await t.clock.set(new Date(firstOfNext + 60_000));
  await write();
  expect(await count()).toEqual([entries.length, activities.length]);
  const [total] = await sql<{ total: number }>(t.app, `select total::int as total from standings where board = 'global' and wallet = $1`, [wallet]);
  expect(total).toEqual({ total: 5 * entries.length });
});

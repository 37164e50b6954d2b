import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { DRAWN, DRAWN_TICKET, type ShownRound, showRound, WALLET } from '#test/support/areas/social-rounds.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { send } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
});
afterAll(() => t.close());
beforeEach(async () => {
  // Rounds are never deleted, except here.
  await sql(t.app, 'truncate rounds cascade');
});

interface Listed {
  readonly id: string;
  readonly status: string;
  readonly winner?: string | null;
}
async function list(path: string): Promise<{ status: number; ids: string[]; states: string[]; total: string | null; body: Listed[] }> {
  const response = await send(t, path);
  const body = (await response.json()) as Listed[];
  if (!Array.isArray(body)) return { status: response.status, ids: [], states: [], total: null, body: [] };
  const total = response.headers.get('x-total-count');
  return { status: response.status, ids: body.map(({ id }) => id), states: body.map(({ status }) => status), total, body };
}
const read = async <Body>(path: string): Promise<Body> => (await (await send(t, path)).json()) as Body;
/** Stores a round that was created in minute `n`. */
const show = (n: number, round: ShownRound) => showRound(t.app, { ...round, createdAt: `2026-11-21T11:${10 + n}:00.000Z` });

/** Stores one chat round of each state. The first one is the oldest. */
async function showAll(): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  for (const [n, state] of (['finalized', 'void', 'committed', 'closing', 'active', 'pending'] as const).entries()) {
    ids[state] = await show(n, state === 'finalized' ? DRAWN : { state });
  }
  return ids;
}

test('GET /chat/rounds lists the rounds of all states, newest first', async () => {
  await showAll();
  await show(9, DRAWN_TICKET);
  expect(await list('/chat/rounds')).toMatchObject({
    ...{ status: 200, total: '6' },
    states: ['pending', 'active', 'closing', 'committed', 'void', 'finalized'],
  });
});

test('GET /chat/rounds?status= finds a round that is closing, committed or drawn', async () => {
  const ids = await showAll();
  expect((await list('/chat/rounds?status=closing')).ids).toEqual([ids.closing]);
  expect((await list('/chat/rounds?status=committed')).ids).toEqual([ids.committed]);
  expect((await list('/chat/rounds?status=finalized')).ids).toEqual([ids.finalized]);
  expect((await list('/chat/rounds?status=committed,closing,committed')).ids).toEqual([ids.closing, ids.committed]);
});

test('a page of a list of rounds spans states, and the total counts only the listed states', async () => {
  const made = [];
  for (let n = 0; n < 8; n++) made.unshift(await show(n, n % 2 ? { state: 'closing' } : { state: 'committed' }));
  await show(8, { state: 'pending' });
  const pages = await Promise.all([0, 3, 6, 9].map((offset) => list(`/chat/rounds?status=closing,committed&limit=3&offset=${offset}`)));
  expect(pages.flatMap(({ ids }) => ids)).toEqual(made);
  expect(pages.map(({ total, ids }) => [total, ids.length])).toEqual([
    ['8', 3],
    ['8', 3],
    ['8', 2],
    ['8', 0],
  ]);
});

test.each(['/chat/rounds', '/rounds'])('%s is empty without rounds, and refuses an unknown status', async (path) => {
  expect(await list(path)).toMatchObject({ status: 200, ids: [], total: '0' });
  for (const status of ['drawn', '', 'closing,', 'CLOSING']) {
    const response = await send(t, `${path}?status=${status}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: 'status must be a comma-separated list of pending, active, closing, committed, finalized, void' });
  }
  expect((await send(t, `${path}?limit=501`)).status).toBe(400);
});

test('GET /rounds lists legacy rounds by status, each with its winner', async () => {
  const drawn = await show(1, DRAWN_TICKET);
  const other = await show(2, { ...DRAWN_TICKET, ticket: 7, winners: [{ wallet: '7YttLkHDoNj9wyDur5pM1ejNaAvT9X4eqaYcHQqtj2G5', amount: '1' }] });
  const committed = await show(3, { kind: 'legacy', state: 'committed' });
  await show(4, { state: 'committed' });
  expect((await list('/rounds')).ids).toEqual([committed, other, drawn]);
  expect((await list('/rounds?status=committed')).ids).toEqual([committed]);
  const { body, total } = await list('/rounds?status=finalized');
  expect([body.map(({ id, winner }) => [id, winner]), total]).toEqual([
    [
      [other, '7YttLkHDoNj9wyDur5pM1ejNaAvT9X4eqaYcHQqtj2G5'],
      [drawn, WALLET],
    ],
    '2',
  ]);
});

test('a list of rounds answers 304 to its ETag', async () => {
  await show(0, { state: 'closing' });
  const etag = (await send(t, '/chat/rounds')).headers.get('etag') ?? '';
  expect((await send(t, '/chat/rounds', { headers: { 'If-None-Match': etag } })).status).toBe(304);
});

interface Status {
  readonly activeRound: unknown;
  readonly currentRound: unknown;
}
const untilCurrent = (expected: unknown) => retryUntilPass(async () => expect((await read<Status>('/chat/status')).currentRound).toEqual(expected));

test('currentRound of /chat/status is the active round, or the newest one that is not drawn yet', async () => {
  await untilCurrent(null);
  await show(0, DRAWN);
  await show(1, { state: 'pending' });
  const closes = '2026-11-21T12:00:00.000Z';
  const committed = await show(2, { state: 'committed' });
  await untilCurrent({ id: committed, status: 'committed', closesAt: closes, drawDueAt: '2026-11-21T12:03:00.000Z' });
  const closing = await show(3, { state: 'closing' });
  await untilCurrent({ id: closing, status: 'closing', closesAt: closes, drawDueAt: null });
  const active = await show(0, { state: 'active' });
  await untilCurrent({ id: active, status: 'active', closesAt: closes, drawDueAt: null });
});

test('active events list the active chat round, and the rounds that are closed and not drawn yet', async () => {
  const committed = await show(0, { state: 'committed', title: 'Thursday' });
  const closing = await show(1, { state: 'closing' });
  const active = await show(0, { state: 'active' });
  await show(2, DRAWN);
  await show(3, { state: 'void' });
  const { activeEvents } = await read<{ activeEvents: { id: string; status: string }[] }>('/arcade/state');
  expect(activeEvents.map(({ id, status }) => [id, status])).toEqual([
    [active, 'active'],
    [closing, 'closing'],
    [committed, 'committed'],
  ]);
  expect(activeEvents[2]).toEqual({
    ...{ type: 'chat_round', id: committed, title: 'Thursday', status: 'committed' },
    ...{ startsAt: '2026-11-21T11:50:00.000Z', endsAt: '2026-11-21T12:00:00.000Z' },
  });
});

test('active events list at most ten chat rounds', async () => {
  for (let n = 0; n < 12; n++) await show(n, { state: 'closing' });
  const { activeEvents } = await read<{ activeEvents: unknown[] }>('/arcade/state');
  expect(activeEvents).toHaveLength(10);
});

test('the latest round for sharing is the one that closed last, drawn or not', async () => {
  const latest = async () => (await read<{ id?: string }>('/social/latest')).id;
  const active = await show(9, { state: 'active' });
  expect(await latest()).toBe(active);
  const closing = await show(1, { state: 'closing' });
  expect(await latest()).toBe(closing);
  const newer = await show(2, { ...DRAWN, closesAt: '2026-11-21T12:10:00.000Z', endedAt: '2026-11-21T12:13:10.000Z' });
  expect(await latest()).toBe(newer);
  const committed = await show(3, { state: 'committed', closesAt: '2026-11-21T12:20:00.000Z' });
  expect(await latest()).toBe(committed);
  await show(4, { state: 'void', closesAt: '2026-11-21T12:30:00.000Z', endedAt: '2026-11-21T12:33:10.000Z' });
  expect(await latest()).toBe(committed);
});

test('a list of rounds in a rare state reads the index, not the drawn rounds', async () => {
  await sql(
    t.app,
    `insert into rounds (kind, state, created_by, ticket_price, parameters, parameters_hash, opens_at, closes_at, closed_at, ended_at, void_reason, running_hash, announcement, closed)
     select 'legacy', 'void', 'test', 1, '{}', '00', now(), now(), now(), now(), 'no-entries', '', '{}', '{}' from generate_series(1, 5000)`,
  );
  await sql(t.app, 'analyze rounds');
  await show(0, { kind: 'legacy', state: 'closing' });
  const plan = await sql<{ 'QUERY PLAN': string }>(
    t.app,
    `explain select n.* from unnest(array['closing', 'committed']) as s(state)
     cross join lateral (select id, created_at from rounds where kind = 'legacy' and state = s.state order by created_at desc, id desc limit 50) n`,
  );
  expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toMatch(/rounds_listed/);
});

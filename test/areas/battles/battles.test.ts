import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { advanceBattles } from '#areas/battles';
import { BattleView } from '#areas/battles/schemas.ts';
import { MAX_OWN_BATTLES } from '#areas/battles/seats.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { battle, GAME, OTHER_GAME, readEvents, registerGames } from '#test/support/areas/battles.ts';
import { sql } from '#test/support/areas/boards.ts';
import { statusAndBody } from '#test/support/areas/epochs.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let someone: SignedIn;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGames(t);
  someone = await signIn(t);
});
afterAll(() => t.close());

const people = (n: number): Promise<SignedIn[]> => Promise.all(Array.from({ length: n }, () => signIn(t)));
async function two(): Promise<[SignedIn, SignedIn]> {
  return await Promise.all([signIn(t), signIn(t)]);
}
const create = (who: SignedIn, terms: object = {}, headers: Record<string, string> = {}) =>
  who.fetch('/battle/create', { json: { gameId: GAME, ...terms }, headers });
const opened = async (who: SignedIn, terms: object = {}) => {
  const { id } = await jsonOf(create(who, terms), BattleView);
  return id;
};
const join = (who: SignedIn, id: string) => who.fetch(`/battle/${id}/join`, { method: 'POST' });
const start = (who: SignedIn, id: string) => who.fetch(`/battle/${id}/start`, { method: 'POST' });
const look = (id: string) => jsonOf(send(t, `/battle/${id}`), BattleView);
const walletsOf = ({ participants }: { readonly participants: readonly { readonly wallet: string }[] }) => participants.map(({ wallet }) => wallet);
async function refused(asked: Promise<Response>): Promise<string> {
  const [status, body] = await statusAndBody(asked);
  return `${status} ${(body as { error: string }).error}`;
}
const ban = (wallet: string, at: string | null) => sql(t.app, 'update players set banned_at = $2::timestamptz where wallet = $1', [wallet, at]);

const ANY = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
test.each(['create', `${ANY}/join`, `${ANY}/start`])('POST /battle/%s requires a session', async (path) => {
  expect(await refused(send(t, `/battle/${path}`, { json: { gameId: GAME } }))).toMatch(/^401 /);
});

test('POST /battle/create returns the battle with its game, its join path and its creator on seat 1', async () => {
  const me = await signIn(t);
  const answer = await create(me, { maxPlayers: 3, durationSec: 60 });
  expect(answer.status).toBe(201);
  const made = await jsonOf(answer, BattleView);
  expect(answer.headers.get('Location')).toBe(`/battle/${made.id}`);
  expect(made).toMatchObject({
    ...{ status: 'open', maxPlayers: 3, durationSec: 60, createdBy: me.wallet, startedAt: null, endsAt: null, endedAt: null, winners: [] },
    game: {
      id: GAME,
      name: 'Test game',
      category: 'test',
      verification: 'none',
      version: 1,
      normalization: { method: 'linear', min: 0, max: 10_000 },
    },
    join: { path: `/battle/${made.id}/join`, seatsLeft: 2 },
    participants: [{ wallet: me.wallet, seat: 1, joinedAt: made.createdAt, score: null, scores: 0, place: null }],
  });
  expect(Date.parse(made.join?.expiresAt ?? '') - Date.parse(made.createdAt)).toBe(3_600_000);
  expect(await look(made.id)).toEqual(made);
});

test('a battle has two seats and lasts five minutes by default', async () => {
  expect(await jsonOf(create(someone), BattleView)).toMatchObject({ maxPlayers: 2, durationSec: 300 });
});

test.each([
  [{ gameId: 'no-such-game' }, '404 gameId must be a game of this arcade'],
  [{ gameId: 7 }, '400 gameId'],
  [{ gameId: undefined }, '400 gameId is required'],
  [{ maxPlayers: 1 }, '400 maxPlayers'],
  [{ maxPlayers: 17 }, '400 maxPlayers'],
  [{ maxPlayers: 2.5 }, '400 maxPlayers'],
  [{ durationSec: 59 }, '400 durationSec'],
  [{ durationSec: 86_401 }, '400 durationSec'],
  [{ stake: 5 }, '400 stake is not a known field'],
])('terms with %j are refused', async (terms, error) => {
  expect(await refused(create(someone, terms))).toContain(error);
});

test('repeated requests with one Idempotency-Key create one battle', async () => {
  const me = await signIn(t);
  const headers = { 'Idempotency-Key': randomUUID() };
  const all = await Promise.all(Array.from({ length: 5 }, () => jsonOf(create(me, {}, headers), BattleView)));
  expect(new Set(all.map(({ id }) => id)).size).toBe(1);
  expect(await refused(create(me, { maxPlayers: 3 }, headers))).toMatch(/^409 Idempotency-Key/);
});

test(`a wallet can have at most ${MAX_OWN_BATTLES} open or running battles, even with concurrent requests, and a further one after one ends`, async () => {
  const me = await signIn(t);
  const answers = await Promise.all(Array.from({ length: MAX_OWN_BATTLES + 5 }, () => create(me)));
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(MAX_OWN_BATTLES).fill(201), ...Array(5).fill(409)]);
  expect(await refused(create(me))).toBe('409 a wallet can have at most 5 open or running battles, wait until one ends');
  await sql(t.app, `update battles set state = 'expired', ended_at = app_now() where id = (select id from battles where created_by = $1 limit 1)`, [
    me.wallet,
  ]);
  expect((await create(me)).status).toBe(201);
});

test('taking the last seat starts the battle, and joining again returns it unchanged', async () => {
  const [me, other] = await two();
  const third = await signIn(t);
  const id = await opened(me, { maxPlayers: 3 });
  const open = await jsonOf(join(other, id), BattleView);
  expect(open).toMatchObject({ status: 'open', join: { seatsLeft: 1 } });
  expect(await statusAndBody(join(other, id))).toEqual([200, open]);
  const running = await jsonOf(join(third, id), BattleView);
  expect(running).toMatchObject({ status: 'running', join: null });
  expect(walletsOf(running)).toEqual([me, other, third].map(({ wallet }) => wallet));
  expect(Date.parse(running.endsAt ?? '') - Date.parse(running.startedAt ?? '')).toBe(300_000);
  for (const who of [me, other, third]) expect(await statusAndBody(join(who, id))).toEqual([200, running]);
  expect(await readEvents(t.app, id)).toEqual([
    { type: 'battle_started', payload: { battleId: id, gameId: GAME, players: walletsOf(running), endsAt: running.endsAt } },
  ]);
});

test('everybody hears that a battle was created, joined, started and expired, each once and in this order', async () => {
  const [me, other] = await two();
  const types = ['battle_created', 'battle_joined', 'battle_started', 'battle_expired'];
  const made = await jsonOf(create(me, { maxPlayers: 3, durationSec: 90 }, { 'Idempotency-Key': 'once' }), BattleView);
  await create(me, { maxPlayers: 3, durationSec: 90 }, { 'Idempotency-Key': 'once' });
  for (let i = 0; i < 2; i++) expect((await join(other, made.id)).status).toBe(200);
  expect((await join(someone, made.id)).status).toBe(200);
  const ids = { battleId: made.id, gameId: GAME };
  expect(await readEvents(t.app, made.id, types)).toEqual([
    {
      type: 'battle_created',
      payload: { ...ids, createdBy: me.wallet, maxPlayers: 3, durationSec: 90, expiresAt: made.join?.expiresAt },
    },
    { type: 'battle_joined', payload: { ...ids, wallet: other.wallet, seat: 2, seatsLeft: 1 } },
    { type: 'battle_joined', payload: { ...ids, wallet: someone.wallet, seat: 3, seatsLeft: 0 } },
    { type: 'battle_started', payload: expect.objectContaining(ids) },
  ]);
  const stale = await opened(me);
  await sql(t.app, `update battles set due_at = app_now() - interval '1 second' where id = $1`, [stale]);
  await Promise.all([advanceBattles(t.app), advanceBattles(t.app)]);
  expect((await readEvents(t.app, stale, types)).map(({ type, payload }) => ({ type, ...payload }))).toEqual([
    expect.objectContaining({ type: 'battle_created' }),
    { type: 'battle_expired', battleId: stale, gameId: GAME },
  ]);
});

test('a battle that is full, running, expired or unknown cannot be joined', async () => {
  const [me, other] = await two();
  const late = await signIn(t);
  const [full, running, stale] = [await opened(me), await opened(me, { maxPlayers: 5 }), await opened(me)];
  for (const id of [full, running]) expect((await join(other, id)).status).toBe(200);
  expect((await start(me, running)).status).toBe(200);
  expect(await refused(join(late, full))).toBe('409 the battle is full');
  expect(await refused(join(late, running))).toBe('409 the battle must be open to be joined, it is running');
  await sql(t.app, `update battles set due_at = app_now() where id = $1`, [stale]);
  expect((await look(stale)).join).toBeNull();
  for (let i = 0; i < 2; i++) {
    expect(await refused(join(late, stale))).toBe('409 the battle must be open to be joined, it is expired');
    expect(await refused(start(me, stale))).toBe('409 the battle must be open to be started, it is expired');
    await advanceBattles(t.app);
  }
  expect(await look(stale)).toMatchObject({ status: 'expired', startedAt: null, endsAt: null, endedAt: expect.any(String), winners: [] });
  expect(await readEvents(t.app, stale)).toEqual([]);
  for (const path of ['', '/join', '/start']) {
    const method = path === '' ? 'GET' : 'POST';
    expect(await refused(me.fetch(`/battle/${randomUUID()}${path}`, { method }))).toBe('404 no such battle');
    expect(await refused(me.fetch(`/battle/nonsense${path}`, { method }))).toMatch(/^404 no such resource: id must be a UUID/);
  }
});

test('only the creator can start a battle, once, and only with a second participant', async () => {
  const [me, other] = await two();
  const id = await opened(me, { maxPlayers: 16, durationSec: 3_600 });
  expect(await refused(start(me, id))).toBe('409 the battle must have at least 2 participants to be started');
  await join(other, id);
  expect(await refused(start(other, id))).toBe('403 only the creator of a battle may start it');
  const running = await jsonOf(start(me, id), BattleView);
  expect(running).toMatchObject({ status: 'running', join: null });
  expect(Date.parse(running.endsAt ?? '') - Date.parse(running.startedAt ?? '')).toBe(3_600_000);
  expect(await refused(start(me, id))).toBe('409 the battle must be open to be started, it is running');
  expect(await readEvents(t.app, id)).toHaveLength(1);
});

test('a banned wallet cannot create, join or start battles', async () => {
  const [me, other] = await two();
  const [mine, theirs] = [await opened(me), await opened(other)];
  await ban(me.wallet, '2026-01-01');
  for (const asked of [create(me), join(me, theirs), join(me, mine), start(me, mine)]) expect(await refused(asked)).toBe('403 this wallet is banned');
  await ban(me.wallet, null);
  expect((await join(me, theirs)).status).toBe(200);
});

test('GET /battle/active lists open and running battles newest first, with paging and a filter by game', async () => {
  await sql(t.app, `update battles set state = 'expired', ended_at = app_now() where state = 'open'`);
  await sql(t.app, `update battles set state = 'finished', ended_at = app_now() where state = 'running'`);
  const list = async (query = '') => {
    const answer = await send(t, `/battle/active${query}`);
    return { total: answer.headers.get('X-Total-Count'), battles: await jsonOf(answer, z.array(BattleView)) };
  };
  expect(await list()).toEqual({ total: '0', battles: [] });
  const [me, other] = await two();
  const ids = [await opened(me), await opened(me, { gameId: OTHER_GAME }), await opened(other), await opened(other, { gameId: OTHER_GAME })];
  await join(other, ids[0] ?? '');
  const newest = await Promise.all([...ids].reverse().map(look));
  expect(newest.map(({ status }) => status)).toEqual(['open', 'open', 'open', 'running']);
  expect(await list()).toEqual({ total: '4', battles: newest });
  expect(await list('?limit=2&offset=1')).toEqual({ total: '4', battles: newest.slice(1, 3) });
  expect(await list(`?gameId=${OTHER_GAME}&limit=1`)).toEqual({ total: '2', battles: newest.slice(0, 1) });
  expect(await list('?gameId=no-such-game')).toEqual({ total: '0', battles: [] });
  for (const query of ['?limit=0', '?limit=501', '?offset=-1', '?gameId=No%20Game'])
    expect((await send(t, `/battle/active${query}`)).status).toBe(400);
  const { headers } = await send(t, '/battle/active');
  const again = await send(t, '/battle/active', { headers: { 'If-None-Match': headers.get('ETag') ?? '' } });
  expect([headers.get('Cache-Control'), again.status]).toEqual(['no-cache', 304]);
});

test('of fifty concurrent joins only as many succeed as there are seats', async () => {
  const [me, ...others] = await people(51);
  if (!me) throw new Error('nobody');
  const id = await opened(me, { maxPlayers: 16 });
  const answers = await Promise.all(others.map((who) => join(who, id)));
  const seated = others.filter((_, i) => answers[i]?.status === 200).map(({ wallet }) => wallet);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(35);
  const full = await battle(t.app, id);
  expect([full.status, full.participants.map(({ seat }) => seat)]).toEqual(['running', Array.from({ length: 16 }, (_, i) => i + 1)]);
  expect(walletsOf(full).sort()).toEqual([me.wallet, ...seated].sort());
  expect(await readEvents(t.app, id)).toHaveLength(1);
});

test('fifty concurrent joins of one wallet take one seat', async () => {
  const [me, other] = await two();
  const id = await opened(me, { maxPlayers: 3 });
  const answers = await Promise.all(Array.from({ length: 50 }, () => join(other, id)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(walletsOf(await battle(t.app, id))).toEqual([me.wallet, other.wallet]);
});

test('concurrent starts, joins and expiry leave one consistent state, and every successful join has a seat', async () => {
  const [me, first, ...others] = await people(8);
  if (!me || !first) throw new Error('nobody');
  for (let round = 0; round < 4; round++) {
    const id = await opened(me, { maxPlayers: 6 });
    await join(first, id);
    // Lets the battle expire while the requests run.
    await sql(t.app, `update battles set due_at = app_now() + make_interval(secs => $2) where id = $1`, [id, 0.005 * round]);
    const asked = [...others.map((who) => join(who, id)), ...[me, me, me].map((who) => start(who, id))];
    const sweeps = [advanceBattles(t.app), advanceBattles(t.app)];
    const answers = await Promise.all(asked);
    await Promise.all(sweeps);
    await sql(t.app, 'select pg_sleep(0.03)');
    await advanceBattles(t.app);
    const end = await battle(t.app, id);
    const started = answers.slice(others.length).filter(({ status }) => status === 200).length;
    const seated = others.filter((_, i) => answers[i]?.status === 200).map(({ wallet }) => wallet);
    expect(walletsOf(end).sort()).toEqual([me.wallet, first.wallet, ...seated].sort());
    const isFull = end.participants.length === end.maxPlayers;
    expect(end.status).toBe(started > 0 || isFull ? 'running' : 'expired');
    expect(started).toBeLessThanOrEqual(1);
    expect(await readEvents(t.app, id)).toHaveLength(end.status === 'running' ? 1 : 0);
    await sql(t.app, `update battles set state = 'finished', ended_at = app_now() where id = $1 and state = 'running'`, [id]);
  }
});

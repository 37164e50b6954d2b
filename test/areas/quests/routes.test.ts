import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { givePoints, sql } from '#test/support/areas/boards.ts';
import { act, asAdmin, consume, deleteAllQuests, earned, makeQuest, ownQuest } from '#test/support/areas/quests.ts';
import { createWallet, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({
    workers: false,
    env: { ADMIN_TOKENS: `${ADMIN_TOKEN},money:money:a-token-for-money-only` },
  });
  await registerGame(t.url, ADMIN_TOKEN, 'alpha');
});
afterEach(() => deleteAllQuests(t.app));
afterAll(() => t.close());

const PLAY = { type: 'plays', count: 1 };
const quest = { title: 'A quest', requirement: PLAY, points: 100 };
const status = async (answer: Promise<Response>) => (await answer).status;
const errorOf = async (answer: Promise<Response>) => {
  const response = await answer;
  return [response.status, ((await response.json()) as { error?: string }).error];
};
const post = (json: unknown, headers: Record<string, string> = {}) => asAdmin(t, '/quests', { json, headers });

test('a gate must name a token that is configured', async () => {
  const answer = await post({ ...quest, gates: { minTokenBalance: { amount: '1', mint: 'reward' } } });
  const error = 'gates.minTokenBalance.mint must not be reward, because this token is not configured';
  expect([answer.status, await answer.json()]).toMatchObject([400, { error }]);
});

test('a quest that an operator creates is publicly listed', async () => {
  const created = await post({ ...quest, id: 'first', category: 'arcade', window: { startsAt: '2020-01-01T00:00:00.000Z' } });
  const shown = {
    id: 'first',
    version: 1,
    title: 'A quest',
    description: 'A quest',
    category: 'arcade',
    requirement: PLAY,
    gates: {},
    points: 100,
    window: { startsAt: '2020-01-01T00:00:00.000Z' },
    repeat: 'once',
    task: false,
    burnEventId: null,
  };
  expect([created.status, await created.json()]).toEqual([
    201,
    { ...shown, active: true, createdAt: expect.any(String), updatedAt: expect.any(String) },
  ]);
  const listed = await send(t, '/quests');
  expect([listed.status, listed.headers.get('X-Total-Count'), await listed.json()]).toEqual([200, '1', [shown]]);
  expect(await status(send(t, '/quests', { headers: { 'If-None-Match': listed.headers.get('ETag') ?? '' } }))).toBe(304);
});

test('the list of quests is paginated and contains open quests only', async () => {
  for (const id of ['a', 'b', 'c']) await makeQuest(t, { ...quest, id: `page-${id}`, category: `of-${id}` });
  await makeQuest(t, { ...quest, active: false });
  await makeQuest(t, { ...quest, window: { startsAt: '2990-01-01T00:00:00.000Z' } });
  await makeQuest(t, { ...quest, window: { endsAt: '2020-01-01T00:00:00.000Z' } });
  const ids = async (query: string) => ((await (await send(t, `/quests${query}`)).json()) as { id: string }[]).map(({ id }) => id);
  expect(await ids('')).toEqual(['page-a', 'page-b', 'page-c']);
  expect(await ids('?limit=1&offset=1')).toEqual(['page-b']);
  expect(await ids('?category=of-c')).toEqual(['page-c']);
  expect(await errorOf(send(t, '/quests?limit=501'))).toEqual([400, 'limit must be at most 500']);
});

test.each<[string, object, string]>([
  ['no points', { points: 0 }, 'points must be at least 1'],
  ['an unknown game', { requirement: { ...PLAY, gameId: 'no-such-game' } }, 'requirement must name games of this arcade as gameId'],
  ['no requirement', { requirement: undefined }, 'requirement must be an object'],
  ['an unknown field', { prize: 1 }, 'prize is not a known field'],
  ['a task that is not daily', { task: true }, 'repeat must be daily when task is true'],
  [
    'an end before the start',
    { window: { startsAt: '2026-01-02T00:00:00Z', endsAt: '2026-01-01T00:00:00Z' } },
    'window.endsAt must be after startsAt',
  ],
  [
    'too many conditions',
    { requirement: { all: [{ all: Array(11).fill(PLAY) }, { any: Array(10).fill(PLAY) }] } },
    'requirement must have at most 20 conditions',
  ],
  ['an invalid id', { id: 'Not One' }, 'id must be 1 to 64 lower-case letters, digits and inner hyphens'],
])('creating a quest with %s is refused with 400', async (_fault, change, error) => {
  expect(await errorOf(post({ ...quest, ...change }))).toEqual([400, error]);
});

test('a requirement may nest three groups but not four', async () => {
  const deep = (n: number): object => (n === 0 ? PLAY : { all: [deep(n - 1)] });
  expect(await status(post({ ...quest, requirement: deep(3) }))).toBe(201);
  expect(await status(post({ ...quest, requirement: deep(4) }))).toBe(400);
  expect(await status(post({ ...quest, requirement: { all: [] } }))).toBe(400);
  expect(await status(post({ ...quest, requirement: { type: 'plays', count: 1, extra: 1 } }))).toBe(400);
});

test('operator endpoints refuse players and tokens of another scope; wallet endpoints require a session', async () => {
  const id = await makeQuest(t, quest);
  const player = await signIn(t);
  const money = { Authorization: 'Bearer a-token-for-money-only' };
  const requests: [string, object][] = [
    ['/quests', { method: 'POST', json: quest }],
    [`/quests/${id}`, {}],
    [`/quests/${id}`, { method: 'PATCH', json: { points: 1 } }],
    [`/quests/${id}`, { method: 'DELETE' }],
    [`/admin/quests/${id}/complete`, { json: { wallet: player.wallet } }],
  ];
  for (const [path, init] of requests) {
    expect([await status(player.fetch(path, init)), await status(send(t, path, { ...init, headers: money }))]).toEqual([403, 403]);
  }
  for (const path of ['/me/quests', '/me/quest-multiplier', '/ledger/quests', '/api/tasks/daily']) expect(await status(send(t, path))).toBe(401);
});

test('a repeated creation with one idempotency key creates one quest, and an id cannot be used twice', async () => {
  const headers = { 'Idempotency-Key': 'once-please' };
  const [first, second] = [await post({ ...quest, title: 'Once' }, headers), await post({ ...quest, title: 'Once' }, headers)];
  expect(await second.json()).toEqual(await first.json());
  expect(await status(post({ ...quest, title: 'Other' }, headers))).toBe(409);
  await makeQuest(t, { ...quest, id: 'taken' });
  const refused = [409, 'id must be new; the id of a deleted quest cannot be used again'];
  expect(await errorOf(post({ ...quest, id: 'taken' }))).toEqual(refused);
  await asAdmin(t, '/quests/taken', { method: 'DELETE' });
  expect(await errorOf(post({ ...quest, id: 'taken' }))).toEqual(refused);
});

test('creating a quest beyond 200 is refused', async () => {
  await sql(t.app, `insert into quests (id, version, definition) select 'many-' || n, 1, $1::jsonb from generate_series(1, 199) n`, [
    JSON.stringify({ ...quest, description: 'd', category: 'c', window: {}, repeat: 'once', active: false, task: false, burnEventId: null }),
  ]);
  const statuses = await Promise.all(Array.from({ length: 5 }, () => status(post(quest))));
  expect(statuses.sort()).toEqual([201, 409, 409, 409, 409]);
});

test('a patch changes single fields and creates a new version', async () => {
  const id = await makeQuest(t, quest);
  const patch = (json: object, headers: Record<string, string> = {}) => asAdmin(t, `/quests/${id}`, { method: 'PATCH', json, headers });
  const changed = await patch({ title: 'Another', category: 'new' });
  expect([changed.status, await changed.json()]).toMatchObject([
    200,
    { version: 2, title: 'Another', category: 'new', points: 100, requirement: PLAY },
  ]);
  // A patch without a difference creates no version.
  expect(await (await patch({ title: 'Another' })).json()).toMatchObject({ version: 2 });
  expect(await errorOf(patch({ points: 5 }, { 'If-Match': '"1"' }))).toEqual([412, 'If-Match must be the current ETag']);
  expect(await status(patch({ points: 5 }, { 'If-Match': '"2"' }))).toBe(200);
  expect(await errorOf(patch({ task: true }))).toEqual([400, 'repeat must be daily when task is true']);
  expect(await errorOf(patch({ requirement: { ...PLAY, gameId: 'none' } }))).toEqual([400, 'requirement must name games of this arcade as gameId']);
  expect(await status(patch({ id: 'other' }))).toBe(400);
  const detail = await asAdmin(t, `/quests/${id}`);
  expect(detail.headers.get('ETag')).toBe('"3"');
  expect(await detail.json()).toMatchObject({
    version: 3,
    active: true,
    completions: 0,
    versions: [
      { version: 3, by: 'admin-1', definition: { points: 5, title: 'Another' } },
      { version: 2, definition: { points: 100, title: 'Another' } },
      { version: 1, definition: { title: 'A quest' } },
    ],
  });
});

test('a deleted quest is not listed and cannot be completed, and its points stay', async () => {
  const [player, late] = [await signIn(t), await signIn(t)];
  const id = await makeQuest(t, quest);
  await act(t.app, { kind: 'play', wallet: player.wallet, gameId: 'alpha' });
  await consume(t.app);
  const deleted = await asAdmin(t, `/quests/${id}`, { method: 'DELETE' });
  expect([deleted.status, await deleted.text()]).toEqual([204, '']);
  await act(t.app, { kind: 'play', wallet: late.wallet, gameId: 'alpha' });
  await consume(t.app);
  expect([await (await send(t, '/quests')).json(), await ownQuest(player, id)]).toEqual([[], undefined]);
  expect([await earned(t.app, player.wallet), await earned(t.app, late.wallet)]).toEqual([{ [`${id}:once`]: 100 }, {}]);
  expect(await (await player.fetch('/ledger/quests')).json()).toMatchObject([{ questId: id, points: 100 }]);
});

test.each(['no-such-quest', 'Not%20One', '%01', 'x'.repeat(300)])('a quest with the id %s is not found', async (id) => {
  const wallet = createWallet().address;
  const refused = [404, expect.any(String)];
  expect(await errorOf(asAdmin(t, `/quests/${id}`))).toEqual(refused);
  expect(await errorOf(asAdmin(t, `/quests/${id}`, { method: 'PATCH', json: { points: 1 } }))).toEqual(refused);
  expect(await errorOf(asAdmin(t, `/quests/${id}`, { method: 'DELETE' }))).toEqual(refused);
  expect(await errorOf(asAdmin(t, `/admin/quests/${id}/complete`, { json: { wallet } }))).toEqual(refused);
  expect(await errorOf(send(t, `/events/burn/${id}/quests`))).toEqual(refused);
});

test('concurrent manual completions complete a quest once per window', async () => {
  const player = await signIn(t);
  const id = await makeQuest(t, { ...quest, requirement: { type: 'manual' } });
  await act(t.app, { kind: 'play', wallet: player.wallet });
  await consume(t.app);
  expect((await ownQuest(player, id))?.missing).toEqual(['an operator’s confirmation']);
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => asAdmin(t, `/admin/quests/${id}/complete`, { json: { wallet: player.wallet } })),
  );
  expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array(49).fill(409)]);
  const done = answers.find((answer) => answer.status === 200);
  expect(await done?.json()).toMatchObject({
    questId: id,
    wallet: player.wallet,
    window: 'once',
    pointsAwarded: 100,
    by: 'admin-1',
    factors: { streakDays: 1 },
  });
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
  expect(await ownQuest(player, id)).toMatchObject({ completed: true, pointsAwarded: 100 });
  expect(await errorOf(asAdmin(t, `/admin/quests/${id}/complete`, { json: { wallet: 'nobody' } }))).toEqual([400, expect.any(String)]);
});

test('a repeated manual completion with the same idempotency key gets the same response', async () => {
  const { wallet } = await signIn(t);
  const id = await makeQuest(t, { ...quest, active: false });
  const ask = () => asAdmin(t, `/admin/quests/${id}/complete`, { json: { wallet }, headers: { 'Idempotency-Key': `for-${id}` } });
  const [first, second] = [await ask(), await ask()];
  expect([first.status, second.status, await second.json()]).toEqual([200, 200, await first.json()]);
});

test('an operator cannot complete a quest for a banned wallet', async () => {
  const player = await signIn(t);
  const id = await makeQuest(t, quest);
  await sql(t.app, 'update players set banned_at = app_now() where wallet = $1', [player.wallet]);
  expect(await errorOf(asAdmin(t, `/admin/quests/${id}/complete`, { json: { wallet: player.wallet } }))).toEqual([409, 'wallet must not be banned']);
});

test('the quest ledger is paginated, newest first, and contains quest entries only', async () => {
  const player = await signIn(t);
  const ids = [];
  for (let i = 0; i < 3; i++) {
    ids.push(await makeQuest(t, { ...quest, points: 100 + i }));
    await act(t.app, { kind: 'play', wallet: player.wallet, gameId: 'alpha' });
    await consume(t.app);
  }
  await givePoints(t.app, { wallet: player.wallet, points: 5 });
  const page = async (query: string) => {
    const answer = await player.fetch(`/ledger/quests${query}`);
    return [answer.headers.get('X-Total-Count'), ((await answer.json()) as { questId: string }[]).map(({ questId }) => questId)];
  };
  expect(await page('')).toEqual(['3', ids.toReversed()]);
  expect(await page('?limit=1&offset=1')).toEqual(['3', [ids[1]]]);
  expect(await status(player.fetch('/ledger/quests?offset=-1'))).toBe(400);
});

test('queries of the ledger, progress and completions use indexes', async () => {
  const wallet = createWallet().address;
  await sql(
    t.app,
    `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
    select $1, 'regular', 'quest', 'quest', 'quest', 'plan-' || n || ':once', 1, true, 1, app_now(), 0 from generate_series(1, 10000) n`,
    [wallet],
  );
  await sql(
    t.app,
    `insert into wallet_weeks select 'w' || w, 7 * k + 4, 'play', 'alpha', array_fill(1, array[7]), array_fill(0, array[7]) from generate_series(1, 100) w, generate_series(1, 100) k`,
  );
  await sql(t.app, 'analyze ledger');
  await sql(t.app, 'analyze wallet_weeks');
  const plan = async (text: string) => (await sql<Record<'QUERY PLAN', string>>(t.app, `explain ${text}`)).map((row) => row['QUERY PLAN']).join('\n');
  const ofQuests = `from ledger where wallet = '${wallet}' and kind = 'quest' and source = 'quest'`;
  const page = await plan(`select * ${ofQuests} order by at desc, source_id desc limit 50`);
  expect(page).toMatch(/Index Scan using ledger_quests/);
  expect(page).not.toMatch(/-> +Sort|Seq Scan/);
  expect(await plan(`select count(*) from ledger where wallet = 'somebody' and kind = 'quest' and source = 'quest'`)).toMatch(/using ledger_quests/);
  expect(await plan(`select * from wallet_weeks where wallet = 'w7' and week between 3 and 9 and kind = any('{play}')`)).toMatch(
    /using wallet_weeks_pkey/,
  );
});

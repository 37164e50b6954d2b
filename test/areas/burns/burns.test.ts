import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { activateEvent, endBurnEvents, MAX_PENDING } from '#areas/burns/lifecycle.ts';
import { readActiveEvent } from '#areas/burns/rows.ts';
import { BurnEventView } from '#areas/burns/schemas.ts';
import { startApi } from '#test/support/api.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { activateNewEvent, createTestEvent, creditAll, finalizedBurn } from '#test/support/areas/burns.ts';
import { randomWallet, statusAndBody } from '#test/support/areas/epochs.ts';
import { asAdmin } from '#test/support/areas/quests.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type JsonInit, type SignedIn, send, signIn } from '#test/support/wallet.ts';

const MINT = bs58.encode(randomBytes(32));
const CONTENT = 'content-token-0123456789';
const MONEY = 'money-token-0123456789';
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { REWARD_MINT: MINT, ADMIN_TOKENS: `${ADMIN_TOKEN},c:content:${CONTENT},m:money:${MONEY}` } });
});
afterAll(() => t.close());

const TERMS = { title: 'The great bonfire', durationSec: 3_600 };
const post = (who: SignedIn, json: unknown = TERMS, headers: Record<string, string> = {}) => who.fetch('/events/burn', { json, headers });
const activate = (who: Pick<SignedIn, 'fetch'>, id: string) => who.fetch(`/events/burn/${id}/activate`, { method: 'POST' });
const bearer = (token: string): JsonInit => ({ method: 'POST', headers: { Authorization: `Bearer ${token}` } });
const get = (path: string) => statusAndBody(send(t, path));
async function refused(request: Promise<Response>): Promise<string> {
  const [status, body] = await statusAndBody(request);
  return `${status} ${(body as { error: string }).error}`;
}
async function noneActive(): Promise<void> {
  const active = await readActiveEvent(t.app.db);
  if (active) expect((await asAdmin(t, `/admin/burn/${active.id}/end`, { method: 'POST' })).status).toBe(200);
}
const eventsOf = (id: string) =>
  sql<{ type: string; payload: Record<string, unknown> }>(
    t.app,
    `select type, payload from outbox where type like 'burn_event%' and payload->>'burnEventId' = $1 order by id`,
    [id],
  );

test.each([
  ['post', '/events/burn'],
  ['post', `/events/burn/${randomUUID()}/activate`],
  ['get', `/events/burn/${randomUUID()}/rank`],
])('%s %s requires a session', async (method, path) => {
  expect(await refused(send(t, path, { method }))).toMatch(/^401 /);
});

test('a new event is pending and contains the mint and the memos', async () => {
  const me = await signIn(t);
  const answer = await post(me, { ...TERMS, description: 'Burn it all.' });
  expect(answer.status).toBe(201);
  const event = await jsonOf(answer, BurnEventView);
  expect(event).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    ...TERMS,
    description: 'Burn it all.',
    status: 'pending',
    mint: MINT,
    memos: { referral: `burn:${event.id}:referral`, game: `burn:${event.id}:game`, social: `burn:${event.id}:social` },
    createdBy: me.wallet,
    createdAt: expect.any(String),
    ...{ activatedAt: null, endsAt: null, final: false, participants: 0, burnTotal: '0' },
    bySource: { referral: '0', game: '0', social: '0' },
  });
  expect(answer.headers.get('Location')).toBe(`/events/burn/${event.id}`);
  expect(await get(`/events/burn/${event.id}`)).toEqual([200, event]);
  expect(await get('/events/burn/active')).toEqual([200, null]);
  expect(await get('/events/burn')).toEqual([200, []]);
});

test.each([
  [{}, 'title is required'],
  [{ ...TERMS, title: ' ' }, 'title must not be empty'],
  [{ ...TERMS, title: 'x'.repeat(121) }, 'title must be at most 120'],
  [{ ...TERMS, durationSec: 3_599 }, 'durationSec must be at least 3600'],
  [{ ...TERMS, durationSec: 2_592_001 }, 'durationSec must be at most 2592000'],
  [{ ...TERMS, durationSec: 3_600.5 }, 'durationSec must be an integer'],
  [{ ...TERMS, description: '\u0007' }, 'description must not'],
  [{ ...TERMS, mint: MINT }, 'mint is not a known field'],
])('an event with the body %j is refused', async (json, why) => {
  expect(await refused(post(await signIn(t), json))).toContain(`400 ${why}`);
});

test('requests with one Idempotency-Key create one event, and another body gives 409', async () => {
  const me = await signIn(t);
  const headers = { 'Idempotency-Key': randomUUID() };
  const all = await Promise.all(Array.from({ length: 8 }, () => post(me, TERMS, headers)));
  expect(new Set(await Promise.all(all.map(async (one) => (await jsonOf(one, BurnEventView)).id))).size).toBe(1);
  expect(await refused(post(me, { ...TERMS, title: 'Another' }, headers))).toMatch(/^409 Idempotency-Key/);
});

test('a wallet has at most 5 pending events per week, even with 50 concurrent requests', async () => {
  const me = await signIn(t);
  const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await post(me)).status));
  expect(statuses.filter((status) => status === 201)).toHaveLength(MAX_PENDING);
  expect(statuses.filter((status) => status === 409)).toHaveLength(50 - MAX_PENDING);
  expect(await refused(post(me))).toMatch(/^409 a wallet may have at most 5 pending burn events/);
  await sql(t.app, `update burn_events set created_at = created_at - interval '8 days' where created_by = $1`, [me.wallet]);
  expect((await post(me)).status).toBe(201);
});

test('without a reward mint, creating an event gives 503', async () => {
  const { REWARD_MINT: _, ...env } = t.env;
  const api = await startApi(env);
  try {
    expect(await refused(post(await signIn(api)))).toBe('503 REWARD_MINT is not configured');
  } finally {
    await api.close();
  }
});

test('the creator activates an event, which ends after its duration', async () => {
  await noneActive();
  const me = await signIn(t);
  const { id } = await jsonOf(post(me), BurnEventView);
  const [status, body] = await statusAndBody(activate(me, id));
  const event = BurnEventView.parse(body);
  expect([status, event.status]).toEqual([200, 'active']);
  expect(Date.parse(event.endsAt ?? '') - Date.parse(event.activatedAt ?? '')).toBe(3_600_000);
  expect(Date.parse(event.activatedAt ?? '') % 1_000).toBe(0);
  expect(await get('/events/burn/active')).toEqual([200, event]);
  expect((await get('/events/burn?limit=1'))[1]).toEqual([event]);
  expect(await eventsOf(id)).toEqual([
    { type: 'burn_event_activated', payload: { burnEventId: id, title: TERMS.title, mint: MINT, endsAt: event.endsAt } },
  ]);
  expect(await refused(activate(me, id))).toBe('409 the burn event is active; only a pending event can be activated');
  const other = await jsonOf(post(me), BurnEventView);
  expect(await refused(activate(me, other.id))).toBe(`409 burn event ${id} is active; only one event can be active at a time`);
  expect((await get(`/events/burn/${other.id}`))[1]).toMatchObject({ status: 'pending' });
});

test('only operators and creators that are organisers may activate an event', async () => {
  await noneActive();
  const [me, stranger] = [await signIn(t), await signIn(t)];
  const { id } = await jsonOf(post(me), BurnEventView);
  expect(await refused(activate(stranger, id))).toBe('403 only the creator of a burn event or an operator may activate it');
  expect(await refused(activate(me, randomUUID()))).toBe('404 there is no such burn event');
  expect(await refused(activate(me, 'active'))).toBe('404 no such resource: id must be a UUID in lower case');
  const api = await startApi({ ...t.env, ORGANISERS: stranger.wallet });
  try {
    expect(await refused(send(api, `/events/burn/${id}/activate`, { method: 'POST', headers: { Cookie: me.cookie } }))).toBe(
      '403 the wallet is not an organiser, so it may not activate burn events',
    );
    const own = await jsonOf(post(stranger), BurnEventView);
    expect((await send(api, `/events/burn/${own.id}/activate`, { method: 'POST', headers: { Cookie: stranger.cookie } })).status).toBe(200);
  } finally {
    await api.close();
  }
  await noneActive();
  for (const token of ['nonsense', MONEY]) expect(await refused(send(t, `/events/burn/${id}/activate`, bearer(token)))).toMatch(/^403 /);
  expect(await refused(send(t, `/events/burn/${randomUUID()}/activate`, bearer(CONTENT)))).toMatch(/^404 /);
  expect((await send(t, `/events/burn/${id}/activate`, bearer(CONTENT))).status).toBe(200);
});

test('50 concurrent activations activate one event', async () => {
  await noneActive();
  const events = await Promise.all(Array.from({ length: 50 }, () => createTestEvent(t.app)));
  const statuses = await Promise.all(events.map(async ({ id }) => (await asAdmin(t, `/events/burn/${id}/activate`, { method: 'POST' })).status));
  expect(statuses.sort()).toEqual([200, ...Array.from({ length: 49 }, () => 409)]);
  expect(await sql(t.app, `select 1 from burn_events where state = 'active'`)).toHaveLength(1);
});

test('the database refuses a second active event', async () => {
  await activateNewEvent(t.app);
  const { id } = await createTestEvent(t.app);
  const forced = sql(t.app, `update burn_events set state = 'active', activated_at = app_now(), ends_at = app_now() where id = $1`, [id]);
  await expect(forced).rejects.toThrow('burn_events_one_active');
});

test('an operator can end an active event once', async () => {
  await noneActive();
  const pending = await createTestEvent(t.app);
  const end = (id: string, init: JsonInit = bearer(CONTENT)) => send(t, `/admin/burn/${id}/end`, init);
  for (const init of [{ method: 'POST' }, bearer(MONEY)]) expect(await refused(end(pending.id, init))).toMatch(/^403 /);
  expect(await refused(end(randomUUID()))).toBe('404 there is no such burn event');
  expect(await refused(end(pending.id))).toBe('409 the burn event is pending; only an active event can be ended');
  const event = await activateEvent(t.app, pending.id, null);
  await creditAll(t.app, event, [finalizedBurn(event, randomWallet(), 7n)]);
  const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await end(event.id)).status));
  expect(statuses.sort()).toEqual([200, ...Array.from({ length: 49 }, () => 409)]);
  const [, ended] = await get(`/events/burn/${event.id}`);
  expect(ended).toMatchObject({ status: 'ended', final: false, burnTotal: '7', participants: 1 });
  const { endsAt } = BurnEventView.parse(ended);
  expect(Math.abs(Date.parse(endsAt ?? '') - t.clock.now().getTime())).toBeLessThan(60_000);
  expect((await eventsOf(event.id)).slice(1)).toEqual([
    { type: 'burn_event_ended', payload: { burnEventId: event.id, title: 'A bonfire', burnTotal: '7', participants: 1 } },
  ]);
  expect(await get('/events/burn/active')).toEqual([200, null]);
  expect(await refused(asAdmin(t, `/events/burn/${event.id}/activate`, { method: 'POST' }))).toMatch(/^409 the burn event is ended/);
});

test('an unknown event gives 404', async () => {
  const me = await signIn(t);
  const malformed = '404 no such resource: id must be a UUID in lower case';
  for (const id of [randomUUID(), 'nope', '%01', 'x'.repeat(300)]) {
    for (const path of ['', '/leaderboard', '/leaderboard/referrals', '/leaderboard/game', '/leaderboard/social', '/rank']) {
      expect(await refused(me.fetch(`/events/burn/${id}${path}`))).toBe(id.length === 36 ? '404 there is no such burn event' : malformed);
    }
  }
});

test('an event is shown as ended at its end, and the ended event is sent once', async () => {
  await noneActive();
  const { id } = await createTestEvent(t.app, undefined, 3_600);
  const next = await createTestEvent(t.app);
  await activateEvent(t.app, id, null);
  await t.clock.set(new Date(t.clock.now().getTime() + 3_600_000));
  expect(await get('/events/burn/active')).toEqual([200, null]);
  expect((await get(`/events/burn/${id}`))[1]).toMatchObject({ status: 'ended' });
  expect(await refused(asAdmin(t, `/admin/burn/${id}/end`, { method: 'POST' }))).toMatch(/^409 the burn event is ended/);
  expect(await eventsOf(id)).toHaveLength(1);
  await Promise.all(Array.from({ length: 50 }, () => endBurnEvents(t.app)));
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['burn_event_activated', 'burn_event_ended']);
  await activateEvent(t.app, next.id, null);

  // No worker has ended the first event when the next one is activated.
  await t.clock.set(new Date(t.clock.now().getTime() + 86_400_000));
  const third = await createTestEvent(t.app);
  expect((await activateEvent(t.app, third.id, null)).status).toBe('active');
  expect((await eventsOf(next.id)).map(({ type }) => type)).toEqual(['burn_event_activated', 'burn_event_ended']);
});

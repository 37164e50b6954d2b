import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { getApprovals, postApprove, postRefuse } from '#areas/admin/approvals/routes.ts';
import { postPoints } from '#areas/admin/ledger/routes.ts';
import { postConvert } from '#areas/profile/routes.ts';
import { postCompletion } from '#areas/quests/routes/admin.ts';
import { putConfig } from '#areas/rewards/routes/config.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { DAY, epochOf, randomWallet, setRules } from '#test/support/areas/epochs.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { makeQuest } from '#test/support/areas/quests.ts';
import { adminOf, createRouteClient } from '#test/support/http/client.ts';
import { createWallet, send, signIn } from '#test/support/wallet.ts';

const SECOND = 'second-admin-token-0123456789';
const OLD = 'expired-admin-token-0123456789';
const INTERNAL = 'internal-token-of-the-importer';
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({
    env: {
      QUEUES: 'epochs',
      ADMIN_TOKENS: `${ADMIN_TOKEN},second:money:${SECOND},old:money+content:2026-01-31:${OLD}`,
      INTERNAL_TOKENS: `importer:import:2199-12-31:${INTERNAL}`,
      APPROVALS: 'import:1000,grant:100,limit:5000',
    },
  });
});
afterAll(() => t.close());

const first = () => adminOf(t);
const second = () => createRouteClient(t.url, { Authorization: `Bearer ${SECOND}` });
const pending = async () => (await first().ok(getApprovals)).body;
const give = async (wallet: string, points: number, headers: Record<string, string> = {}) => {
  const response = await send(t, `/admin/wallets/${wallet}/points`, {
    json: { points, reason: 'a test' },
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
  });
  return { status: response.status, body: (await response.json()) as { approvalId: string; points: number; error?: string } };
};
const pointsOf = async (wallet: string) =>
  (await sql<{ n: number }>(t.app, `select coalesce(sum(points), 0)::int as n from ledger where wallet = $1`, [wallet]))[0]?.n;
const importRows = async (epoch: number, amounts: readonly number[], header: object = {}, token = INTERNAL) => {
  const distribution = amounts.map((amount) => ({ wallet: randomWallet(), amount: String(amount) }));
  const json = { epoch, distribution, ...header };
  const response = await send(t, '/api/rewards/epoch/import', { json, headers: { Authorization: `Bearer ${token}` } });
  return { status: response.status, json, body: (await response.json()) as { approvalId: string; status: string; error: string } };
};

test('points above the configured amount are given once, when another token approves them', async () => {
  const { wallet } = await signIn(t, createWallet());
  const asked = await give(wallet, 101);
  expect(asked).toMatchObject({ status: 202, body: { kind: 'grant', status: 'pending', amount: '101', requestedBy: 'admin-1' } });
  const id = asked.body.approvalId;
  expect(await pointsOf(wallet)).toBe(0);
  expect((await pending()).map(({ approvalId }) => approvalId)).toEqual([id]);
  expect(await first().call(postApprove, { params: { id } })).toMatchObject({
    status: 403,
    body: { error: expect.stringContaining('another token') },
  });
  const answers = await Promise.all([1, 2, 3].map(() => second().call(postApprove, { params: { id } })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(answers[0]?.body).toMatchObject({ status: 'approved', decidedBy: 'second' });
  expect(await pointsOf(wallet)).toBe(101);
  expect(await second().call(postRefuse, { params: { id } })).toMatchObject({ status: 409 });
  expect(await pending()).toEqual([]);
});

test('the points that a token gives on one day are added up, and the request beyond the amount needs an approval', async () => {
  const { wallet } = await signIn(t, createWallet());
  expect((await give(wallet, 60)).status).toBe(201);
  expect((await give(wallet, 40)).status).toBe(201);
  expect((await give(wallet, -5)).status).toBe(201);
  const asked = await give(wallet, 1);
  expect(asked.status).toBe(202);
  expect(await second().call(postRefuse, { params: { id: asked.body.approvalId } })).toMatchObject({ status: 200, body: { status: 'refused' } });
  expect(await second().call(postApprove, { params: { id: asked.body.approvalId } })).toMatchObject({ status: 409 });
  expect(await pointsOf(wallet)).toBe(95);
});

test('an action that cannot be carried out stays pending, and an action that was requested 72 hours ago is not approved', async () => {
  const { wallet } = await signIn(t, createWallet());
  const { body } = await give(wallet, 500);
  const id = body.approvalId;
  await sql(t.app, 'update players set banned_at = app_now() where wallet = $1', [wallet]);
  expect(await second().call(postApprove, { params: { id } })).toMatchObject({ status: 409, body: { error: 'wallet must not be banned' } });
  expect((await pending()).map(({ approvalId }) => approvalId)).toEqual([id]);
  await sql(t.app, 'update players set banned_at = null where wallet = $1', [wallet]);
  await sql(t.app, `update approvals set requested_at = requested_at - interval '73 hours' where id = $1`, [id]);
  expect(await second().call(postApprove, { params: { id } })).toMatchObject({ status: 409, body: { error: expect.stringContaining('72 hours') } });
  expect(await first().call(postRefuse, { params: { id } })).toMatchObject({ status: 200 });
  expect(await pointsOf(wallet)).toBe(0);
});

const RULES = { pool: '4000', cap: '3000', dust: '0', expiryDays: 90, automatic: true };

test('a pool or cap above the configured amount is stored when another token approves it, unless the rules changed since', async () => {
  await sql(t.app, `delete from settings where name = 'rewards'`);
  expect(await first().call(putConfig, { body: RULES })).toMatchObject({ status: 200 });
  const asked = await first().call(putConfig, { body: { ...RULES, pool: '6000' } });
  expect(asked).toMatchObject({ status: 202, body: { kind: 'limit', amount: '6000' } });
  const other = await first().call(putConfig, { body: { ...RULES, cap: null, pool: '7000' } });
  const [id, otherId] = [asked, other].map(({ body }) => (body !== null && 'approvalId' in body ? body.approvalId : ''));
  expect(await second().call(postApprove, { params: { id: id ?? '' } })).toMatchObject({ status: 200 });
  expect(await second().call(postApprove, { params: { id: otherId ?? '' } })).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('changed since the request') },
  });
  await second().ok(postRefuse, { params: { id: otherId ?? '' } });
  expect(await sql(t.app, `select value->>'pool' as pool from settings where name = 'rewards' order by version desc limit 1`)).toEqual([
    { pool: '6000' },
  ]);
  // Rules that lower the limits need no approval.
  expect(await first().call(putConfig, { body: { ...RULES, pool: '5500' } })).toMatchObject({ status: 200 });
});

test('an import above the configured amount creates its epoch when another token approves it', async () => {
  await first().call(putConfig, { body: { ...RULES, cap: null } });
  const asked = await importRows(DAY, [900, 200]);
  expect(asked).toMatchObject({ status: 202, body: { kind: 'import', amount: '1100', requestedBy: 'importer' } });
  expect((await send(t, `/api/rewards/epoch/${DAY}`)).status).toBe(404);
  // The same rows give the same approval; other rows are refused.
  const again = await send(t, '/api/rewards/epoch/import', { json: asked.json, headers: { Authorization: `Bearer ${INTERNAL}` } });
  expect([again.status, await again.json()]).toEqual([202, asked.body]);
  expect((await importRows(DAY, [5])).status).toBe(409);
  await second().ok(postApprove, { params: { id: asked.body.approvalId } });
  await retryUntilPass(async () => expect(await epochOf(t, DAY)).toMatchObject({ status: 'computed', total: '1100', leaves: 2 }));
});

test('an import that is refused leaves nothing behind, and the epoch can be imported again', async () => {
  const asked = await importRows(DAY + 1, [1500]);
  await first().ok(postRefuse, { params: { id: asked.body.approvalId } });
  expect(await sql(t.app, 'select 1 from reward_import_pages p join reward_imports i on i.id = p.import where i.epoch = $1', [DAY + 1])).toEqual([]);
  expect((await importRows(DAY + 1, [700])).status).toBe(201);
  // The importer has used 700 of the 1,000 base units of the day.
  expect((await importRows(DAY + 2, [301])).status).toBe(202);
  expect((await importRows(DAY + 3, [300])).status).toBe(201);
});

test('an import above the pool or the cap needs the confirmation of an admin token with the scope money', async () => {
  await first().call(putConfig, { body: { ...RULES, pool: '500', cap: '50' } });
  const overCap = {
    error: expect.stringMatching(/^each amount of the distribution must be at most the cap: the largest is 51, the cap is 50; only an admin token/),
  };
  expect(await importRows(DAY + 4, [51, 1])).toMatchObject({ status: 400, body: overCap });
  expect(await importRows(DAY + 4, [51, 1], { overLimits: true })).toMatchObject({ status: 400, body: overCap });
  expect(await importRows(DAY + 4, [51, 1], {}, SECOND)).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining('"overLimits": true') },
  });
  expect(await importRows(DAY + 4, [400, 200], { overLimits: true }, SECOND)).toMatchObject({
    status: 201,
    body: { status: 'computed', pool: '600', cap: null },
  });
  expect(await importRows(DAY + 5, [50, 50], {}, SECOND)).toMatchObject({ status: 201, body: { pool: '500', cap: '50' } });
  await setRules(t, { pool: '4000' });
});

test('a token is refused after its last day', async () => {
  const response = await send(t, '/admin/approvals', { headers: { Authorization: `Bearer ${OLD}` } });
  expect(response.status).toBe(403);
});

const PLAYS = { type: 'plays', count: 5 };
const selectTotal = `select coalesce(sum(points) filter (where mode = 'regular'), 0)::int as regular, coalesce(sum(points) filter (where mode = 'beta'), 0)::int as beta
  from ledger where wallet = $1`;
const totalsOf = async (wallet: string) => (await sql<{ regular: number; beta: number }>(t.app, selectTotal, [wallet]))[0];
/** Lets the token give points again without an approval, as on a new day. */
const newDay = () => sql(t.app, 'delete from approval_sums');

test('a conversion of beta points above the configured amount is carried out when another token approves it, unless the beta points changed since', async () => {
  await newDay();
  const { wallet } = await signIn(t, createWallet());
  const giveBeta = (points: number) =>
    first().ok(postPoints, { params: { wallet }, body: { points, mode: 'beta', rewards: false, reason: 'a test' } });
  await giveBeta(90);
  await newDay();
  // 90 beta points at the rate 2 are 180 points.
  const asked = await first().call(postConvert, { body: { wallet, rate: '2' } });
  expect(asked).toMatchObject({ status: 202, body: { kind: 'grant', amount: '180', summary: expect.stringContaining('90 beta points') } });
  expect(await totalsOf(wallet)).toEqual({ regular: 0, beta: 90 });
  const idOf = ({ body }: typeof asked) => (body !== null && 'approvalId' in body ? body.approvalId : '');
  await giveBeta(1);
  expect(await second().call(postApprove, { params: { id: idOf(asked) } })).toMatchObject({
    status: 409,
    body: { error: 'the conversion gives 182 points and not the requested 180 points; request it again' },
  });
  await first().ok(postRefuse, { params: { id: idOf(asked) } });
  const again = await first().call(postConvert, { body: { wallet, rate: '2' } });
  expect(await second().call(postApprove, { params: { id: idOf(again) } })).toMatchObject({ status: 200 });
  expect(await totalsOf(wallet)).toEqual({ regular: 182, beta: 0 });
  // A conversion below the amount needs no approval.
  await newDay();
  await giveBeta(10);
  expect(await first().call(postConvert, { body: { wallet, rate: '2' } })).toMatchObject({ status: 200, body: { points: 20 } });
});

test('a completion of a quest by an operator above the configured amount is recorded when another token approves it, unless the quest changed since', async () => {
  await newDay();
  const { wallet } = await signIn(t, createWallet());
  const quest = await makeQuest(t, { points: 200, requirement: PLAYS });
  const complete = () => first().call(postCompletion, { params: { id: quest }, body: { wallet } });
  const asked = await complete();
  expect(asked).toMatchObject({ status: 202, body: { kind: 'grant', summary: expect.stringContaining(`completion of the quest ${quest}`) } });
  expect(await pointsOf(wallet)).toBe(0);
  const id = asked.body !== null && 'approvalId' in asked.body ? asked.body.approvalId : '';
  await sql(t.app, 'update quests set version = version + 1 where id = $1', [quest]);
  expect(await second().call(postApprove, { params: { id } })).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('the quest was changed since the request') },
  });
  await sql(t.app, 'update quests set version = version - 1 where id = $1', [quest]);
  await second().ok(postApprove, { params: { id } });
  expect(await pointsOf(wallet)).toBe(200);
  const small = await makeQuest(t, { points: 10, requirement: PLAYS });
  expect(await first().call(postCompletion, { params: { id: small }, body: { wallet } })).toMatchObject({ status: 200 });
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MAX_DEPTH } from '#areas/referrals/bind.ts';
import { newCode, readCode } from '#areas/referrals/codes.ts';
import { createLink, MAX_LINKS, urlOf } from '#areas/referrals/links.ts';
import { ReferralBinding, ReferralLinkView, ReferralStats, ReferralSummary } from '#areas/referrals/schemas.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomWallet, statusAndBody } from '#test/support/areas/epochs.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type JsonInit, type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const linkOf = (who: SignedIn) => jsonOf(who.fetch('/api/referral/link'), ReferralLinkView);
const makeLinkOf = (who: SignedIn, init: JsonInit = {}) => who.fetch('/api/referral/link', { method: 'POST', ...init });
const bind = (who: SignedIn, code: string, headers: Record<string, string> = {}) => who.fetch('/api/referral/bind', { json: { code }, headers });
const people = (n: number) => Promise.all(Array.from({ length: n }, () => signIn(t)));
const bound = (wallet: string) => sql<{ referrer: string }>(t.app, 'select referrer from referrals where wallet = $1', [wallet]);
const ban = (wallet: string, at: string | null) => sql(t.app, 'update players set banned_at = $2::timestamptz where wallet = $1', [wallet, at]);

const KNOWN = '404 code must be a referral code that exists';
const OWN = '400 code must not be your own code';
const AGAIN = '409 the wallet has been referred already';
const CYCLE = '409 code must not belong to a wallet that you referred, directly or indirectly';
async function refused(request: Promise<Response>): Promise<string> {
  const [status, body] = await statusAndBody(request);
  return `${status} ${(body as { error: string }).error}`;
}

test.each([
  ['get', '/api/referral/link'],
  ['post', '/api/referral/link'],
  ['post', '/api/referral/bind'],
  ['get', '/api/referral/summary'],
  ['get', '/api/referral/stats'],
  ['get', '/api/referral/referred'],
])('%s %s requires a session', async (method, path) => {
  expect(await refused(send(t, path, { method }))).toMatch(/^401 /);
});

test('the first request creates a link, and later requests return the same link', async () => {
  const [me] = await people(1);
  if (!me) throw new Error('a test wallet is missing');
  const links = await Promise.all(Array.from({ length: 10 }, () => linkOf(me)));
  expect(new Set(links.map(({ code }) => code)).size).toBe(1);
  expect(links[0]?.code).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/);
  expect(links[0]?.url).toBe(`http://coinop.test/?ref=${links[0]?.code}`);
});

test('the URL of a link keeps the path of the public URL', () => {
  const at = (url: string) => ({ publicUrl: new URL(url), frontendUrl: null });
  expect(urlOf(at('https://a.example/arcade'), 'X')).toBe('https://a.example/arcade/?ref=X');
  expect(urlOf(at('https://a.example/arcade/'), 'X')).toBe('https://a.example/arcade/?ref=X');
  expect(urlOf({ ...at('https://a.example'), frontendUrl: new URL('https://play.example/app') }, 'X')).toBe('https://play.example/app/?ref=X');
});

test('a new link replaces the returned link, and older codes stay valid', async () => {
  const [me, friend, other] = await people(3);
  if (!me || !friend || !other) throw new Error('a test wallet is missing');
  const first = await linkOf(me);
  const made = await makeLinkOf(me);
  expect(made.status).toBe(201);
  const second = await jsonOf(made, ReferralLinkView);
  expect(second.code).not.toBe(first.code);
  expect(await linkOf(me)).toEqual(second);
  expect((await bind(friend, first.code)).status).toBe(201);
  expect((await bind(other, second.code)).status).toBe(201);
});

test('repeated requests with one Idempotency-Key create one link', async () => {
  const [me] = await people(1);
  if (!me) throw new Error('a test wallet is missing');
  const headers = { 'Idempotency-Key': randomUUID() };
  const all = await Promise.all(Array.from({ length: 5 }, () => makeLinkOf(me, { headers })));
  expect(new Set(await Promise.all(all.map(async (one) => (await jsonOf(one, ReferralLinkView)).code))).size).toBe(1);
});

test('a wallet has at most 20 links, even with concurrent requests', async () => {
  const [me] = await people(1);
  if (!me) throw new Error('a test wallet is missing');
  const answers = await Promise.all(Array.from({ length: MAX_LINKS + 5 }, () => makeLinkOf(me)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(MAX_LINKS);
  expect(await refused(makeLinkOf(me))).toBe('409 a wallet may have at most 20 referral links');
  expect((await me.fetch('/api/referral/link')).status).toBe(200);
});

test('a code that is taken is generated again', async () => {
  const [me, other] = await people(2);
  if (!me || !other) throw new Error('a test wallet is missing');
  const { code } = await linkOf(other);
  const draws = [code, code, newCode()];
  const [, , free] = draws;
  const link = await t.app.tx((tx) => createLink(tx, me.wallet, () => draws.shift() ?? ''));
  expect(link.code).toBe(free);
});

test('a typed code is normalized', () => {
  expect(readCode(' 7k3qxm9a ')).toBe('7K3QXM9A');
  expect(readCode('OoIlLi00')).toBe('00111100');
  for (const text of ['', '7K3QXM9', '7K3QXM9AB', 'UUUUUUUU', '7K3QXM9\u0000', '🙂🙂🙂🙂']) expect(readCode(text)).toBeNull();
});

test('binding stores the owner of the code as referrer and appends a bind activity', async () => {
  const [me, friend] = await people(2);
  if (!me || !friend) throw new Error('a test wallet is missing');
  const { code } = await linkOf(me);
  const answer = await bind(friend, code.toLowerCase());
  expect(answer.status).toBe(201);
  const binding = await jsonOf(answer, ReferralBinding);
  expect(binding).toEqual({ wallet: friend.wallet, referrer: me.wallet, code, boundAt: expect.any(String) });
  expect(await sql(t.app, `select kind, wallet, game_id, amount::int as amount from activities where source_id = $1`, [friend.wallet])).toEqual([
    { kind: 'bind', wallet: me.wallet, game_id: null, amount: 0 },
  ]);
  expect((await jsonOf(friend.fetch('/api/referral/summary'), ReferralSummary)).referredBy).toBe(me.wallet);
});

test('a repeated bind request gets the same response with its Idempotency-Key, and 409 without it', async () => {
  const [me, friend, other] = await people(3);
  if (!me || !friend || !other) throw new Error('a test wallet is missing');
  const [{ code }, { code: elsewhere }] = [await linkOf(me), await linkOf(other)];
  const headers = { 'Idempotency-Key': randomUUID() };
  const first = await statusAndBody(bind(friend, code, headers));
  expect(await statusAndBody(bind(friend, code, headers))).toEqual(first);
  expect(await refused(bind(friend, elsewhere, headers))).toMatch(/^409 Idempotency-Key/);
  expect(await refused(bind(friend, code))).toBe(AGAIN);
  expect(await refused(bind(friend, elsewhere))).toBe(AGAIN);
  expect(await bound(friend.wallet)).toEqual([{ referrer: me.wallet }]);
});

test('the referrer and the bound wallet hear of a binding, each once', async () => {
  const [me, friend] = await people(2);
  if (!me || !friend) throw new Error('a test wallet is missing');
  const { code } = await linkOf(me);
  for (let i = 0; i < 2; i++) expect((await bind(friend, code, { 'Idempotency-Key': 'bind' })).status).toBe(201);
  expect(await refused(bind(friend, code))).toBe(AGAIN);
  const payload = { wallet: friend.wallet, referrer: me.wallet, code, boundAt: expect.stringMatching(/Z$/) };
  expect(
    await sql(t.app, `select wallet, payload from outbox where type = 'referral_bound' and payload ->> 'wallet' = $1 order by id`, [friend.wallet]),
  ).toEqual([
    { wallet: me.wallet, payload },
    { wallet: friend.wallet, payload },
  ]);
});

test('binding refuses the own code, unknown codes and malformed requests', async () => {
  const [me] = await people(1);
  if (!me) throw new Error('a test wallet is missing');
  expect(await refused(bind(me, (await linkOf(me)).code))).toBe(OWN);
  expect(await refused(bind(me, newCode()))).toBe(KNOWN);
  for (const code of ['nope', '🙂', ' ']) expect(await refused(bind(me, code))).toBe('400 code must be eight digits and letters');
  for (const json of [{}, { code: '' }, { code: 7 }, { code: 'A'.repeat(65) }, { code: '7K3QXM9\u0000' }, { code: 'AAAAAAAA', more: 1 }]) {
    expect((await me.fetch('/api/referral/bind', { json })).status).toBe(400);
  }
  expect(await bound(me.wallet)).toEqual([]);
});

test('a banned wallet can neither refer nor be referred', async () => {
  const [me, friend] = await people(2);
  if (!me || !friend) throw new Error('a test wallet is missing');
  const { code } = await linkOf(me);
  await ban(me.wallet, '2026-01-01');
  expect(await refused(bind(friend, code))).toBe('409 code must not belong to a banned wallet');
  await ban(me.wallet, null);
  await ban(friend.wallet, '2026-01-01');
  expect(await refused(bind(friend, code))).toBe('403 this wallet is banned');
  await ban(friend.wallet, null);
  expect((await bind(friend, code)).status).toBe(201);
});

test('a wallet cannot be bound to a wallet that it referred, at any depth', async () => {
  const chain = await people(6);
  const codes = await Promise.all(chain.map(async (who) => (await linkOf(who)).code));
  for (let i = 1; i < chain.length; i++) expect((await bind(chain[i] as SignedIn, codes[i - 1] ?? '')).status).toBe(201);
  for (let i = 1; i < chain.length; i++) expect(await refused(bind(chain[0] as SignedIn, codes[i] ?? ''))).toBe(CYCLE);
  const [outside] = await people(1);
  if (!outside) throw new Error('a test wallet is missing');
  expect((await bind(chain[0] as SignedIn, (await linkOf(outside)).code)).status).toBe(201);
});

test('50 wallets that bind concurrently in a ring leave no cycle, and 49 are bound', async () => {
  const ring = await people(50);
  const codes = await Promise.all(ring.map(async (who) => (await linkOf(who)).code));
  const statuses = await Promise.all(ring.map(async (who, i) => (await bind(who, codes[(i + 1) % ring.length] ?? '')).status));
  expect(statuses.filter((status) => status === 409)).toHaveLength(1);
  expect(statuses.filter((status) => status === 201)).toHaveLength(49);
});

test('50 concurrent bind requests of a wallet bind it once', async () => {
  const [me, friend] = await people(2);
  if (!me || !friend) throw new Error('a test wallet is missing');
  const { code } = await linkOf(me);
  const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await bind(friend, code)).status));
  expect(statuses.sort()).toEqual([201, ...Array.from({ length: 49 }, () => 409)]);
  expect(await sql(t.app, `select 1 from activities where kind = 'bind' and source_id = $1`, [friend.wallet])).toHaveLength(1);
});

test('a referrer cannot bind below a chain of the maximum length', async () => {
  const [me, friend, last] = await people(3);
  if (!me || !friend || !last) throw new Error('a test wallet is missing');
  const { code } = await linkOf(last);
  const wallets = [last.wallet, ...Array.from({ length: MAX_DEPTH }, () => randomWallet())];
  await sql(t.app, 'insert into referrals (wallet, referrer, code) select w, r, $3 from unnest($1::text[], $2::text[]) as u(w, r)', [
    wallets.slice(0, -1),
    wallets.slice(1),
    code,
  ]);
  expect((await bind(friend, (await linkOf(me)).code)).status).toBe(201);
  expect(await refused(bind(me, code))).toBe('409 code must not belong to a wallet with 10000 or more referrers above it');
  const [plain] = await people(1);
  if (!plain) throw new Error('a test wallet is missing');
  expect((await bind(plain, code)).status).toBe(201);
});

test('a wallet without referrals has a summary, statistics and an empty list', async () => {
  const [me] = await people(1);
  if (!me) throw new Error('a test wallet is missing');
  const nothing = { referralCount: 0, verifiedReferrals: 0, activeReferrals: 0, pointsEarned: 0, betaPointsEarned: 0, referredBy: null };
  expect(await statusAndBody(me.fetch('/api/referral/summary'))).toEqual([200, nothing]);
  const stats = await jsonOf(me.fetch('/api/referral/stats'), ReferralStats);
  expect(stats).toMatchObject({ links: [], conversion: { bound: 0, verified: 0, percent: null }, today: { cap: 5_000, used: 0, left: 5_000 } });
  expect(stats.earnings.byDay.map(({ points }) => points)).toEqual(Array.from({ length: 30 }, () => 0));
  expect(stats.earnings.byDay.at(-1)?.day).toBe(t.clock.now().toISOString().slice(0, 10));
  expect(Date.parse(stats.today.resetsAt) % 86_400_000).toBe(0);
  const list = await me.fetch('/api/referral/referred');
  expect([list.headers.get('X-Total-Count'), await list.json()]).toEqual(['0', []]);
  for (const query of ['limit=0', 'limit=501', 'offset=-1']) expect((await me.fetch(`/api/referral/referred?${query}`)).status).toBe(400);
});

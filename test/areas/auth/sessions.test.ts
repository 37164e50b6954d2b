import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { endSessions } from '#areas/auth';
import { MAX_SESSIONS, SessionStore } from '#platform/auth/session-store.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { cachedSessions, countRows, loseSessions, markKeyOf, sessionKeys, verifyText } from '#test/support/sign-in.ts';
import { cookiesOf, createWallet, requestNonce, send, signIn, signInText } from '#test/support/wallet.ts';

let t: TestApp;
let other: Awaited<ReturnType<typeof startApi>>;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  other = await startApi(t.env, t.clock);
});
afterAll(async () => {
  await other.close();
  await t.close();
});

const statusOf = async (at: { url: string }, cookie: string) => (await send(at, '/me', { headers: { Cookie: cookie } })).status;
const attributesOf = (response: Response) =>
  response.headers.getSetCookie().map((cookie) => cookie.replace(/=[^;]*/, '').replace(/expires=[^;]*/, 'expires'));

test('the session cookie and its signature are HttpOnly, SameSite and without a Domain', async () => {
  const response = await verifyText(t, createWallet(), await requestNonce(t));
  expect(attributesOf(response)).toEqual([
    'coinop.sid; path=/; expires; samesite=lax; httponly',
    'coinop.sid.sig; path=/; expires; samesite=lax; httponly',
  ]);
  const expires = Date.parse(/expires=([^;]*)/.exec(response.headers.getSetCookie()[0] ?? '')?.[1] ?? '');
  expect(Math.abs(expires - Date.now() - 7 * 86_400_000)).toBeLessThan(5_000);
});

test('over TLS the cookie has the __Host- prefix and Secure, also behind a TLS proxy', async () => {
  const secure = await startApi({ ...t.env, PUBLIC_URL: 'https://coinop.test' }, t.clock);
  try {
    const response = await verifyText(secure, createWallet(), await requestNonce(secure));
    expect(response.status).toBe(200);
    expect(attributesOf(response)).toEqual([
      '__Host-coinop.sid; path=/; expires; samesite=lax; secure; httponly',
      '__Host-coinop.sid.sig; path=/; expires; samesite=lax; secure; httponly',
    ]);
    expect(await statusOf(secure, cookiesOf(response))).toBe(200);
    expect(await statusOf(secure, cookiesOf(response).replaceAll('__Host-', ''))).toBe(401);
    const out = await send(secure, '/auth/logout', { method: 'POST', headers: { Cookie: cookiesOf(response) } });
    expect(attributesOf(out)).toEqual([
      '__Host-coinop.sid; path=/; expires; samesite=lax; secure; httponly',
      '__Host-coinop.sid.sig; path=/; expires; samesite=lax; secure; httponly',
    ]);
  } finally {
    await secure.close();
  }
});

test('neither the database nor Redis contains the value of the cookie', async () => {
  const me = await signIn(t);
  await me.fetch('/me');
  const id = /coinop\.sid=([^;]*)/.exec(me.cookie)?.[1] ?? '';
  expect(id).toMatch(/^[\w-]{43}$/);
  const rows = await t.app.db.query<{ row: string }>({ text: 'select s::text as row from sessions s' });
  const keys = await sessionKeys(t);
  const values = await cachedSessions(t);
  for (const text of [...rows.map((r) => r.row), ...keys, ...values]) expect(text).not.toContain(id);
});

test('a sign-out ends the session in every process and clears the cookie', async () => {
  const me = await signIn(t);
  expect(await statusOf(other, me.cookie)).toBe(200);
  const response = await me.fetch('/auth/logout', { method: 'POST' });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ signedOut: true });
  for (const cookie of response.headers.getSetCookie()) expect(cookie).toContain('expires=Thu, 01 Jan 1970');
  expect(await statusOf(t, me.cookie)).toBe(401);
  expect(await statusOf(other, me.cookie)).toBe(401);
  expect(await countRows(t, 'sessions', 'wallet = $1', [me.wallet])).toBe(0);
});

test('in-flight reads do not restore a session after sign-out', async () => {
  for (let round = 0; round < 10; round++) {
    const me = await signIn(t);
    let out = false;
    const late: number[] = [];
    // The cached session is deleted again and again, so that each request reads the row and caches it.
    const reader = async (at: { url: string }) => {
      for (let i = 0; i < 6; i++) {
        if (!out) await loseSessions(t);
        const after = out;
        const status = await statusOf(at, me.cookie);
        if (after) late.push(status);
      }
    };
    const readers = [reader(t), reader(other), reader(t), reader(other)];
    await new Promise((resolve) => setImmediate(resolve));
    expect((await me.fetch('/auth/logout', { method: 'POST' })).status).toBe(200);
    out = true;
    await Promise.all(readers);
    expect(new Set(late).has(200)).toBe(false);
    expect(await statusOf(t, me.cookie)).toBe(401);
    expect(await statusOf(other, me.cookie)).toBe(401);
  }
});

test('an interrupted sign-out ends the session, and the next request deletes its row', async () => {
  const me = await signIn(t);
  expect(await statusOf(t, me.cookie)).toBe(200);
  for (const key of await sessionKeys(t)) await t.app.redis.set(markKeyOf(key), 'ending');
  expect(await statusOf(t, me.cookie)).toBe(401);
  expect(await countRows(t, 'sessions', 'wallet = $1', [me.wallet])).toBe(0);
});

test('a repeated sign-in creates a new session and ends the session of its cookie', async () => {
  const wallet = createWallet();
  const first = await signIn(t, wallet);
  const second = await signIn(t, createWallet(), { headers: { Cookie: first.cookie } });
  expect(second.cookie).not.toBe(first.cookie);
  expect(await statusOf(t, first.cookie)).toBe(401);
  expect(await statusOf(other, first.cookie)).toBe(401);
  expect(await (await second.fetch('/me')).json()).toMatchObject({ wallet: second.wallet });
});

test('a failed sign-in keeps the session of its cookie', async () => {
  const me = await signIn(t);
  const response = await verifyText(t, createWallet(), 'hello', undefined, { headers: { Cookie: me.cookie } });
  expect(response.status).toBe(401);
  expect(await statusOf(t, me.cookie)).toBe(200);
});

test('a session id set before the sign-in is replaced', async () => {
  const planted = `coinop.sid=${'A'.repeat(43)}; coinop.sid.sig=${'B'.repeat(43)}`;
  const me = await signIn(t, createWallet(), { headers: { Cookie: planted } });
  expect(me.cookie).not.toContain('A'.repeat(43));
});

test.each([
  ['unsigned', (cookie: string) => cookie.replace(/; coinop\.sid\.sig=.*/, '')],
  ['signed with a wrong signature', (cookie: string) => cookie.replace(/sig=.*/, `sig=${'A'.repeat(43)}`)],
  ['of another id', (cookie: string) => cookie.replace(/sid=./, (found) => (found === 'sid=A' ? 'sid=B' : 'sid=A'))],
  ['empty', () => 'coinop.sid=; coinop.sid.sig='],
])('a cookie that is %s gives 401', async (_fault, change) => {
  const me = await signIn(t);
  const response = await send(t, '/me', { headers: { Cookie: change(me.cookie) } });
  expect(response.status).toBe(401);
  expect(response.headers.getSetCookie()).toEqual([]);
});

test('sessions that are read at the same time share one Redis command, and each request gets its own session', async () => {
  const [one, two, ended] = await Promise.all([signIn(t), signIn(t), signIn(t)]);
  for (const { cookie } of [one, two, ended]) expect(await statusOf(t, cookie)).toBe(200);
  expect((await ended.fetch('/auth/logout', { method: 'POST' })).status).toBe(200);
  const store = new SessionStore(t.app);
  const idOf = ({ cookie }: { cookie: string }) => /coinop\.sid=([^;]+)/.exec(cookie)?.[1] ?? '';
  const commands = jest.spyOn(t.app.redis, 'evalsha');
  const found = await Promise.all([one, ended, two, one, { cookie: 'coinop.sid=invented' }].map((by) => store.find(idOf(by))));
  expect(found.map((session) => session?.wallet ?? null)).toEqual([one.wallet, null, two.wallet, one.wallet, null]);
  expect(commands).toHaveBeenCalledTimes(1);
  commands.mockRestore();
});

test('sessions survive the loss of all Redis data', async () => {
  const me = await signIn(t);
  expect(await statusOf(t, me.cookie)).toBe(200);
  await loseSessions(t);
  expect(await statusOf(t, me.cookie)).toBe(200);
});

test('a failover that loses the marks of a sign-out does not restore the session', async () => {
  const me = await signIn(t);
  expect(await statusOf(t, me.cookie)).toBe(200);
  const copies = await Promise.all((await sessionKeys(t)).map(async (key) => [key, (await t.app.redis.get(key)) ?? ''] as const));
  const [key, copy] = copies.find(([, text]) => text.includes(me.wallet)) ?? ['', ''];
  expect((await me.fetch('/auth/logout', { method: 'POST' })).status).toBe(200);
  // The replica became the primary before it had received the marks. Its replication id differs from the id in the copy.
  await t.app.redis.set(key, copy.replace(/^\w+/, 'f'.repeat(40)));
  await t.app.redis.unlink(markKeyOf(key));
  for (const at of [t, other]) expect(await statusOf(at, me.cookie)).toBe(401);
});

test('a session in Redis expires within ten minutes, and the mark of its end stays longer', async () => {
  const me = await signIn(t);
  await loseSessions(t);
  await me.fetch('/me');
  const [key = ''] = await sessionKeys(t);
  expect(await t.app.redis.pttl(key)).toBeGreaterThan(590_000);
  expect(await t.app.redis.pttl(key)).toBeLessThanOrEqual(600_000);
  await me.fetch('/auth/logout', { method: 'POST' });
  expect(await t.app.redis.pttl(markKeyOf(key))).toBeGreaterThan(600_000);
});

test('endSessions ends all sessions of a wallet', async () => {
  const wallet = createWallet();
  const sessions = [await signIn(t, wallet), await signIn(t, wallet)];
  const bystander = await signIn(t);
  for (const session of sessions) expect(await statusOf(other, session.cookie)).toBe(200);
  await endSessions(t.app, wallet.address);
  for (const session of sessions) expect(await statusOf(other, session.cookie)).toBe(401);
  expect(await statusOf(other, bystander.cookie)).toBe(200);
});

test('a sign-in ends the oldest sessions of a wallet that has more than 100, in all processes', async () => {
  const wallet = createWallet();
  const { cookie } = await signIn(t, wallet);
  expect(await statusOf(other, cookie)).toBe(200);
  await sql(
    t.app,
    `insert into sessions (key, wallet, created_at, extended_at, expires_at)
     select sha256(n::text::bytea), $1, app_now() + interval '1 second', app_now() + interval '1 second', app_now() + interval '1 hour' from generate_series(1, 120) n`,
    [wallet.address],
  );
  await t.clock.set(new Date(t.clock.now().getTime() + 2_000));
  const newest = await signIn(t, wallet);
  expect(await sql(t.app, 'select count(*)::int as n from sessions where wallet = $1', [wallet.address])).toEqual([{ n: MAX_SESSIONS }]);
  expect([await statusOf(other, cookie), await statusOf(other, newest.cookie)]).toEqual([401, 200]);
});

test('a wallet signs in at most 60 times a minute, and false proofs of strangers do not count', async () => {
  const wallet = createWallet();
  const verify = async (signer = wallet) => {
    const message = signInText(await requestNonce(t), wallet.address);
    const signature = Buffer.from(signer.sign(Buffer.from(message))).toString('base64');
    return await send(t, '/auth/verify', { json: { publicKey: wallet.address, message, signature } });
  };
  const stranger = createWallet();
  for (let i = 0; i < 61; i++) expect((await verify(stranger)).status).toBe(401);
  const statuses = await Promise.all(Array.from({ length: 62 }, async () => (await verify()).status));
  expect(statuses.filter((status) => status === 429)).toHaveLength(2);
});

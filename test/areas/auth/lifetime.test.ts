import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { purgeExpiredAuth } from '#areas/auth';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { WAITING } from '#test/support/locks.ts';
import { cachedSessions, countRows } from '#test/support/sign-in.ts';
import { cookiesOf, requestNonce, type SignedIn, send, signIn } from '#test/support/wallet.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 86_400_000;

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

const pass = (ms: number) => t.clock.set(new Date(t.clock.now().getTime() + ms));

async function stateOf(me: SignedIn): Promise<{ createdAt: string; expiresAt: string; lastExtendedAt: string; cookies: number }> {
  const response = await me.fetch('/me');
  expect(response.status).toBe(200);
  const { session } = (await response.json()) as { session: { createdAt: string; expiresAt: string; lastExtendedAt: string } };
  return { ...session, cookies: response.headers.getSetCookie().length };
}

test('a session used again within an hour is not written, and its cookie is not set again', async () => {
  const me = await signIn(t);
  const first = await stateOf(me);
  expect(first.cookies).toBe(0);
  await pass(HOUR - 1_000);
  expect(await stateOf(me)).toEqual(first);
});

test('a session used after an hour is extended to seven days, and so is its cookie', async () => {
  const me = await signIn(t);
  const first = await stateOf(me);
  await pass(HOUR + 1_000);
  const extended = await stateOf(me);
  expect(extended.cookies).toBe(2);
  expect(extended.createdAt).toBe(first.createdAt);
  expect(Date.parse(extended.expiresAt) - Date.parse(extended.lastExtendedAt)).toBe(7 * DAY);
  expect(Date.parse(extended.lastExtendedAt)).toBeGreaterThanOrEqual(Date.parse(first.lastExtendedAt) + HOUR);
  expect(await stateOf(me)).toEqual({ ...extended, cookies: 0 });
});

test('of many concurrent requests in two processes, one extends the session', async () => {
  const me = await signIn(t);
  await pass(HOUR + 1_000);
  const headers = { Cookie: me.cookie };
  const responses = await Promise.all(Array.from({ length: 12 }, (_, i) => send(i % 2 ? t : other, '/me', { headers })));
  expect(responses.map((r) => r.status)).toEqual(Array(12).fill(200));
  expect(responses.filter((r) => r.headers.getSetCookie().length > 0)).toHaveLength(1);
});

test('sessions that several wallets use at the same time are extended in one transaction', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => signIn(t)));
  await pass(HOUR + 1_000);
  const responses = await Promise.all(all.map((me) => me.fetch('/me')));
  expect(responses.map((response) => response.headers.getSetCookie().length)).toEqual(all.map(() => 2));
  const transactions = await countRows(t, '(select distinct xmin::text from sessions where wallet = any($1)) as x', 'true', [
    all.map(({ wallet }) => wallet),
  ]);
  expect(transactions).toBeLessThan(all.length);
});

test('a session that is not used for seven days expires', async () => {
  const me = await signIn(t);
  await pass(7 * DAY - MINUTE);
  const last = await stateOf(me);
  expect(last.cookies).toBe(2);
  await pass(7 * DAY + 1);
  expect((await me.fetch('/me')).status).toBe(401);
});

test('a session expires after thirty days, even when it is used', async () => {
  const me = await signIn(t);
  const { createdAt } = await stateOf(me);
  for (let day = 6; day < 30; day += 6) {
    await pass(6 * DAY);
    await stateOf(me);
  }
  await pass(6 * DAY - 3 * HOUR);
  const last = await stateOf(me);
  expect(Date.parse(last.expiresAt) - Date.parse(createdAt)).toBe(30 * DAY);
  // The session is at its maximum lifetime, so its use is recorded, but it does not expire later.
  await pass(2 * HOUR);
  const recorded = await stateOf(me);
  expect(recorded).toEqual({ ...last, lastExtendedAt: recorded.lastExtendedAt, cookies: 0 });
  expect(Date.parse(recorded.lastExtendedAt) - Date.parse(last.lastExtendedAt)).toBeGreaterThanOrEqual(2 * HOUR);
  await pass(2 * HOUR);
  expect((await me.fetch('/me')).status).toBe(401);
});

test('an in-flight extension does not restore a session after sign-out', async () => {
  const me = await signIn(t);
  await stateOf(me);
  await pass(HOUR + 1_000);
  let extending: Promise<Response> | undefined;
  let leaving: Promise<Response> | undefined;
  const waiting = async (n: number) => {
    const sql = WAITING;
    while (((await other.app.db.query<{ n: number }>({ text: sql }))[0]?.n ?? 0) < n) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  // Holds the row lock: the extension waits first, the sign-out behind it.
  await t.app.tx(async (tx) => {
    await tx.query({ text: 'select 1 from sessions where wallet = $1 for update' }, [me.wallet]);
    extending = me.fetch('/me');
    await waiting(1);
    leaving = send(other, '/auth/logout', { method: 'POST', headers: { Cookie: me.cookie } });
    // The sign-out request also reads the session, so it tries to extend it first.
    await waiting(2);
  });
  expect((await extending)?.status).toBe(200);
  expect((await leaving)?.status).toBe(200);
  expect((await me.fetch('/me')).status).toBe(401);
  expect(await countRows(t, 'sessions', 'wallet = $1', [me.wallet])).toBe(0);
  expect((await cachedSessions(t)).some((value) => value?.includes(me.wallet))).toBe(false);
});

test('after a key rotation, a cookie of the old key is accepted and signed again with all its attributes', async () => {
  const me = await signIn(t);
  const old = 'development-session-key-not-secret';
  const rotating = await startApi({ ...t.env, SESSION_KEYS: `the-new-key-that-signs-from-now-on,${old}` }, t.clock);
  const rotated = await startApi({ ...t.env, SESSION_KEYS: 'the-new-key-that-signs-from-now-on' }, t.clock);
  try {
    const response = await send(rotating, '/me', { headers: { Cookie: me.cookie } });
    expect(response.status).toBe(200);
    const cookies = response.headers.getSetCookie();
    expect(cookies).toHaveLength(2);
    for (const cookie of cookies) expect(cookie).toMatch(/; path=\/; expires=[^;]+; samesite=lax; httponly$/);
    const renewed = { headers: { Cookie: cookiesOf(response) } };
    const again = await send(rotating, '/me', renewed);
    expect({ status: again.status, cookies: again.headers.getSetCookie() }).toEqual({ status: 200, cookies: [] });
    expect((await send(rotated, '/me', renewed)).status).toBe(200);
    expect((await send(rotated, '/me', { headers: { Cookie: me.cookie } })).status).toBe(401);
  } finally {
    await rotating.close();
    await rotated.close();
  }
});

test('the purge deletes expired nonces and sessions only', async () => {
  const gone = await signIn(t);
  await requestNonce(t);
  await pass(8 * DAY);
  const me = await signIn(t);
  await requestNonce(t);
  const removed = await t.app.tx(purgeExpiredAuth);
  expect(removed.more).toBe(false);
  expect(removed.sessions).toBeGreaterThanOrEqual(1);
  expect(await countRows(t, 'sessions', 'wallet = $1', [gone.wallet])).toBe(0);
  expect(await countRows(t, 'sessions', 'wallet = $1', [me.wallet])).toBe(1);
  expect(await countRows(t, 'nonces', 'expires_at > app_now() and $1', [true])).toBe(2);
  expect(await countRows(t, 'nonces', '$1', [true])).toBe(2);
});

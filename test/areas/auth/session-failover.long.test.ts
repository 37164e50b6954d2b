import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RedisGroup, startRedisGroup } from '#dev/stack/redis-group/group.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { send, signIn } from '#test/support/wallet.ts';

const folder = mkdtempSync(join(tmpdir(), 'coinop-session-failover-'));
let group: RedisGroup;
let t: TestApp;
let api: Awaited<ReturnType<typeof startApi>>;
beforeAll(async () => {
  [group, t] = await Promise.all([startRedisGroup('sentinel', folder), startTestApp({ workers: false })]);
  api = await startApi({ ...t.env, REDIS_URL: group.url }, t.clock);
}, 90_000);
afterAll(async () => {
  await api?.close();
  await t?.close();
  await group?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const status = async (cookie: string, path = '/me', method = 'GET') => (await send(api, path, { method, headers: { Cookie: cookie } })).status;
const logout = (cookie: string) => status(cookie, '/auth/logout', 'POST');

test('with Sentinels, a primary without replicas confirms no sign-out and its copies of sessions do not count, because it may be a replaced one', async () => {
  const [here, elsewhere] = [await signIn(api), await signIn(api)];
  for (const { cookie } of [here, elsewhere]) expect(await status(cookie)).toBe(200);
  // A session that ends at another primary: its row is deleted, and this primary does not receive the mark.
  await sql(t.app, 'delete from sessions where wallet = $1', [elsewhere.wallet]);
  expect(await status(elsewhere.cookie)).toBe(200);
  const [, ...replicas] = group.servers;
  for (const replica of replicas) await replica.kill();
  await retryUntilPass(async () => expect(await status(elsewhere.cookie)).toBe(401));
  expect([await logout(here.cookie), await status(here.cookie)]).toEqual([503, 200]);
  for (const replica of replicas) await replica.start();
  await retryUntilPass(async () => expect(await logout(here.cookie)).toBe(200));
  expect(await status(here.cookie)).toBe(401);
}, 60_000);

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { putConfig } from '#areas/rewards/routes/config.ts';
import { RewardsConfig } from '#areas/rewards/schemas.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { adminOf } from '#test/support/http/client.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({
    workers: false,
    env: { ADMIN_TOKENS: `${ADMIN_TOKEN},second:money:second-admin-token-0123456789`, APPROVALS: 'limit:5000' },
  });
});
afterAll(() => t?.close());

const put = (rules: { pool: string; cap: string | null }, ifMatch?: string) =>
  adminOf(t).call(putConfig, { body: rules, headers: ifMatch === undefined ? {} : { 'If-Match': ifMatch } });
const config = async () => jsonOf(send(t, '/config/rewards'), RewardsConfig);

test('rules with a higher pool or cap than the approved amount wait for a second token, unless another version is in force', async () => {
  expect((await put({ pool: '5000', cap: '4000' })).status).toBe(200);
  const { version } = await config();
  for (const rules of [
    { pool: '5001', cap: '4000' },
    { pool: '6000', cap: null },
  ]) {
    expect(await put(rules, `"${version + 1}"`)).toMatchObject({ status: 412, body: { error: 'If-Match must be the current ETag' } });
    const asked = await put(rules, `"${version}"`);
    expect(asked).toMatchObject({ status: 202, body: { kind: 'limit', status: 'pending', amount: rules.pool } });
    expect(asked.headers.get('Location')).toMatch(/^\/admin\/approvals\//);
  }
  expect(await config()).toMatchObject({ version, pool: '5000', cap: '4000' });
  // A lower pool and a higher cap within the amount need no approval.
  expect((await put({ pool: '4500', cap: '4500' }, `"${version}"`)).status).toBe(200);
  expect(await config()).toMatchObject({ version: version + 1, pool: '4500', cap: '4500' });
});

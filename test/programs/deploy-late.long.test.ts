import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type DeployTest, killedAfter, startDeployTest, type TestDeployment } from './deploy-setup.ts';

/** Fee of a transaction with one or two signatures at the default priority price, lamports. */
const [ONE_SIGNATURE, TWO_SIGNATURES] = [7_000, 12_000];

let t: DeployTest;
beforeAll(async () => {
  t = await startDeployTest();
});
afterAll(() => t?.close());

/** Runs a command and returns the lamports that the deployer paid. */
async function costOf(deployment: TestDeployment, run: () => Promise<unknown>): Promise<number> {
  const before = await t.balanceOf(deployment.keys.deployer);
  await run();
  return before - (await t.balanceOf(deployment.keys.deployer));
}

test('bin/deploy apply that is repeated at once, before its transactions are confirmed, pays at most their fees again', async () => {
  const whole = await t.deployment();
  const cost = await costOf(whole, () => t.run('apply', whole));
  for (const n of [1, 5, 19, 20]) {
    const deployment = await t.deployment();
    const spent = await costOf(deployment, async () => {
      await t.run('apply', deployment, { node: killedAfter(t.node, n).node });
      expect(await t.run('apply', deployment)).toMatchObject({ status: 0, error: null });
    });
    expect(spent - cost).toBeLessThanOrEqual(10 * TWO_SIGNATURES);
  }
}, 60_000);

test('two bin/deploy apply at the same time both succeed, and the rents are paid once', async () => {
  const whole = await t.deployment();
  const cost = await costOf(whole, () => t.run('apply', whole));
  const deployment = await t.deployment();
  const spent = await costOf(deployment, async () => {
    const results = await Promise.all([t.run('apply', deployment), t.run('apply', deployment)]);
    expect(results.map(({ error }) => error)).toEqual([null, null]);
    expect(await t.run('plan', deployment)).toMatchObject({ status: 0 });
  });
  expect(spent - cost).toBeLessThanOrEqual(50 * TWO_SIGNATURES);
}, 60_000);

test('a buffer that a late transaction creates again after the deployment is closed by the next call, and its rent comes back', async () => {
  const whole = await t.deployment();
  const cost = await costOf(whole, () => t.run('apply', whole));
  const deployment = await t.deployment();
  const spent = await costOf(deployment, async () => {
    const late = await t.chain.control.fault({ kind: 'late', methods: ['sendTransaction'], last: true, times: 1 });
    expect(late).toBeDefined();
    expect((await t.run('apply', deployment, { node: killedAfter(t.node, 1).node })).error).toBe('killed');
    expect(await t.run('apply', deployment)).toMatchObject({ status: 0 });
    await t.chain.control.advance(200);
    expect(await t.run('plan', deployment)).toMatchObject({ status: 2, printed: expect.stringContaining('to do    close the buffer account') });
    expect(await t.run('apply', deployment)).toMatchObject({ status: 0 });
    expect(await t.run('plan', deployment)).toMatchObject({ status: 0 });
  });
  expect(spent - cost).toBe(TWO_SIGNATURES + ONE_SIGNATURE);
}, 60_000);

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type DeployTest, killedAfter, startDeployTest, type TestDeployment } from './deploy-setup.ts';

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

test('bin/deploy apply that is killed after any of its transactions is completed by a second call, and nothing is paid twice', async () => {
  const whole = await t.deployment();
  const counted = killedAfter(t.node, Number.MAX_SAFE_INTEGER);
  const cost = await costOf(whole, async () => expect(await t.run('apply', whole, { node: counted.node })).toMatchObject({ status: 0 }));
  expect(counted.sent).toBeGreaterThan(30);
  for (let n = 1; n <= counted.sent; n++) {
    const deployment = await t.deployment();
    const spent = await costOf(deployment, async () => {
      await t.run('apply', deployment, { node: killedAfter(t.node, n).node });
      // The transactions that were sent before the end of the process land, and they are confirmed.
      await t.chain.control.advance(2);
      expect(await t.run('apply', deployment)).toMatchObject({ status: 0, error: null });
    });
    expect({ n, spent }).toEqual({ n, spent: cost });
  }
}, 300_000);

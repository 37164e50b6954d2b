import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { computeEpoch } from '#areas/rewards/epochs/compute.ts';
import { describeEpochs } from '#areas/rewards/epochs/job-description.ts';
import { storeTree } from '#areas/rewards/epochs/leaf-store.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { DAY, insertClosedDay, randomWallet } from '#test/support/areas/epochs.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t?.close());

test('a computation reports a progress that only grows, and the job board shows its epoch before and after it', async () => {
  await insertClosedDay(t.app, DAY, [{ wallet: randomWallet(), points: 5 }]);
  await sql(t.app, `insert into epochs (epoch, source, pool, dust, expiry_days, rules_version, formula) values ($1, 'computed', 9, 0, 90, 0, 1)`, [
    DAY,
  ]);
  const describe = async () => (await describeEpochs(t.app.db, [{ epoch: DAY }]))({ epoch: DAY });
  expect(await describe()).toMatchObject({ about: `epoch ${DAY}`, record: { state: 'computing' }, route: 'post /rewards/trigger-epoch' });
  const reported: number[] = [];
  await computeEpoch(t.app, DAY, (percent) => void reported.push(percent));
  expect(reported).toEqual(reported.toSorted((a, b) => a - b));
  expect(reported.length).toBeGreaterThan(2);
  expect(Math.max(...reported)).toBeLessThan(100);
  expect(await describe()).toMatchObject({
    record: { state: 'computed', leaves: 1, total: '9' },
    route: 'post /admin/rewards/epoch/{epoch}/release',
  });
});

test('a tree whose last statement has as many leaves as a statement can have is stored without an empty row', async () => {
  const leaves = new Uint8Array(512 * 32 * 32);
  await t.app.tx((tx) => storeTree(tx, { epoch: 1, allocation: 1 }, { root: leaves.subarray(0, 32), leaves, roots: leaves.subarray(0, 512 * 32) }));
  const rows = await sql(
    t.app,
    `select level, count(*)::int as rows, max(chunk) as last, min(octet_length(hashes)) as least, max(octet_length(hashes)) as most
     from reward_trees where epoch = 1 group by level order by level`,
  );
  expect(rows).toEqual([
    { level: 0, rows: 512, last: 511, least: 1_024, most: 1_024 },
    { level: 5, rows: 1, last: 0, least: 512 * 32, most: 512 * 32 },
  ]);
});

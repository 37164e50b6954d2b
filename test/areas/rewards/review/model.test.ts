import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { computeEpoch, sweepEpochs } from '#areas/rewards';
import { deleteExclusion, getAllocations, getExclusions, postExclusions } from '#areas/rewards/review/routes.ts';
import { allocate } from '#lib/allocation.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { DAY, epochOf, insertClosedDay, leavesOf, randomWallet, setRules, trigger } from '#test/support/areas/epochs.ts';
import { adminOf, clientOf } from '#test/support/http/client.ts';
import { epochChecks } from '#tools/audit/checks/epochs.ts';

const POOL = 1_000_003n;
const CAP = 90_000n;

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ env: { QUEUES: 'scores', REVIEW_HOURS: '6' } });
  await setRules(t, { pool: String(POOL), cap: String(CAP), dust: '500' });
});
afterAll(() => t.close());

/** Returns a function that gives pseudo-random integers from 0 to below its argument. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
}

const setBan = (wallet: string, banned: boolean) =>
  sql(
    t.app,
    `insert into players (wallet, banned_at) values ($1, case when $2 then app_now() end)
     on conflict (wallet) do update set banned_at = excluded.banned_at`,
    [wallet, banned],
  );

test.each([1, 2, 3, 4])(
  'after random exclusions, bans and their undoing, each allocation is that of the wallets that were not excluded (random history %i)',
  async (seed) => {
    const random = randomFrom(seed);
    const epoch = DAY + seed;
    const points = new Map(Array.from({ length: 40 }, () => [randomWallet(), 1 + random(500)] as const));
    const wallets = [...points.keys()].sort();
    await insertClosedDay(
      t.app,
      epoch,
      [...points].map(([wallet, own]) => ({ wallet, points: own })),
    );
    const excluded = new Set<string>();
    const banned = new Set<string>();
    const params = { epoch: String(epoch) };
    const isOut = (wallet: string) => excluded.has(wallet) || banned.has(wallet);

    const compareWithModel = async () => {
      const { header, lines } = await leavesOf(t, epoch);
      const left = wallets.filter((wallet) => !isOut(wallet));
      const { amounts, total } = allocate(
        { pool: POOL, cap: CAP, dust: 500n },
        BigInt64Array.from(left, (wallet) => BigInt(points.get(wallet) ?? 0)),
        (i) => left[i] ?? '',
      );
      expect(Object.fromEntries(lines.map(({ wallet, amount }) => [wallet, amount]))).toEqual(
        Object.fromEntries(left.map((wallet, i) => [wallet, String(amounts[i])])),
      );
      expect(header).toMatchObject({ total: String(total), undistributed: String(POOL - total) });
      expect(lines.reduce((sum, { amount }) => sum + BigInt(amount), 0n)).toBe(total);
      expect(total <= POOL).toBe(true);
      const { body } = await clientOf(t).ok(getExclusions, { params, query: { limit: 500 } });
      expect(new Set(body.map(({ wallet }) => wallet))).toEqual(new Set(wallets.filter(isOut)));
      return { header, lines };
    };

    await trigger(t, epoch, { Prefer: 'wait=0' });
    await computeEpoch(t.app, epoch);
    const history = [await compareWithModel()];
    for (let step = 0; step < 40; step++) {
      const wallet = wallets[random(wallets.length)] ?? '';
      switch (random(5)) {
        case 0: {
          const some = wallets.filter(() => random(8) === 0);
          if (some.length === 0) break;
          await adminOf(t).ok(postExclusions, { params, body: { wallets: some, reason: `step ${step}` } });
          for (const one of some) excluded.add(one);
          break;
        }
        case 1: {
          const { status } = await adminOf(t).call(deleteExclusion, { params: { ...params, wallet } });
          expect(status).toBe(excluded.delete(wallet) ? 202 : 404);
          break;
        }
        case 2:
          await setBan(wallet, true);
          banned.add(wallet);
          break;
        case 3:
          for (const one of banned) if (random(2) === 0 && banned.delete(one)) await setBan(one, false);
          break;
        default: {
          await sweepEpochs(t.app);
          const { allocationPending } = await epochOf(t, epoch);
          // Two workers compute at the same time.
          await Promise.all([computeEpoch(t.app, epoch), computeEpoch(t.app, epoch)]);
          if (allocationPending) history.push(await compareWithModel());
        }
      }
    }
    await sweepEpochs(t.app);
    await computeEpoch(t.app, epoch);
    await compareWithModel();

    const { body: allocations } = await clientOf(t).ok(getAllocations, { params });
    expect(allocations.length).toBeGreaterThan(2);
    for (const [i, before] of history.entries()) {
      expect(await leavesOf(t, epoch, `?allocation=${i + 1}`)).toEqual(before);
      expect(allocations[i]).toMatchObject({ allocation: i + 1, root: before.header.root, total: before.header.total });
    }
    const { config, redis, chain, storage, db } = t.app;
    const scope = { days: 1, epochs: 1, rounds: 1, sample: 1, all: true };
    const audit = { config, redis, chain, storage, db, scope, recheck: { attempts: 1, intervalMs: 1 } };
    for (const check of epochChecks) expect({ check: check.name, ...(await check.run(audit)) }).toEqual({ check: check.name, total: 0, listed: [] });
    await Promise.all([...banned].map((wallet) => setBan(wallet, false)));
  },
);

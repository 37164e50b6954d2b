import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type LocalnetProcess, startLocalnetProcess } from '#dev/stack/localnet.ts';
import { openTemporaryFolder } from '#dev/stack/temporary.ts';
import { fuzzOwnTarget } from '#tools/fuzz/resource-growth.ts';
import { reachedShare } from '#tools/fuzz/run.ts';
import { type OwnTarget, startTarget } from '#tools/fuzz/target.ts';

/** Seed of the run, different each time; `FUZZ_SEED` repeats a run. */
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000_000);
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 1_500);

let folder: Awaited<ReturnType<typeof openTemporaryFolder>>;
let localnet: LocalnetProcess;
let target: OwnTarget;
beforeAll(async () => {
  folder = await openTemporaryFolder('coinop-fuzz-');
  localnet = await startLocalnetProcess({ folder: join(folder.path, 'localnet'), slotMs: 200, finalizedAfter: 4, beaconMs: 1_000 });
  target = await startTarget({ localnet, env: { DRAW_LEAD_SEC: '4' } });
});
afterAll(async () => {
  await target?.close();
  await localnet?.stop();
  folder?.remove();
});

test(`${REQUESTS} requests generated from the document, half of them hostile, find no faults (seed ${SEED})`, async () => {
  const { report, after } = await fuzzOwnTarget(target, { requests: REQUESTS, seed: SEED });
  expect(report.faults).toEqual([]);
  expect(reachedShare(report)).toBeGreaterThan(0.8);
  expect(after).toEqual([]);
}, 600_000);

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { firstRoundFrom, timeOf } from '#lib/draw/beacon-chain.ts';
import { beaconOf } from '#platform/solana/beacon/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';

let chain: TestChain;
let testApp: TestApp;
beforeAll(async () => {
  chain = await startTestChain({ genesis: false });
  testApp = await startTestApp({ workers: false, env: chain.env });
});
afterAll(async () => {
  await testApp?.close();
  await chain?.close();
});

test('an application has one beacon, which uses the application clock', async () => {
  const { app, clock } = testApp;
  const beacon = beaconOf(app);
  expect(beaconOf(app)).toBe(beacon);
  const info = await beacon.chain();
  const round = firstRoundFrom(info, clock.now().getTime() + 180_000);
  const dueAt = new Date(timeOf(info, round));
  expect(await beacon.fetchRound(round)).toEqual({ state: 'not-yet', dueAt });
  await clock.set(dueAt);
  await chain.control.setTime(dueAt);
  expect(await beacon.fetchRound(round)).toMatchObject({ state: 'verified', round, faults: [] });
});

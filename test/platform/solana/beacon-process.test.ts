import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { beaconOf, firstRoundFrom, timeOf } from '#platform/solana/beacon/beacon.ts';
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

test('a process has one beacon, which goes by its clock', async () => {
  const { app, clock } = testApp;
  const beacon = beaconOf(app);
  expect(beaconOf(app)).toBe(beacon);
  const info = await beacon.chain();
  const round = firstRoundFrom(info, clock.now().getTime() + 180_000);
  const dueAt = new Date(timeOf(info, round));
  expect(await beacon.ask(round)).toEqual({ state: 'not-yet', dueAt });
  await clock.set(dueAt);
  await chain.control.setTime(dueAt);
  expect(await beacon.ask(round)).toMatchObject({ state: 'verified', round, faults: [] });
});

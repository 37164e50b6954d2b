import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { readFoundBurns } from '#areas/burns/found-burns.ts';
import { listNewest } from '#areas/burns/history.ts';
import { contradictionScope, resume } from '#platform/solana/submission/index.ts';
import { sql } from '#test/support/areas/boards.ts';
import { activateNewEvent, burnFor, newBurner, readBurns, retryReads, waitUntilFinal } from '#test/support/areas/burns.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';

let t: RewardsTest;
let event: Awaited<ReturnType<typeof activateNewEvent>>;
let burner: Awaited<ReturnType<typeof newBurner>>;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
  burner = await newBurner(t);
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const amounts = async () => (await readBurns(t.app, event)).map(({ amount }) => amount);
const unread = () => sql<{ signature: string }>(t.app, 'select signature from burn_transactions where read_at is null');

test('a burn is credited only when both RPC nodes have it, and waits without a pause while the second one does not answer', async () => {
  event = await activateNewEvent(t.app);
  const signature = await burnFor(t, burner, event, 1n);
  await waitUntilFinal(t, [signature]);
  await listNewest(t.app, event.mint, 0);
  const silent = await t.chain.control.fault({ kind: 'cut', node: 'second' });
  await readFoundBurns(t.app, event.mint);
  expect([await amounts(), await unread(), await paused()]).toEqual([[], [{ signature }], []]);
  await silent.clear();
  await untilCredited(['1']);
  expect(await paused()).toEqual([]);
});

test('a burn that only the first RPC node has is not credited and pauses the crediting until an operator resumes it', async () => {
  event = await activateNewEvent(t.app);
  await t.chain.control.split('apart');
  await t.chain.control.fault({ kind: 'drop', node: 'second' });
  const signature = await burnFor(t, burner, event, 1n);
  await waitUntilFinal(t, [signature]);
  await t.chain.control.advance(40);
  await listNewest(t.app, event.mint, 0);
  await retryUntilPass(async () => {
    await retryReads(t.app);
    await readFoundBurns(t.app, event.mint);
    expect(await paused()).toEqual(['contradiction:burn']);
  }, 10_000);
  await t.chain.control.clear();
  await retryReads(t.app);
  await readFoundBurns(t.app, event.mint);
  expect([await amounts(), await unread()]).toEqual([[], [{ signature }]]);
  await t.app.tx((tx) => resume(tx, contradictionScope('burn')));
});

const paused = async () => (await sql<{ scope: string }>(t.app, 'select scope from chain_pauses')).map(({ scope }) => scope);
const untilCredited = (expected: readonly string[]) =>
  retryUntilPass(async () => {
    await retryReads(t.app);
    await readFoundBurns(t.app, event.mint);
    expect(await amounts()).toEqual(expected);
  }, 15_000);

import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { reconcileLanes } from '#areas/payouts/lanes/reconcile.ts';
import { unavailable } from '#lib/errors.ts';
import { sql } from '#test/support/areas/boards.ts';
import type { StoredLane } from '#test/support/areas/payout-rows.ts';
import { LaneChain, OPENED_SLOT } from './lane-chain.ts';

let chain: LaneChain;
beforeAll(async () => {
  chain = await LaneChain.start();
});
beforeEach(() => chain.reset());
afterAll(() => chain.t.close());

const read = () => reconcileLanes(chain.t.app, 'stale', { readsHistory: true });
const stateOf = async ({ lane }: StoredLane) =>
  (
    await sql<{ nonce: string | null; stale: boolean; reason: string | null }>(
      chain.t.app,
      'select nonce, stale, reason from payout_lanes where lane = $1',
      [lane],
    )
  )[0];

test('a lane waits, with the reason, while the RPC node does not list its history', async () => {
  const lane = await chain.newLane();
  chain.addTransaction(lane, lane.nonce, { at: 500 });
  chain.accounts.set(lane.address, chain.nonceAfter(500));
  const { node } = chain.t.app.chain;
  const { history } = node;
  node.history = async () => {
    throw unavailable('the RPC node is down', 1);
  };
  expect(await read()).toMatchObject({ clear: false, unexplained: 1, stuck: 1 });
  expect((await stateOf(lane))?.reason).toContain('the RPC node is down');
  // A node that does not know the signature before which it must list answers with another error.
  node.history = async () => {
    throw new Error('no such signature');
  };
  expect(await read()).toMatchObject({ clear: false, unexplained: 1, stuck: 1 });
  expect((await stateOf(lane))?.reason).toContain('no RPC node lists the transactions of the lane back to slot 100');
  node.history = history;
  expect(await read()).toMatchObject({ clear: true });
});

test('a lane without a stored nonce is not free while its account has another nonce than its opening gave it', async () => {
  const lane = await chain.newLane();
  await sql(chain.t.app, 'update payout_lanes set nonce = null, nonce_slot = 0 where lane = $1', [lane.lane]);
  chain.accounts.set(lane.address, chain.nonceAfter(600));
  expect(await read()).toMatchObject({ clear: false, unexplained: 1 });
  expect(await stateOf(lane)).toMatchObject({ nonce: null, stale: true });
  chain.accounts.set(lane.address, chain.nonceAfter(OPENED_SLOT));
  await read();
  expect(await stateOf(lane)).toMatchObject({ nonce: chain.nonceAfter(OPENED_SLOT), stale: false });
});

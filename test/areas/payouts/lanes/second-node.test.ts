import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { reconcileLanes } from '#areas/payouts/lanes/reconcile.ts';
import { unavailable } from '#lib/errors.ts';
import { sql } from '#test/support/areas/boards.ts';
import { nonceAccount, randomAddress, type StoredLane } from '#test/support/areas/payout-rows.ts';
import { LaneChain } from './lane-chain.ts';

let chain: LaneChain;
/** The nonces that the second RPC node shows, and the slot of its responses. Null: the second node does not answer. */
let second: { nonces: Map<string, string>; slot: number } | null;
beforeAll(async () => {
  chain = await LaneChain.start({ SOLANA_RPC_SECOND_URL: 'http://127.0.0.1:9' });
  const node = chain.t.app.chain.second;
  if (!node) throw new Error('the test needs a second RPC node');
  node.accounts = async (addresses) => {
    if (second === null) throw unavailable('the second RPC node does not answer', 1);
    const { nonces, slot } = second;
    return { slot, accounts: addresses.map((address) => nonceAccount(nonces.get(address.toBase58()) ?? '')) };
  };
});
beforeEach(async () => {
  await chain.reset();
  await sql(chain.t.app, 'delete from chain_pauses');
});
afterAll(() => chain.t.close());

const stateOf = async ({ lane }: StoredLane) =>
  (
    await sql<{ nonce: string; stale: boolean; reason: string | null }>(
      chain.t.app,
      'select nonce, stale, reason from payout_lanes where lane = $1',
      [lane],
    )
  )[0];
const pauses = async () => (await sql<{ scope: string }>(chain.t.app, 'select scope from chain_pauses')).map(({ scope }) => scope);
const read = async (slot: number) => {
  chain.slot = slot;
  if (second) second.slot = slot;
  return await reconcileLanes(chain.t.app, 'stale', { readsHistory: false });
};

/** Stores a lane whose new nonce an operator has accepted, so that the first node alone would settle it. */
async function changedLane(): Promise<{ lane: StoredLane; nonce: string }> {
  const lane = await chain.newLane();
  const nonce = randomAddress();
  chain.accounts.set(lane.address, nonce);
  await sql(chain.t.app, 'update payout_lanes set accepted = true, stale = true where lane = $1', [lane.lane]);
  return { lane, nonce };
}

test('a lane is settled only when both RPC nodes show its new nonce', async () => {
  const { lane, nonce } = await changedLane();
  second = { nonces: new Map([[lane.address, lane.nonce]]), slot: 0 };
  expect(await read(1_000)).toMatchObject({ clear: false });
  expect(await stateOf(lane)).toMatchObject({
    nonce: lane.nonce,
    stale: true,
    reason: expect.stringContaining('the second RPC node does not show the nonce'),
  });
  second.nonces.set(lane.address, nonce);
  expect(await read(1_010)).toMatchObject({ clear: true });
  expect(await stateOf(lane)).toEqual({ nonce, stale: false, reason: null });
  expect(await pauses()).toEqual([]);
});

test('a second RPC node that shows the old nonce more than 32 slots later pauses payout batches, and the lane is not settled', async () => {
  const { lane } = await changedLane();
  second = { nonces: new Map([[lane.address, lane.nonce]]), slot: 0 };
  await read(1_000);
  await read(1_032);
  expect(await pauses()).toEqual([]);
  await read(1_033);
  expect(await pauses()).toEqual(['contradiction:payout-batch']);
  expect(await stateOf(lane)).toMatchObject({ nonce: lane.nonce, stale: true });
});

test('a lane waits without a pause while the second RPC node does not answer', async () => {
  const { lane } = await changedLane();
  second = null;
  await read(1_000);
  await read(2_000);
  expect(await stateOf(lane)).toMatchObject({ stale: true, reason: expect.stringContaining('the second RPC node does not answer') });
  expect(await pauses()).toEqual([]);
});

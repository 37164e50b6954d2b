import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { findForgottenLanes } from '#areas/payouts';
import { laneAddress } from '#platform/solana/nonce-lanes.ts';
import { newSigner } from '#platform/solana/primitives.ts';
import { SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';
import type { TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';
import { historyEntry, LaneChain } from './lane-chain.ts';

const signer = newSigner();
const feePayer = signer.publicKey;

let chain: LaneChain;
let t: TestApp;
beforeAll(async () => {
  chain = await LaneChain.start({ FEE_PAYER_KEY: JSON.stringify([...signer.secretKey]) });
  t = chain.t;
});
beforeEach(() => {
  chain.accounts.clear();
  chain.histories.clear();
});
afterAll(() => t.close());

const INITIALIZE = 6;
const ADVANCE = 4;

/** Adds a successful transaction that names the nonce account of a lane, after the earlier ones. @returns its signature */
function addTransaction(lane: number, type: typeof INITIALIZE | typeof ADVANCE, by = feePayer.toBase58()): string {
  const address = laneAddress(feePayer, lane).toBase58();
  const signature = randomSignature();
  chain.accounts.set(address, randomAddress());
  chain.histories.set(address, [historyEntry(signature, 1), ...(chain.histories.get(address) ?? [])]);
  chain.transactions.set(signature, {
    ...{ signature, slot: 1, blockTime: null, blockhash: randomAddress(), signers: [by] },
    instructions: [{ program: SYSTEM_PROGRAM.toBase58(), accounts: [address], data: Buffer.from([type, 0, 0, 0]) }],
    outcome: { failed: false, tokensBefore: [], tokensAfter: [], innerInstructions: [] },
  });
  return signature;
}
const use = (lane: number, by?: string) => addTransaction(lane, ADVANCE, by);
const open = (lane: number) => addTransaction(lane, INITIALIZE);

test('a lane is forgotten if the fee payer used it, and the database has not opened it', async () => {
  for (const lane of [0, 2, 63]) {
    open(lane);
    use(lane);
  }
  expect(await findForgottenLanes(t.app)).toEqual([0, 2, 63]);
  await sql(t.app, `insert into chain_transactions (kind, subject, state) values ('open-payout-lane', $1, 'live')`, [
    `2:${laneAddress(feePayer, 2).toBase58()}`,
  ]);
  expect(await findForgottenLanes(t.app)).toEqual([0, 63]);
});

test('a lane that was only opened is not forgotten, whatever strangers send to it and whatever fails', async () => {
  open(1);
  expect(await findForgottenLanes(t.app)).toEqual([]);
  use(1, randomAddress());
  const address = laneAddress(feePayer, 1).toBase58();
  const failed = { ...historyEntry(use(1), 1), failed: true };
  chain.histories.set(address, [failed, ...(chain.histories.get(address) ?? []).slice(1)]);
  expect(await findForgottenLanes(t.app)).toEqual([]);
  use(1);
  expect(await findForgottenLanes(t.app)).toEqual([1]);
});

test('a lane counts as forgotten when its opening is not listed, or when a listed transaction cannot be read', async () => {
  use(3, randomAddress());
  open(4);
  chain.transactions.delete(use(4, randomAddress()));
  expect(await findForgottenLanes(t.app)).toEqual([3, 4]);
});

test('a lane with twenty transactions counts as forgotten', async () => {
  open(5);
  for (let i = 0; i < 18; i++) use(5, randomAddress());
  expect(await findForgottenLanes(t.app)).toEqual([]);
  use(5, randomAddress());
  expect(await findForgottenLanes(t.app)).toEqual([5]);
});

test('without a fee payer no lane is forgotten', async () => {
  open(0);
  use(0);
  const { config } = t.app;
  const secrets = { ...config.chain.secrets, feePayer: null };
  expect(await findForgottenLanes({ ...t.app, config: { ...config, chain: { ...config.chain, secrets } } })).toEqual([]);
});

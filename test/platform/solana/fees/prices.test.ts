import { expect, test } from '@jest/globals';
import { PublicKey } from '@solana/web3.js';
import { type App, AppStates } from '#platform/app.ts';
import type { RpcNode } from '#platform/solana/rpc-node.ts';
import { priorityPrice, rememberPrice } from '#platform/solana/submission/signing/fees.ts';
import { marketPrice, readPrices } from '#platform/solana/submission/signing/prices.ts';

const account = PublicKey.default;
/** Creates an RPC node that answers with `answer`, and records its calls. */
function nodeThat(answer: (method: string, params: readonly unknown[]) => unknown) {
  const calls: [method: string, params: readonly unknown[]][] = [];
  const call: RpcNode['call'] = async (method, params) => {
    calls.push([method, params]);
    return answer(method, params);
  };
  return { node: { call } as RpcNode, calls };
}
const refuse = (code: number) => {
  throw Object.assign(new Error('refused'), { code });
};
const fees = [
  { slot: 7, prioritizationFee: 30 },
  { slot: 9, prioritizationFee: 20 },
];
const bySlot = (...prices: readonly number[]) => new Map(prices.map((price, slot) => [slot, price]));

test('the market price is the price at which a transaction would have landed in three of four slots', () => {
  const prices = bySlot(...Array.from({ length: 20 }, (_, i) => (i + 1) * 100));
  expect(marketPrice(prices, prices, new Set())).toBe(1_600);
  expect(marketPrice(bySlot(50), bySlot(50), new Set())).toBe(50);
  expect(marketPrice(new Map(), new Map(), new Set())).toBe(0);
});

test('own prices do not raise the market price: the price of the block counts instead, and no slot in which that is an own price too', () => {
  expect(marketPrice(bySlot(900, 900, 900, 900), bySlot(10, 20, 30, 40), new Set([900]))).toBe(40);
  expect(marketPrice(bySlot(900, 900, 15), bySlot(900, 900, 10), new Set([900]))).toBe(15);
  expect(marketPrice(bySlot(900, 900), bySlot(900, 900), new Set([900]))).toBe(0);
});

test('a plain node is asked for the accounts, of which the newest 30 slots count', async () => {
  const many = Array.from({ length: 150 }, (_, slot) => ({ slot, prioritizationFee: slot }));
  const { node, calls } = nodeThat(() => many);
  expect([...(await readPrices(node, 'agave', [account])).keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, i) => 120 + i));
  expect(calls).toEqual([['getRecentPrioritizationFees', [[account.toBase58()]]]]);
});

test('a node with the parameter percentile is asked for it, and one that refuses it is asked as a plain node', async () => {
  const triton = nodeThat(() => fees);
  expect(await readPrices(triton.node, 'triton', [account])).toEqual(
    new Map([
      [9, 20],
      [7, 30],
    ]),
  );
  expect(triton.calls).toEqual([['getRecentPrioritizationFees', [[account.toBase58()], { percentile: 2_500 }]]]);
  const plain = nodeThat((_, params) => (params.length > 1 ? refuse(-32602) : fees));
  expect(await readPrices(plain.node, 'triton', [account])).toEqual(
    new Map([
      [9, 20],
      [7, 30],
    ]),
  );
});

test('the estimate of Helius counts as the price of one slot, and a node without the method is asked as a plain node', async () => {
  const helius = nodeThat(() => ({ priorityFeeEstimate: 1_234.5 }));
  expect([...(await readPrices(helius.node, 'helius', [account])).values()]).toEqual([1_235]);
  expect(helius.calls).toEqual([['getPriorityFeeEstimate', [{ accountKeys: [account.toBase58()], options: { priorityLevel: 'Medium' } }]]]);
  const plain = nodeThat((method) => (method === 'getPriorityFeeEstimate' ? refuse(-32601) : fees));
  expect(await readPrices(plain.node, 'helius', [account])).toEqual(
    new Map([
      [9, 20],
      [7, 30],
    ]),
  );
});

test('an error that is no refusal of the method is thrown', async () => {
  await expect(readPrices(nodeThat(() => refuse(-32005)).node, 'triton', [account])).rejects.toMatchObject({ code: -32005 });
});

/** Creates an application whose RPC node returns one price for every account and block; null: the node refuses the request. `priorityPrice` uses no other part. */
function appAt(market: number | null): App {
  const { node } = nodeThat(() => (market === null ? refuse(-32601) : [{ slot: 1, prioritizationFee: market }]));
  const states = new AppStates();
  const app = {
    ...{ chain: { node }, db: { query: async () => [] }, log: { warn: () => undefined } },
    config: { chain: { submission: { priorityFee: { floor: 1_000, cap: 20_000, api: 'agave' } } } },
    state: (slot: Parameters<App['state']>[0]) => states.get(app, slot),
  } as unknown as App;
  return app;
}

test('the price of an attempt exceeds the market price, grows by half with each step, and stays between the lowest and the highest price', async () => {
  const priceAt = (market: number | null, steps: number) => priorityPrice(appAt(market), [account], steps);
  expect([await priceAt(5_000, 0), await priceAt(5_000, 1), await priceAt(5_000, 2)]).toEqual([5_001, 7_502, 11_253]);
  expect([await priceAt(0, 0), await priceAt(998, 0), await priceAt(1_000, 0), await priceAt(null, 0)]).toEqual([1_000, 1_000, 1_001, 1_000]);
  expect([await priceAt(19_998, 0), await priceAt(19_999, 0), await priceAt(30_000, 0), await priceAt(5_000, 10)]).toEqual([
    19_999, 20_000, 20_000, 20_000,
  ]);
});

test('a price that this process has just signed counts as an own price, before the pending attempts are read again', async () => {
  const app = appAt(5_000);
  expect(await priorityPrice(app, [account], 0)).toBe(5_001);
  rememberPrice(app, 5_000);
  expect(await priorityPrice(app, [account], 0)).toBe(1_000);
});

import { expect, test } from '@jest/globals';
import { COMMITMENT_BYTES, DRAWS_BYTES } from '#platform/solana/draws/index.ts';
import { commitmentsPerTransaction, MAX_TRANSACTION_BYTES, measure } from './costs.ts';
import { DrawsWorld } from './world.ts';

const costs = measure(3);
const costOf = (name: string) => {
  const cost = costs.find((row) => row.name.startsWith(name));
  if (!cost) throw new Error(`there is no row ${name}`);
  return cost;
};

test('eight commitments fit into one transaction, and nine when the committer pays', () => {
  const world = new DrawsWorld('default features');
  expect(commitmentsPerTransaction(world)).toBe(8);
  expect(commitmentsPerTransaction(world, world.committer)).toBe(9);
  for (const { bytes } of costs) expect(bytes).toBeLessThanOrEqual(MAX_TRANSACTION_BYTES);
});

test('a commitment uses few compute units, and a full transaction less than its default limit of 1,400,000', () => {
  expect(costOf('`commit`').max).toBeLessThan(40_000);
  expect(costOf('9 × ').max).toBeLessThan(300_000);
  expect(costOf('`rotate`').max).toBeLessThan(5_000);
});

test('a commitment costs the rent of its account for ever: 1,726,080 lamports at 6,960 lamports per byte', () => {
  expect(costOf('`commit`').lamports).toBe((128 + COMMITMENT_BYTES) * 6_960);
  expect(costOf('8 × ').lamports).toBe(8 * (128 + COMMITMENT_BYTES) * 6_960);
  expect(costOf('`init_draws`').lamports).toBe((128 + DRAWS_BYTES) * 6_960);
  expect(costOf('`rotate`').lamports).toBe(0);
});

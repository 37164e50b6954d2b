import { expect, test } from '@jest/globals';
import { measure } from './costs.ts';

const costs = measure(3);
const costOf = (name: string) => {
  const cost = costs.find((row) => row.name === name);
  if (!cost) throw new Error(`there is no row ${name}`);
  return cost;
};

test('a claim in an epoch of a million leaves uses a small part of the compute units of a transaction', () => {
  expect(costOf('`claim`, later').max).toBeLessThan(45_000);
  expect(costOf('`claim`, first of its page').max).toBeLessThan(60_000);
  for (const name of ['`settle`', '`close`', '`close_page`']) expect(costOf(name).max).toBeLessThan(10_000);
  for (const { max } of costs) expect(max).toBeLessThan(120_000);
});

test('a transaction holds a claim, the opening of the wallet’s token account and a compute budget', () => {
  for (const { bytes } of costs) expect(bytes).toBeLessThanOrEqual(1_232 - 52);
});

test('the rent of a page is about 1,200 lamports per claim at 6,960 lamports per byte', () => {
  expect(costOf('`claim`, later').lamports).toBe(0);
  const page = costOf('`claim`, first of its page').lamports;
  expect(page / 4_096).toBeLessThan(1_200);
  expect(costOf('`close_page`').lamports).toBe(-page);
});

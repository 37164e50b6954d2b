import { expect, test } from '@jest/globals';
import { measure } from './costs.ts';

const costs = measure(3);
const of = (what: string) => {
  const cost = costs.find((row) => row.what === what);
  if (!cost) throw new Error(`no row ${what}`);
  return cost;
};

test('a claim in an epoch of a million costs little of what a transaction may', () => {
  expect(of('`claim`, later').most).toBeLessThan(45_000);
  expect(of('`claim`, first of its page').most).toBeLessThan(60_000);
  for (const what of ['`settle`', '`close`', '`close_page`']) expect(of(what).most).toBeLessThan(10_000);
  for (const { most } of costs) expect(most).toBeLessThan(120_000);
});

test('a claim fits into a transaction, with the wallet’s token account and a compute budget', () => {
  for (const { bytes } of costs) expect(bytes).toBeLessThanOrEqual(1_232 - 52);
});

test('a claim costs a page’s 4,096th of its rent: about 1,200 lamports at 6,960 a byte', () => {
  expect(of('`claim`, later').lamports).toBe(0);
  const page = of('`claim`, first of its page').lamports;
  expect(page / 4_096).toBeLessThan(1_200);
  expect(of('`close_page`').lamports).toBe(-page);
});

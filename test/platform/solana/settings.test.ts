import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { inspectConfig, readConfig } from '#config';
import { ChainEnvironment } from '#platform/solana/config.ts';
import { PRODUCTION } from '#test/support/production.ts';

type Name = keyof typeof ChainEnvironment;
const isChainSetting = (name: string): name is Name => Object.hasOwn(ChainEnvironment, name);
const read = (env: Record<string, string>) => readConfig({ NODE_ENV: 'test', ...env }).chain;

test('the numbers that docs/operations.md gives as defaults are the defaults of the settings', () => {
  const rows = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8').matchAll(/^\| (`[A-Z].*?) +\| .*?\(([\d, ]+)\).*\|$/gm);
  const documented = [...rows].flatMap(([, names = '', numbers = '']) => {
    const values = numbers.split(', ').map((text) => Number(text.replaceAll(',', '')));
    return names.split(', ').map((name, i) => [name.replaceAll('`', ''), values[i]] as const);
  });
  const ofChain = documented.flatMap(([name, value]) => (isChainSetting(name) ? [[name, value] as const] : []));
  expect(ofChain.length).toBeGreaterThan(5);
  expect(ofChain.map(([name]) => [name, Number(ChainEnvironment[name].parse(undefined))])).toEqual(ofChain);
});

test.each<[Name, number, number]>([
  ['SOLANA_RPC_PER_SECOND', 2, 1],
  ['SOLANA_RPC_PER_SECOND', 100_000, 100_001],
  ['PRIORITY_FEE_CAP', 100_000_000, 100_000_001],
  ['LANDING_RAISE_SLOTS', 1, 0],
  ['LANDING_RAISE_SLOTS', 10_000, 10_001],
  ['PAYOUT_LANES', 64, 65],
])('%s may be %i, and must not be %i', (name, within, beyond) => {
  expect(() => read({ [name]: String(within) })).not.toThrow();
  expect(() => read({ [name]: String(beyond) })).toThrow(name);
});

test('the lowest and the highest priority price may be equal, and the lowest must not be higher', () => {
  expect(read({ PRIORITY_FEE_FLOOR: '700', PRIORITY_FEE_CAP: '700' }).submission.priorityFee).toMatchObject({ floor: 700, cap: 700 });
  expect(() => read({ PRIORITY_FEE_FLOOR: '701', PRIORITY_FEE_CAP: '700' })).toThrow('PRIORITY_FEE_FLOOR must be at most PRIORITY_FEE_CAP');
});

describe('in production', () => {
  test('the settings that decide when a transaction counts as expired may be as low as documented, and not lower', () => {
    const problemsOf = (env: Record<string, string>) => inspectConfig({ ...PRODUCTION, ...env }).problems;
    expect(problemsOf({ LANDING_DEPTH_BLOCKS: '32', LANDING_RECHECK_MS: '30000' }).filter((problem) => problem.includes('LANDING'))).toEqual([]);
    expect(problemsOf({ LANDING_DEPTH_BLOCKS: '31' })).toContain('in production LANDING_DEPTH_BLOCKS must be at least 32');
    expect(problemsOf({ LANDING_RECHECK_MS: '29999' })).toContain('in production LANDING_RECHECK_MS must be at least 30000');
  });
});

test('a development system may use another beacon than quicknet, with a public key of its own, and lower settings', () => {
  const hash = 'ab'.repeat(32);
  const lower = { LANDING_DEPTH_BLOCKS: '0', LANDING_RECHECK_MS: '1', DRAND_CHAIN_HASH: hash, DRAND_PUBLIC_KEY: 'cd'.repeat(96), DRAW_LEAD_SEC: '1' };
  expect(inspectConfig({ NODE_ENV: 'development', ...lower }).problems).toEqual([]);
});

import { expect, test } from '@jest/globals';
import { DistributionReader } from '#areas/rewards/import/distribution.ts';
import { randomWallet } from '#test/support/areas/epochs.ts';

/** Builds an NDJSON import with `count` random wallets. */
const ndjson = (epoch: number, count: number) => {
  const rows = Array.from({ length: count }, (_, i) => ({ wallet: randomWallet(), amount: String(i + 1) }));
  return Buffer.from(`${[{ epoch }, ...rows].map((line) => JSON.stringify(line)).join('\n')}\n`);
};

test('the reader refuses rows beyond the maximum', () => {
  const reader = new DistributionReader(undefined, 3);
  expect(reader.push(ndjson(1, 5))).toBe(false);
  expect(reader.finish()).toMatchObject({ rows: 3, errorCount: 1, errors: ['line 5: must not exist, because an import has at most 3 rows'] });
});

test('the reader returns the same result for every chunk size', () => {
  const bytes = ndjson(7, 40);
  const readIn = (size: number) => {
    const reader = new DistributionReader();
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    return { ...reader.finish(), page: reader.page(0) };
  };
  const whole = readIn(bytes.length);
  expect(whole).toMatchObject({ header: { epoch: 7 }, rows: 40, total: 820n, errorCount: 0 });
  for (const size of [1, 2, 7, 100, 1_000]) expect(readIn(size)).toEqual(whole);
});

import { expect, test } from '@jest/globals';
import { newId } from '#lib/ids.ts';

test('ids are UUIDs of version 7, and their times never decrease', () => {
  const before = Date.now();
  const ids = Array.from({ length: 5_000 }, newId);
  const after = Date.now();
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const times = ids.map((id) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times[0]).toBeGreaterThanOrEqual(before);
  expect(times.at(-1)).toBeLessThanOrEqual(after);
});

test('the random bits of 5,000 ids repeat in no two ids', () => {
  // Compares only the last 62 bits, which are random, so that equal times cannot hide a repetition.
  const tails = Array.from({ length: 5_000 }, () => newId().slice(19));
  expect(new Set(tails).size).toBe(tails.length);
});

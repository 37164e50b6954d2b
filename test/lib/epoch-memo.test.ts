import { expect, test } from '@jest/globals';
import { epochMemo, readEpochMemo } from '#lib/epoch-memo.ts';

const pointsHash = 'ab'.repeat(32);

test('the memo of an epoch is parsed back to what it states', () => {
  for (const memo of [{ source: 'import' }, { source: 'computed', pointsHash, pointsBytes: 1_234 }] as const) {
    expect(readEpochMemo(20_777, ['another memo', epochMemo(20_777, memo)])).toEqual(memo);
  }
  expect(epochMemo(20_777, { source: 'computed', pointsHash, pointsBytes: 1_234 })).toBe(`coinop:epoch:20777:points:${pointsHash}:1234`);
  expect(epochMemo(0, { source: 'import' })).toBe('coinop:epoch:0:import');
});

test.each([
  ['is missing', ['hello']],
  ['names another epoch', ['coinop:epoch:20778:import']],
  ['has a second memo with the same prefix beside it', ['coinop:epoch:20777:import', 'coinop:epoch:20777:import']],
  ['has a number with a leading zero', ['coinop:epoch:020777:import']],
  ['has an unknown statement', ['coinop:epoch:20777:exported']],
  ['has a hash that is too short', [`coinop:epoch:20777:points:${pointsHash.slice(2)}:1234`]],
  ['has a hash in capitals', [`coinop:epoch:20777:points:${pointsHash.toUpperCase()}:1234`]],
  ['has no length', [`coinop:epoch:20777:points:${pointsHash}`]],
  ['has the length 0', [`coinop:epoch:20777:points:${pointsHash}:0`]],
  ['has text at its end', ['coinop:epoch:20777:import ']],
])('a memo that %s is no memo of the epoch', (_fault, memos) => {
  expect(readEpochMemo(20_777, memos)).toBeNull();
});

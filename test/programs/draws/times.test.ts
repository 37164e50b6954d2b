import { describe, expect, test } from '@jest/globals';
import { changedInstruction } from '../instructions.ts';
import { FEATURES, type Features } from '../svm.ts';
import { DrawsWorld } from './world.ts';

const MAX_U32 = 2 ** 32 - 1;
const MAX_ROUND = 2n ** 32n;
const MIN_I64 = -(2n ** 63n);
const MAX_I64 = 2n ** 63n - 1n;

/** Returns the refusal of a commitment under a development account with any genesis and clock of 64 bits. */
function refusal(features: Features, facts: { genesis: bigint; period?: number; margin?: number; window?: number }, now: bigint, round: bigint) {
  const world = new DrawsWorld(features);
  const { genesis, period = 1, margin = 60, window = 600 } = facts;
  const founding = changedInstruction(world.founding({ period, margin, window, isDevelopment: true }), {
    data: (data) => {
      data.writeBigInt64LE(genesis, 8);
      return data;
    },
  });
  world.must([founding]);
  world.svm.now = now;
  return world.errorOf([withRound(world, round)]);
}

/** Builds a commitment with any beacon round of 64 bits. */
const withRound = (world: DrawsWorld, round: bigint) =>
  changedInstruction(world.committing({ beaconRound: 1 }), {
    data: (data) => {
      data.writeBigUInt64LE(round, 56);
      return data;
    },
  });

describe.each(FEATURES)('times of commit, %s', (features) => {
  test('the time of the beacon round is from margin to margin plus window ahead, both included', () => {
    const world = new DrawsWorld(features);
    world.found({ margin: 60, window: 600 });
    const at = (seconds: number) => world.errorOf([world.committing({ beaconRound: world.ahead(seconds) })]);
    for (const seconds of [59, 58, 1, 0, -1, -500_000]) expect(at(seconds)).toBe('TooSoon');
    for (const seconds of [661, 662, 10_000, 100_000_000]) expect(at(seconds)).toBe('TooFar');
    for (const seconds of [60, 61, 300, 659, 660]) expect(at(seconds)).toBeNull();
  });

  test('the edges are exact for a period of three seconds', () => {
    const world = new DrawsWorld(features);
    world.found({ period: 3, genesis: world.svm.now - 3_000, margin: 60, window: 600 });
    const at = (now: number, beaconRound: number) => {
      world.svm.now = now;
      return world.errorOf([world.committing({ beaconRound })]);
    };
    const start = world.svm.now;
    const round = 1_001 + 40; // 120 s ahead of start
    expect(at(start + 60, round)).toBeNull();
    expect(at(start + 61, round)).toBe('TooSoon');
    expect(at(start + 120 - 660, round)).toBeNull();
    expect(at(start + 120 - 661, round)).toBe('TooFar');
  });

  test('the beacon round is from 1 to 2^32', () => {
    const world = new DrawsWorld(features);
    world.found();
    for (const round of [0n, MAX_ROUND + 1n, 2n ** 33n, 2n ** 63n, 2n ** 64n - 1n, 2n ** 32n + BigInt(world.ahead(300))]) {
      expect(world.errorOf([withRound(world, round)])).toBe('BadRound');
    }
    expect(world.errorOf([withRound(world, MAX_ROUND)])).toBe('TooFar');
    expect(world.errorOf([withRound(world, 1n)])).toBe('TooSoon');
  });

  test('round 1 is at the genesis, and round 2^32 is accepted at its time', () => {
    const now = 1_800_000_000n;
    expect(refusal(features, { genesis: now + 60n }, now, 1n)).toBeNull();
    expect(refusal(features, { genesis: now + 59n }, now, 1n)).toBe('TooSoon');
    expect(refusal(features, { genesis: now + 60n - (MAX_ROUND - 1n) }, now, MAX_ROUND)).toBeNull();
    expect(refusal(features, { genesis: now + 59n - (MAX_ROUND - 1n) }, now, MAX_ROUND)).toBe('TooSoon');
  });

  test('a clock before the genesis is accepted when the beacon round is near', () => {
    const world = new DrawsWorld(features);
    world.found();
    world.svm.now = world.genesis - 60;
    world.must([world.committing({ beaconRound: 1 })]);
    world.svm.now = world.genesis - 661;
    expect(world.errorOf([world.committing({ beaconRound: 1 })])).toBe('TooFar');
  });

  test('times beyond 64 bits are refused', () => {
    const zero = 0n;
    expect(refusal(features, { genesis: zero, period: MAX_U32 }, MAX_I64, MAX_ROUND)).toBe('BadRound'); // (2^32 − 1)^2
    const wrapped = 1n - 2n ** 33n; // (2^32 − 1)^2 − 2^64
    expect(refusal(features, { genesis: zero, period: MAX_U32 }, wrapped - 60n, MAX_ROUND)).toBe('BadRound');
    expect(refusal(features, { genesis: MAX_I64 }, MAX_I64, 2n)).toBe('BadRound'); // genesis + 1
    expect(refusal(features, { genesis: 1n, period: MAX_U32 }, MAX_I64, 2n ** 31n + 1n)).toBe('TooSoon');
    expect(refusal(features, { genesis: 2n ** 31n, period: MAX_U32 }, MAX_I64, 2n ** 31n + 1n)).toBe('BadRound'); // 2^63
    expect(refusal(features, { genesis: zero }, MIN_I64, 1n)).toBe('BadRound'); // 2^63 ahead
    expect(refusal(features, { genesis: MAX_I64 }, MIN_I64, 1n)).toBe('BadRound');
    expect(refusal(features, { genesis: MIN_I64 }, MAX_I64, 1n)).toBe('BadRound'); // more than 2^63 behind
    expect(refusal(features, { genesis: MIN_I64 }, 0n, 1n)).toBe('TooSoon');
  });

  test('the largest and smallest times of 64 bits are accepted', () => {
    expect(refusal(features, { genesis: MAX_I64 }, MAX_I64 - 60n, 1n)).toBeNull();
    expect(refusal(features, { genesis: MAX_I64 }, MAX_I64 - 59n, 1n)).toBe('TooSoon');
    expect(refusal(features, { genesis: MAX_I64 - 1n }, MAX_I64 - 60n, 2n)).toBeNull();
    expect(refusal(features, { genesis: MIN_I64 + 60n }, MIN_I64, 1n)).toBeNull();
    // 2^63 − 1 is the product of these numbers.
    expect(refusal(features, { genesis: 0n, period: 4_042_815_511 }, MAX_I64 - 60n, 2_281_422_937n + 1n)).toBeNull();
    const last = 2n ** 31n * BigInt(MAX_U32);
    expect(refusal(features, { genesis: 0n, period: MAX_U32 }, last - 60n, 2n ** 31n + 1n)).toBeNull();
  });

  test('margin and window of 32 bits each are added without overflow', () => {
    const facts = { genesis: 0n, margin: MAX_U32, window: MAX_U32 };
    const most = 2n * BigInt(MAX_U32);
    expect(refusal(features, { ...facts, genesis: most }, 0n, 1n)).toBeNull();
    expect(refusal(features, { ...facts, genesis: most + 1n }, 0n, 1n)).toBe('TooFar');
    expect(refusal(features, { ...facts, genesis: BigInt(MAX_U32) }, 0n, 1n)).toBeNull();
    expect(refusal(features, { ...facts, genesis: BigInt(MAX_U32) - 1n }, 0n, 1n)).toBe('TooSoon');
  });

  test('a development account with margin, window and period 0 accepts only a round at the time of the clock', () => {
    const facts = { genesis: 1_000n, period: 0, margin: 0, window: 0 };
    for (const round of [1n, 5n, MAX_ROUND]) expect(refusal(features, facts, 1_000n, round)).toBeNull();
    for (const round of [0n, MAX_ROUND + 1n]) expect(refusal(features, facts, 1_000n, round)).toBe('BadRound');
    expect(refusal(features, facts, 999n, 1n)).toBe('TooFar');
    expect(refusal(features, facts, 1_001n, 1n)).toBe('TooSoon');
  });
});

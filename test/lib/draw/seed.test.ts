import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { drandChainHash } from '#dev/localnet/beacon/beacon.ts';
import { chainHashOf, firstRoundFrom, QUICKNET, roundAt, roundToCommit, timeOf } from '#lib/draw/beacon-chain.ts';
import { toHex, u32, u64 } from '#lib/draw/bytes.ts';
import { drawSeed, randomnessOf } from '#lib/draw/seed.ts';
import { integersFrom, keyedHash, stream } from '#lib/draw/stream.ts';
import { naiveSeed } from './naive.ts';
import { addressOf, bytesOf, CHAIN, uuidOf } from './rounds.ts';

const INPUTS = {
  round: uuidOf('a round'),
  leaf: bytesOf('leaf').toString('hex'),
  chainHash: CHAIN.chainHash,
  beaconRound: 33_000_000,
  randomness: randomnessOf('ab'.repeat(48)),
  blockhash: addressOf('block'),
};

test('beacon rounds have fixed times, and a commitment names the first one after its lead', () => {
  expect(timeOf(QUICKNET, 1000)).toBe(Date.parse('2023-08-23T15:59:24Z'));
  const at = timeOf(QUICKNET, 1000);
  expect([at - 1, at, at + 2_999, at + 3_000].map((ms) => roundAt(QUICKNET, ms))).toEqual([999, 1000, 1000, 1001]);
  expect([at - 1, at, at + 1, at + 3_000].map((ms) => firstRoundFrom(QUICKNET, ms))).toEqual([1000, 1000, 1001, 1001]);
  expect([roundAt(QUICKNET, 0), firstRoundFrom(QUICKNET, 0)]).toEqual([0, 1]);
  expect(roundToCommit(QUICKNET, at - 180_000, 180)).toBe(1000);
  expect(roundToCommit(QUICKNET, at - 179_999, 180)).toBe(1001);
});

test('the hash of a beacon chain equals the one of drand', () => {
  expect(chainHashOf(QUICKNET)).toBe(QUICKNET.chainHash);
  expect(chainHashOf(CHAIN)).toBe(CHAIN.chainHash);
  expect(chainHashOf({ ...CHAIN, beaconId: 'other' })).toBe(drandChainHash({ ...CHAIN, beaconId: 'other' }));
  expect(chainHashOf({ ...CHAIN, period: 4 })).not.toBe(CHAIN.chainHash);
  // The drand chain "default", as in drand's documentation.
  const first = {
    publicKey: '868f005eb8e6e4ca0a47c8a77ceaa5309a47978a7c71bc5cce96366b5d7a569937c529eeda66c7293784a9402801af31',
    period: 30,
    genesisTime: 1_595_431_050,
    groupHash: '176f93498eac9ca337150b46d21dd58673ea4e3581185f869672e59fa4cb390a',
    beaconId: 'default',
  };
  expect(chainHashOf(first)).toBe('8990e7a9aaed2ffed73dbd7092123d6f289930540d7651336225dc172e51b2ce');
});

test('the seed depends on each of its inputs', () => {
  const { round, leaf, chainHash, beaconRound, blockhash } = INPUTS;
  const seed = toHex(drawSeed(INPUTS));
  expect(seed).toBe(naiveSeed(round, leaf, chainHash, beaconRound, 'ab'.repeat(48), blockhash).toString('hex'));
  const others = [
    { round: uuidOf('another') },
    { leaf: chainHash },
    { chainHash: leaf },
    { beaconRound: beaconRound + 1 },
    { randomness: randomnessOf('ac'.repeat(48)) },
    { blockhash: addressOf('another block') },
  ];
  expect(new Set([seed, ...others.map((other) => toHex(drawSeed({ ...INPUTS, ...other })))]).size).toBe(7);
});

test('the keyed hash is HMAC-SHA256 of a label and a number', () => {
  for (let i = 0; i < 200; i++) {
    const [key, label] = [bytesOf(`key ${i}`), 'x'.repeat(i)];
    for (const number of [u32(i * 12_345_678), u64(i * 12_345_678_000)])
      expect(toHex(keyedHash(key, label)(number))).toBe(createHmac('sha256', key).update(label).update(number).digest('hex'));
  }
  expect(() => keyedHash(new Uint8Array(31), 'tie/1')).toThrow('32 bytes');
});

test('raw values above the last multiple of the bound are rejected and listed for the audit', () => {
  const rawValues = 2n ** 64n;
  // 2^64 mod 50 = 16: the last sixteen values are rejected, because they would make small results more likely.
  const raws = [rawValues - 1n, rawValues - 16n, rawValues - 17n, 50n, 49n, rawValues - 1n];
  const integers = integersFrom((counter) => raws[counter] ?? 0n);
  expect(integers(50)).toEqual({
    counter: 2,
    bound: 50,
    raw: '18446744073709551599',
    rejected: ['18446744073709551615', '18446744073709551600'],
    value: 49,
  });
  expect(integers(50)).toEqual({ counter: 3, bound: 50, raw: '50', rejected: [], value: 0 });
  expect(integers(50).value).toBe(49);
  // For a power of two no value is rejected.
  expect(integers(64)).toEqual({ counter: 5, bound: 64, raw: '18446744073709551615', rejected: [], value: 63 });
  expect(integers(1).value).toBe(0);
  for (const bound of [0, -1, 1.5, Number.NaN, 2 ** 53]) expect(() => integers(bound)).toThrow('the bound of an integer');
});

test('the raw value of a counter is the start of its HMAC', () => {
  const key = bytesOf('key');
  const integers = stream(key, 'ticket/1');
  for (let i = 0; i < 3; i++) {
    const message = Buffer.concat([Buffer.from('ticket/1'), Buffer.from([i, 0, 0, 0, 0, 0, 0, 0])]);
    const raw = createHmac('sha256', key).update(message).digest().readBigUInt64LE();
    expect(integers(1_000_003)).toEqual({ counter: i, bound: 1_000_003, raw: String(raw), rejected: [], value: Number(raw % 1_000_003n) });
  }
});

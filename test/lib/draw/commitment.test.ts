import { createHash, createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { drandChainHash } from '#dev/localnet/beacon/beacon.ts';
import { chainHashOf, firstRoundFrom, isInTime, QUICKNET, roundAt, roundToCommit, timeOf } from '#lib/draw/beacon-chain.ts';
import { type Commitment, commitmentHash, commitmentMemo, NO_PREVIOUS, parseMemo } from '#lib/draw/commitment.ts';
import { drawSeed, randomnessOf } from '#lib/draw/seed.ts';
import { integersFrom, keyedHash, stream } from '#lib/draw/stream.ts';
import { naiveMemo, naiveSeed } from './naive.ts';
import { addressOf, bytesOf, CHAIN, uuidOf } from './rounds.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();
const COMMITMENT: Commitment = {
  sequence: 12,
  round: uuidOf('a round'),
  entriesRoot: bytesOf('root').toString('hex'),
  count: 100_000,
  parametersHash: bytesOf('parameters').toString('hex'),
  chainHash: CHAIN.chainHash,
  beaconRound: 33_000_000,
  previous: bytesOf('previous').toString('hex'),
};

test('a memo contains all fields of a commitment in one line and parses back to it', () => {
  const { entriesRoot: root, ...rest } = COMMITMENT;
  const memo = commitmentMemo(COMMITMENT);
  expect(memo).toBe(naiveMemo({ ...rest, root }));
  expect(parseMemo(memo)).toEqual(COMMITMENT);
  expect(commitmentHash(memo)).toBe(sha256(Buffer.from(memo)).toString('hex'));
  const longest = commitmentMemo({ ...COMMITMENT, sequence: Number.MAX_SAFE_INTEGER, count: 2 ** 32, beaconRound: Number.MAX_SAFE_INTEGER });
  expect(Buffer.byteLength(longest)).toBe(407);
});

test('a memo with any deviation from the format is rejected', () => {
  const memo = commitmentMemo(COMMITMENT);
  const others = [
    memo.replace('commitment/1', 'commitment/2'),
    memo.replace(' seq', '  seq'),
    memo.replace('seq=12', 'seq=012'),
    memo.replace('seq=12', 'seq=0'),
    memo.replace('seq=12', 'seq=1'),
    memo.replace('seq=12', 'seq=1.2e1'),
    memo.replace('beacon=33000000', 'beacon=9007199254740993'),
    memo.replace('count=100000', 'count=4294967297'),
    memo.replace(COMMITMENT.entriesRoot, COMMITMENT.entriesRoot.toUpperCase()),
    memo.replace(COMMITMENT.previous, NO_PREVIOUS),
    memo.replace(/ round=\S+( root=\S+)/, '$1'),
    `${memo}\n`,
    `${memo} more=1`,
    ` ${memo}`,
    '',
  ];
  for (const other of others) expect(parseMemo(other)).toBeNull();
  expect(() => commitmentMemo({ ...COMMITMENT, count: 0 })).toThrow('not a commitment');
  expect(() => commitmentMemo({ ...COMMITMENT, previous: NO_PREVIOUS })).toThrow('not a commitment');
  expect(parseMemo(commitmentMemo({ ...COMMITMENT, sequence: 1, previous: NO_PREVIOUS }))?.sequence).toBe(1);
});

test('beacon rounds have fixed times, and a commitment names the first one after its lead', () => {
  expect(timeOf(QUICKNET, 1000)).toBe(Date.parse('2023-08-23T15:59:24Z'));
  const at = timeOf(QUICKNET, 1000);
  expect([at - 1, at, at + 2_999, at + 3_000].map((ms) => roundAt(QUICKNET, ms))).toEqual([999, 1000, 1000, 1001]);
  expect([at - 1, at, at + 1, at + 3_000].map((ms) => firstRoundFrom(QUICKNET, ms))).toEqual([1000, 1000, 1001, 1001]);
  expect([roundAt(QUICKNET, 0), firstRoundFrom(QUICKNET, 0)]).toEqual([0, 1]);
  expect(roundToCommit(QUICKNET, at - 180_000, 180)).toBe(1000);
  expect(roundToCommit(QUICKNET, at - 179_999, 180)).toBe(1001);
  expect(isInTime(QUICKNET, 1000, at - 60_000, 60)).toBe(true);
  expect(isInTime(QUICKNET, 1000, at - 59_000, 60)).toBe(false);
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

test('the seed depends on the commitment, the randomness and the blockhash', () => {
  const signature = 'ab'.repeat(48);
  const blockhash = addressOf('block');
  const { entriesRoot: root, ...rest } = COMMITMENT;
  const seed = drawSeed(COMMITMENT, randomnessOf(signature), blockhash).toString('hex');
  expect(seed).toBe(naiveSeed({ ...rest, root }, signature, blockhash).toString('hex'));
  const others = [
    drawSeed({ ...COMMITMENT, round: uuidOf('another') }, randomnessOf(signature), blockhash),
    drawSeed({ ...COMMITMENT, entriesRoot: COMMITMENT.parametersHash }, randomnessOf(signature), blockhash),
    drawSeed({ ...COMMITMENT, parametersHash: COMMITMENT.entriesRoot }, randomnessOf(signature), blockhash),
    drawSeed({ ...COMMITMENT, chainHash: COMMITMENT.entriesRoot }, randomnessOf(signature), blockhash),
    drawSeed({ ...COMMITMENT, beaconRound: 33_000_001 }, randomnessOf(signature), blockhash),
    drawSeed(COMMITMENT, randomnessOf('ac'.repeat(48)), blockhash),
    drawSeed(COMMITMENT, randomnessOf(signature), addressOf('another block')),
  ];
  expect(new Set([seed, ...others.map((other) => other.toString('hex'))]).size).toBe(8);
});

function hmac(key: Uint8Array, label: string, number: number): string {
  const u64 = Buffer.alloc(8);
  u64.writeBigUInt64LE(BigInt(number));
  return createHmac('sha256', key).update(label).update(u64).digest('hex');
}

test('the keyed hash is HMAC-SHA256', () => {
  for (let i = 0; i < 200; i++) {
    const [key, label] = [bytesOf(`key ${i}`), 'x'.repeat(i)];
    const number = i * 12_345_678;
    const u32 = Buffer.alloc(4);
    u32.writeUInt32LE(number);
    expect(keyedHash(key, label, 4)(number)).toBe(createHmac('sha256', key).update(label).update(u32).digest('hex'));
    expect(keyedHash(key, label, 8)(number * 1_000)).toBe(hmac(key, label, number * 1_000));
  }
  expect(() => keyedHash(Buffer.alloc(31), 'tie/1', 4)).toThrow('32 bytes');
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

import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { bls12_381 as bls } from '@noble/curves/bls12-381.js';
import { drandChainHash } from '#dev/localnet/beacon/beacon.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';

/** Parameters and one round of quicknet, the drand chain of production. */
const QUICKNET = {
  chainHash: '52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971',
  groupHash: 'f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e',
  genesisTime: 1_692_803_367,
  publicKey:
    '83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a',
  round: {
    round: 1000,
    signature: 'b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39',
    randomness: 'fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd',
  },
};

interface Round {
  round: number;
  signature: string;
  randomness: string;
}

function verifies({ round, signature, randomness }: Round, publicKey: string): boolean {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(round));
  const hashed = bls.shortSignatures.hash(createHash('sha256').update(message).digest(), 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_');
  const random = createHash('sha256').update(Buffer.from(signature, 'hex')).digest('hex');
  return random === randomness && bls.shortSignatures.verify(Buffer.from(signature, 'hex'), hashed, Buffer.from(publicKey, 'hex'));
}

let chain: TestChain;
beforeAll(async () => {
  chain = await startTestChain({ genesis: false, beaconMs: 3_000 });
});
afterEach(() => chain.control.clear());
afterAll(() => chain?.close());

const get = async (path: string) => {
  const response = await fetch(`${chain.env.DRAND_URLS}/${path}`);
  return { status: response.status, body: (await response.json()) as Round & Record<string, unknown> };
};

test('the verification code of the service accepts a round of the localnet and one of quicknet', async () => {
  expect(verifies(QUICKNET.round, QUICKNET.publicKey)).toBe(true);
  const { DRAND_PUBLIC_KEY = '', DRAND_CHAIN_HASH } = chain.env;
  await chain.control.setOffset(60_000);
  const { body } = await get(`${DRAND_CHAIN_HASH}/public/5`);
  expect(body.round).toBe(5);
  expect(verifies(body, DRAND_PUBLIC_KEY)).toBe(true);
  expect(verifies({ ...body, round: 6 }, DRAND_PUBLIC_KEY)).toBe(false);
  expect(verifies(body, QUICKNET.publicKey)).toBe(false);
  expect(await get('public/5')).toEqual({ status: 200, body });
});

test('/info describes the chain, and the chain hash is computed as for quicknet', async () => {
  const { publicKey, groupHash, genesisTime, chainHash } = QUICKNET;
  expect(drandChainHash({ period: 3, genesisTime, publicKey, groupHash, beaconId: 'quicknet' })).toBe(chainHash);
  const { body } = await get(`${chain.env.DRAND_CHAIN_HASH}/info`);
  expect(body).toEqual({
    public_key: chain.env.DRAND_PUBLIC_KEY,
    period: 3,
    genesis_time: expect.any(Number),
    hash: chain.env.DRAND_CHAIN_HASH,
    groupHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    schemeID: 'bls-unchained-g1-rfc9380',
    metadata: { beaconID: 'localnet' },
  });
  expect((await get('chains')).body).toEqual([chain.env.DRAND_CHAIN_HASH]);
});

test('the beacon publishes a round at its time and not earlier', async () => {
  const { body: info } = await get('info');
  const timeOf = (round: number) => new Date((Number(info.genesis_time) + (round - 1) * 3) * 1000);
  await chain.control.setTime(new Date(timeOf(100).getTime() - 1_500));
  expect((await get('public/100')).status).toBe(404);
  expect((await get('public/latest')).body.round).toBe(99);
  await chain.control.setTime(timeOf(100));
  expect((await get('public/100')).status).toBe(200);
  expect((await get('public/latest')).body.round).toBe(100);
  expect((await get('public/0')).status).toBe(400);
  expect((await get('public/x')).status).toBe(400);
  expect((await get('deadbeef/public/1')).status).toBe(404);
});

test('beacon faults stop the rounds, delay the responses, or make the signatures invalid', async () => {
  await chain.control.setOffset(60_000);
  const { round } = (await get('public/latest')).body;
  await chain.control.beacon({ stopped: true });
  await chain.control.setOffset(120_000);
  expect((await get('public/latest')).body.round).toBeLessThanOrEqual(round + 1);
  expect((await get(`public/${round + 10}`)).status).toBe(404);
  await chain.control.beacon({ stopped: false });
  expect((await get(`public/${round + 10}`)).status).toBe(200);

  await chain.control.beacon({ delayMs: 50 });
  const began = performance.now();
  await get('public/1');
  expect(performance.now() - began).toBeGreaterThanOrEqual(45);

  await chain.control.beacon({ delayMs: 0, wrong: true });
  expect(verifies((await get('public/2')).body, chain.env.DRAND_PUBLIC_KEY ?? '')).toBe(false);
  await chain.control.beacon({ wrong: false });
  expect(verifies((await get('public/2')).body, chain.env.DRAND_PUBLIC_KEY ?? '')).toBe(true);
});

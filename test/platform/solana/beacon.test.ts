import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { readConfig } from '#config';
import { type BeaconChain, QUICKNET, roundAt, timeOf } from '#lib/draw/beacon-chain.ts';
import { type Beacon, type BeaconResult, openBeacon, verifySignature } from '#platform/solana/beacon/index.ts';
import { PRODUCTION } from '#test/support/production.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { type FaultyMirror, type MirrorResponse, startFaultyMirror } from './beacon-mirror.ts';

/** Timeouts for mirrors that answer. They are long, because the test machine may be busy. */
const TIMEOUTS = { timeoutMs: 4_000, hedgeAfterMs: 100 };
/** Timeouts for mirrors that never answer. */
const SHORT_TIMEOUTS = { timeoutMs: 500, hedgeAfterMs: 100 };
const ROUND = 20;

let chain: TestChain;
let mirror: FaultyMirror;
let info: BeaconChain;
beforeAll(async () => {
  chain = await startTestChain({ genesis: false });
  mirror = await startFaultyMirror(honest());
  info = await open([honest()]).chain();
});
beforeEach(() => chain.control.setTime(new Date(timeOf(info, ROUND) + 500)));
afterEach(() => chain.control.clear());
afterAll(async () => {
  await mirror?.close();
  await chain?.close();
});

const honest = () => chain.env.DRAND_URLS ?? '';
const clock = { now: () => new Date(timeOf(info, ROUND) + 500) };
const settings = (urls: string[]) => readConfig({ ...chain.env, DRAND_URLS: urls.join(',') }).chain.beacon;
const open = (urls: string[], at = clock, timeouts = TIMEOUTS): Beacon => openBeacon(settings(urls), at, timeouts);
/** The mirrors' errors in a result. */
const faultsOf = (answer: BeaconResult) => (answer.state === 'not-yet' ? [] : answer.faults);

/** A port without a server. */
const UNREACHABLE = 'http://127.0.0.1:9';

test('the description of a configured chain is read from a mirror and verified by its hash', async () => {
  expect(info).toMatchObject({ chainHash: chain.env.DRAND_CHAIN_HASH, publicKey: chain.env.DRAND_PUBLIC_KEY, period: 1, beaconId: 'localnet' });
  expect(roundAt(info, timeOf(info, ROUND))).toBe(ROUND);
});

test('a round that is due is read and verified', async () => {
  const answer = await open([honest()]).fetchRound(ROUND);
  if (answer.state !== 'verified') throw new Error(answer.state);
  expect(answer).toMatchObject({ round: ROUND, faults: [] });
  expect(verifySignature(info, ROUND, answer.signature)).toBe(true);
  expect(answer.randomness).toBe(createHash('sha256').update(Buffer.from(answer.signature, 'hex')).digest('hex'));
});

test('a future round is not requested from any mirror', async () => {
  mirror.setResponse('honest');
  const beacon = open([mirror.url]);
  await beacon.chain();
  const before = mirror.requestedPaths.length;
  expect(await beacon.fetchRound(ROUND + 1)).toEqual({ state: 'not-yet', dueAt: new Date(timeOf(info, ROUND + 1)) });
  expect(mirror.requestedPaths).toHaveLength(before);
  for (const round of [0, -1, 1.5, 2 ** 53]) await expect(beacon.fetchRound(round)).rejects.toThrow('must be a positive integer');
});

test('after a valid answer of the first mirror no other mirror is queried', async () => {
  mirror.setResponse('honest');
  const beacon = open([honest(), mirror.url]);
  const before = mirror.requestedPaths.length;
  expect((await beacon.fetchRound(ROUND)).state).toBe('verified');
  expect(mirror.requestedPaths).toHaveLength(before);
});

/** Faults of a mirror, and the error that each one causes. */
const FAULTS: readonly { readonly what: string; readonly answer: MirrorResponse; readonly fault: RegExp }[] = [
  {
    what: 'answers with another round',
    answer: { change: async () => roundOf(ROUND - 1) },
    fault: /^the response is for round 19, not for round 20$/,
  },
  {
    what: 'returns the signature of another round',
    answer: { change: async () => ({ ...(await roundOf(ROUND - 1)), round: ROUND }) },
    fault: /^the signature of the round is not valid$/,
  },
  {
    what: 'changes the signature',
    answer: { change: (own) => ({ ...own, signature: String(own.signature).replace(/.$/, (last) => (last === '0' ? '1' : '0')) }) },
    fault: /^the signature of the round is not valid$/,
  },
  {
    what: 'writes the signature in upper case',
    answer: { change: (own) => ({ ...own, signature: String(own.signature).toUpperCase() }) },
    fault: /^the signature of the round is not valid$/,
  },
  {
    what: 'returns the zero point as signature',
    answer: { change: (own) => ({ ...own, signature: `c0${'00'.repeat(47)}` }) },
    fault: /^the signature of the round is not valid$/,
  },
  { what: 'returns no signature', answer: { change: ({ round }) => ({ round }) }, fault: /^the response is not a round of the beacon$/ },
  {
    what: 'returns the round as text',
    answer: { change: (own) => ({ ...own, round: String(ROUND) }) },
    fault: /^the response is not a round of the beacon$/,
  },
  { what: 'answers with an HTML page', answer: { body: '<html>Welcome</html>' }, fault: /not JSON$/ },
  { what: 'answers with an empty body', answer: { body: '' }, fault: /not JSON$/ },
  { what: 'answers null', answer: { body: 'null' }, fault: /not a round of the beacon$/ },
  { what: 'answers 404', answer: { status: 404, body: '{}' }, fault: /^the response has status 404$/ },
  { what: 'answers 429', answer: { status: 429, body: '{}' }, fault: /^the response has status 429$/ },
  { what: 'answers 500', answer: { status: 500, body: 'oops' }, fault: /^the response has status 500$/ },
  { what: 'redirects', answer: 'redirects', fault: /^the response has status 302$/ },
  { what: 'closes the connection', answer: 'drops', fault: /^fetch failed/ },
  { what: 'never answers', answer: 'hangs', fault: /timeout/ },
  { what: 'never ends its response', answer: 'stalls', fault: /timeout/ },
  { what: 'sends too many bytes', answer: 'floods', fault: /^the response exceeds 4096 bytes$/ },
];
const roundOf = async (round: number) => {
  const body: unknown = await (await fetch(`${honest()}/public/${round}`)).json();
  return typeof body === 'object' && body !== null ? body : {};
};

test.each(FAULTS)('a mirror that $what is reported as faulty, and an honest mirror after it is used', async ({ answer, fault }) => {
  const neverAnswers = answer === 'hangs' || answer === 'stalls';
  const [alone, both] = [open([mirror.url], clock, neverAnswers ? SHORT_TIMEOUTS : TIMEOUTS), open([mirror.url, honest()])];
  mirror.setResponse('honest');
  await Promise.all([alone.chain(), both.chain()]);
  mirror.setResponse(answer);
  const faulty = { mirror: mirror.host, fault: expect.stringMatching(fault) };
  expect(await alone.fetchRound(ROUND)).toEqual({ state: 'unavailable', faults: [faulty] });
  const found = await both.fetchRound(ROUND);
  expect(found.state).toBe('verified');
  // A slow mirror may not have failed yet, so the list may be empty.
  for (const one of faultsOf(found)) expect(one).toEqual(faulty);
});

test('the randomness in a response is ignored: it is computed from the signature', async () => {
  mirror.setResponse({ change: (own) => ({ ...own, randomness: '00'.repeat(32) }) });
  const [invented, correct] = await Promise.all([open([mirror.url]).fetchRound(ROUND), open([honest()]).fetchRound(ROUND)]);
  expect(invented).toEqual(correct);
  expect(invented.state).toBe('verified');
});

test('a mirror that describes another chain is skipped', async () => {
  const changes: ((own: Record<string, unknown>) => object)[] = [
    (own) => ({ ...own, genesis_time: Number(own.genesis_time) - 3_600 }),
    (own) => ({ ...own, period: 2 }),
    (own) => ({ ...own, period: 0.5 }),
    (own) => ({ ...own, public_key: QUICKNET.publicKey }),
    (own) => ({ ...own, groupHash: QUICKNET.groupHash }),
    (own) => ({ ...own, metadata: { beaconID: 'quicknet' } }),
    (own) => ({ ...own, schemeID: 'pedersen-bls-chained' }),
    ({ metadata: _, ...own }) => own,
  ];
  for (const change of changes) {
    mirror.setResponse({ change });
    await expect(open([mirror.url]).chain()).rejects.toMatchObject({ status: 503 });
    expect(await open([mirror.url, honest()]).chain()).toEqual(info);
  }
  // The hash in the response is ignored.
  mirror.setResponse({ change: (own) => ({ ...own, hash: QUICKNET.chainHash }) });
  expect(await open([mirror.url]).chain()).toEqual(info);
});

test('wrong signatures and missing rounds are unavailable until the beacon works again', async () => {
  const beacon = open([honest(), UNREACHABLE]);
  const host = new URL(honest()).host;
  await beacon.chain();
  await chain.control.beacon({ wrong: true });
  const wrong = { mirror: host, fault: 'the signature of the round is not valid' };
  const unreachable = { mirror: '127.0.0.1:9', fault: expect.stringMatching(/^fetch failed/) };
  // The second mirror is queried when the first one is slow, so either may fail first.
  const answers = [
    [wrong, unreachable],
    [unreachable, wrong],
  ].map((faults) => ({ state: 'unavailable', faults }));
  expect(answers).toContainEqual(await beacon.fetchRound(ROUND));
  await chain.control.beacon({ wrong: false });
  expect((await beacon.fetchRound(ROUND)).state).toBe('verified');

  await chain.control.beacon({ stopped: true });
  await chain.control.setTime(new Date(timeOf(info, ROUND + 10)));
  const later = open([honest()], { now: () => new Date(timeOf(info, ROUND + 10)) });
  expect(await later.fetchRound(ROUND + 10)).toEqual({ state: 'unavailable', faults: [{ mirror: host, fault: 'the response has status 404' }] });
  await chain.control.beacon({ stopped: false });
  expect((await later.fetchRound(ROUND + 10)).state).toBe('verified');
});

test('a slow request goes on while the next mirrors are queried', async () => {
  mirror.setResponse('honest');
  const beacon = open([honest(), mirror.url, UNREACHABLE]);
  await beacon.chain();
  await chain.control.beacon({ delayMs: 350 });
  const before = mirror.requestedPaths.length;
  const answer = await beacon.fetchRound(ROUND);
  // The first mirror answered first, because the second one forwards to the same slow beacon. The third one was queried too and failed.
  expect(answer.state).toBe('verified');
  expect(mirror.requestedPaths).toHaveLength(before + 1);
  expect(faultsOf(answer)).toEqual([{ mirror: '127.0.0.1:9', fault: expect.stringMatching(/^fetch failed/) }]);
});

test('a query to mirrors that never answer ends with a timeout that names each mirror', async () => {
  const beacon = open([mirror.url, `${mirror.url}/second`, `${mirror.url}/third/`], clock, SHORT_TIMEOUTS);
  mirror.setResponse('hangs');
  const began = performance.now();
  const answer = await beacon.fetchRound(ROUND);
  // 100 ms before each of the next mirrors, 500 ms for the last one.
  expect(performance.now() - began).toBeLessThan(3_000);
  expect(answer.state).toBe('unavailable');
  expect(faultsOf(answer).map((fault) => fault.mirror)).toEqual([mirror.host, mirror.host, mirror.host]);
  expect(mirror.requestedPaths.slice(-3).map((path) => path.replace(info.chainHash, ''))).toEqual(['//info', '/second//info', '/third//info']);
  await expect(beacon.chain()).rejects.toMatchObject({ status: 503, headers: { 'Retry-After': '2' } });
});

test('the description of quicknet is built in, so no mirror is queried for it', async () => {
  mirror.setResponse('hangs');
  const beacon = openBeacon({ urls: [mirror.url], chainHash: QUICKNET.chainHash, publicKey: QUICKNET.publicKey }, clock, TIMEOUTS);
  const before = mirror.requestedPaths.length;
  expect(await beacon.chain()).toBe(QUICKNET);
  expect(mirror.requestedPaths).toHaveLength(before);
  mirror.setResponse({
    body: JSON.stringify({
      round: 1000,
      signature: 'b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39',
    }),
  });
  expect(await beacon.fetchRound(1000)).toMatchObject({
    state: 'verified',
    randomness: 'fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd',
  });
  expect(mirror.requestedPaths.at(-1)).toBe(`/${QUICKNET.chainHash}/public/1000`);
});

test('the beacon is configurable, but production requires quicknet and minimum times', () => {
  const { beacon, draws } = readConfig(PRODUCTION).chain;
  expect(beacon).toEqual({ urls: expect.arrayContaining(['https://api.drand.sh']), chainHash: QUICKNET.chainHash, publicKey: QUICKNET.publicKey });
  expect(beacon.urls.length).toBeGreaterThan(2);
  expect(draws).toEqual({ leadSec: 180, commitWithinSec: 120, drawWithinSec: 300, payWithinSec: 86_400 });
  const local = { DRAND_URLS: honest(), DRAND_CHAIN_HASH: info.chainHash, DRAND_PUBLIC_KEY: info.publicKey };
  expect(readConfig({ ...local, DRAW_LEAD_SEC: '2' }).chain).toMatchObject({
    beacon: { chainHash: info.chainHash },
    draws: { leadSec: 2 },
  });
  expect(() => readConfig({ ...PRODUCTION, ...local })).toThrow('DRAND_CHAIN_HASH must be quicknet');
  expect(() => readConfig({ DRAND_PUBLIC_KEY: info.publicKey })).toThrow('DRAND_PUBLIC_KEY must be quicknet');
  expect(() => readConfig({ ...PRODUCTION, DRAW_LEAD_SEC: '179' })).toThrow('DRAW_LEAD_SEC must be at least 180');
  expect(() => readConfig({ DRAW_COMMIT_WITHIN_SEC: '121' })).toThrow('DRAW_COMMIT_WITHIN_SEC');
  for (const urls of [',', 'ftp://mirror', 'mirror', Array.from({ length: 9 }, () => honest()).join(',')])
    expect(() => readConfig({ DRAND_URLS: urls })).toThrow('DRAND_URLS');
});

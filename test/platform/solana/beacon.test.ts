import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { readConfig } from '#config';
import { type BeaconChain, QUICKNET } from '#lib/draw/beacon-chain.ts';
import { commitmentMemo } from '#lib/draw/commitment.ts';
import { type Beacon, type BeaconAnswer, openBeacon, roundAt, timeOf, verifySignature } from '#platform/solana/beacon/beacon.ts';
import { memo } from '#platform/solana/tokens.ts';
import { bytesOf, uuidOf } from '#test/lib/draw-rounds.ts';
import { eventually } from '#test/support/areas/player.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { type Mirror, type MirrorAnswer, startMirror } from './beacon-mirror.ts';

/** Mirrors in tests are near, though the machine may be busy; and what never answers is not waited for long. */
const PATIENCE = { withinMs: 4_000, nextAfterMs: 100 };
const IMPATIENCE = { withinMs: 500, nextAfterMs: 100 };
const ROUND = 20;

let chain: TestChain;
let mirror: Mirror;
let info: BeaconChain;
beforeAll(async () => {
  chain = await startTestChain({ genesis: false });
  mirror = await startMirror(honest());
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
const open = (urls: string[], at = clock, patience = PATIENCE): Beacon => openBeacon(settings(urls), at, patience);
/** What mirrors said that was of no use. */
const faultsOf = (answer: BeaconAnswer) => (answer.state === 'not-yet' ? [] : answer.faults);

/** A port at which nobody listens. */
const NOBODY = 'http://127.0.0.1:9';

test('a chain that is not pinned describes itself, and its hash proves that it is the one', async () => {
  expect(info).toMatchObject({ chainHash: chain.env.DRAND_CHAIN_HASH, publicKey: chain.env.DRAND_PUBLIC_KEY, period: 1, beaconId: 'localnet' });
  expect(roundAt(info, timeOf(info, ROUND))).toBe(ROUND);
});

test('a round is had at its time, and verified', async () => {
  const answer = await open([honest()]).ask(ROUND);
  if (answer.state !== 'verified') throw new Error(answer.state);
  expect(answer).toMatchObject({ round: ROUND, faults: [] });
  expect(verifySignature(info, ROUND, answer.signature)).toBe(true);
  expect(answer.randomness).toBe(createHash('sha256').update(Buffer.from(answer.signature, 'hex')).digest('hex'));
});

test('a round that has not come is not asked for', async () => {
  mirror.answer('honest');
  const beacon = open([mirror.url]);
  await beacon.chain();
  const before = mirror.asked.length;
  expect(await beacon.ask(ROUND + 1)).toEqual({ state: 'not-yet', dueAt: new Date(timeOf(info, ROUND + 1)) });
  expect(mirror.asked).toHaveLength(before);
  for (const round of [0, -1, 1.5, 2 ** 53]) await expect(beacon.ask(round)).rejects.toThrow('counted from 1');
});

test('the first good answer is taken, and nobody else asked', async () => {
  mirror.answer('honest');
  const beacon = open([honest(), mirror.url]);
  const before = mirror.asked.length;
  expect((await beacon.ask(ROUND)).state).toBe('verified');
  expect(mirror.asked).toHaveLength(before);
});

/** Every way in which a mirror may be of no use, and what is written down about it. */
const FAULTS: readonly { readonly what: string; readonly answer: MirrorAnswer; readonly fault: RegExp }[] = [
  { what: 'answers with another round', answer: { change: async () => roundOf(ROUND - 1) }, fault: /^answered with round 19$/ },
  {
    what: 'gives another round out for this one',
    answer: { change: async () => ({ ...(await roundOf(ROUND - 1)), round: ROUND }) },
    fault: /does not verify$/,
  },
  {
    what: 'changes the signature',
    answer: { change: (own) => ({ ...own, signature: String(own.signature).replace(/.$/, (last) => (last === '0' ? '1' : '0')) }) },
    fault: /does not verify$/,
  },
  {
    what: 'writes the signature otherwise',
    answer: { change: (own) => ({ ...own, signature: String(own.signature).toUpperCase() }) },
    fault: /does not verify$/,
  },
  { what: 'signs with zero', answer: { change: (own) => ({ ...own, signature: `c0${'00'.repeat(47)}` }) }, fault: /does not verify$/ },
  { what: 'gives no signature', answer: { change: ({ round }) => ({ round }) }, fault: /^answered with what is no round$/ },
  { what: 'gives the round as text', answer: { change: (own) => ({ ...own, round: String(ROUND) }) }, fault: /^answered with what is no round$/ },
  { what: 'answers with a page', answer: { body: '<html>Welcome</html>' }, fault: /no JSON$/ },
  { what: 'answers with nothing', answer: { body: '' }, fault: /no JSON$/ },
  { what: 'answers null', answer: { body: 'null' }, fault: /no round$/ },
  { what: 'does not have it yet', answer: { status: 404, body: '{}' }, fault: /^answered 404$/ },
  { what: 'has too much to do', answer: { status: 429, body: '{}' }, fault: /^answered 429$/ },
  { what: 'is broken', answer: { status: 500, body: 'oops' }, fault: /^answered 500$/ },
  { what: 'sends us elsewhere', answer: 'redirects', fault: /^answered 302$/ },
  { what: 'hangs up', answer: 'drops', fault: /^fetch failed/ },
  { what: 'says nothing', answer: 'hangs', fault: /timeout/ },
  { what: 'never ends', answer: 'stalls', fault: /timeout/ },
  { what: 'says too much', answer: 'floods', fault: /^answered with more than 4096 bytes$/ },
];
const roundOf = async (round: number) => {
  const body: unknown = await (await fetch(`${honest()}/public/${round}`)).json();
  return typeof body === 'object' && body !== null ? body : {};
};

test.each(FAULTS)('a mirror that $what is of no use, alone or before an honest one', async ({ answer, fault }) => {
  const isMute = answer === 'hangs' || answer === 'stalls';
  const [alone, both] = [open([mirror.url], clock, isMute ? IMPATIENCE : PATIENCE), open([mirror.url, honest()])];
  mirror.answer('honest');
  await Promise.all([alone.chain(), both.chain()]);
  mirror.answer(answer);
  const faulty = { mirror: mirror.host, fault: expect.stringMatching(fault) };
  expect(await alone.ask(ROUND)).toEqual({ state: 'unavailable', faults: [faulty] });
  const found = await both.ask(ROUND);
  expect(found.state).toBe('verified');
  // Who is only slow may not even have failed yet.
  for (const one of faultsOf(found)) expect(one).toEqual(faulty);
});

test('a mirror that invents its randomness does no harm: it is computed here', async () => {
  mirror.answer({ change: (own) => ({ ...own, randomness: '00'.repeat(32) }) });
  const [invented, true_] = await Promise.all([open([mirror.url]).ask(ROUND), open([honest()]).ask(ROUND)]);
  expect(invented).toEqual(true_);
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
    mirror.answer({ change });
    await expect(open([mirror.url]).chain()).rejects.toMatchObject({ status: 503 });
    expect(await open([mirror.url, honest()]).chain()).toEqual(info);
  }
  // Whatever it says its own hash is.
  mirror.answer({ change: (own) => ({ ...own, hash: QUICKNET.chainHash }) });
  expect(await open([mirror.url]).chain()).toEqual(info);
});

test('the beacon stops, signs what it should not, and comes back', async () => {
  const beacon = open([honest(), NOBODY]);
  const host = new URL(honest()).host;
  await beacon.chain();
  await chain.control.beacon({ wrong: true });
  const wrong = { mirror: host, fault: 'answered with a signature that does not verify' };
  const nobody = { mirror: '127.0.0.1:9', fault: expect.stringMatching(/^fetch failed/) };
  // The second mirror is asked as soon as the first one is slow, so either may be the first to fail.
  const answers = [
    [wrong, nobody],
    [nobody, wrong],
  ].map((faults) => ({ state: 'unavailable', faults }));
  expect(answers).toContainEqual(await beacon.ask(ROUND));
  await chain.control.beacon({ wrong: false });
  expect((await beacon.ask(ROUND)).state).toBe('verified');

  await chain.control.beacon({ stopped: true });
  await chain.control.setTime(new Date(timeOf(info, ROUND + 10)));
  const later = open([honest()], { now: () => new Date(timeOf(info, ROUND + 10)) });
  expect(await later.ask(ROUND + 10)).toEqual({ state: 'unavailable', faults: [{ mirror: host, fault: 'answered 404' }] });
  await chain.control.beacon({ stopped: false });
  expect((await later.ask(ROUND + 10)).state).toBe('verified');
});

test('a slow mirror is waited for while the next one is asked', async () => {
  mirror.answer('honest');
  const beacon = open([honest(), mirror.url, NOBODY]);
  await beacon.chain();
  await chain.control.beacon({ delayMs: 350 });
  const before = mirror.asked.length;
  const answer = await beacon.ask(ROUND);
  // The first one's own answer came, for the second one asks the same slow beacon; the third one was asked too, and failed.
  expect(answer.state).toBe('verified');
  expect(mirror.asked).toHaveLength(before + 1);
  expect(faultsOf(answer)).toEqual([{ mirror: '127.0.0.1:9', fault: expect.stringMatching(/^fetch failed/) }]);
});

test('mirrors that all hang are given up in time, and each is named', async () => {
  const beacon = open([mirror.url, `${mirror.url}/second`, `${mirror.url}/third/`], clock, IMPATIENCE);
  mirror.answer('hangs');
  const began = performance.now();
  const answer = await beacon.ask(ROUND);
  // 500 ms for the last one, 100 ms before each of the others.
  expect(performance.now() - began).toBeLessThan(3_000);
  expect(answer.state).toBe('unavailable');
  expect(faultsOf(answer).map((fault) => fault.mirror)).toEqual([mirror.host, mirror.host, mirror.host]);
  expect(mirror.asked.slice(-3).map((path) => path.replace(info.chainHash, ''))).toEqual(['//info', '/second//info', '/third//info']);
  await expect(beacon.chain()).rejects.toMatchObject({ status: 503, headers: { 'Retry-After': '2' } });
});

test('quicknet is pinned: nobody is asked what it is', async () => {
  mirror.answer('hangs');
  const beacon = openBeacon({ urls: [mirror.url], chainHash: QUICKNET.chainHash, publicKey: QUICKNET.publicKey }, clock, PATIENCE);
  const before = mirror.asked.length;
  expect(await beacon.chain()).toBe(QUICKNET);
  expect(mirror.asked).toHaveLength(before);
  mirror.answer({
    body: JSON.stringify({
      round: 1000,
      signature: 'b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39',
    }),
  });
  expect(await beacon.ask(1000)).toMatchObject({ state: 'verified', randomness: 'fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd' });
  expect(mirror.asked.at(-1)).toBe(`/${QUICKNET.chainHash}/public/1000`);
});

const PRODUCTION = {
  NODE_ENV: 'production',
  SESSION_KEYS: 'k'.repeat(32),
  RECEIPT_KEY: Buffer.alloc(32, 7).toString('base64'),
  PUBLIC_URL: 'https://coinop.example',
  MEDIA_FOLDER: '/var/lib/coinop/media',
};

test('a process is told its beacon; production takes quicknet alone, and enough time', () => {
  const { beacon, draws } = readConfig(PRODUCTION).chain;
  expect(beacon).toEqual({ urls: expect.arrayContaining(['https://api.drand.sh']), chainHash: QUICKNET.chainHash, publicKey: QUICKNET.publicKey });
  expect(beacon.urls.length).toBeGreaterThan(2);
  expect(draws).toEqual({ leadSec: 180, marginSec: 60 });
  const local = { DRAND_URLS: honest(), DRAND_CHAIN_HASH: info.chainHash, DRAND_PUBLIC_KEY: info.publicKey };
  expect(readConfig({ ...local, DRAW_LEAD_SEC: '2', DRAW_MARGIN_SEC: '1' }).chain).toMatchObject({
    beacon: { chainHash: info.chainHash },
    draws: { leadSec: 2 },
  });
  expect(() => readConfig({ ...PRODUCTION, ...local })).toThrow('DRAND_CHAIN_HASH must be quicknet');
  expect(() => readConfig({ DRAND_PUBLIC_KEY: info.publicKey })).toThrow('DRAND_PUBLIC_KEY is not quicknet');
  expect(() => readConfig({ ...PRODUCTION, DRAW_LEAD_SEC: '179' })).toThrow('DRAW_LEAD_SEC must be at least 180');
  expect(() => readConfig({ ...PRODUCTION, DRAW_MARGIN_SEC: '59' })).toThrow('DRAW_MARGIN_SEC at least 60');
  expect(() => readConfig({ DRAW_LEAD_SEC: '60', DRAW_MARGIN_SEC: '60' })).toThrow('less than DRAW_LEAD_SEC');
  for (const urls of [',', 'ftp://mirror', 'mirror', Array.from({ length: 9 }, () => honest()).join(',')])
    expect(() => readConfig({ DRAND_URLS: urls })).toThrow('DRAND_URLS');
});

test('the longest commitment fits one transaction, and reads back', async () => {
  const hash = bytesOf('hash').toString('hex');
  const text = commitmentMemo({
    ...{ sequence: Number.MAX_SAFE_INTEGER, round: uuidOf('round'), entriesRoot: hash, count: 2 ** 32 },
    ...{ parametersHash: hash, chainHash: hash, beaconRound: Number.MAX_SAFE_INTEGER, previous: hash },
  });
  const { connection, control, keys } = chain;
  await chain.fundWallet({ lamports: 1_000_000_000 }, keys.feePayer);
  // Slots are short: on a busy machine a blockhash may be gone before it is used.
  await eventually(async () => {
    const signature = await chain.send([memo(text, [keys.committer.publicKey])], [keys.feePayer, keys.committer]);
    await control.advance(2);
    const [found] = await connection.getSignaturesForAddress(keys.committer.publicKey, {}, 'confirmed');
    expect(found).toMatchObject({ signature, err: null, memo: `[407] ${text}` });
  });
});

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { EXIT_CODES, KNOWN_PROGRAM, programHash, verifyRound } from '#packages/verify/src/index.ts';
import { addressOf, CHAIN, chatParameters, entriesOf, GENESIS_HASH, legacyParameters, TREASURY } from '#test/lib/draw/rounds.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { commitment, draws, first } from '#test/support/verify/lies.ts';
import { serveWorld } from '#test/support/verify/served-world.ts';
import { CODE, createWorld, type World } from '#test/support/verify/world.ts';

/** A second verifier, which was written in Python from docs/verification.md alone. */
const FOLDER = join(import.meta.dirname, '../../../tools/verify/independent');
/** Runs the command without the time that it gives a node to catch up. */
const COMMAND = `import sys; sys.path.insert(0, ${JSON.stringify(FOLDER)}); import chain, verify_round; chain.WAIT = 0; sys.exit(verify_round.main(sys.argv[1:]))`;

function python(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  return new Promise((resolve) => {
    execFile('python3', args, { env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' } }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: `${out}${err}` });
    });
  });
}

const random = randomGenerator(53);
const HOUR = 3_600_000;
const closesAt = 1_000 * Math.floor((Date.now() - HOUR / 2) / 1_000);
const instants = { opensAt: new Date(closesAt - HOUR).toISOString(), closesAt: new Date(closesAt).toISOString() };
const chat = chatParameters(instants);
const entries = entriesOf(chat, 20, 10, random);
const legacy = legacyParameters(instants);

/** Changes of an honest world, and the exit code of both verifiers. */
const CASES: Readonly<Record<string, readonly [code: number, change: (world: World) => void]>> = {
  'an honest round': [0, () => undefined],
  'an index that is written as -0': [0, (world) => Object.assign(world, { lines: world.lines?.replace('"index":0,', '"index": -0.0,') ?? null })],
  'payouts with a further field': [0, ({ payouts }) => Object.assign(payouts ?? {}, { rate: 1.5 })],
  'another number': [1, ({ audit }) => audit?.draw?.numbers.reverse()],
  'another winner': [1, ({ audit }) => Object.assign(audit?.winners?.[0] ?? {}, { wallet: addressOf('a friend') })],
  'a lower prize': [1, ({ audit }) => Object.assign(audit?.winners?.[0]?.prize ?? {}, { amount: '1' })],
  'other rules': [1, ({ audit }) => Object.assign(audit?.parameters ?? {}, { drawWithinSec: 301 })],
  'another treasury': [1, ({ audit }) => Object.assign(audit?.parameters ?? {}, { treasury: addressOf('a friend') })],
  'a closing of another signature': [1, ({ audit }) => Object.assign(audit?.closed ?? {}, { signature: audit?.announcement.signature })],
  'a leaf that is not that of its entry': [1, ({ audit }) => Object.assign(audit ?? {}, { entryHashes: ['0'.repeat(64)] })],
  'an entry less': [1, (world) => Object.assign(world, { lines: `${world.lines?.trimEnd().split('\n').slice(0, -1).join('\n')}\n` })],
  'another wallet in an entry': [
    1,
    (world) => Object.assign(world, { lines: world.lines?.replace(entries[3]?.wallet ?? '', addressOf('a friend')) ?? null }),
  ],
  'no entries': [1, (world) => Object.assign(world, { lines: null })],
  'no audit of a committed round': [1, (world) => Object.assign(world, { audit: null })],
  'a void round that is committed': [1, ({ audit }) => Object.assign(audit ?? {}, { void: 'no-entries' })],
  'a commitment to other entries': [1, (world) => commitment(world, { leaf: '0'.repeat(64) })],
  'a commitment before the close': [1, (world) => commitment(world, { time: closesAt / 1_000 - 120 })],
  'no commitment': [1, ({ accounts, addresses }) => void accounts.delete(addresses.commitment)],
  'a draws account of another beacon': [1, (world) => draws(world, { chainHash: '0'.repeat(64) })],
  'a transaction that failed': [1, ({ transactions }) => Object.assign(first(transactions), { err: {} })],
  'a prize to another wallet': [1, ({ transactions }) => Object.assign(first(transactions).transfers[0] ?? {}, { wallet: addressOf('a friend') })],
  'a transaction that does not exist': [1, ({ transactions }) => transactions.clear()],
  'another program': [2, ({ accounts, addresses }) => void accounts.get(addresses.programData)?.data.set([1], 60)],
  'a program that can be replaced': [2, ({ accounts, addresses }) => void accounts.get(addresses.programData)?.data.set([1], 12)],
  'development rules': [2, (world) => draws(world, { isDevelopment: true })],
  'a clock that runs fast': [2, (world) => Object.assign(world, { slotMs: 1_200 })],
  'a node of another cluster': [2, (world) => Object.assign(world, { genesisHash: addressOf('another cluster') })],
  'no payouts': [3, (world) => Object.assign(world, { payouts: null })],
  'an unpaid prize': [3, ({ payouts }) => Object.assign(payouts?.payouts[1] ?? {}, { signature: null })],
  'a prize that was paid late': [3, ({ transactions }) => Object.assign(first(transactions), { blockTime: first(transactions).blockTime + 4_000 })],
};

/** Verifies a served world with both verifiers. */
async function verdicts(world: World, status: number | null = null) {
  const served = await serveWorld(world, (_path, answer) => (status === null ? answer : { ...answer, status }));
  const pins = { draws: chat.draws, chain: CHAIN.chainHash, treasury: TREASURY, program: programHash(CODE), genesis: GENESIS_HASH };
  const options = Object.entries(pins).flatMap(([name, value]) => [`--pin-${name}`, value]);
  const { round } = world.facts.parameters;
  try {
    const [own, other] = await Promise.all([
      verifyRound(world.options({ house: served.house, rpc: served.rpc, beacon: [served.beacon], now: Date.now })),
      python('-c', COMMAND, round, '--house', served.house, '--rpc', served.rpc, '--mirror', served.beacon, ...options),
    ]);
    return { code: EXIT_CODES[own.verdict], independent: other.code, out: other.out, steps: own.steps };
  } finally {
    served.close();
  }
}

test('the tests of the independent verifier pass', async () => {
  const { code, out } = await python('-m', 'unittest', 'discover', FOLDER);
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/\nOK\n$/) });
}, 240_000);

test('two verifiers that were written independently have the same verdict about an honest round and about every lie', async () => {
  const found: Record<string, unknown> = {};
  const waiting = Object.entries(CASES);
  async function verifyNext(): Promise<void> {
    const next = waiting.shift();
    if (next === undefined) return;
    const [name, [expected, change]] = next;
    const world = createWorld(chat, entries);
    change(world);
    const { code, independent, out, steps } = await verdicts(world);
    found[name] = code === expected && independent === expected ? expected : { code, independent, out, steps };
    await verifyNext();
  }
  await Promise.all([verifyNext(), verifyNext()]);
  expect(found).toEqual(Object.fromEntries(Object.entries(CASES).map(([name, [code]]) => [name, code])));
}, 240_000);

test('two verifiers confirm a legacy round', async () => {
  const { code, independent, out } = await verdicts(createWorld(legacy, entriesOf(legacy, 9, 3, random)));
  expect({ code, independent, out }).toEqual({ code: 0, independent: 0, out: expect.stringMatching(/\ntrue\n$/) });
});

test('two verifiers accuse no house that refuses too many requests or is down', async () => {
  for (const status of [429, 503]) {
    const { code, independent } = await verdicts(createWorld(chat, entries), status);
    expect([status, code, independent]).toEqual([status, 2, 2]);
  }
});

test('the document and both verifiers know the same programs', async () => {
  const root = join(FOLDER, '../../..');
  const text = (path: string) => readFile(join(root, path), 'utf8');
  const distributor = programHash(await readFile(join(root, 'programs/distributor/distributor.so')));
  const document = await text('docs/verification.md');
  expect(document).toContain(KNOWN_PROGRAM);
  expect(document).toContain(distributor);
  expect(await text('tools/verify/independent/chain.py')).toContain(`KNOWN_PROGRAM = "${KNOWN_PROGRAM}"`);
  expect(await text('tools/verify/independent/verify_epoch.py')).toContain(`KNOWN_PROGRAM = "${distributor}"`);
});

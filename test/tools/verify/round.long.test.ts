import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildAudit } from '#lib/draw/build.ts';
import { type Answer, programHash } from '#packages/verify/src/index.ts';
import { addressOf, CHAIN, chatParameters, drawsOf, entriesOf, GENESIS_HASH, legacyParameters, TREASURY, uuidOf } from '#test/lib/draw/rounds.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { encodeDraws } from '#test/support/verify/accounts.ts';
import { serveWorld } from '#test/support/verify/served-world.ts';
import { type CommandResult, verifyRound } from '#test/support/verify/verify-round.ts';
import { CODE, createWorld, type World } from '#test/support/verify/world.ts';
import { runVerifyRound } from '#tools/verify/round-command.ts';

const HOUR = 3_600_000;
const random = randomGenerator(31);
/** Returns the times of a round that closed a number of ms ago, because the command uses the real time. */
function instants(closedAgo: number) {
  const closesAt = 1_000 * Math.floor((Date.now() - closedAgo) / 1_000);
  return { opensAt: new Date(closesAt - HOUR).toISOString(), closesAt: new Date(closesAt).toISOString() };
}
const chat = chatParameters(instants(HOUR / 2));
const entries = entriesOf(chat, 20, 10, random);
const newWorld = (): World => createWorld(chat, entries);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verify-round-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Writes a file and returns its path. */
async function fileOf(name: string, content: unknown): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

/** Runs the command in this process. */
async function run(args: readonly string[], env: Record<string, string> = {}): Promise<CommandResult> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runVerifyRound(args, { print: (line) => out.push(line), printError: (line) => err.push(line), env });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

const pins = {
  ...{ draws: chat.draws, treasury: TREASURY, genesis: GENESIS_HASH },
  ...{ beacon: CHAIN.chainHash, program: programHash(CODE) },
};
const optionsOf = (values: Readonly<Record<string, string>>) => Object.entries(values).flatMap(([name, value]) => [`--${name}`, value]);

/** Serves a world and verifies its round with all pins. */
async function verify(world: World, more: readonly string[] = [], proxy?: (path: string, answer: Answer) => Answer): Promise<CommandResult> {
  const served = await serveWorld(world, proxy);
  try {
    const sources = ['--rpc', served.rpc, '--beacon-url', served.beacon];
    return await run([served.house, world.facts.parameters.round, ...sources, ...optionsOf(pins), ...more]);
  } finally {
    served.close();
  }
}

test('bin/verify-round confirms a true round, prints every check and the result, and ends with status 0', async () => {
  const world = newWorld();
  const served = await serveWorld(world);
  const receipt = await fileOf('receipt.json', world.receipt(19));
  const sources = ['--rpc', served.rpc, '--beacon-url', served.beacon, '--receipt', receipt];
  const { code, out, err } = await verifyRound(served.house, chat.round, ...sources, ...optionsOf(pins));
  served.close();
  expect([code, err]).toEqual([0, '']);
  for (const check of ['program', 'parameters', 'announced', 'receipts', 'entries', 'beacon', 'commitment', 'clock', 'times', 'randomness', 'result'])
    expect(out).toMatch(new RegExp(`^true +${check} `, 'm'));
  expect(out).toContain(`winning numbers: ${world.audit?.draw?.numbers.join(' ')}`);
  expect(out.match(/^ {2}place \d: entry \d+ of \w+, prize \d+ of \w+$/gm)).toHaveLength(world.audit?.winners?.length ?? -1);
  expect(out).not.toContain('on the house’s word');
  expect(out).toMatch(new RegExp(`round ${chat.round}: true\n$`));
});

test('what is neither pinned nor kept is listed as taken on the house’s word', async () => {
  const served = await serveWorld(newWorld());
  const { beacon, program } = pins;
  const { code, out } = await run([served.house, chat.round, '--beacon-url', served.beacon, ...optionsOf({ beacon, program })], {
    SOLANA_RPC_URL: served.rpc,
  });
  served.close();
  expect(code).toBe(0);
  const [, words = ''] = out.split('Taken on the house’s word:\n');
  expect(words.split('\n\n')[0]?.split('\n')).toEqual([
    `  the address of the draws account, ${chat.draws}`,
    '  that this round, with these rules, was announced before the draw',
    `  the address of the treasury, ${TREASURY}`,
    '  that no accepted entry is missing from the list',
  ]);
});

test('a false round ends with status 1, and the output names the check', async () => {
  const world = newWorld();
  world.audit?.draw?.numbers.reverse();
  const { code, out } = await verify(world);
  expect(code).toBe(1);
  expect(out).toMatch(/^FALSE +result +draw\.numbers/m);
  expect(out).toMatch(new RegExp(`round ${chat.round}: false$`));
});

test('a proxy that changes any answer of the house is noticed', async () => {
  const winner = newWorld().audit?.winners?.[0]?.wallet ?? '';
  const lies: Readonly<Record<string, [path: RegExp, change: (text: string) => string | null]>> = {
    'another prize': [/audit$/, (text) => text.replaceAll('"3000000"', '"2999999"')],
    'another winner': [/audit$/, (text) => text.replaceAll(winner, addressOf('the proxy'))],
    'another treasury': [/audit$/, (text) => text.replaceAll(TREASURY, addressOf('the proxy'))],
    'another time of an entry': [/ndjson$/, (text) => text.replace(/(\d)Z"/, (_, digit) => `${(Number(digit) + 1) % 10}Z"`)],
    'a line twice': [/ndjson$/, (text) => `${text}${text.split('\n')[0]}\n`],
    'no last line': [/ndjson$/, (text) => text.split('\n').slice(0, -2).join('\n')],
    'no entries': [/ndjson$/, () => null],
    'a text that is no signature of a transaction': [/payouts$/, (text) => text.replace(/"signature":"[^"]{4}/, '$&1')],
    'another batch': [/payouts$/, (text) => text.replace(/"batches":\[\{"id":"[^"]+"/, `"batches":[{"id":"${uuidOf('batch')}"`)],
  };
  const answered: Record<string, number> = {};
  for (const [name, [path, change]] of Object.entries(lies)) {
    const { code } = await verify(newWorld(), [], (requested, answer) => {
      const changed = path.test(requested) && answer.status === 200 ? change(answer.text) : answer.text;
      return changed === null ? { status: 404, text: '{}' } : { ...answer, text: changed };
    });
    answered[name] = code;
  }
  expect(answered).toEqual(Object.fromEntries(Object.keys(lies).map((name) => [name, 1])));
}, 60_000);

test('a round that is late or unpaid ends with status 3', async () => {
  const world = newWorld();
  for (const payout of world.payouts?.payouts ?? []) payout.signature = null;
  const { code, out } = await verify(world);
  expect(code).toBe(3);
  expect(out).toMatch(/^LATE +payouts +0 of 3 prizes are paid; not paid: places 1, 2, 3$/m);
  expect(out).toMatch(/: true, but late or unpaid$/);
});

test('a round whose result the house does not show has the result that the command computes', async () => {
  const parameters = chatParameters({ ...instants(300_000), drawWithinSec: 3_600 });
  const own = entriesOf(parameters, 20, 10, random);
  const world = createWorld(parameters, own);
  const numbers = world.audit?.draw?.numbers;
  world.audit = buildAudit({ ...world.facts, beacon: world.facts.beacon && { ...world.facts.beacon, signature: null } }, null);
  const { code, out } = await verify(world);
  expect(code).toBe(2);
  expect(out).toMatch(/^unknown +publication +the house has not published the result yet/m);
  expect(out).toContain(`winning numbers: ${numbers?.join(' ')}`);
});

test('development rules are true only with --development, and the verdict says so', async () => {
  const world = newWorld();
  world.accounts.set(world.addresses.draws, { owner: world.addresses.program, data: encodeDraws(drawsOf(CHAIN, { isDevelopment: true })) });
  expect(await verify(world)).toMatchObject({ code: 2, out: expect.stringContaining(`round ${chat.round}: cannot be checked`) });
  expect(await verify(world, ['--development'])).toMatchObject({ code: 0, out: expect.stringMatching(/: true under development rules$/) });
});

test('a legacy round is verified under its own path', async () => {
  const parameters = legacyParameters(instants(HOUR / 2));
  const world = createWorld(parameters, entriesOf(parameters, 9, 3, random));
  const { code, out } = await verify(world);
  expect([code, out]).toEqual([0, expect.stringMatching(/the winning ticket is \d/)]);
});

test('receipts, an announcement and a closing are read from statements, lists, NDJSON and saved responses', async () => {
  const world = newWorld();
  const { announcement, closed } = world.facts;
  const one = await fileOf('one.json', { messageId: 'x', entry: { id: uuidOf('entry 0'), receipt: world.receipt(0) } });
  const list = await fileOf('list.json', [world.receipt(1), world.receipt(2)]);
  const lines = await fileOf('lines.ndjson', `${JSON.stringify(world.receipt(3))}\n${JSON.stringify({ data: [world.receipt(4)] })}\n`);
  const kept = ['--announcement', await fileOf('round.json', { id: chat.round, announcement }), '--closing', await fileOf('closed.json', closed)];
  const { code, out } = await verify(world, ['--receipt', one, '--receipt', list, '--receipt', lines, ...kept]);
  expect(code).toBe(0);
  expect(out).toMatch(/^true +receipts +5 receipts fit; 15 entries follow the last one$/m);
  expect(out).toMatch(/^true +closing +the round closed at .* with 20 entries, as the kept closing says$/m);
  expect(out).not.toContain('on the house’s word');
});

test('a receipt contradicts a house that withholds its entry, and a file of entries replaces the list that the house does not show', async () => {
  const lied = createWorld(chat, entriesOf(chat, 20, 10, randomGenerator(5)));
  const receipt = await fileOf('mine.json', newWorld().receipt(7));
  expect(await verify(lied, ['--receipt', receipt])).toMatchObject({ code: 1, out: expect.stringMatching(/^FALSE +receipts +entries\[7\]/m) });
  const world = newWorld();
  const file = await fileOf('entries.ndjson', world.lines);
  world.lines = null;
  expect(await verify(world)).toMatchObject({ code: 1, out: expect.stringMatching(/^FALSE +entries +the house does not show the entries/m) });
  expect(await verify(world, ['--entries', file])).toMatchObject({ code: 0 });
});

test('pins that differ from the house are named', async () => {
  const other = addressOf('other');
  const cases: readonly [pin: string, value: string, code: number, check: string][] = [
    ['draws', other, 1, 'draws'],
    ['treasury', other, 1, 'parameters'],
    ['genesis', other, 2, 'cluster'],
    ['beacon', '00'.repeat(32), 1, 'beacon'],
    ['program', '00'.repeat(32), 2, 'program'],
  ];
  for (const [pin, value, code, check] of cases) {
    const result = await verify(newWorld(), [`--${pin}`, value]);
    expect([pin, result.code]).toEqual([pin, code]);
    expect(result.out).toMatch(new RegExp(`^(?:FALSE|unknown) +${check} `, 'm'));
  }
});

test('an unreachable house, node or beacon gives status 2', async () => {
  const dead = 'http://127.0.0.1:1';
  const served = await serveWorld(newWorld());
  const pinned = optionsOf(pins);
  const cases: readonly [args: string[], check: string][] = [
    [[dead, chat.round, '--rpc', served.rpc, '--beacon-url', served.beacon], 'house'],
    [[served.house, chat.round, '--rpc', dead, '--beacon-url', served.beacon], 'rpc'],
    [[served.house, chat.round, '--rpc', served.rpc, '--beacon-url', dead], 'beacon'],
    [[served.house, uuidOf('nobody knows'), '--rpc', served.rpc, '--beacon-url', served.beacon], 'audit'],
  ];
  for (const [args, check] of cases)
    expect(await run([...args, ...pinned])).toMatchObject({ code: 2, out: expect.stringMatching(new RegExp(`^unknown +${check} `, 'm')) });
  const twice = await run([served.house, chat.round, '--rpc', served.rpc, '--beacon-url', dead, '--beacon-url', served.beacon, ...pinned]);
  expect(twice.code).toBe(0);
  served.close();
});

test('a wrong command line and unusable files give status 2 and a sentence', async () => {
  const { round } = chat;
  const url = 'http://127.0.0.1:1';
  const { announcement } = newWorld().facts;
  const [empty, two] = [await fileOf('empty.json', {}), await fileOf('two.json', [announcement, announcement])];
  const cases: readonly [args: string[], sentence: RegExp][] = [
    [[], /^usage: bin\/verify-round URL ID/],
    [[url], /^usage/],
    [[url, '17'], /^usage/],
    [['x', round], /^usage/],
    [[url, round, 'more'], /^usage/],
    [[url, round, '--more'], /--more/],
    [[url, round, '--rpc', 'node'], /^--rpc must be a URL/],
    [[url, round, '--draws', 'me'], /^--draws must be 32 bytes in base58/],
    [[url, round, '--beacon', url], /^--beacon must be a hash/],
    [[url, round, '--receipt', join(folder, 'missing')], /missing cannot be read/],
    [[url, round, '--receipt', empty], /empty\.json contains no statement of type coinop\/receipt\/1/],
    [[url, round, '--announcement', two], /contains 2 statements of type coinop\/announcement\/1; it must contain one/],
    [[url, round, '--announcement', await fileOf('text.json', 'gm')], /is neither JSON nor NDJSON/],
  ];
  for (const [args, sentence] of cases) expect(await run(args)).toEqual({ code: 2, out: '', err: expect.stringMatching(sentence) });
  expect(await verifyRound(url, round, '--more')).toMatchObject({ code: 2, err: expect.stringContaining('usage: bin/verify-round') });
});

import { expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { Audit, LandedCommitment } from '#lib/draw/audit.ts';
import { buildAudit } from '#lib/draw/build.ts';
import { base58Bytes, fromHex, toHex, uuidBytes } from '#lib/draw/bytes.ts';
import { Entry, entryLeaf, verifyEntry } from '#lib/draw/entry.ts';
import { EntryRules, LEAD_SEC, MARGIN_SEC, MAX_COMMIT_WITHIN_SEC, NO_ENTRY_RULES, RoundParameters } from '#lib/draw/parameters.ts';
import { rootFromProof } from '#lib/merkle.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { addressOf, bytesOf, chatParameters, entriesOf, finished, legacyParameters, uuidOf } from './rounds.ts';

/** Tests of the limits of the public formats of a draw: verifiers of other parties rely on exactly these limits. */

const entries = entriesOf(chatParameters(), 5, 5, randomGenerator(5));
const audit = buildAudit(finished(chatParameters(), entries), entries);
const ENTRY: Entry = { index: 0, wallet: addressOf('a'), numbers: [1], source: 'chat', messageId: 'm', at: '2026-11-21T12:00:00.000Z' };

/** Returns for each value whether the schema accepts the base object with this value in place of the field. */
const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, base: object, field: string, values: readonly unknown[]) =>
  values.map((value) => schema.safeParse({ ...base, [field]: value }).success);

const pathOf = (parameters: unknown) => RoundParameters.safeParse(parameters).error?.issues[0]?.path.join('.');

test('the default lead is 180 s, the default margin is 60 s, and a commitment is due within 120 s at most', () => {
  expect([LEAD_SEC, MARGIN_SEC, MAX_COMMIT_WITHIN_SEC]).toEqual([180, 60, 120]);
});

test('the parameters of a chat round have limits that are accepted themselves, and values beyond them are not', () => {
  const chat = (field: string, ...values: unknown[]) => accepts(RoundParameters, chatParameters(), field, values);
  expect(chat('picks', 0, 1, 50, 51)).toEqual([false, true, true, false]);
  expect(chat('range', 4, 5, 255, 256)).toEqual([false, true, true, false]);
  expect(accepts(RoundParameters, chatParameters({ picks: 1 }), 'range', [0, 1])).toEqual([false, true]);
  expect(chat('maxEntriesPerWallet', 0, 1, 1_000_000, 1_000_001)).toEqual([false, true, true, false]);
  const prizes = (count: number) => Array.from({ length: count }, (_, i) => ({ place: i + 1, amount: '1', mint: addressOf('reward') }));
  expect(chat('prizes', prizes(0), prizes(1), prizes(100), prizes(101))).toEqual([false, true, true, false]);
  expect(chat('version', 1, 2, 3)).toEqual([false, true, false]);
});

test('the waiting times of a round have limits, and a round closes after it opens', () => {
  const chat = (field: string, ...values: unknown[]) => accepts(RoundParameters, chatParameters(), field, values);
  expect(chat('leadSec', 0, 1, 86_400, 86_401)).toEqual([false, true, true, false]);
  expect(chat('commitWithinSec', 0, 1, 120, 121)).toEqual([false, true, true, false]);
  expect(chat('drawWithinSec', 0, 1, 86_400, 86_401)).toEqual([false, true, true, false]);
  expect(chat('payWithinSec', 0, 1, 604_800, 604_801)).toEqual([false, true, true, false]);
  const { opensAt } = chatParameters();
  expect(pathOf(chatParameters({ closesAt: opensAt }))).toBe('closesAt');
  expect(pathOf(chatParameters({ closesAt: opensAt.replace('.000Z', '.001Z') }))).toBeUndefined();
  expect(pathOf(chatParameters({ picks: 51 }))).toBe('picks');
});

test('all four entry rules are present, each with a value or null', () => {
  const rule = (field: string, ...values: unknown[]) => accepts(EntryRules, NO_ENTRY_RULES, field, values);
  expect(rule('minTokenBalance', null, { amount: '1', mint: addressOf('m') }, '1', undefined)).toEqual([true, true, false, false]);
  expect(rule('minAcceptedScores', null, 0, 1, 1_000_000, 1_000_001, undefined)).toEqual([true, false, true, true, false, false]);
  expect(rule('linkedAccount', null, 'x', 'X', '', 'a'.repeat(32), 'a'.repeat(33))).toEqual([true, true, false, false, true, false]);
  expect(rule('signedInBefore', null, '2026-11-20T00:00:00.000Z', '2026-11-20')).toEqual([true, true, false]);
  expect(rule('more', null)).toEqual([false]);
});

test('a legacy round has a limit of 1 to 2^32 − 1 tickets, or none', () => {
  expect(accepts(RoundParameters, legacyParameters(), 'maxTickets', [null, 0, 1, 2 ** 32 - 1, 2 ** 32])).toEqual([true, false, true, true, false]);
  expect(accepts(RoundParameters, legacyParameters(), 'ticketPrice', ['0', '00', '18446744073709551615'])).toEqual([true, false, true]);
});

test('the fields of an entry have limits that are accepted themselves, and values beyond them are not', () => {
  const entry = (field: string, ...values: unknown[]) => accepts(Entry, ENTRY, field, values);
  expect(entry('index', -1, 0, 2 ** 32 - 1, 2 ** 32)).toEqual([false, true, true, false]);
  expect(entry('numbers', [0], [1], [255], [256], [])).toEqual([false, true, true, false, true]);
  expect(entry('numbers', new Array(255).fill(1), new Array(256).fill(1))).toEqual([true, false]);
  expect(entry('source', '', 'a', 'a'.repeat(32), 'a'.repeat(33))).toEqual([false, true, true, false]);
  expect(entry('messageId', '', 'm', 'm'.repeat(256), 'm'.repeat(257))).toEqual([false, true, true, false]);
});

test('an entry with a valid proof of 32 hashes is accepted, and with one of 33 hashes rejected', () => {
  const round = uuidOf('a round');
  for (const length of [32, 33]) {
    const proof = Array.from({ length }, (_, i) => bytesOf(`sibling ${i}`));
    const root = Buffer.from(rootFromProof(Buffer.from(entryLeaf(round, ENTRY), 'hex'), proof)).toString('hex');
    const hexProof = proof.map((hash) => hash.toString('hex'));
    expect(verifyEntry(root, round, ENTRY, hexProof)).toBe(length === 32);
  }
});

test('a landed commitment has a beacon round of 1 to 2^32, a time in whole seconds and a blockhash of 32 bytes', () => {
  const { commitment } = finished(chatParameters(), entries);
  const landed = (field: string, ...values: unknown[]) => accepts(LandedCommitment, commitment, field, values);
  expect(landed('beaconRound', 0, 1, 2 ** 32, 2 ** 32 + 1)).toEqual([false, true, true, false]);
  const base58 = (bytes: number) => bs58.encode(new Uint8Array(bytes).fill(9));
  expect(landed('blockhash', base58(31), base58(32), base58(33), null)).toEqual([false, true, false, true]);
  expect(landed('slot', -1, 0)).toEqual([false, true]);
  expect(landed('at', '2026-11-21T13:00:05.000Z', '2026-11-21T13:00:05.001Z')).toEqual([true, false]);
});

test('the numbers in an audit have limits that are accepted themselves, and values beyond them are not', () => {
  const inside = (part: 'commitment' | 'beacon' | 'draw' | 'entries', field: string, ...values: unknown[]) =>
    values.map((value) => Audit.safeParse({ ...audit, [part]: { ...audit[part], [field]: value } }).success);
  expect(inside('commitment', 'beaconRound', 0, 1)).toEqual([false, true]);
  expect(inside('entries', 'count', -1, 0)).toEqual([false, true]);
  expect(inside('beacon', 'round', 0, 1)).toEqual([false, true]);
  expect(inside('beacon', 'period', 0, 1)).toEqual([false, true]);
  expect(inside('beacon', 'beaconId', 'b'.repeat(64), 'b'.repeat(65))).toEqual([true, false]);
  expect(inside('draw', 'drawn', [-1], [0])).toEqual([false, true]);
  expect(inside('draw', 'label', 'numbers/1', 'ticket/1', 'tie/1')).toEqual([true, true, false]);
  expect(Audit.safeParse({ ...audit, version: 1 }).success).toBe(false);
  const winner = (field: string, ...values: unknown[]) =>
    values.map((value) => Audit.safeParse({ ...audit, winners: [{ ...audit.winners?.[0], [field]: value }] }).success);
  expect(winner('place', 0, 1)).toEqual([false, true]);
  expect(winner('index', -1, 0)).toEqual([false, true]);
  expect(winner('matches', 0, 1, null)).toEqual([false, true, true]);
  const draw = (field: string, ...values: unknown[]) =>
    values.map((value) => Audit.safeParse({ ...audit, draw: { ...audit.draw, draws: [{ ...audit.draw?.draws[0], [field]: value }] } }).success);
  expect(draw('bound', 0, 1)).toEqual([false, true]);
  expect(draw('counter', -1, 0)).toEqual([false, true]);
  expect(draw('raw', '0', '00', '9'.repeat(20), '9'.repeat(21))).toEqual([true, false, true, false]);
});

test('texts that are not a UUID in lower case or not base58 of 32 bytes have no bytes', () => {
  expect(toHex(uuidBytes('00112233-4455-6677-8899-aabbccddeeff'))).toBe('00112233445566778899aabbccddeeff');
  expect(() => uuidBytes('00112233-4455-6677-8899-AABBCCDDEEFF')).toThrow();
  expect(() => base58Bytes('1'.repeat(31))).toThrow('is not base58 of 32 bytes');
  for (const text of ['0', 'AB', 'zz', '0x']) expect(() => fromHex(text)).toThrow('not lower-case hex');
  expect(() => base58Bytes('0')).toThrow('is not base58 of 32 bytes');
});

import { expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { Audit, LandedCommitment } from '#lib/draw/audit.ts';
import { buildAudit } from '#lib/draw/build.ts';
import { base58Bytes, uuidBytes } from '#lib/draw/bytes.ts';
import { Entry, entryLeaf, verifyEntry } from '#lib/draw/entry.ts';
import { LEAD_SEC, MARGIN_SEC, RoundParameters } from '#lib/draw/parameters.ts';
import { rootFromProof } from '#lib/merkle.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { addressOf, bytesOf, chatParameters, entriesOf, finished, legacyParameters, uuidOf } from './rounds.ts';

/** Tests of the limits of the public formats of a draw: verifiers of other parties rely on exactly these limits. */

const entries = entriesOf(chatParameters(), 5, 5, randomGenerator(5));
const audit = buildAudit(finished(chatParameters(), entries));
const ENTRY: Entry = { index: 0, wallet: addressOf('a'), numbers: [1], source: 'chat', messageId: 'm', at: '2026-11-21T12:00:00.000Z' };

/** Returns for each value whether the schema accepts the base object with this value in place of the field. */
const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, base: object, field: string, values: readonly unknown[]) =>
  values.map((value) => schema.safeParse({ ...base, [field]: value }).success);

const pathOf = (parameters: unknown) => RoundParameters.safeParse(parameters).error?.issues[0]?.path.join('.');

test('the default lead is 180 seconds and the default margin is 60 seconds', () => {
  expect([LEAD_SEC, MARGIN_SEC]).toEqual([180, 60]);
});

test('the parameters of a chat round have limits that are accepted themselves, and values beyond them are not', () => {
  const chat = (field: string, ...values: unknown[]) => accepts(RoundParameters, chatParameters(), field, values);
  expect(chat('picks', 0, 1, 50, 51)).toEqual([false, true, true, false]);
  expect(chat('range', 4, 5, 255, 256)).toEqual([false, true, true, false]);
  expect(accepts(RoundParameters, chatParameters({ picks: 1 }), 'range', [0, 1])).toEqual([false, true]);
  expect(chat('maxEntriesPerWallet', 0, 1, 1_000_000, 1_000_001)).toEqual([false, true, true, false]);
  const prizes = (count: number) => Array.from({ length: count }, () => ({ amount: '1', mint: addressOf('reward') }));
  expect(chat('prizes', prizes(0), prizes(1), prizes(100), prizes(101))).toEqual([false, true, true, false]);
  expect(chat('version', 0, 1, 2)).toEqual([false, true, false]);
});

test('the lead is at most a day and more than the margin, and a round closes after it opens', () => {
  const lead = (leadSec: number, marginSec: number) => RoundParameters.safeParse(chatParameters({ leadSec, marginSec })).success;
  expect([lead(1, 0), lead(0, 0), lead(86_400, 60), lead(86_401, 60), lead(86_400, 86_399)]).toEqual([true, false, true, false, true]);
  expect([lead(60, 60), lead(61, 60), lead(60, -1)]).toEqual([false, true, false]);
  expect(RoundParameters.safeParse(legacyParameters({ leadSec: 86_400, marginSec: 86_400 })).success).toBe(false);
  const { opensAt } = chatParameters();
  expect(pathOf(chatParameters({ closesAt: opensAt }))).toBe('closesAt');
  expect(pathOf(chatParameters({ closesAt: opensAt.replace('.000Z', '.001Z') }))).toBeUndefined();
  expect(pathOf(chatParameters({ leadSec: 60, marginSec: 60 }))).toBe('marginSec');
  expect(pathOf(chatParameters({ picks: 51 }))).toBe('picks');
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

test('a landed commitment has a memo of at most 566 bytes, a signature of 64 bytes and a blockhash of 32 bytes', () => {
  const { commitment } = finished(chatParameters(), entries);
  const landed = (field: string, ...values: unknown[]) => accepts(LandedCommitment, commitment, field, values);
  expect(landed('memo', 'm'.repeat(566), 'm'.repeat(567))).toEqual([true, false]);
  const base58 = (bytes: number) => bs58.encode(new Uint8Array(bytes).fill(9));
  expect(landed('signature', base58(63), base58(64), base58(65))).toEqual([false, true, false]);
  expect(landed('blockhash', base58(31), base58(32), base58(33))).toEqual([false, true, false]);
  expect(landed('slot', -1, 0)).toEqual([false, true]);
});

test('the numbers in an audit have limits that are accepted themselves, and values beyond them are not', () => {
  const inside = (part: 'commitment' | 'beacon' | 'draw' | 'entries', field: string, ...values: unknown[]) =>
    values.map((value) => Audit.safeParse({ ...audit, [part]: { ...audit[part], [field]: value } }).success);
  expect(inside('commitment', 'sequence', 0, 1)).toEqual([false, true]);
  expect(inside('entries', 'count', -1, 0)).toEqual([false, true]);
  expect(inside('beacon', 'round', 0, 1)).toEqual([false, true]);
  expect(inside('beacon', 'period', 0, 1)).toEqual([false, true]);
  expect(inside('beacon', 'beaconId', 'b'.repeat(64), 'b'.repeat(65))).toEqual([true, false]);
  expect(inside('draw', 'drawn', [-1], [0])).toEqual([false, true]);
  expect(inside('draw', 'label', 'numbers/1', 'ticket/1', 'tie/1')).toEqual([true, true, false]);
  expect(Audit.safeParse({ ...audit, version: 2 }).success).toBe(false);
  const winner = (field: string, ...values: unknown[]) =>
    values.map((value) => Audit.safeParse({ ...audit, winners: [{ ...audit.winners?.[0], [field]: value }] }).success);
  expect(winner('place', 0, 1)).toEqual([false, true]);
  expect(winner('index', -1, 0)).toEqual([false, true]);
  expect(winner('matches', 0, 1, null)).toEqual([false, true, true]);
  expect(winner('proof', new Array(32).fill(audit.parametersHash), new Array(33).fill(audit.parametersHash))).toEqual([true, false]);
  const draw = (field: string, ...values: unknown[]) =>
    values.map((value) => Audit.safeParse({ ...audit, draw: { ...audit.draw, draws: [{ ...audit.draw?.draws[0], [field]: value }] } }).success);
  expect(draw('bound', 0, 1)).toEqual([false, true]);
  expect(draw('counter', -1, 0)).toEqual([false, true]);
  expect(draw('raw', '0', '00', '9'.repeat(20), '9'.repeat(21))).toEqual([true, false, true, false]);
});

test('texts that are not a UUID in lower case or not base58 of 32 bytes have no bytes', () => {
  expect(uuidBytes('00112233-4455-6677-8899-aabbccddeeff').toString('hex')).toBe('00112233445566778899aabbccddeeff');
  expect(() => uuidBytes('00112233-4455-6677-8899-AABBCCDDEEFF')).toThrow();
  expect(() => base58Bytes('1'.repeat(31))).toThrow('is not base58 of 32 bytes');
  expect(() => base58Bytes('0')).toThrow('is not base58 of 32 bytes');
});

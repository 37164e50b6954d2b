import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { fromHex, hashOfParts, Millisecond, RoundId, toHex, Units } from '#lib/draw/bytes.ts';
import { Entry, entryLeaf, entryLeaves, entryLine, entryTree, proveEntry, treeRoot, verifyEntry } from '#lib/draw/entry.ts';
import { NO_ENTRY_RULES, parametersHash, RoundParameters } from '#lib/draw/parameters.ts';
import { membersHash, payoutMemo, readPayoutMemo } from '#lib/draw/payout.ts';
import { extendRunningHash, roundLeaf, runningHashes, summarize } from '#lib/draw/round-leaf.ts';
import { findBrokenRule } from '#lib/draw/rules.ts';
import { buildTree } from '#lib/merkle.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { naiveLeaf, naiveMembersHash, naiveParametersHash, naiveRoot, naiveRoundLeaf, naiveRunningHash } from './naive.ts';
import { addressOf, chatParameters, entriesOf, legacyParameters, uuidOf } from './rounds.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();
const ENTRY: Entry = {
  index: 258,
  wallet: addressOf('somebody'),
  numbers: [3, 7, 12, 30, 255],
  source: 'discord',
  messageId: 'ÄÖ-17',
  at: '2026-11-21T12:00:00.001Z',
};

test('moving a byte from one part to the next changes the hash of the parts', () => {
  const expected = sha256(Buffer.from([2, 0, 0, 0, 97, 98, 0, 0, 0, 0, 1, 0, 0, 0, 99]));
  expect(Buffer.from(hashOfParts(Buffer.from('ab'), Buffer.from(''), Buffer.from('c')))).toEqual(expected);
  expect(hashOfParts(Buffer.from('a'), Buffer.from(''), Buffer.from('bc'))).not.toEqual(new Uint8Array(expected));
});

test('an entry leaf is the SHA-256 of 118 bytes plus one byte per number', () => {
  const round = '00112233-4455-6677-8899-aabbccddeeff';
  const time = Buffer.alloc(8);
  time.writeBigUInt64LE(BigInt(Date.UTC(2026, 10, 21, 12, 0, 0, 1)));
  const message = Buffer.concat([
    Buffer.from([7, 0, 0, 0]),
    Buffer.from('discord'),
    Buffer.from([7, 0, 0, 0]),
    Buffer.from('ÄÖ-17'),
    Buffer.from([8, 0, 0, 0]),
    time,
  ]);
  const bytes = Buffer.concat([
    Buffer.from([2]),
    sha256(Buffer.from('coinop/entry/1')),
    Buffer.from('00112233445566778899aabbccddeeff', 'hex'),
    Buffer.from([2, 1, 0, 0]),
    bs58.decode(ENTRY.wallet),
    Buffer.from([5, 3, 7, 12, 30, 255]),
    sha256(message),
  ]);
  expect(bytes.length).toBe(118 + 5);
  expect(entryLeaf(round, ENTRY)).toBe(sha256(bytes).toString('hex'));
  expect(entryLeaf(round, { ...ENTRY, numbers: [] })).toBe(naiveLeaf(round, { ...ENTRY, numbers: [] }).toString('hex'));
});

test('the leaf changes with every field of the entry and with the round', () => {
  const others: Entry[] = [
    { ...ENTRY, index: 259 },
    { ...ENTRY, wallet: addressOf('somebody else') },
    { ...ENTRY, numbers: [3, 7, 12, 30, 254] },
    { ...ENTRY, numbers: [3, 7, 12, 30] },
    { ...ENTRY, source: 'discord-' },
    { ...ENTRY, messageId: 'ÄÖ-18' },
    { ...ENTRY, at: '2026-11-21T12:00:00.002Z' },
  ];
  const leaves = [...others.map((entry) => entryLeaf(uuidOf('one'), entry)), entryLeaf(uuidOf('one'), ENTRY), entryLeaf(uuidOf('two'), ENTRY)];
  expect(new Set(leaves).size).toBe(leaves.length);
});

test('a proof is valid only for its own entry, round and root', () => {
  const parameters = chatParameters();
  const entries = entriesOf(parameters, 77, 40, randomGenerator(1));
  const leaves = entryLeaves(parameters.round, entries);
  const tree = entryTree(leaves);
  const root = treeRoot(tree);
  expect(root).toBe(naiveRoot(parameters.round, entries));
  expect(tree.map((level) => Buffer.from(level))).toEqual(buildTree(leaves).map((level) => Buffer.from(level)));
  for (const entry of entries) {
    const { leaf, proof } = proveEntry(tree, entry.index);
    expect(leaf).toBe(entryLeaf(parameters.round, entry));
    expect(verifyEntry(root, parameters.round, entry, proof)).toBe(true);
    expect(verifyEntry(root, uuidOf('another'), entry, proof)).toBe(false);
    expect(verifyEntry(root, parameters.round, { ...entry, wallet: addressOf('a thief') }, proof)).toBe(false);
    expect(verifyEntry(root, parameters.round, entry, proof.slice(1))).toBe(false);
    expect(
      verifyEntry(
        root,
        parameters.round,
        entry,
        Array.from({ length: 33 }, () => root),
      ),
    ).toBe(false);
  }
  expect(() => proveEntry(tree, 77)).toThrow('there is no leaf 77');
});

test('a running hash covers all entries up to its own, and can be computed in pieces', () => {
  const parameters = chatParameters();
  const { round } = parameters;
  const hash = parametersHash(parameters);
  const entries = entriesOf(parameters, 40, 11, randomGenerator(9));
  const leaves = entryLeaves(round, entries);
  const start = fromHex(hash);
  const all = runningHashes(start, leaves);
  for (const count of [1, 2, 17, 40]) {
    const expected = naiveRunningHash(hash, round, entries.slice(0, count));
    expect(toHex(all.subarray(32 * count - 32, 32 * count))).toBe(expected);
    expect(toHex(extendRunningHash(start, leaves.subarray(0, 32 * count)))).toBe(expected);
    const half = extendRunningHash(start, leaves.subarray(0, 32 * (count >> 1)));
    expect(toHex(extendRunningHash(half, leaves.subarray(32 * (count >> 1), 32 * count)))).toBe(expected);
  }
  expect(toHex(extendRunningHash(start, new Uint8Array()))).toBe(hash);
  expect(summarize(round, hash, entries)).toEqual({
    count: 40,
    root: naiveRoot(round, entries),
    runningHash: naiveRunningHash(hash, round, entries),
  });
  expect(summarize(round, hash, [])).toEqual({ count: 0, root: null, runningHash: hash });
});

test('the leaf of a round changes with every value that it covers', () => {
  const inputs = {
    round: uuidOf('r'),
    root: 'aa'.repeat(32),
    count: 7,
    runningHash: 'bb'.repeat(32),
    parametersHash: 'cc'.repeat(32),
    closedAt: 1_795_000_000_123,
  };
  const { round, root, count, runningHash, parametersHash: hash, closedAt } = inputs;
  expect(roundLeaf(inputs)).toBe(naiveRoundLeaf(round, root, count, runningHash, hash, closedAt));
  const others = [
    {},
    { round: uuidOf('s') },
    { root: 'ab'.repeat(32) },
    { count: 8 },
    { runningHash: hash },
    { parametersHash: root },
    { closedAt: closedAt + 1 },
  ];
  expect(new Set(others.map((other) => roundLeaf({ ...inputs, ...other }))).size).toBe(others.length);
});

test('the memo of a batch names its members in their order', () => {
  const prize = {
    paymentId: uuidOf('payment'),
    round: uuidOf('round'),
    place: 1,
    wallet: addressOf('w'),
    amount: '18446744073709551615',
    mint: addressOf('m'),
  };
  const other = { ...prize, paymentId: uuidOf('another'), round: null, place: null };
  const hash = membersHash([prize, other]);
  expect(hash).toBe(naiveMembersHash([prize, other]));
  const changes = [
    { paymentId: uuidOf('b') },
    { round: uuidOf('b') },
    { place: 2 },
    { wallet: addressOf('b') },
    { amount: '1' },
    { mint: addressOf('b') },
  ];
  const hashes = [hash, membersHash([other, prize]), membersHash([prize]), ...changes.map((change) => membersHash([{ ...prize, ...change }, other]))];
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(readPayoutMemo(payoutMemo(uuidOf('batch'), hash))).toEqual({ batch: uuidOf('batch'), hash });
  for (const text of [`${payoutMemo(uuidOf('batch'), hash)} `, payoutMemo(uuidOf('batch'), hash.slice(1)), `x${payoutMemo(uuidOf('batch'), hash)}`])
    expect(readPayoutMemo(text)).toBeNull();
});

test('a round may have 100,000 entries', () => {
  const parameters = chatParameters();
  const entries = entriesOf(parameters, 100_000, 500, randomGenerator(3));
  expect(summarize(parameters.round, parametersHash(parameters), entries).count).toBe(100_000);
});

test('a line of the published entries is canonical JSON and reads back as the entry', () => {
  expect(entryLine(ENTRY)).toBe(
    `{"at":"2026-11-21T12:00:00.001Z","index":258,"messageId":"ÄÖ-17","numbers":[3,7,12,30,255],"source":"discord","wallet":"${ENTRY.wallet}"}`,
  );
  expect(Entry.parse(JSON.parse(entryLine(ENTRY)))).toEqual(ENTRY);
});

test('an entry with a non-canonical value is rejected', () => {
  const wrong = [
    { index: -1 },
    { index: 2 ** 32 },
    { wallet: 'nobody' },
    { numbers: [0] },
    { numbers: [256] },
    { numbers: [1.5] },
    { source: 'Discord' },
    { source: '' },
    { messageId: '' },
    { messageId: '\ud800' },
    { at: '2026-11-21T12:00:00Z' },
    { at: '2026-11-21T12:00:00.001+00:00' },
    { at: '2026-02-30T12:00:00.000Z' },
    { more: 1 },
  ];
  for (const part of wrong) expect(Entry.safeParse({ ...ENTRY, ...part }).success).toBe(false);
  for (const text of ['01', '-1', '1.0', '18446744073709551616', '']) expect(Units.safeParse(text).success).toBe(false);
  expect(Units.safeParse('18446744073709551615').success).toBe(true);
  expect(RoundId.safeParse(uuidOf('x').toUpperCase()).success).toBe(false);
  expect(Millisecond.safeParse('2026-11-21T12:00:00.000Z').success).toBe(true);
});

test('the hash of parameters changes with every field', () => {
  for (const parameters of [chatParameters(), legacyParameters(), legacyParameters({ maxTickets: 7, maxTicketsPerWallet: 1 })]) {
    const hash = parametersHash(parameters);
    expect(hash).toBe(naiveParametersHash(parameters));
    const reversed = RoundParameters.parse(Object.fromEntries(Object.entries(parameters).reverse()));
    expect(parametersHash(reversed)).toBe(hash);
  }
  const changes: Parameters<typeof chatParameters>[0][] = [
    { round: uuidOf('another') },
    { picks: 4 },
    { range: 49 },
    { prizes: chatParameters().prizes.slice(0, 2) },
    { maxEntriesPerWallet: 4 },
    { opensAt: '2026-11-21T12:00:00.001Z' },
    { closesAt: '2026-11-21T13:00:00.001Z' },
    { leadSec: 181 },
    { commitWithinSec: 61 },
    { drawWithinSec: 301 },
    { payWithinSec: 3_601 },
    { draws: addressOf('another') },
    { treasury: addressOf('another') },
    { genesisHash: addressOf('another') },
    { entryRules: { ...NO_ENTRY_RULES, minAcceptedScores: 1 } },
    { entryRules: { ...NO_ENTRY_RULES, linkedAccount: 'x' } },
    { entryRules: { ...NO_ENTRY_RULES, signedInBefore: '2026-11-20T00:00:00.000Z' } },
    { entryRules: { ...NO_ENTRY_RULES, minTokenBalance: { amount: '1', mint: addressOf('reward') } } },
  ];
  const hashes = [{}, ...changes].map((change) => parametersHash(chatParameters(change)));
  expect(new Set(hashes).size).toBe(hashes.length);
});

test('invalid parameters are rejected', () => {
  const wrong: Parameters<typeof chatParameters>[0][] = [
    { picks: 0 },
    { picks: 51 },
    { range: 256 },
    { prizes: [] },
    { prizes: chatParameters().prizes.map((prize, i) => ({ ...prize, place: i })) },
    { payWithinSec: 0 },
    { maxEntriesPerWallet: 0 },
    { closesAt: chatParameters().opensAt },
    { commitWithinSec: 121 },
    { prizes: chatParameters().prizes.toReversed() },
  ];
  for (const part of wrong) {
    expect(RoundParameters.safeParse(chatParameters(part)).success).toBe(false);
    expect(() => parametersHash(chatParameters(part))).toThrow();
  }
  expect(RoundParameters.safeParse({ ...chatParameters(), title: 'Friday' }).success).toBe(false);
  expect(RoundParameters.safeParse({ ...legacyParameters(), picks: 5 }).success).toBe(false);
  expect(RoundParameters.safeParse(chatParameters({ picks: 255, range: 255 })).success).toBe(true);
});

test('findBrokenRule reports the first entry that breaks a rule', () => {
  const parameters = chatParameters({ maxEntriesPerWallet: 2 });
  const entries = entriesOf(parameters, 10, 5, randomGenerator(2));
  expect(findBrokenRule(parameters, entries)).toBeNull();
  const changed = (at: number, part: Partial<Entry>) =>
    findBrokenRule(
      parameters,
      entries.map((entry, i) => (i === at ? { ...entry, ...part } : entry)),
    );
  expect(changed(4, { index: 5 })).toEqual({ where: 'entries[4].index', reason: 'must be 4' });
  expect(changed(4, { numbers: [1, 2, 3, 4] })?.reason).toBe('must be 5 numbers');
  expect(changed(4, { numbers: [1, 2, 3, 4, 4] })?.reason).toBe('must be different and ascending');
  expect(changed(4, { numbers: [5, 4, 3, 2, 1] })?.reason).toBe('must be different and ascending');
  expect(changed(4, { numbers: [1, 2, 3, 4, 51] })?.reason).toBe('must be from 1 to 50');
  expect(changed(7, { wallet: entries[0]?.wallet ?? '' })).toEqual({ where: 'entries[7].wallet', reason: 'has more than 2 entries' });
  expect(changed(6, { source: entries[1]?.source ?? '', messageId: entries[1]?.messageId ?? '' })?.where).toBe('entries[6].messageId');
  expect(changed(9, { at: parameters.closesAt })?.reason).toBe('is not before the round closed');
  expect(changed(0, { at: '2026-11-21T11:59:59.999Z' })?.reason).toBe('is before the round opened');
  expect(changed(5, { at: entries[3]?.at ?? '' })?.reason).toBe('is before the time of the previous entry');

  const legacy = legacyParameters({ maxTickets: 10 });
  const tickets = entriesOf(legacy, 10, 2, randomGenerator(2));
  expect(findBrokenRule(legacy, tickets)).toBeNull();
  expect(findBrokenRule(legacyParameters({ maxTicketsPerWallet: 4 }), tickets)).toEqual({
    where: 'entries[8].wallet',
    reason: 'has more than 4 entries',
  });
  expect(findBrokenRule(legacyParameters({ maxTickets: 9 }), tickets)).toEqual({ where: 'entries[9].index', reason: 'there are at most 9 tickets' });
  expect(findBrokenRule(legacy, [{ ...ENTRY, index: 0 }])?.reason).toBe('must be empty, because a ticket has no numbers');
});

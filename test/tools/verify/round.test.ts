import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commitmentHash } from '#lib/draw/commitment.ts';
import type { TrustAnchors } from '#lib/draw/verify.ts';
import { verifySignature } from '#platform/solana/beacon/index.ts';
import { addressOf, CHAIN, COMMITTER, chatParameters, entriesOf, finished, uuidOf } from '#test/lib/draw/rounds.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { type StoredRound, storeRound } from '#test/support/areas/stored-rounds.ts';
import { leavesOf, tampered, textOf } from '#test/support/verify/tampering.ts';
import type { ChainReader, SignedMemo } from '#tools/verify/chain-reader.ts';
import { checkPayouts, checkRound, findCommitment, type TrustedValues } from '#tools/verify/round-check.ts';
import { downloadRound, type Payout, type PublishedRound } from '#tools/verify/round-published.ts';

let t: TestApp;
let stored: StoredRound;
let shown: PublishedRound;
let trusted: TrustedValues;

/** Caches verifications, because pairings are slow and most audits here have the same signature. */
const verdicts = new Map<string, boolean>();
const verifyOnce: TrustAnchors['verifySignature'] = (chain, round, signature) => {
  const known = verdicts.get(`${round} ${signature}`) ?? verifySignature(chain, round, signature);
  verdicts.set(`${round} ${signature}`, known);
  return known;
};

beforeAll(async () => {
  t = await startTestApp({ workers: false });
  const parameters = chatParameters();
  const entries = entriesOf(parameters, 43, 20, randomGenerator(7));
  stored = await storeRound(t.app, parameters, entries);
  shown = await downloadRound(t.url, stored.id);
  const known = { id: stored.id, beacon: CHAIN, committer: COMMITTER, minLeadSec: 180, minMarginSec: 60, verifySignature: verifyOnce };
  trusted = { ...known, landed: finished(parameters, entries).commitment };
});
afterAll(() => t.close());

/** Returns the verification error, or null. */
function verificationError(change: Partial<PublishedRound>, known: Partial<TrustedValues> = {}): string | null {
  try {
    checkRound({ ...shown, ...change }, { ...trusted, ...known }, () => {});
    return null;
  } catch (error) {
    return Error.isError(error) ? error.message : String(error);
  }
}

test('a published round is verified, and every check prints a line', () => {
  const printed: string[] = [];
  checkRound(shown, trusted, (line) => printed.push(line));
  expect(printed.join('\n')).toMatch(
    /43 entries.*\n.*another implementation.*\ncommitment 1 in slot.*\nbeacon round.*is valid\ndraw recomputed.*\n3 winners/,
  );
});

test('a change of any field of the audit is found and named', () => {
  const paths = leavesOf(shown.audit);
  expect(paths.length).toBeGreaterThan(150);
  const missed = paths.flatMap((path) => {
    const named = verificationError({ audit: tampered(shown.audit, path) });
    // Changed parameters that are still valid are only found by their hash.
    const due = path[0] === 'parameters' ? /^(?:parameters|round)\b/ : new RegExp(`^${RegExp.escape(textOf(path))}: `);
    return named !== null && due.test(named) ? [] : [`${textOf(path)}: ${named}`];
  });
  expect(missed).toEqual([]);
});

test('a change of any field of any entry is found', () => {
  const paths = leavesOf(shown.entries);
  expect(paths.length).toBe(43 * 10);
  const missed = paths.flatMap((path) => {
    const [index, ...place] = path;
    const named = verificationError({ entries: shown.entries.map((entry, i) => (i === index ? tampered(entry, place) : entry)) });
    return named?.startsWith('entries') ? [] : [`${textOf(path)}: ${named}`];
  });
  expect(missed).toEqual([]);
});

test('a missing, additional, repeated or reordered entry is found', () => {
  const { entries } = shown;
  const others = entries.map((_, i) => entries.toSpliced(i, 1));
  const swapped = entries.slice(1).map((entry, i) => entries.toSpliced(i, 2, entry, entries[i]));
  const twice = entries.map((entry, i) => entries.toSpliced(i, 0, entry));
  const more = [...entries, { ...stored.entries[3], index: entries.length, messageId: 'late' }];
  // Renumbered, so that only the tree shows the difference.
  const numbered = others.map((some) => some.map((entry, index) => Object.assign({}, entry, { index })));
  for (const changed of [...others, ...swapped, ...twice, ...numbered, more, []]) expect(verificationError({ entries: changed })).toMatch(/^entries/);
});

test('published winners and payouts that differ from the audit are found', () => {
  for (const list of ['winners', 'payouts'] as const) {
    const published: readonly unknown[] = shown[list] ?? [];
    const paths = leavesOf(published).filter((path) => path[1] !== 'status' && path[1] !== 'signature');
    expect(paths.length).toBeGreaterThanOrEqual(12);
    for (const path of paths)
      expect(verificationError({ [list]: tampered(published, path) })).toMatch(new RegExp(`of published ${list}\\[${path[0]}\\]: is `));
    expect(verificationError({ [list]: published.slice(1) })).toMatch(`the number of published ${list}: is 2, but must be 3`);
    expect(verificationError({ [list]: published.toReversed() })).toMatch(`place of published ${list}[0]`);
  }
});

test('a round with another id, kind, committer, beacon or timing than expected is rejected', () => {
  expect(verificationError({}, { id: uuidOf('another') })).toMatch(/^round: is /);
  expect(verificationError({ kind: 'legacy' })).toMatch(/^parameters\.kind: is chat/);
  expect(verificationError({}, { committer: addressOf('another') })).toMatch(/^commitment\.committer: /);
  expect(verificationError({}, { beacon: { ...CHAIN, period: 30 } })).toMatch(/^beacon\.chainHash: /);
  expect(verificationError({}, { minLeadSec: 181 })).toMatch(/^parameters\.leadSec: /);
  expect(verificationError({}, { minMarginSec: 61 })).toMatch(/^parameters\.marginSec: /);
  // The chain has no commitment of the round, or a different one.
  expect(verificationError({}, { landed: null })).toBe('commitment: the chain has no commitment of this round');
  const { landed } = trusted;
  for (const path of leavesOf(landed))
    expect(verificationError({}, { landed: Object.assign({}, landed, tampered(landed, path)) })).toMatch(`commitment.${path[0]}: is `);
});

/** Returns the memos of `length` rounds, each with the hash of the previous one. */
function history(length: number): SignedMemo[] {
  const memos: SignedMemo[] = [];
  for (let sequence = 1; sequence <= length; sequence++) {
    const before = memos.at(-1);
    const parameters = chatParameters({ round: uuidOf(`round ${sequence}`) });
    const { memo } = finished(parameters, stored.entries.slice(0, 3), before ? { sequence, previous: commitmentHash(before.memo) } : {}).commitment;
    memos.push({ memo, signature: `signature ${sequence}`, slot: sequence });
  }
  return memos;
}

test('findCommitment returns the commitment of a round, and names a gap, a repetition or a wrong previous hash', async () => {
  const memos = history(4);
  const [first, second, third] = memos;
  if (!first || !second || !third) throw new Error('too short');
  const whole = async () => 0;
  const find = (of: readonly SignedMemo[], begins = whole) => findCommitment(of, uuidOf('round 2'), begins);
  expect(await find(memos)).toBe(second);
  expect(await find(history(1))).toBeNull();
  expect(await find([{ ...first, memo: 'gm' }, ...memos])).toBe(second);
  await expect(find([first, third])).rejects.toThrow('transaction signature 3: sequence number 2 is missing before 3');
  await expect(find([...memos, second])).rejects.toThrow('transaction signature 2: sequence number 2 was used before');
  await expect(find([first, second, { ...third, memo: third.memo.replace(/beacon=\d+/, 'beacon=5') }, ...memos.slice(3)])).rejects.toThrow(
    'does not name',
  );
  await expect(find([second, third])).rejects.toThrow('sequence number 1 is missing');
  // A node without the oldest blocks proves nothing about the service.
  await expect(find([second, third], async () => 500)).rejects.toThrow('the RPC node has no blocks before 500');
});

test('every prize reported as paid is checked on the chain', async () => {
  const audit = checkRound(shown, trusted, () => {});
  const payouts = (shown.payouts ?? []).map((payout): Payout => ({ ...payout, status: 'completed', signature: 'one' }));
  const [first, second] = payouts;
  if (!first || !second) throw new Error('there are no payouts');
  const ledger = (of: readonly Payout[], begins = 0): ChainReader => ({
    memosOf: () => Promise.reject(new Error('unexpected call')),
    landed: () => Promise.reject(new Error('unexpected call')),
    firstBlock: async () => begins,
    received: async (signature) =>
      of.length === 0 || signature !== 'one' ? null : of.map(({ wallet, prize }) => ({ wallet, mint: prize.address, amount: BigInt(prize.amount) })),
  });
  const check = (reported: readonly Payout[], chain: ChainReader) => {
    const printed: string[] = [];
    return checkPayouts(reported, audit, chain, (line) => printed.push(line)).then(() => printed.join('\n'));
  };
  expect(await check(payouts, ledger(payouts))).toBe('3 of 3 prizes are paid, confirmed on the chain');
  expect(await check(shown.payouts ?? [], ledger([]))).toBe('0 of 3 prizes are paid, confirmed on the chain');
  expect(await check([{ ...first, signature: null }], ledger([]))).toContain('outside the chain');
  await expect(check(payouts, ledger([first]))).rejects.toThrow(`payouts[1].signature: one pays 0 of ${second.prize.amount} to ${second.wallet}`);
  const less = { ...first, prize: { ...first.prize, amount: String(BigInt(first.prize.amount) - 1n) } };
  await expect(check(payouts, ledger([less, ...payouts.slice(1)]))).rejects.toThrow('payouts[0].signature: one pays');
  const other = { ...first, prize: { ...first.prize, address: addressOf('another mint') } };
  await expect(check(payouts, ledger([other, ...payouts.slice(1)]))).rejects.toThrow(`one pays 0 of ${first.prize.amount} to ${first.wallet}`);
  await expect(check([{ ...first, signature: 'two' }], ledger(payouts))).rejects.toThrow(
    'payouts[0].signature: two is not a finalized successful transaction',
  );
  await expect(check([{ ...first, signature: 'two' }], ledger(payouts, 2_000_000_000))).rejects.toThrow('no blocks before 2000000000');
});

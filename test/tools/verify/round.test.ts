import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commitmentHash } from '#lib/draw/commitment.ts';
import type { Anchors } from '#lib/draw/verify.ts';
import { verifySignature } from '#platform/solana/beacon/signature.ts';
import { addressOf, CHAIN, COMMITTER, chatParameters, entriesOf, finished, uuidOf } from '#test/lib/draw-rounds.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { generator } from '#test/support/areas/board-model.ts';
import { type StoredRound, storeRound } from '#test/support/areas/stored-rounds.ts';
import { leavesOf, tampered, textOf } from '#test/support/verify/tampering.ts';
import type { Ledger, SignedMemo } from '#tools/verify/ledger.ts';
import { checkPayouts, checkRound, commitmentIn, type Witness } from '#tools/verify/round-check.ts';
import { downloadRound, type Payout, type ShownRound } from '#tools/verify/round-published.ts';

let t: TestApp;
let stored: StoredRound;
let shown: ShownRound;
let witness: Witness;

/** Pairings take their time, and most of these audits hold the same signature. */
const verdicts = new Map<string, boolean>();
const verifyOnce: Anchors['verifySignature'] = (chain, round, signature) => {
  const known = verdicts.get(`${round} ${signature}`) ?? verifySignature(chain, round, signature);
  verdicts.set(`${round} ${signature}`, known);
  return known;
};

beforeAll(async () => {
  t = await startTestApp({ workers: false });
  const parameters = chatParameters();
  const entries = entriesOf(parameters, 43, 20, generator(7));
  stored = await storeRound(t.app, parameters, entries);
  shown = await downloadRound(t.url, stored.id);
  const known = { id: stored.id, beacon: CHAIN, committer: COMMITTER, leastLeadSec: 180, leastMarginSec: 60, verifySignature: verifyOnce };
  witness = { ...known, landed: finished(parameters, entries).commitment };
});
afterAll(() => t.close());

/** What does not fit, or null. */
function misfit(change: Partial<ShownRound>, known: Partial<Witness> = {}): string | null {
  try {
    checkRound({ ...shown, ...change }, { ...witness, ...known }, () => {});
    return null;
  } catch (error) {
    return Error.isError(error) ? error.message : String(error);
  }
}

test('a round as the service publishes it fits, and every check is told', () => {
  const said: string[] = [];
  checkRound(shown, witness, (line) => said.push(line));
  expect(said.join('\n')).toMatch(
    /43 entries.*\n.*another implementation.*\ncommitment 1 in slot.*\nbeacon round.*verifies\ndrawn again.*\n3 winners/,
  );
});

test('whichever field of the audit is changed, it does not fit, and the field is named', () => {
  const paths = leavesOf(shown.audit);
  expect(paths.length).toBeGreaterThan(150);
  const missed = paths.flatMap((path) => {
    const named = misfit({ audit: tampered(shown.audit, path) });
    // Of parameters that are some round's, only the hash says that they are not this one's.
    const due = path[0] === 'parameters' ? /^(?:parameters|round)\b/ : new RegExp(`^${RegExp.escape(textOf(path))}: `);
    return named !== null && due.test(named) ? [] : [`${textOf(path)}: ${named}`];
  });
  expect(missed).toEqual([]);
});

test('whichever field of whichever entry is changed, it does not fit', () => {
  const paths = leavesOf(shown.entries);
  expect(paths.length).toBe(43 * 10);
  const missed = paths.flatMap((path) => {
    const [index, ...place] = path;
    const named = misfit({ entries: shown.entries.map((entry, i) => (i === index ? tampered(entry, place) : entry)) });
    return named?.startsWith('entries') ? [] : [`${textOf(path)}: ${named}`];
  });
  expect(missed).toEqual([]);
});

test('an entry less, one more, one twice or another order does not fit', () => {
  const { entries } = shown;
  const others = entries.map((_, i) => entries.toSpliced(i, 1));
  const swapped = entries.slice(1).map((entry, i) => entries.toSpliced(i, 2, entry, entries[i]));
  const twice = entries.map((entry, i) => entries.toSpliced(i, 0, entry));
  const more = [...entries, { ...stored.entries[3], index: entries.length, messageId: 'late' }];
  // Numbered anew, so that only the tree tells.
  const numbered = others.map((some) => some.map((entry, index) => Object.assign({}, entry, { index })));
  for (const changed of [...others, ...swapped, ...twice, ...numbered, more, []]) expect(misfit({ entries: changed })).toMatch(/^entries/);
});

test('whatever is told of winners and payouts apart from the audit must be the same', () => {
  for (const list of ['winners', 'payouts'] as const) {
    const told: readonly unknown[] = shown[list] ?? [];
    const paths = leavesOf(told).filter((path) => path[1] !== 'status' && path[1] !== 'signature');
    expect(paths.length).toBeGreaterThanOrEqual(12);
    for (const path of paths) expect(misfit({ [list]: tampered(told, path) })).toMatch(new RegExp(`of ${list}\\[${path[0]}\\] that is told: is `));
    expect(misfit({ [list]: told.slice(1) })).toMatch(`the number of ${list} that are told: is 2, but must be 3`);
    expect(misfit({ [list]: told.toReversed() })).toMatch(`place of ${list}[0]`);
  }
});

test('a round of another id, committer, beacon or haste than expected does not fit', () => {
  expect(misfit({}, { id: uuidOf('another') })).toMatch(/^round: is /);
  expect(misfit({ kind: 'legacy' })).toMatch(/^parameters\.kind: is chat/);
  expect(misfit({}, { committer: addressOf('another') })).toMatch(/^commitment\.committer: /);
  expect(misfit({}, { beacon: { ...CHAIN, period: 30 } })).toMatch(/^beacon\.chainHash: /);
  expect(misfit({}, { leastLeadSec: 181 })).toMatch(/^parameters\.leadSec: /);
  expect(misfit({}, { leastMarginSec: 61 })).toMatch(/^parameters\.marginSec: /);
  // The chain has nothing of it, or something else.
  expect(misfit({}, { landed: null })).toBe('commitment: nothing of this round stands on the chain');
  const { landed } = witness;
  for (const path of leavesOf(landed))
    expect(misfit({}, { landed: Object.assign({}, landed, tampered(landed, path)) })).toMatch(`commitment.${path[0]}: is `);
});

/** The memos of so many rounds, each naming the one before. */
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

test('the first commitment of a round counts, and a gap, a second one or a broken link is named', async () => {
  const memos = history(4);
  const [first, second, third] = memos;
  if (!first || !second || !third) throw new Error('too short');
  const whole = async () => 0;
  const find = (of: readonly SignedMemo[], begins = whole) => commitmentIn(of, uuidOf('round 2'), begins);
  expect(await find(memos)).toBe(second);
  expect(await find(history(1))).toBeNull();
  expect(await find([{ ...first, memo: 'gm' }, ...memos])).toBe(second);
  await expect(find([first, third])).rejects.toThrow('transaction signature 3: sequence number 2 is missing before 3');
  await expect(find([...memos, second])).rejects.toThrow('transaction signature 2: sequence number 2 was used before');
  await expect(find([first, second, { ...third, memo: third.memo.replace(/beacon=\d+/, 'beacon=5') }, ...memos.slice(3)])).rejects.toThrow(
    'does not name',
  );
  await expect(find([second, third])).rejects.toThrow('sequence number 1 is missing');
  // A node that has forgotten the beginning says nothing about the service.
  await expect(find([second, third], async () => 500)).rejects.toThrow('the node’s history begins at block 500');
});

test('a prize that is said to be paid is looked for on the chain', async () => {
  const audit = checkRound(shown, witness, () => {});
  const payouts = (shown.payouts ?? []).map((payout): Payout => ({ ...payout, status: 'completed', signature: 'one' }));
  const [first, second] = payouts;
  if (!first || !second) throw new Error('there are no payouts');
  const ledger = (of: readonly Payout[], begins = 0): Ledger => ({
    memosOf: () => Promise.reject(new Error('not asked')),
    landed: () => Promise.reject(new Error('not asked')),
    begins: async () => begins,
    received: async (signature) =>
      of.length === 0 || signature !== 'one' ? null : of.map(({ wallet, prize }) => ({ wallet, mint: prize.address, amount: BigInt(prize.amount) })),
  });
  const check = (told: readonly Payout[], chain: Ledger) => {
    const said: string[] = [];
    return checkPayouts(told, audit, chain, (line) => said.push(line)).then(() => said.join('\n'));
  };
  expect(await check(payouts, ledger(payouts))).toBe('3 of 3 prizes are paid, as the chain says too');
  expect(await check(shown.payouts ?? [], ledger([]))).toBe('0 of 3 prizes are paid, as the chain says too');
  expect(await check([{ ...first, signature: null }], ledger([]))).toContain('outside the chain');
  await expect(check(payouts, ledger([first]))).rejects.toThrow(`payouts[1].signature: one pays ${second.wallet} 0 of ${second.prize.amount}`);
  const less = { ...first, prize: { ...first.prize, amount: String(BigInt(first.prize.amount) - 1n) } };
  await expect(check(payouts, ledger([less, ...payouts.slice(1)]))).rejects.toThrow('payouts[0].signature: one pays');
  const other = { ...first, prize: { ...first.prize, address: addressOf('another mint') } };
  await expect(check(payouts, ledger([other, ...payouts.slice(1)]))).rejects.toThrow(`${first.wallet} 0 of`);
  await expect(check([{ ...first, signature: 'two' }], ledger(payouts))).rejects.toThrow('payouts[0].signature: two is no finalized transaction');
  await expect(check([{ ...first, signature: 'two' }], ledger(payouts, 2_000_000_000))).rejects.toThrow('history begins at block 2000000000');
});

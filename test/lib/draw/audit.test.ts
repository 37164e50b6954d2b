import { expect, test } from '@jest/globals';
import type { Audit, LandedCommitment, VoidReason } from '#lib/draw/audit.ts';
import { timeOf } from '#lib/draw/beacon-chain.ts';
import { buildAudit, type RoundFacts } from '#lib/draw/build.ts';
import { commitmentHash, commitmentMemo, parseMemo } from '#lib/draw/commitment.ts';
import type { Entry } from '#lib/draw/entry.ts';
import { verifyHistory } from '#lib/draw/history.ts';
import { parametersHash } from '#lib/draw/parameters.ts';
import { type RoundVerdict, type TrustAnchors, verifyRound } from '#lib/draw/verify.ts';
import { verifySignature } from '#platform/solana/beacon/index.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { leavesOf, tampered, textOf } from '#test/support/verify/tampering.ts';
import { addressOf, CHAIN, COMMITTER, chatParameters, entriesOf, finished, legacyParameters, signatureOf, uuidOf } from './rounds.ts';

const random = randomGenerator(17);
const parameters = chatParameters();
const entries = entriesOf(parameters, 60, 25, random);
const facts = finished(parameters, entries);
const audit = buildAudit(facts);

/** Caches verifications, because pairings are slow and most audits here have the same signature. */
const verdicts = new Map<string, boolean>();
const verifyOnce: TrustAnchors['verifySignature'] = (chain, round, signature) => {
  const known = verdicts.get(`${round} ${signature}`) ?? verifySignature(chain, round, signature);
  verdicts.set(`${round} ${signature}`, known);
  return known;
};

const anchorsOf = (landed: LandedCommitment | null): TrustAnchors => ({
  beacon: CHAIN,
  verifySignature: verifyOnce,
  committer: COMMITTER,
  landed,
  minLeadSec: 180,
  minMarginSec: 60,
});
const verify = (what: unknown, own: readonly unknown[] = entries, anchors = anchorsOf(facts.commitment)): RoundVerdict =>
  verifyRound(what, own, anchors);
const mismatchPath = (verdict: RoundVerdict) => (verdict.ok ? 'nothing' : verdict.where);

test.each([
  { name: 'chat', round: facts, own: entries },
  ...[legacyParameters()]
    .map((legacy) => ({ legacy, own: entriesOf(legacy, 31, 5, random) }))
    .map(({ legacy, own }) => ({ name: 'legacy', round: finished(legacy, own), own })),
])('a change of any field of the audit of a $name round is rejected and named', ({ round, own }) => {
  const whole = buildAudit(round);
  const anchors = anchorsOf(round.commitment);
  expect(verify(JSON.parse(JSON.stringify(whole)), own, anchors)).toEqual({ ok: true, state: 'finalized' });
  const paths = leavesOf(whole);
  expect(paths.length).toBeGreaterThan(50);
  for (const path of paths) {
    const changed = tampered(whole, path);
    const named = mismatchPath(verify(changed, own, anchors));
    // Changed parameters that are still valid are only found by their hash.
    const isHashed = path[0] === 'parameters' && named === 'parameters';
    // After this change the round id in the parameters differs from the one beside them; either may be reported.
    const isRound = textOf(path) === 'parameters.round' && named === 'round';
    if (!isHashed && !isRound) expect(named).toBe(textOf(path));
  }
});

test('an additional field, a missing field and a value in place of null are reported', () => {
  expect(mismatchPath(verify({ ...audit, more: 1 }))).toBe('more');
  expect(mismatchPath(verify({ ...audit, beacon: { ...audit.beacon, more: 1 } }))).toBe('beacon.more');
  const { winners: _, ...less } = audit;
  expect(mismatchPath(verify(less))).toBe('winners');
  expect(mismatchPath(verify({ ...audit, winners: null }))).toBe('winners');
  expect(mismatchPath(verify({ ...audit, winners: audit.winners?.slice(1) }))).toMatch(/^winners/);
  expect(mismatchPath(verify({ ...audit, winners: [...(audit.winners ?? []), audit.winners?.[0]] }))).toBe('winners[3]');
  expect(mismatchPath(verify({ ...audit, draw: null }))).toBe('draw');
  expect(mismatchPath(verify({ ...audit, commitment: null }))).toBe('commitment');
  expect(mismatchPath(verify(null))).toBe('audit');
  expect(mismatchPath(verify('{}'))).toBe('audit');
});

test('a change of any field of an entry is reported', () => {
  const forged = { ...audit, entryHashes: audit.entryHashes.toReversed() };
  for (const path of leavesOf(entries[7])) {
    const changed = entries.map((entry, i) => (i === 7 ? tampered(entry, path) : entry));
    expect(mismatchPath(verify(audit, changed))).toBe('entries[7]');
    // When the hashes do not match the committed root, they cannot show which entry differs.
    expect(mismatchPath(verify(forged, changed))).toBe('entries');
  }
  const [first, second, ...rest] = entries;
  expect(mismatchPath(verify(audit, entries.slice(0, -1)))).toBe('entries[59]');
  expect(mismatchPath(verify(audit, entries.slice(1)))).toBe('entries[0]');
  expect(mismatchPath(verify(audit, [...entries, entries.at(-1)]))).toBe('entries[60]');
  // Swapping sibling leaves keeps the root, because pairs are sorted; the index shows the swap.
  expect(mismatchPath(verify(audit, [second, first, ...rest]))).toBe('entries[0].index');
  expect(mismatchPath(verify(audit, []))).toBe('entries[0]');
  expect(mismatchPath(verify(audit, [...entries.slice(0, 7), { ...entries[7], wallet: 'nobody' }, ...entries.slice(8)]))).toBe('entries[7].wallet');
  expect(mismatchPath(verify(audit, [...entries.slice(0, 7), { ...entries[7], more: 1 }, ...entries.slice(8)]))).toBe('entries[7].more');
});

test('committed entries that break a rule are reported', () => {
  const change = (at: number, part: Partial<Entry>) => entries.map((entry, i) => (i === at ? { ...entry, ...part } : entry));
  const cases: [Entry[], string][] = [
    [change(9, { numbers: [1, 2, 3, 4, 51] }), 'entries[9].numbers'],
    [change(9, { numbers: [1, 2, 3, 4] }), 'entries[9].numbers'],
    [change(9, { at: parameters.closesAt }), 'entries[9].at'],
    [change(9, { index: 10 }), 'entries[9].index'],
    [change(59, { wallet: entries[0]?.wallet ?? '' }), 'entries[59].wallet'],
    [change(9, { source: entries[8]?.source ?? '', messageId: entries[8]?.messageId ?? '' }), 'entries[9].messageId'],
  ];
  for (const [own, place] of cases) {
    const cheat = finished(parameters, own);
    expect(mismatchPath(verify(buildAudit(cheat), own, anchorsOf(cheat.commitment)))).toBe(place);
  }
});

/** Returns a manipulated round whose other values are all recomputed to be consistent. */
function verifyManipulated(change: { memo?: (memo: string) => string; blockTime?: string; over?: Partial<typeof parameters> }) {
  const base = finished(chatParameters(change.over), entries);
  const memo = change.memo?.(base.commitment.memo) ?? base.commitment.memo;
  const round = parseMemo(memo)?.beaconRound ?? 0;
  const commitment = { ...base.commitment, memo, blockTime: change.blockTime ?? base.commitment.blockTime };
  const cheat: RoundFacts = { ...base, commitment, beacon: { chain: CHAIN, signature: signatureOf(round) } };
  return verify(buildAudit(cheat), entries, anchorsOf(commitment));
}

test('an audit that differs from its commitment is rejected', () => {
  const otherHash = parametersHash(chatParameters({ picks: 4 }));
  expect(verifyManipulated({})).toEqual({ ok: true, state: 'finalized' });
  expect(mismatchPath(verifyManipulated({ memo: (memo) => memo.replace(audit.parametersHash, otherHash) }))).toBe('parameters');
  expect(mismatchPath(verifyManipulated({ memo: (memo) => memo.replace(CHAIN.chainHash, otherHash) }))).toBe('commitment.memo');
  expect(mismatchPath(verifyManipulated({ memo: (memo) => memo.replace(parameters.round, uuidOf('another')) }))).toBe('commitment.memo');
  expect(mismatchPath(verifyManipulated({ memo: (memo) => memo.replace(audit.entries.root ?? '', otherHash) }))).toBe('entries');
  expect(mismatchPath(verifyManipulated({ memo: (memo) => memo.replace('count=60', 'count=61') }))).toBe('entries');
  expect(mismatchPath(verifyManipulated({ over: { leadSec: 179 } }))).toBe('parameters.leadSec');
  expect(mismatchPath(verifyManipulated({ over: { marginSec: 59 } }))).toBe('parameters.marginSec');
  const due = timeOf(CHAIN, audit.beacon?.round ?? 0);
  expect(verifyManipulated({ blockTime: new Date(due - 60_000).toISOString() }).ok).toBe(true);
  expect(mismatchPath(verifyManipulated({ blockTime: new Date(due - 59_000).toISOString() }))).toBe('commitment.blockTime');
});

test('a commitment of another key or one that is not on the chain is rejected', () => {
  const stranger = { ...facts.commitment, committer: addressOf('stranger') };
  expect(mismatchPath(verify(buildAudit({ ...facts, commitment: stranger }), entries, anchorsOf(stranger)))).toBe('commitment.committer');
  const sibling = finished(parameters, entries, { sequence: 2, previous: commitmentHash(facts.commitment.memo) });
  expect(mismatchPath(verify(audit, entries, anchorsOf(sibling.commitment)))).toBe('commitment.memo');
  const pending = buildAudit({ ...facts, commitment: null, beacon: null });
  expect(mismatchPath(verify(pending))).toBe('commitment');
});

test('without access to the chain an audit is checked for consistency only', () => {
  const offline = anchorsOf(null);
  expect(verify(audit, entries, offline)).toEqual({ ok: true, state: 'finalized' });
  // Without the chain only fields that influence the seed can be checked; the others are taken from the audit.
  const named = leavesOf(audit.commitment).map((path) => mismatchPath(verify(tampered(audit, ['commitment', ...path]), entries, offline)));
  expect(Object.fromEntries(leavesOf(audit.commitment).map((path, i) => [path[0], named[i]]))).toEqual({
    memo: 'commitment.memo',
    committer: 'commitment.committer',
    signature: 'nothing',
    slot: 'nothing',
    blockhash: 'draw.seed',
    blockTime: 'nothing',
    sequence: 'commitment.sequence',
    previous: 'commitment.previous',
    hash: 'commitment.hash',
  });
});

test('a beacon signature of another round or another key is rejected', () => {
  const change = (signature: string) => mismatchPath(verify(buildAudit({ ...facts, beacon: { chain: CHAIN, signature } })));
  expect(change(signatureOf((audit.beacon?.round ?? 0) + 1))).toBe('beacon.signature');
  expect(change('00'.repeat(48))).toBe('beacon.signature');
  const others = { ...anchorsOf(facts.commitment), beacon: { ...CHAIN, publicKey: '83'.repeat(96) } };
  expect(mismatchPath(verify(audit, entries, others))).toBe('beacon.chainHash');
});

test('an audit verifies in every state of its round', () => {
  const closing = buildAudit({ ...facts, commitment: null, beacon: null });
  expect(closing).toMatchObject({
    parametersHash: audit.parametersHash,
    entries: audit.entries,
    commitment: null,
    beacon: null,
    draw: null,
    winners: null,
  });
  expect(verify(closing, entries, anchorsOf(null))).toEqual({ ok: true, state: 'closing' });
  const committed = buildAudit({ ...facts, beacon: { chain: CHAIN, signature: null } });
  expect(committed).toMatchObject({
    commitment: audit.commitment,
    beacon: { round: audit.beacon?.round, signature: null, randomness: null },
    draw: null,
  });
  expect(verify(committed)).toEqual({ ok: true, state: 'committed' });
  for (const stage of [closing, committed])
    expect(mismatchPath(verify({ ...stage, draw: audit.draw }, entries, anchorsOf(stage.commitment && facts.commitment)))).toBe('draw');
  expect(() => buildAudit({ ...facts, beacon: null })).toThrow('the beacon of the commitment is missing');
  expect(() => buildAudit({ ...facts, commitment: { ...facts.commitment, memo: 'hello' } })).toThrow('is not a commitment');
});

test('a void round is accepted only when its reason is true', () => {
  const voided = (reason: VoidReason, over: Partial<RoundFacts>, own = entries) => {
    const round = { ...facts, ...over, entries: own, void: reason };
    return verify(buildAudit(round), own, anchorsOf(round.commitment));
  };
  const unsigned = { beacon: { chain: CHAIN, signature: null } };
  const uncommitted = { commitment: null, beacon: null };
  const late = { commitment: { ...facts.commitment, blockTime: audit.beacon?.dueAt ?? '' } };
  const isVoid = { ok: true, state: 'void' };
  const others = entries.slice(1).map((entry, index) => ({ ...entry, index }));

  expect(voided('no-entries', uncommitted, [])).toEqual(isVoid);
  expect(mismatchPath(voided('no-entries', uncommitted))).toBe('void');
  expect(voided('late-block', { ...late, ...unsigned })).toEqual(isVoid);
  // The beacon signature exists, but a late round is still not drawn.
  expect(voided('late-block', late)).toEqual(isVoid);
  expect(mismatchPath(voided('late-block', unsigned))).toBe('void');
  expect(voided('no-beacon', unsigned)).toEqual(isVoid);
  expect(mismatchPath(voided('no-beacon', {}))).toBe('void');
  expect(mismatchPath(voided('no-beacon', uncommitted))).toBe('void');
  expect(mismatchPath(voided('no-beacon', { ...late, ...unsigned }))).toBe('commitment.blockTime');
  expect(voided('entries-differ', unsigned, others)).toEqual(isVoid);
  expect(mismatchPath(voided('entries-differ', unsigned))).toBe('void');
  expect(mismatchPath(voided('entries-differ', uncommitted))).toBe('void');
  // There is no draw, and the frozen entries remain the committed ones.
  for (const reason of ['late-block', 'entries-differ'] as const) {
    expect(buildAudit({ ...facts, entries: others, void: reason })).toMatchObject({ draw: null, winners: null });
  }
  expect(buildAudit({ ...facts, entries: others, void: 'entries-differ' }).entries).toEqual(audit.entries);
  const drawn: Audit = { ...buildAudit({ ...facts, ...unsigned, void: 'no-beacon' }), draw: audit.draw };
  expect(mismatchPath(verify(drawn))).toBe('draw');
});

/** Returns the commitments of `length` rounds, each with the hash of the previous one. */
function history(length: number): LandedCommitment[] {
  const landed: LandedCommitment[] = [];
  for (let i = 1; i <= length; i++) {
    const before = landed.at(-1);
    const link = before ? { sequence: i, previous: commitmentHash(before.memo) } : {};
    landed.push(finished(chatParameters({ round: uuidOf(`round ${i}`) }), entries.slice(0, 3), link).commitment);
  }
  return landed;
}

test('a history of commitments with a gap, a repetition or a wrong previous hash is rejected', () => {
  const landed = history(5);
  const verdict = verifyHistory(landed);
  expect(verdict.ok && [...verdict.byRound]).toEqual(landed.map((one, i) => [uuidOf(`round ${i + 1}`), one]));
  expect(verifyHistory([])).toEqual({ ok: true, byRound: new Map() });
  const [first, second, third, ...rest] = landed;
  if (!first || !second || !third) throw new Error('too short');
  const errorOf = (of: LandedCommitment[]) => {
    const { ok, ...mismatch } = { where: '', reason: '', ...verifyHistory(of) };
    return ok ? null : mismatch;
  };
  const memo = (of: LandedCommitment, change: object) => {
    const commitment = parseMemo(of.memo);
    return { ...of, memo: commitment ? commitmentMemo({ ...commitment, ...change }) : '' };
  };
  expect(errorOf([first, third, ...rest])).toEqual({ where: third.signature, reason: 'sequence number 2 is missing before 3' });
  expect(errorOf([second, third])).toEqual({ where: second.signature, reason: 'sequence number 1 is missing before 2' });
  expect(errorOf([first, second, second])).toEqual({ where: second.signature, reason: 'sequence number 2 was used before' });
  const rival = memo(second, { beaconRound: 1 });
  expect(errorOf([first, second, rival, third])).toEqual({ where: rival.signature, reason: 'sequence number 2 was used before' });
  // The order on the chain decides which commitment counts, so the third one has the wrong previous hash.
  expect(errorOf([first, rival, third])).toEqual({
    where: third.signature,
    reason: 'it does not name the hash of the commitment with sequence number 2',
  });
  const again = memo(second, { round: uuidOf('round 1') });
  expect(errorOf([first, again])?.reason).toBe(`round ${uuidOf('round 1')} has two commitments`);
  expect(errorOf([first, { ...second, memo: `${second.memo} ` }])?.reason).toContain('the prefix of a commitment');
  expect(errorOf([first, { ...third, memo: 'gm' }, second])).toBeNull();
});

test('a large round is built and verified in a few hundredths of a millisecond per entry', () => {
  const large = chatParameters({ maxEntriesPerWallet: 1_000 });
  const crowd = entriesOf(large, 25_000, 500, random);
  const round = finished(large, crowd);
  const before = process.cpuUsage();
  expect(verify(buildAudit(round), crowd, anchorsOf(round.commitment))).toEqual({ ok: true, state: 'finalized' });
  // Measures processor time, because a loaded machine does not increase it; 0.5 s on an idle machine.
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(5_000);
});

import { expect, test } from '@jest/globals';
import type { LandedCommitment } from '#lib/draw/audit.ts';
import { timeOf } from '#lib/draw/beacon-chain.ts';
import { verifySignature } from '#lib/draw/beacon-signature.ts';
import { buildAudit, type RoundFacts } from '#lib/draw/build.ts';
import type { Entry } from '#lib/draw/entry.ts';
import { signStatement } from '#lib/draw/statements.ts';
import { type RoundVerdict, type TrustAnchors, verifyAudit } from '#lib/draw/verify.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { leavesOf, tampered, textOf } from '#test/support/verify/tampering.ts';
import {
  addressOf,
  CHAIN,
  chatParameters,
  drawsOf,
  entriesOf,
  finished,
  keyOf,
  legacyParameters,
  RECEIPT_KEY,
  signatureOf,
  uuidOf,
} from './rounds.ts';

const random = randomGenerator(17);
const parameters = chatParameters();
const entries = entriesOf(parameters, 60, 25, random);
const facts = finished(parameters, entries);
const audit = buildAudit(facts, entries);

/** Caches verifications, because pairings are slow and most audits here have the same signature. */
const verdicts = new Map<string, boolean>();
const verifyOnce: typeof verifySignature = (chain, round, signature) => {
  const known = verdicts.get(`${round} ${signature}`) ?? verifySignature(chain, round, signature);
  verdicts.set(`${round} ${signature}`, known);
  return known;
};

const anchorsOf = (landed: LandedCommitment | null, over: Partial<TrustAnchors> = {}): TrustAnchors => ({
  ...{ draws: drawsOf(CHAIN), beacon: CHAIN, landed, verifySignature: verifyOnce },
  ...over,
});
const verify = (what: unknown, own: readonly unknown[] = entries, anchors = anchorsOf(facts.commitment)): RoundVerdict =>
  verifyAudit(what, own, anchors);
const mismatchPath = (verdict: RoundVerdict) => (verdict.ok ? 'nothing' : verdict.where);

test.each([
  { name: 'chat', round: facts, own: entries },
  ...[legacyParameters()]
    .map((legacy) => ({ legacy, own: entriesOf(legacy, 31, 5, random) }))
    .map(({ legacy, own }) => ({ name: 'legacy', round: finished(legacy, own), own })),
])('a change of any field of the audit of a $name round is rejected and named', ({ round, own }) => {
  const whole = buildAudit(round, own);
  const anchors = anchorsOf(round.commitment);
  expect(verify(JSON.parse(JSON.stringify(whole)), own, anchors)).toEqual({ ok: true, state: 'finalized' });
  const paths = leavesOf(whole);
  expect(paths.length).toBeGreaterThan(50);
  const wrong = paths.flatMap((path) => {
    const named = mismatchPath(verify(tampered(whole, path), own, anchors));
    const field = textOf(path);
    // Changed parameters that are still valid are found by their hash, and a changed statement by its signature.
    const isHashed = path[0] === 'parameters' && (named === 'parametersHash' || (path.at(-1) === 'place' && named === 'parameters.prizes'));
    const isSigned = (path[0] === 'announcement' || path[0] === 'closed') && (named === `${path[0]}.signature` || named.startsWith(field));
    // After this change the round id in the parameters differs from the one beside them; either may be reported.
    const isRound = field === 'parameters.round' && named === 'round';
    // Entries are compared with the time of the close before the statement is verified.
    const isClose = field === 'closed.statement.closedAt' && named.startsWith('entries');
    return named === field || isHashed || isSigned || isRound || isClose ? [] : [`${field}: ${named}`];
  });
  expect(wrong).toEqual([]);
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
  expect(mismatchPath(verify({ ...audit, void: 'no-entries' }))).toBe('void');
  expect(mismatchPath(verify(null))).toBe('audit');
  expect(mismatchPath(verify('{}'))).toBe('audit');
});

test('a change of any field of an entry is reported', () => {
  for (const path of leavesOf(entries[7])) {
    const changed = entries.map((entry, i) => (i === 7 ? tampered(entry, path) : entry));
    expect(mismatchPath(verify(audit, changed))).toMatch(/^entries\[[78]\]|^closed\.statement\.runningHash$/);
  }
  const [first, second, ...rest] = entries;
  expect(mismatchPath(verify(audit, entries.slice(0, -1)))).toBe('closed.statement.count');
  expect(mismatchPath(verify(audit, entries.slice(1)))).toBe('entries[0].index');
  expect(mismatchPath(verify(audit, [second, first, ...rest]))).toBe('entries[0].index');
  expect(mismatchPath(verify(audit, []))).toBe('closed.statement.count');
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
    expect(mismatchPath(verify(buildAudit(cheat, own), own, anchorsOf(cheat.commitment)))).toBe(place);
  }
});

/** Returns the verdict about a round with another commitment; all other values are recomputed to be consistent. */
function verifyWith(part: Partial<LandedCommitment>, over: Partial<TrustAnchors> = {}) {
  const commitment = { ...facts.commitment, ...part };
  const cheat: RoundFacts = { ...facts, commitment, beacon: { chain: CHAIN, signature: signatureOf(commitment.beaconRound) } };
  return verify(buildAudit(cheat, entries), entries, anchorsOf(commitment, over));
}

test('a commitment that was made too early, or whose beacon round is too soon or too late, is rejected', () => {
  const at = (ms: number) => new Date(ms).toISOString();
  const due = timeOf(CHAIN, facts.commitment.beaconRound);
  const closed = Date.parse(parameters.closesAt);
  expect(verifyWith({})).toEqual({ ok: true, state: 'finalized' });
  expect(verifyWith({ at: at(due - 60_000) }).ok).toBe(true);
  expect(mismatchPath(verifyWith({ at: at(due - 59_000) }))).toBe('commitment.beaconRound');
  expect(verifyWith({ at: at(closed - 57_000) }).ok).toBe(true);
  expect(mismatchPath(verifyWith({ at: at(closed - 61_000) }))).toBe('commitment.at');
  expect(mismatchPath(verifyWith({ at: at(closed - 60_000) }))).not.toBe('commitment.at');
  expect(mismatchPath(verifyWith({ at: at(closed - 58_000) }))).toBe('commitment.beaconRound');
  expect(mismatchPath(verifyWith({ leaf: '00'.repeat(32) }))).toBe('entries');
});

test('a round under another draws account, or one with another schedule or receipt key, is rejected', () => {
  const draws = drawsOf(CHAIN);
  expect(mismatchPath(verifyWith({}, { draws: { ...draws, address: addressOf('other') } }))).toBe('parameters.draws');
  expect(mismatchPath(verifyWith({}, { draws: { ...draws, genesis: draws.genesis + 1 } }))).toBe('draws.genesis');
  expect(mismatchPath(verifyWith({}, { draws: { ...draws, period: 30 } }))).toBe('draws.period');
  expect(mismatchPath(verifyWith({}, { draws: { ...draws, chainHash: '00'.repeat(32) } }))).toBe('draws.chainHash');
  expect(mismatchPath(verifyWith({}, { draws: { ...draws, receiptKey: keyOf('other').publicKey } }))).toBe('announcement.signature');
  expect(mismatchPath(verifyWith({}, { draws: { ...draws, window: 179 } }))).toBe('parameters.leadSec');
  expect(verifyWith({}, { draws: { ...draws, window: 180 } }).ok).toBe(true);
  expect(verifyWith({}, { draws: { ...draws, window: 0, isDevelopment: true } }).ok).toBe(true);
  expect(mismatchPath(verifyWith({}, { beacon: { ...CHAIN, publicKey: '83'.repeat(96) } }))).toBe('beacon.chainHash');
});

test('a commitment in the audit that differs from the chain is rejected', () => {
  expect(mismatchPath(verify(audit, entries, anchorsOf(null)))).toBe('commitment');
  expect(mismatchPath(verify(audit, entries, anchorsOf({ ...facts.commitment, slot: 1 })))).toBe('commitment.slot');
  expect(mismatchPath(verify(audit, entries, anchorsOf({ ...facts.commitment, blockhash: addressOf('other') })))).toBe('commitment.blockhash');
});

test('a statement about another round or with other values is rejected although the receipt key signed it', () => {
  const close = (part: object) => {
    const closed = signStatement({ ...facts.closed.statement, ...part }, RECEIPT_KEY.sign);
    return mismatchPath(verify(buildAudit({ ...facts, closed }, entries)));
  };
  expect(close({})).toBe('nothing');
  expect(close({ round: uuidOf('other') })).toBe('closed.statement.round');
  expect(close({ draws: addressOf('other') })).toBe('closed.statement.draws');
  expect(close({ parametersHash: '00'.repeat(32) })).toBe('closed.statement.parametersHash');
  expect(close({ count: 59 })).toBe('closed.statement.count');
  expect(close({ runningHash: '00'.repeat(32) })).toBe('closed.statement.runningHash');
  expect(close({ closedAt: '2026-11-21T13:00:00.001Z' })).toBe('closed.statement.closedAt');
  expect(close({ closedAt: '2026-11-21T12:59:59.999Z' })).toBe('closed.statement.closedAt');
});

test('a legacy round may close early, but not before its last ticket', () => {
  const legacy = legacyParameters();
  const tickets = entriesOf(legacy, 10, 3, random);
  const verifyClosed = (closedAt: string) => {
    const base = finished(legacy, tickets);
    const closed = signStatement({ ...base.closed.statement, closedAt }, RECEIPT_KEY.sign);
    return mismatchPath(verify(buildAudit({ ...base, commitment: null, beacon: null, closed }, null), tickets, anchorsOf(null)));
  };
  const last = tickets.at(-1)?.at ?? '';
  expect(verifyClosed(last)).toBe('nothing');
  expect(verifyClosed(new Date(Date.parse(last) - 1).toISOString())).toBe('entries[9].at');
});

test('a beacon signature of another round or another key is rejected', () => {
  const change = (signature: string) => mismatchPath(verify(buildAudit({ ...facts, beacon: { chain: CHAIN, signature } }, entries)));
  expect(change(signatureOf((audit.beacon?.round ?? 0) + 1))).toBe('beacon.signature');
  expect(change('00'.repeat(48))).toBe('beacon.signature');
});

test('an audit verifies in every state of its round', () => {
  const closing = buildAudit({ ...facts, commitment: null, beacon: null }, null);
  expect(closing).toMatchObject({ parametersHash: audit.parametersHash, entries: audit.entries, commitment: null, beacon: null, draw: null });
  expect(verify(closing, entries, anchorsOf(null))).toEqual({ ok: true, state: 'closing' });
  const committed = buildAudit({ ...facts, beacon: { chain: CHAIN, signature: null } }, null);
  expect(committed).toMatchObject({ commitment: audit.commitment, beacon: { round: audit.beacon?.round, signature: null, randomness: null } });
  expect(verify(committed)).toEqual({ ok: true, state: 'committed' });
  for (const [stage, landed] of [[closing, null] as const, [committed, facts.commitment] as const])
    expect(mismatchPath(verify({ ...stage, draw: audit.draw }, entries, anchorsOf(landed)))).toBe('draw');
  const fresh = { ...facts.commitment, blockhash: null };
  const withoutBlock = buildAudit({ ...facts, commitment: fresh }, entries);
  expect(withoutBlock.draw).toBeNull();
  expect(verify(withoutBlock, entries, anchorsOf(fresh))).toEqual({ ok: true, state: 'committed' });
  expect(() => buildAudit({ ...facts, beacon: null }, null)).toThrow('the beacon of the commitment is missing');
});

test('only a round without entries is void', () => {
  const empty = finished(parameters, []);
  const over = { ...empty, commitment: null, beacon: null, void: 'no-entries' as const };
  expect(verify(buildAudit(over, null), [], anchorsOf(null))).toEqual({ ok: true, state: 'void' });
  expect(mismatchPath(verify(buildAudit({ ...over, void: null }, null), [], anchorsOf(null)))).toBe('void');
  const hiding = { ...facts, commitment: null, beacon: null, void: 'no-entries' as const };
  expect(mismatchPath(verify(buildAudit(hiding, null), entries, anchorsOf(null)))).toBe('void');
  expect(mismatchPath(verify(buildAudit(over, null), [], anchorsOf(facts.commitment)))).toBe('void');
});

test('a large round is built and verified in a few hundredths of a millisecond per entry', () => {
  const large = chatParameters({ maxEntriesPerWallet: 1_000 });
  const crowd = entriesOf(large, 25_000, 500, random);
  const round = finished(large, crowd);
  const before = process.cpuUsage();
  expect(verify(buildAudit(round, crowd), crowd, anchorsOf(round.commitment))).toEqual({ ok: true, state: 'finalized' });
  // Measures processor time, because a loaded machine does not increase it; 0.8 s on an idle machine.
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(5_000);
});

import type { Audit } from '../../../src/lib/draw/audit.ts';
import { timeOf } from '../../../src/lib/draw/beacon-chain.ts';
import { buildAudit } from '../../../src/lib/draw/build.ts';
import { instantOf } from '../../../src/lib/draw/bytes.ts';
import { checkTimes, isCommittedLate } from '../../../src/lib/draw/checks.ts';
import { firstDifference, shapeMismatch } from '../../../src/lib/draw/mismatch.ts';
import { PublishedPayouts } from '../../../src/lib/draw/payout.ts';
import { roundLeaf } from '../../../src/lib/draw/round-leaf.ts';
import { chooseBeacon, readSignature } from './beacon.ts';
import { confirmMissing, readLanded } from './commitment.ts';
import { showsEntries } from './evidence.ts';
import type { Context, KnownRound, OnChain, RoundResult } from './known.ts';
import { checkPayouts } from './payouts.ts';
import { demand, Lie, Unknown } from './report.ts';

/** Time after the deadline of a commitment from which the commitment counts as one that never comes, ms. */
const NEVER_AFTER_MS = 3_600_000;

/** Judges a round without a commitment on the chain. */
export async function checkUncommitted(context: Context, { audit, closedAt, entries, program, draws }: KnownRound): Promise<null> {
  const { report, id, evidence, now } = context;
  const { commitWithinSec } = audit.parameters;
  const confirm = () => confirmMissing(context, program, draws.address, id);
  if (audit.commitment !== null || audit.beacon !== null || audit.draw !== null || audit.winners !== null) {
    await confirm();
    throw new Lie('commitment', 'the house shows a commitment that is not on the chain');
  }
  if (entries.length === 0) {
    if (showsEntries(evidence)) throw new Lie('void', 'the house says that the round has no entries, although it accepted some');
    if (audit.void === null) throw new Unknown('void', 'the round has no entries; the house has not declared it void yet');
    report.holds('void', 'the round is void: it has no entries');
    return null;
  }
  if (audit.void !== null) throw new Lie('void', 'the house says that the round is void, although it has entries');
  const dueAt = closedAt + commitWithinSec * 1_000;
  if (now <= dueAt) throw new Unknown('commitment', `the round is not committed yet; the commitment is due at ${instantOf(dueAt)}`);
  await confirm();
  const text = `the round is not committed, although the commitment was due at ${instantOf(dueAt)}`;
  if (now > dueAt + NEVER_AFTER_MS && showsEntries(evidence)) throw new Lie('commitment', text);
  report.late('commitment', text);
  return null;
}

/** Checks the commitment and computes the result. Returns null before the time of the beacon round. */
export async function checkDraw(context: Context, known: KnownRound, commitment: NonNullable<OnChain['commitment']>): Promise<RoundResult | null> {
  const { report, chain, now } = context;
  const { audit, draws, entries, summary, hash, closedAt } = known;
  const { parameters, announcement, closed } = audit;
  if (audit.void !== null) throw new Lie('void', `the house says that the round is void, although ${commitment.address} commits it`);
  const { root, count, runningHash } = summary;
  const leaf = root === null ? null : roundLeaf({ round: parameters.round, root, count, runningHash, parametersHash: hash, closedAt });
  if (leaf !== commitment.leaf)
    throw new Lie('commitment', `the commitment is to other entries or rules: its leaf is ${commitment.leaf}, not ${leaf}`);
  const beacon = await chooseBeacon(report, context.beacon, draws, context.pinnedBeacon);
  const drawnAt = timeOf(beacon, commitment.beaconRound);
  // The clock of the verifier may be behind that of the house, which shows the signature at once.
  const isOut = now >= drawnAt || (audit.beacon?.signature ?? null) !== null;
  const landed = await readLanded(report, chain, { commitment, draws }, beacon, isOut);
  demand('times', checkTimes(parameters, draws, closedAt, landed));
  if (isCommittedLate(parameters, closedAt, landed))
    report.late('times', `the commitment was made later than ${parameters.commitWithinSec} s after the close`);
  else report.holds('times', `the commitment was made within ${parameters.commitWithinSec} s after the close`);
  const signature = isOut ? await readSignature(report, context.beacon, beacon, commitment.beaconRound) : null;
  const expected = buildAudit(
    { parameters, announcement, closed, entries: summary, commitment: landed, beacon: { chain: beacon, signature }, void: null },
    entries,
  );
  demand('result', differenceFrom(expected, audit));
  if (expected.draw === null || expected.winners === null)
    throw new Unknown('result', `the round is committed; its result exists from ${instantOf(drawnAt)} on`);
  const { numbers, drawn } = expected.draw;
  report.holds('result', parameters.kind === 'chat' ? `the winning numbers are ${numbers.join(' ')}` : `the winning ticket is ${drawn[0]}`);
  return { numbers, winners: expected.winners };
}

/**
 * Returns the first difference between the computed audit and the shown one. A house may show a part later: then the shown part is null, and so are
 * all later parts.
 */
function differenceFrom(expected: Audit, shown: Audit) {
  const { commitment, beacon, draw, winners } = shown;
  if (draw !== null || winners !== null) return firstDifference(expected, shown, '');
  const withoutBlock = commitment?.blockhash === null && expected.commitment ? { ...expected.commitment, blockhash: null } : expected.commitment;
  const unsigned = beacon?.signature === null && expected.beacon ? { ...expected.beacon, signature: null, randomness: null } : expected.beacon;
  const present = { commitment: commitment && withoutBlock, beacon: beacon && unsigned, draw: null, winners: null };
  return firstDifference({ ...expected, ...present }, shown, '');
}

/** Checks that the house published the result in time and paid the prizes. */
export async function checkPublication(context: Context, { audit, commitment, draws }: KnownRound, { winners }: RoundResult): Promise<void> {
  const { report, house, now } = context;
  const { parameters } = audit;
  if (commitment === null) return;
  const drawnAt = timeOf({ period: draws.period, genesisTime: draws.genesis }, commitment.beaconRound);
  if (audit.draw === null) {
    const dueAt = drawnAt + parameters.drawWithinSec * 1_000;
    if (now <= dueAt) throw new Unknown('publication', `the house has not published the result yet; it is due at ${instantOf(dueAt)}`);
    report.late('publication', `the house has not published the result, although it was due at ${instantOf(dueAt)}`);
    return;
  }
  report.holds('publication', 'the house published the computed result');
  const document = await house.payouts();
  const published = PublishedPayouts.safeParse(document);
  if (document !== null && !published.success) demand('payouts', shapeMismatch(published.error, 'payouts'));
  const shown = published.data ?? { round: parameters.round, payouts: [], batches: [] };
  await checkPayouts(context, { parameters, winners, commitmentSlot: commitment.slot, drawnAt }, shown);
}

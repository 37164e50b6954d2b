import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { Audit, type LandedCommitment } from '#lib/draw/audit.ts';
import { QUICKNET } from '#lib/draw/beacon-chain.ts';
import { buildAudit } from '#lib/draw/build.ts';
import { fromHex } from '#lib/draw/bytes.ts';
import { commitmentHash, commitmentMemo, parseMemo } from '#lib/draw/commitment.ts';
import { Entry, entriesRoot, entryLeaf, entryLine } from '#lib/draw/entry.ts';
import { verifyHistory } from '#lib/draw/history.ts';
import { derivedNumbers } from '#lib/draw/numbers.ts';
import { parametersHash } from '#lib/draw/parameters.ts';
import { drawSeed, randomnessOf } from '#lib/draw/seed.ts';
import { keyedHash } from '#lib/draw/stream.ts';
import { verifyRound } from '#lib/draw/verify.ts';
import { drawRound } from '#lib/draw/winners.ts';
import { verifySignature } from '#platform/solana/beacon/index.ts';
import { naiveLeaf } from './naive.ts';

/**
 * Test vectors: rounds drawn by another implementation with a real quicknet round. A failure means that a change altered a format of
 * finished rounds: revert the change, or add it as a new version.
 */
const Golden = z.object({
  rounds: z.array(
    z.object({ entries: z.array(Entry), lines: z.array(z.string()), leaves: z.array(z.string()), ties: z.array(z.string()), audit: Audit }),
  ),
  derived: z.array(z.object({ entryId: z.string(), wallet: z.string(), picks: z.int(), range: z.int(), numbers: z.array(z.int()) })),
});
const golden = Golden.parse(JSON.parse(readFileSync(join(import.meta.dirname, 'golden.json'), 'utf8')));

/** Returns the landed commitment of an audit. */
function landedOf({ commitment }: Audit): LandedCommitment {
  if (commitment === null) throw new Error('the audit has no commitment');
  const { memo, committer, signature, slot, blockhash, blockTime } = commitment;
  return { memo, committer, signature, slot, blockhash, blockTime };
}

test.each(golden.rounds.map((round) => ({ kind: round.audit.parameters.kind, entries: round.entries.length, round })))(
  'a $kind round of $entries entries equals its test vector',
  ({ round: { entries, lines, leaves, ties, audit } }) => {
    const { parameters, commitment, beacon, draw, winners } = audit;
    if (!commitment || !beacon?.signature || !draw || !winners) throw new Error('the test vector is incomplete');
    expect(entries.map(entryLine)).toEqual(lines);
    expect(entries.map((entry) => entryLeaf(parameters.round, entry))).toEqual(leaves);
    expect(audit.entryHashes).toEqual(entries.map((entry) => naiveLeaf(parameters.round, entry).toString('hex')));
    expect(entriesRoot(parameters.round, entries)).toBe(audit.entries.root);
    expect(parametersHash(parameters)).toBe(audit.parametersHash);
    const committed = parseMemo(commitment.memo);
    if (!committed) throw new Error('the memo is not a commitment');
    expect(commitmentMemo(committed)).toBe(commitment.memo);
    expect(commitmentHash(commitment.memo)).toBe(commitment.hash);
    expect(randomnessOf(beacon.signature)).toBe(beacon.randomness);
    const seed = drawSeed(committed, randomnessOf(beacon.signature), commitment.blockhash);
    expect(seed.toString('hex')).toBe(draw.seed);
    expect(ties.map((_, index) => keyedHash(fromHex(draw.seed), 'tie/1', 4)(index))).toEqual(ties);
    const { seed: _, ...drawn } = draw;
    const result = drawRound(seed, parameters, entries);
    expect(result.draw).toEqual(drawn);
    expect(result.winners).toEqual(winners.map(({ leaf: _leaf, proof: _proof, ...winner }) => winner));

    const landed = landedOf(audit);
    const built = buildAudit({ parameters, entries, commitment: landed, beacon: { chain: QUICKNET, signature: beacon.signature }, void: null });
    expect(built).toEqual(audit);
    const anchors = { beacon: QUICKNET, verifySignature, committer: commitment.committer, landed, minLeadSec: 180, minMarginSec: 60 };
    expect(verifyRound(built, entries, anchors)).toEqual({ ok: true, state: 'finalized' });
  },
);

test('the commitments of the test vectors have no gap', () => {
  const history = verifyHistory(golden.rounds.map(({ audit }) => landedOf(audit)));
  expect(history.ok && [...history.byRound.keys()]).toEqual(golden.rounds.map(({ audit }) => audit.round));
});

test('the derived numbers equal those of the test vectors', () => {
  for (const { entryId, wallet, picks, range, numbers } of golden.derived) expect(derivedNumbers(entryId, wallet, { picks, range })).toEqual(numbers);
  expect(golden.derived).toHaveLength(4);
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { Audit } from '#lib/draw/audit.ts';
import { QUICKNET } from '#lib/draw/beacon-chain.ts';
import { Entry } from '#lib/draw/entry.ts';
import { verifyAudit } from '#lib/draw/verify.ts';
import { naiveLeaf, naiveNumbers, naiveParametersHash, naiveRoot, naiveRoundLeaf, naiveRunningHash, naiveSeed, naiveWinners } from './naive.ts';
import { drawsOf } from './rounds.ts';
import { FOLDER, vectors } from './vectors.ts';

const Rounds = z.array(
  z.object({ name: z.string(), entries: z.array(z.object({ line: z.string(), leaf: z.string(), tie: z.string() })), audit: Audit }),
);
const read = (file: string): unknown => JSON.parse(readFileSync(join(FOLDER, file), 'utf8'));
const rounds = Rounds.parse(read('rounds.json'));

test('the published test vectors are those of the protocol (node test/lib/draw/vectors.ts writes them)', () => {
  const written = vectors();
  expect(readdirSync(FOLDER).sort()).toEqual(Object.keys(written).sort());
  for (const [file, content] of Object.entries(written))
    expect({ file, content: read(file) }).toEqual({ file, content: JSON.parse(JSON.stringify(content)) });
});

test.each(rounds)('the test vector of $name equals the slow second implementation, and verifies', ({ entries: lines, audit }) => {
  const { parameters, round, commitment, beacon, draw, winners, entries: summary, parametersHash } = audit;
  if (!commitment?.blockhash || !beacon?.signature || !draw) throw new Error('the test vector is incomplete');
  const entries = lines.map(({ line }) => Entry.parse(JSON.parse(line)));
  expect(naiveParametersHash(parameters)).toBe(parametersHash);
  expect(entries.map((entry) => naiveLeaf(round, entry).toString('hex'))).toEqual(lines.map(({ leaf }) => leaf));
  expect(naiveRoot(round, entries)).toBe(summary.root);
  const running = naiveRunningHash(parametersHash, round, entries);
  expect(running).toBe(summary.runningHash);
  const closedAt = Date.parse(audit.closed.statement.closedAt);
  expect(naiveRoundLeaf(round, summary.root ?? '', entries.length, running, parametersHash, closedAt)).toBe(commitment.leaf);
  const seed = naiveSeed(round, commitment.leaf, beacon.chainHash, commitment.beaconRound, beacon.signature, commitment.blockhash);
  expect(seed.toString('hex')).toBe(draw.seed);
  if (parameters.kind === 'chat') expect(naiveNumbers(seed, parameters.picks, parameters.range)).toEqual(draw.drawn);
  expect(naiveWinners(seed, parameters, entries)).toEqual(winners?.map(({ index }) => index));
  expect(verifyAudit(audit, entries, { draws: drawsOf(QUICKNET), beacon: QUICKNET, landed: commitment })).toEqual({ ok: true, state: 'finalized' });
});

test('the test vectors contain winners with equally many matches, and a round with fewer winners than prizes', () => {
  const [tied] = rounds;
  const winners = tied?.audit.winners ?? [];
  expect(new Set(winners.map(({ matches }) => matches)).size).toBeLessThan(winners.length);
  expect(tied?.entries.length).toBeGreaterThan(winners.length);
  expect(rounds.some(({ audit: { winners: won, parameters } }) => parameters.kind === 'chat' && (won?.length ?? 0) < parameters.prizes.length)).toBe(
    true,
  );
});

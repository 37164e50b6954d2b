import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { candidatesFor } from '#areas/lottery/lifecycle/carry.ts';
import { sql } from '#test/support/areas/boards.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { ROOT, type ShownRound, showRound } from '#test/support/areas/social-rounds.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
});
afterAll(() => t.close());

/** Stores a closed round whose entries have a root. */
async function closed(round: Omit<ShownRound, 'state'>, closedAt: string): Promise<string> {
  const id = await showRound(t.app, { ...round, state: 'closing' });
  await sql(t.app, 'update rounds set root = $2, closed_at = $3 where id = $1', [id, Buffer.from(ROOT, 'hex'), closedAt]);
  return id;
}

test('a commitment can carry those of seven more closed rounds of the same kind that have a root, the rounds that closed first first', async () => {
  const own = await closed({ kind: 'legacy' }, '2026-11-21T12:02:00.000Z');
  const late = await closed({ kind: 'legacy' }, '2026-11-21T12:05:00.000Z');
  const early = await closed({ kind: 'legacy' }, '2026-11-21T12:01:00.000Z');
  await closed({ kind: 'chat' }, '2026-11-21T12:00:00.000Z');
  await showRound(t.app, { kind: 'legacy', state: 'closing' });
  await showRound(t.app, { kind: 'legacy', state: 'committed' });
  await showRound(t.app, { kind: 'legacy', state: 'finalized', ticket: 0 });
  expect(await candidatesFor(t.app, own)).toEqual({ subjects: [early, late], limit: 7 });
});

test('a round that does not exist carries no commitments', async () => {
  expect(await candidatesFor(t.app, randomUUID())).toEqual({ subjects: [], limit: 0 });
});

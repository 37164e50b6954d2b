import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commitmentMismatch } from '#areas/lottery/lifecycle/commitment.ts';
import { isOpened } from '#areas/lottery/lifecycle/rows.ts';
import { readRound } from '#areas/lottery/rows.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { openRound } from '#test/support/areas/chat.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

test('a commitment on the chain belongs to a round only when each of its fields equals that of the round', async () => {
  const id = await openRound(t);
  const stored = await readRound(t.app.db, id, 'chat');
  if (!stored || !isOpened(stored)) throw new Error('the round is not open');
  const round = { ...stored, root: '1'.repeat(64), entries: 3 };
  const { parametersHash } = round;
  const { chainHash } = t.app.config.chain.beacon;
  const commitment = {
    round: id,
    entriesRoot: '1'.repeat(64),
    count: 3,
    parametersHash,
    chainHash,
    sequence: 1,
    beaconRound: 5,
    previous: '0'.repeat(64),
  };
  expect(commitmentMismatch(t.app, round, commitment)).toBeNull();
  const other = '2'.repeat(64);
  for (const change of [{ round: crypto.randomUUID() }, { entriesRoot: other }, { count: 4 }, { parametersHash: other }, { chainHash: other }]) {
    const [key = ''] = Object.keys(change);
    expect(commitmentMismatch(t.app, round, { ...commitment, ...change })).toContain(`its ${key} is `);
  }
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { commitmentMismatch } from '#areas/lottery/lifecycle/commitment.ts';
import { leafOf } from '#areas/lottery/lifecycle/commitments.ts';
import { isClosed } from '#areas/lottery/lifecycle/rows.ts';
import { readRound } from '#areas/lottery/rows.ts';
import { addressOf, chatParameters, entriesOf, finished, uuidOf } from '#test/lib/draw/rounds.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { storeRound } from '#test/support/areas/stored-rounds.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

test('a commitment account belongs to a round only when its round, its draws account and its leaf equal those of the round', async () => {
  const parameters = chatParameters({ round: uuidOf('closed') });
  const entries = entriesOf(parameters, 3, 3, randomGenerator(7));
  const { id } = await storeRound(t.app, parameters, entries, { state: 'closing' });
  const round = await readRound(t.app.db, id, 'chat');
  if (!round || !isClosed(round)) throw new Error('the round is not closed');
  const { leaf } = finished(parameters, entries).commitment;
  expect(leafOf(round)).toBe(leaf);
  const account = { bump: 255, round: id, beaconRound: 5, slot: 7, time: 9, leaf, draws: parameters.draws };
  expect(commitmentMismatch(round, account)).toBeNull();
  for (const change of [{ round: uuidOf('another') }, { leaf: '2'.repeat(64) }, { draws: addressOf('other draws') }]) {
    const [key = ''] = Object.keys(change);
    expect(commitmentMismatch(round, { ...account, ...change })).toContain(`its ${key} is `);
  }
});

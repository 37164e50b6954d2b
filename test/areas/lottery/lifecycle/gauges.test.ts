import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { roundGauges } from '#areas/lottery/gauges.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { showRound } from '#test/support/areas/social-rounds.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

/** Reads the number of open rounds and their delay in seconds, by state. */
async function measured() {
  const samples = await roundGauges.read(t.app);
  const of = (state: string) =>
    ['coinop_rounds', 'coinop_round_overdue_seconds'].map(
      (name) => samples.find((sample) => sample.name === name && sample.labels?.state === state)?.value,
    );
  return { active: of('active'), closing: of('closing'), committed: of('committed') };
}

test('the delay of open rounds is 0 without a round and before the round is due, and otherwise that of the most delayed round of the state', async () => {
  expect(await measured()).toEqual({ active: [0, 0], closing: [0, 0], committed: [0, 0] });
  const inSeconds = (seconds: number) => new Date(t.clock.now().getTime() + seconds * 1_000).toISOString();
  await showRound(t.app, { state: 'active', closesAt: inSeconds(600) });
  await showRound(t.app, { kind: 'legacy', state: 'closing', closesAt: inSeconds(-400) });
  await showRound(t.app, { kind: 'legacy', state: 'closing', closesAt: inSeconds(-200) });
  const committed = await showRound(t.app, { kind: 'legacy', state: 'committed' });
  await sql(t.app, 'update rounds set beacon_due_at = $2 where id = $1', [committed, inSeconds(-600)]);
  expect(await measured()).toEqual({ active: [1, 0], closing: [2, expect.closeTo(400, -2)], committed: [1, expect.closeTo(600, -2)] });
});

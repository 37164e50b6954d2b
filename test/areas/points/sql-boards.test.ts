import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { appendActivities, type Consumer, consumeActivities } from '#areas/points';
import { type PositionQuery, positionOf } from '#areas/points/boards/positions.ts';
import { openSqlBoards } from '#areas/points/boards/sql.ts';
import { readFirstDay } from '#areas/points/finals.ts';
import { bucketOf, PERIODS, parseDay, type Span } from '#lib/periods.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { givePoints, scoreBest } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
const DAY = parseDay('2031-01-02');
/** Scores of the wallets, best first: one wallet leads, and eight wallets share the second rank. */
const SCORES = [100, 50, 50, 50, 50, 50, 50, 50, 50];
let wallets: string[] = [];
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  // The score is older than the points, so the first day comes from the scores.
  await t.clock.set(new Date('2030-12-31T12:00:00Z'));
  await scoreBest(t.app, { wallet: createWallet().address, gameId: 'a-game', value: 5 });
  await t.clock.set(new Date('2031-01-01T12:00:00Z'));
  await scoreBest(t.app, { wallet: createWallet().address, gameId: 'a-game', value: 5 });
  await t.clock.set(new Date('2031-01-02T12:00:00Z'));
  wallets = SCORES.map(() => createWallet().address);
  for (const [i, wallet] of wallets.entries()) await givePoints(t.app, { wallet, points: SCORES[i] ?? 0 });
});
afterAll(() => t.close());

const scopeOf = (span: Span) => ({ board: 'global', span, bucket: span === 'all' ? 0 : bucketOf(span, DAY), past: false as const });
const read = async (span: Span, ...queries: PositionQuery[]) => await openSqlBoards(t.app).read(scopeOf(span), queries);

test('SQL ranks the boards of all time and of each current period', async () => {
  for (const span of ['all', ...PERIODS] as const) {
    const { total, rows } = await read(span, { offset: 0, limit: 3 });
    expect(total).toBe(9);
    expect([...rows.values()].map(({ position, rank, score }) => [position, rank, score])).toEqual([
      [1, 1, 100],
      [2, 2, 50],
      [3, 2, 50],
    ]);
    const page = await openSqlBoards(t.app).page(scopeOf(span), { offset: 1, limit: 2 });
    expect([...page.rows.keys()]).toEqual([2, 3]);
  }
});

test('for a wallet, SQL reads the lines around it and the line with the next better score, also when many wallets share its rank', async () => {
  const page = await read('all', { offset: 0, limit: 9 });
  const last = page.rows.get(9)?.wallet ?? '';
  for (const span of ['all', 'day'] as const) {
    const found = await read(span, { wallet: last, reach: 2 });
    expect([...found.rows.keys()].sort((a, b) => a - b)).toEqual([1, 7, 8, 9]);
    expect(positionOf(found, last)).toMatchObject({ position: 9, rank: 2, score: 50 });
    const leader = await read(span, { wallet: wallets[0] ?? '', reach: 2 });
    expect([...leader.rows.keys()].sort((a, b) => a - b)).toEqual([1, 2, 3]);
  }
});

test('the first day is the first one with points or scores', async () => {
  expect(await readFirstDay(t.app)).toBe(parseDay('2030-12-31'));
});

test('activities that some consumers have received stay stored for the others, and each consumer receives them once', async () => {
  const { address: wallet } = createWallet();
  await t.app.tx((tx) => appendActivities(tx, [{ kind: 'play', sourceId: 'one', wallet, gameId: null, amount: 0 }]));
  const received: string[] = [];
  const consumerOf = (name: Consumer['name'], bit: Consumer['bit']): Consumer => ({
    name,
    bit,
    async consume(_app, _tx, _open, activities) {
      received.push(...activities.map(({ sourceId }) => `${name} ${sourceId}`));
      return [];
    },
  });
  const [referrals, quests, battles] = [consumerOf('referrals', 1), consumerOf('quests', 2), consumerOf('battles', 4)];
  for (const consumers of [[quests], [quests, battles], [referrals, quests, battles], [referrals]]) await consumeActivities(t.app, consumers);
  expect(received).toEqual(['quests one', 'battles one', 'referrals one']);
});

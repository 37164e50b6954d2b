import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type ScoreUpdate, scoreUpdate } from '#areas/arcade/events.ts';
import { type RankSource, scoreBroadcast, selectBroadcast } from '#areas/arcade/scores/broadcast.ts';
import { statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { openEvents, type SseClient, type SseOptions } from '#test/support/http/sse.ts';
import { createWallet, signIn } from '#test/support/wallet.ts';
import { publishEvents } from '#workers/publish-events.ts';

let t: TestApp;
const publishers: { close(): Promise<void> }[] = [];
const clients: SseClient[] = [];
const open = async (options?: SseOptions) => {
  const client = await openEvents(t, options);
  clients.push(client);
  await client.until('the stream', () => client.comments.length > 0);
  return client;
};

/** Returns a fake rank per wallet: the length of its name, or null for `unranked…`. */
const ranks: RankSource = async (_app, entries) => entries.map(({ wallet }) => (wallet.startsWith('unranked') ? null : wallet.length));

beforeAll(async () => {
  t = await startTestApp({ workers: false });
  publishers.push(publishEvents(t.app, scoreBroadcast(t.app, ranks)), publishEvents(t.app, scoreBroadcast(t.app, ranks)));
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
afterAll(async () => {
  await Promise.all(publishers.map((publisher) => publisher.close()));
  await t.close();
});

const score = (wallet: string, value: number, more: Partial<ScoreUpdate> = {}): ScoreUpdate => ({
  wallet,
  gameId: 'star-raiders',
  score: value,
  scoreId: randomUUID(),
  pointsAwarded: value,
  personalBest: true,
  ...more,
});
const commit = (...updates: ScoreUpdate[]) => t.app.tx(async (tx) => tx.emit(scoreUpdate, { updates }));
const updatesOf = (client: SseClient) => client.values('updates', 'score_update') as Record<string, unknown>[][];
/** Returns the updates for the client's own wallet; only they have a score id. */
const own = (client: SseClient) => updatesOf(client).filter(([first]) => first && 'scoreId' in first);
const broadcasts = (client: SseClient) => updatesOf(client).filter(([first]) => first && !('scoreId' in first));

test('a broadcast contains only wallet, game, score and rank of each score', async () => {
  const client = await open();
  await commit(score('walletA', 40), score('unrankedB', 90));
  await client.count(1);
  expect(client.messages[0]?.data).toMatchObject({ type: 'score_update', category: 'gameplay' });
  expect(updatesOf(client)).toEqual([
    [
      { wallet: 'unrankedB', gameId: 'star-raiders', score: 90, rank: null },
      { wallet: 'walletA', gameId: 'star-raiders', score: 40, rank: 7 },
    ],
  ]);
});

test('a broadcast has at most 100 scores: the best per wallet and game, personal bests first, then newest first', () => {
  const many = Array.from({ length: 150 }, (_, i) => score(`w${i}`, i, { personalBest: i % 2 === 0 }));
  const shown = selectBroadcast(many);
  expect(shown).toHaveLength(100);
  expect(shown.slice(0, 75).map((u) => u.wallet)).toEqual(Array.from({ length: 75 }, (_, i) => `w${148 - 2 * i}`));
  expect(shown.slice(75).every((u) => !u.personalBest)).toBe(true);
  const [low, high, later] = [score('w', 1), score('w', 5), score('w', 3, { personalBest: false })];
  expect(selectBroadcast([low, high, later])).toEqual([high]);
  const other = score('w', 2, { gameId: 'other' });
  expect(selectBroadcast([high, other])).toEqual([other, high]);
});

test('a burst causes at most 20 broadcasts a second, and each wallet gets all its own scores in order', async () => {
  const [alice, bob] = [await signIn(t), await signIn(t)];
  const [mine, others, everybody] = [await open({ cookie: alice.cookie }), await open({ cookie: bob.cookie }), await open()];
  const strangers = Array.from({ length: 40 }, () => createWallet().address);
  const started = performance.now();
  const ownScores: string[] = [];
  let last = score(alice.wallet, 0);
  for (let i = 1; performance.now() - started < 2_000; i++) {
    const first = score(alice.wallet, i);
    last = score(alice.wallet, i, { gameId: 'other' });
    ownScores.push(first.scoreId, last.scoreId);
    await commit(first, ...strangers.map((wallet) => score(wallet, i)), last);
  }
  const seconds = (performance.now() - started) / 1_000;
  await mine.until('all own scores', () => own(mine).length === ownScores.length);
  await everybody.until('the last', () =>
    broadcasts(everybody).some((updates) => updates.some((u) => u.wallet === alice.wallet && u.score === last.score)),
  );
  expect(own(mine).map(([update]) => update?.scoreId)).toEqual(ownScores);
  expect(own(mine).every((updates) => updates.length === 1)).toBe(true);
  expect(own(mine).at(-1)).toEqual([last]);
  expect(own(others)).toEqual([]);
  expect(own(everybody)).toEqual([]);
  expect(broadcasts(everybody).length).toBeLessThanOrEqual(20 * seconds + 1);
  expect(broadcasts(everybody).length).toBeGreaterThan(5 * seconds);
  expect(broadcasts(mine)).toEqual(broadcasts(everybody));
  // A stream can be resumed after each message, also between two scores of one batch.
  const tail = mine.messages.slice(-9);
  for (const [i, message] of tail.entries()) {
    const resumed = await open({ cookie: alice.cookie, lastEventId: message.id });
    await resumed.until('the end', () => resumed.lastEventId === mine.lastEventId || resumed.messages.length >= tail.length - i - 1);
    expect(resumed.messages).toEqual(tail.slice(i + 1));
  }
}, 30_000);

const insertBacklog = statement(
  'test_insert_backlog',
  `with rows as (
     insert into outbox (publication, type, payload)
     select (select publication from outbox_counter) + n, 'score_update', $1::jsonb from generate_series(1, 4000) as n returning publication)
   update outbox_counter set publication = (select max(publication) from rows)`,
);

test('all publishers together send at most 20 broadcasts a second while they publish a backlog', async () => {
  const client = await open();
  const started = performance.now();
  await t.app.tx((tx) => tx.query(insertBacklog, [JSON.stringify({ updates: [score('walletA', 1)] })]));
  await commit(score('walletB', 2));
  await client.until('the end', () => broadcasts(client).some((updates) => updates.some((u) => u.wallet === 'walletB')));
  const seconds = (performance.now() - started) / 1_000;
  expect(broadcasts(client).length).toBeGreaterThanOrEqual(8);
  expect(broadcasts(client).length).toBeLessThanOrEqual(20 * seconds + 1);
});

test('scores are broadcast without ranks when the ranks cannot be read', async () => {
  const failing = await startTestApp({ workers: false });
  const publisher = publishEvents(
    failing.app,
    scoreBroadcast(failing.app, () => Promise.reject(new Error('no boards'))),
  );
  try {
    const client = await openEvents(failing);
    clients.push(client);
    await client.until('the stream', () => client.comments.length > 0);
    await failing.app.tx(async (tx) => tx.emit(scoreUpdate, { updates: [score('walletA', 1)] }));
    await client.count(1);
    expect(updatesOf(client)).toEqual([[{ wallet: 'walletA', gameId: 'star-raiders', score: 1, rank: null }]]);
  } finally {
    await publisher.close();
    await failing.close();
  }
});

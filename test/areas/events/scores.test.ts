import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { type BoardChange, boardChanges, recordedLine, recordedScores } from '#areas/arcade/events.ts';
import { type RankSource, scoreEvents, selectChanges } from '#areas/arcade/scores/broadcast.ts';
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

const rankOf = (wallet: string) => (wallet.startsWith('unranked') ? null : wallet.length);
const placeOf = (wallet: string) => ({ rank: rankOf(wallet), score: 1, percentile: 50, pointsToNext: 2, neighbours: [] });
/** Returns a fake rank per wallet: the length of its name, or null for `unranked…`. */
const ranks: RankSource = {
  ofChanges: async (_app, _game, changes) => changes.map(({ wallet }) => rankOf(wallet)),
  ofWallets: async (_app, _game, wallets) => wallets.map(placeOf),
};

beforeAll(async () => {
  t = await startTestApp({ workers: false });
  publishers.push(publishEvents(t.app, scoreEvents(t.app, ranks)), publishEvents(t.app, scoreEvents(t.app, ranks)));
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
afterAll(async () => {
  await Promise.all(publishers.map((publisher) => publisher.close()));
  await t.close();
});

const GAME = 'star-raiders';
const change = (wallet: string, score: number | null, gameId = GAME): BoardChange => ({ wallet, gameId, score });
const recorded = (wallet: string, value: number, gameId = GAME) => ({
  wallet,
  gameId,
  receipt: {
    ...{ scoreId: randomUUID(), status: 'accepted' as const, normalizedScore: value, pointsAwarded: value, noPointsReason: null },
    ...{ leftToday: { game: 9, all: 99 }, personalBest: true },
  },
});
type Recorded = ReturnType<typeof recorded>;
const lineOf = ({ wallet, gameId, receipt }: Recorded) => recordedLine(wallet, gameId, receipt);
const commit = (...changes: BoardChange[]) => t.app.tx(async (tx) => tx.emit(boardChanges, { changes }));
/** Stores scores that are personal bests, as the recording of scores does. */
const commitScores = (...scores: Recorded[]) =>
  t.app.tx(async (tx) => {
    tx.emit(recordedScores, { scores: scores.map(lineOf) });
    tx.emit(boardChanges, { changes: scores.map(({ wallet, gameId, receipt }) => ({ wallet, gameId, score: receipt.normalizedScore })) });
  });
const of = (client: SseClient, type: string) => client.messages.filter(({ event }) => event === type).map(({ data }) => data);
const broadcasts = (client: SseClient) => client.values('updates', 'score_update') as (BoardChange & { rank: number | null })[][];

test('a broadcast contains the wallet, the game, the value on the board and the rank of each change', async () => {
  const client = await open();
  await commit(change('walletA', 40), change('unrankedB', null));
  await client.count(1);
  expect(client.messages[0]?.data).toEqual({
    ...{ type: 'score_update', category: 'gameplay', at: expect.any(String) },
    updates: [
      { ...change('walletA', 40), rank: 7 },
      { ...change('unrankedB', null), rank: null },
    ],
  });
});

test('a broadcast has the latest change per wallet and game, at most 100, and names the games with further changes', () => {
  const [first, second, other] = [change('w', 5), change('w', null), change('w', 2, 'other')];
  expect(selectChanges([first, other, second])).toMatchObject({ shown: [second, other], more: [] });
  const many = Array.from({ length: 150 }, (_, i) => change(`w${i}`, i, 'large'));
  const few = Array.from({ length: 30 }, (_, i) => change(`w${i}`, i, 'small'));
  const { latest, shown, more } = selectChanges([...many, ...few]);
  expect(latest).toHaveLength(180);
  expect(shown).toHaveLength(100);
  expect(shown.filter(({ gameId }) => gameId === 'small')).toEqual(few);
  expect(more).toEqual(['large']);
  expect(selectChanges(many.slice(0, 100)).more).toEqual([]);
});

test('a burst causes at most 20 broadcasts a second, and each wallet gets each of its own scores once, in order', async () => {
  const [alice, bob] = [await signIn(t), await signIn(t)];
  const [mine, others, everybody] = [await open({ cookie: alice.cookie }), await open({ cookie: bob.cookie }), await open()];
  const strangers = Array.from({ length: 40 }, () => createWallet().address);
  const started = performance.now();
  const ownScores: Recorded[] = [];
  for (let i = 1; performance.now() - started < 2_000; i++) {
    const [first, last] = [recorded(alice.wallet, i), recorded(alice.wallet, i, 'other')];
    ownScores.push(first, last);
    await commitScores(first, ...strangers.map((wallet) => recorded(wallet, i)), last);
  }
  const seconds = (performance.now() - started) / 1_000;
  const best = ownScores.at(-1)?.receipt.normalizedScore;
  await mine.until('all own scores', () => of(mine, 'score_recorded').length === ownScores.length);
  await everybody.until('the last', () =>
    broadcasts(everybody).some((updates) =>
      updates.some(({ wallet, gameId, score }) => wallet === alice.wallet && gameId === 'other' && score === best),
    ),
  );
  const stamp = { type: 'score_recorded', category: 'gameplay', at: expect.any(String) };
  expect(of(mine, 'score_recorded')).toEqual(
    ownScores.map(({ wallet, gameId, receipt }) => ({ ...stamp, gameId, ...receipt, rank: placeOf(wallet) })),
  );
  expect(of(others, 'score_recorded')).toEqual([]);
  expect(of(everybody, 'score_recorded')).toEqual([]);
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
  await t.app.tx((tx) => tx.query(insertBacklog, [JSON.stringify({ changes: [change('walletA', 1)] })]));
  await commit(change('walletB', 2));
  await client.until('the end', () => broadcasts(client).some((updates) => updates.some(({ wallet }) => wallet === 'walletB')));
  const seconds = (performance.now() - started) / 1_000;
  expect(broadcasts(client).length).toBeGreaterThanOrEqual(8);
  expect(broadcasts(client).length).toBeLessThanOrEqual(20 * seconds + 1);
});

test('scores are published without ranks when the ranks cannot be read', async () => {
  const failing = await startTestApp({ workers: false });
  const fail = () => Promise.reject(new Error('no boards'));
  const publisher = publishEvents(failing.app, scoreEvents(failing.app, { ofChanges: fail, ofWallets: fail }));
  try {
    const player = await signIn(failing);
    const client = await openEvents(failing, { cookie: player.cookie });
    clients.push(client);
    await client.until('the stream', () => client.comments.length > 0);
    await failing.app.tx(async (tx) => {
      tx.emit(recordedScores, { scores: [lineOf(recorded(player.wallet, 1))] });
      tx.emit(boardChanges, { changes: [change('walletA', 1)] });
    });
    await client.count(2);
    expect(broadcasts(client)).toEqual([[{ ...change('walletA', 1), rank: null }]]);
    expect(of(client, 'score_recorded')).toMatchObject([{ normalizedScore: 1, rank: null }]);
  } finally {
    await publisher.close();
    await failing.close();
  }
});

test('a malformed outbox row of scores is skipped, and the following events arrive', async () => {
  const client = await open();
  const insert = statement(
    'test_insert_malformed',
    `insert into outbox (type, payload) values ('score_update', '{"changes": 1}'), ('score_recorded', '{}'), ('score_recorded', '{"scores": ["wallet game"]}')`,
  );
  await t.app.tx((tx) => tx.query(insert));
  await commit(change('walletA', 3));
  await client.count(1);
  expect(broadcasts(client)).toEqual([[{ ...change('walletA', 3), rank: 7 }]]);
});

import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { ACTIVITY_KINDS, type ActivityEvent, appendActivities, type Consumer, consumeActivities, isAction, type LedgerEntry } from '#areas/points';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await sql(t.app, 'create table seen (consumer text, source_id text, n int default 1, primary key (consumer, source_id))');
});
afterEach(() => sql(t.app, 'truncate activities, activity_batches, activity_failures, seen'));
afterAll(() => t.close());

const wallet = createWallet().address;
const act = (n: number, prefix = 'a') =>
  t.app.tx((tx) =>
    appendActivities(
      tx,
      Array.from({ length: n }, (_, i) => ({ kind: 'play' as const, sourceId: `${prefix}${i}`, wallet, gameId: null, amount: 0 })),
    ),
  );

/** A consumer without effects. */
const idle: Consumer = { name: 'battles', bit: 4, consume: async () => [] };

const CAUSES = {
  referrals: { source: 'score', kind: 'referral', reason: 'referral' },
  quests: { source: 'quest', kind: 'quest', reason: 'quest' },
} as const;
const entryOf = (name: keyof typeof CAUSES, sourceId: string): LedgerEntry => ({
  ...CAUSES[name],
  ...{ wallet, mode: 'regular', sourceId, points: 1, rewards: false },
});

const BITS = { referrals: 1, quests: 2 } as const;

/** Returns a consumer that stores each activity in `seen` (a duplicate is an error) and grants one point for it. */
const consumer = (name: keyof typeof BITS, bad: (activity: ActivityEvent) => boolean = () => false): Consumer => ({
  name,
  bit: BITS[name],
  async consume(_app, tx, _open, activities) {
    for (const { sourceId } of activities) await tx.query({ text: 'insert into seen (consumer, source_id) values ($1, $2)' }, [name, sourceId]);
    if (activities.some(bad)) throw new Error('this activity cannot be consumed');
    return activities.map(({ sourceId }) => entryOf(name, sourceId));
  },
});

async function drain(consumers: readonly Consumer[], app = t.app): Promise<void> {
  while (await consumeActivities(app, consumers));
}
const seen = async (name: string) => (await sql<{ n: number }>(t.app, 'select count(*)::int as n from seen where consumer = $1', [name]))[0]?.n;
const open = async () => (await sql<{ n: number }>(t.app, 'select coalesce(sum(size), 0)::int as n from activity_batches'))[0]?.n;

test('each consumer gets each activity once, across several batches', async () => {
  await act(1_500);
  await drain([consumer('referrals'), consumer('quests'), idle]);
  await act(10, 'b');
  await drain([consumer('referrals'), consumer('quests'), idle]);
  expect([await seen('referrals'), await seen('quests'), await open()]).toEqual([1_510, 1_510, 0]);
  expect(await sql(t.app, `select total::int as total from standings where board = 'global' and wallet = $1`, [wallet])).toEqual([{ total: 3_020 }]);
});

test('activities are consumed oldest first, also when the batch numbers get one more digit', async () => {
  await sql(t.app, `select setval('activity_batches_id', (10 ^ length(nextval('activity_batches_id')::text))::bigint - 3)`);
  for (const prefix of ['a', 'b', 'c', 'd', 'e']) await act(1, prefix);
  const order: string[] = [];
  const note: Consumer = {
    ...idle,
    consume: async (_app, _tx, _open, activities) => {
      order.push(...activities.map(({ sourceId }) => sourceId));
      return [];
    },
  };
  await drain([consumer('referrals'), consumer('quests'), note]);
  expect(order).toEqual(['a0', 'b0', 'c0', 'd0', 'e0']);
});

test('a consumer that is added later gets the activities that other consumers already consumed', async () => {
  await act(20);
  await consumeActivities(t.app, [consumer('referrals')]);
  expect([await seen('referrals'), await seen('quests'), await open()]).toEqual([20, 0, 20]);
  await consumeActivities(t.app, [consumer('referrals'), consumer('quests'), idle]);
  expect([await seen('referrals'), await seen('quests'), await open()]).toEqual([20, 20, 0]);
});

test('an activity that cannot be consumed is parked and does not block other activities or consumers', async () => {
  await act(20);
  await drain([consumer('referrals', ({ sourceId }) => sourceId === 'a7'), consumer('quests'), idle]);
  expect([await seen('referrals'), await seen('quests'), await open()]).toEqual([19, 20, 0]);
  expect(await sql(t.app, 'select consumer, kind, source_id, error from activity_failures')).toEqual([
    { consumer: 'referrals', kind: 'play', source_id: 'a7', error: 'Error: this activity cannot be consumed' },
  ]);
});

test.each(['timeout exceeded when trying to connect', 'Command timed out'])(
  'no activity is parked while a dependency is down: %s',
  async (message) => {
    await act(3);
    let isDown = true;
    const shaken: Consumer = {
      ...consumer('quests'),
      consume: (...given) => {
        if (isDown) throw new Error(message);
        return consumer('quests').consume(...given);
      },
    };
    await expect(drain([consumer('referrals'), shaken, idle])).rejects.toThrow(message);
    expect([await seen('referrals'), await open()]).toEqual([0, 3]);
    isDown = false;
    await drain([consumer('referrals'), shaken, idle]);
    expect([await seen('referrals'), await seen('quests'), await open()]).toEqual([3, 3, 0]);
    expect(await sql(t.app, 'select from activity_failures')).toEqual([]);
  },
);

test('an error of the database rolls everything back, parks no activity and is retried', async () => {
  await act(5);
  const busy: Consumer = {
    ...consumer('quests'),
    async consume(_app, tx) {
      await tx.query({ text: `do $$ begin raise exception 'no' using errcode = '40P01'; end $$` });
      return [];
    },
  };
  await expect(consumeActivities(t.app, [consumer('referrals'), busy])).rejects.toThrow('no');
  expect([await seen('referrals'), await open()]).toEqual([0, 5]);
  expect(await sql(t.app, 'select 1 from activity_failures')).toEqual([]);
});

test('concurrent processes never consume the same activity twice', async () => {
  const other = await startApi(t.env, t.clock);
  try {
    await act(3_000);
    const consumers = [consumer('referrals'), consumer('quests'), idle];
    await Promise.all([drain(consumers), drain(consumers, other.app), drain(consumers), drain(consumers, other.app)]);
    await drain(consumers);
    expect([await seen('referrals'), await seen('quests'), await open()]).toEqual([3_000, 3_000, 0]);
  } finally {
    await other.close();
  }
});

test('bans and decisions about scores are no actions of a wallet, and all other activities are', () => {
  const decisions = new Set(['void', 'restore', 'second-void', 'ban', 'unban']);
  expect(ACTIVITY_KINDS.filter((kind) => !isAction(kind))).toEqual(ACTIVITY_KINDS.filter((kind) => decisions.has(kind)));
});

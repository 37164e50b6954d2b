import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Consumer } from '#areas/points';
import { questConsumer } from '#areas/quests';
import { newId } from '#lib/ids.ts';
import { startApi } from '#test/support/api.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { act, activitiesOf, asAdmin, calendar, consume, deleteAllQuests, earned, follow, makeQuest, ownQuest } from '#test/support/areas/quests.ts';
import { createWallet, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, 'alpha');
});
afterEach(() => deleteAllQuests(t.app));
afterAll(() => t.close());

const plays = (wallet: string, n: number) => activitiesOf(t.app).plays(wallet, n);
const score: ReturnType<typeof activitiesOf>['score'] = (...args) => activitiesOf(t.app).score(...args);
const one = (requirement: object) => ({ requirement });

test('quest points are recorded in the mode of the wallet, and a banned wallet gets none', async () => {
  const [beta, banned] = [await signIn(t), await signIn(t)];
  await sql(t.app, `update players set mode = 'beta' where wallet = $1`, [beta.wallet]);
  await sql(t.app, 'update players set banned_at = app_now() where wallet = $1', [banned.wallet]);
  await makeQuest(t, one({ type: 'plays', count: 1 }));
  await plays(beta.wallet, 1);
  await plays(banned.wallet, 1);
  await consume(t.app);
  expect(await sql(t.app, `select wallet, mode from ledger where wallet = any($1)`, [[beta.wallet, banned.wallet]])).toEqual([
    { wallet: beta.wallet, mode: 'beta' },
  ]);
});

test('a batch that is rolled back and retried counts once and gives points once', async () => {
  const player = await signIn(t);
  const id = await makeQuest(t, one({ type: 'plays', count: 3 }));
  const fails: Consumer = {
    ...questConsumer,
    consume: async (app, tx, open, activities) => {
      const entries = await questConsumer.consume(app, tx, open, activities);
      await tx.query({ text: `do $$ begin raise exception 'rolled back' using errcode = '40001'; end $$` });
      return entries;
    },
  };
  await plays(player.wallet, 3);
  await expect(consume(t.app, fails)).rejects.toThrow('rolled back');
  expect(await earned(t.app, player.wallet)).toEqual({});
  await consume(t.app);
  await consume(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
  expect((await ownQuest(player, id))?.progress).toMatchObject([{ have: 3 }]);
});

test('activities that are consumed one by one after a failed batch count as in a batch', async () => {
  const player = await signIn(t);
  const id = await makeQuest(t, one({ type: 'scores', count: 2 }));
  let calls = 0;
  const fails: Consumer = {
    ...questConsumer,
    consume: async (app, tx, open, activities) => {
      const entries = await questConsumer.consume(app, tx, open, activities);
      if (calls++ === 0) throw new Error('once');
      return entries;
    },
  };
  const voided = newId();
  await score(player.wallet, 1, 'alpha', voided);
  await score(player.wallet, 2);
  await act(t.app, { kind: 'void', wallet: player.wallet, gameId: 'alpha', sourceId: voided });
  await score(player.wallet, 3);
  await consume(t.app, fails);
  expect((await ownQuest(player, id))?.progress).toMatchObject([{ have: 2 }]);
  // The void of a score takes the points back.
  expect(Object.keys(await earned(t.app, player.wallet))).toEqual([`${id}:once`, `${id}:once:1`]);
});

test('a new version of a quest keeps earned points, and earlier activities count for it', async () => {
  const [done, late] = [await signIn(t), await signIn(t)];
  const id = await makeQuest(t, one({ type: 'plays', count: 3 }));
  await plays(done.wallet, 3);
  await plays(late.wallet, 1);
  await consume(t.app);
  const patched = await asAdmin(t, `/quests/${id}`, { method: 'PATCH', json: { points: 7, requirement: { type: 'plays', count: 2 } } });
  expect([patched.status, patched.headers.get('ETag')]).toEqual([200, '"2"']);
  await plays(late.wallet, 1);
  await plays(done.wallet, 1);
  await consume(t.app);
  expect(await earned(t.app, done.wallet)).toEqual({ [`${id}:once`]: 100 });
  expect(await earned(t.app, late.wallet)).toEqual({ [`${id}:once`]: 7 });
  const detail = await (await asAdmin(t, `/quests/${id}`)).json();
  expect(detail).toMatchObject({
    version: 2,
    completions: 2,
    pointsAwarded: 107,
    versions: [
      { version: 2, completions: 1, pointsAwarded: 7 },
      { version: 1, completions: 1, pointsAwarded: 100 },
    ],
  });
});

test('a restored score counts for a quest that a later score completes', async () => {
  const player = await signIn(t);
  const id = await makeQuest(t, one({ type: 'scores', count: 2 }));
  const restored = { wallet: player.wallet, gameId: 'alpha', amount: 500, sourceId: newId() };
  // The void is counted in the batch of its score, so that the consumer reads the progress 0.
  await act(t.app, { kind: 'score', ...restored }, { kind: 'void', ...restored, amount: -500 });
  await consume(t.app);
  await act(t.app, { kind: 'restore', ...restored });
  await consume(t.app);
  await score(player.wallet, 400);
  await consume(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
});

test('a repeated follow, which is no new activity, counts for a quest that a later score completes', async () => {
  const player = await signIn(t);
  const id = await makeQuest(t, one({ all: [{ type: 'follow' }, { type: 'scores', count: 2 }] }));
  const account = await follow(t.app, player.wallet);
  const setFollowing = async (following: boolean) =>
    await sql(
      t.app,
      `insert into follow_states (platform, account_id, following, at) values ('x', $1, $2, app_now())
       on conflict (platform, account_id) do update set following = excluded.following`,
      [account, following],
    );
  await setFollowing(false);
  await score(player.wallet, 400);
  await consume(t.app);
  await setFollowing(true);
  await score(player.wallet, 500);
  await consume(t.app);
  // The linked account gives a bonus of 10 %.
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 110 });
});

test('two processes that consume batches alternately count each other’s activities', async () => {
  const player = await signIn(t);
  const other = await startApi(t.env, t.clock);
  try {
    const id = await makeQuest(t, one({ type: 'plays', count: 6 }));
    for (const app of [t.app, other.app, other.app, t.app, other.app]) {
      await plays(player.wallet, 1);
      await consume(app);
    }
    expect(await earned(t.app, player.wallet)).toEqual({});
    await plays(player.wallet, 1);
    await consume(t.app);
    expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
  } finally {
    await other.close();
  }
});

test('a quest is completed when a streak was met earlier and the last condition is met by activities that extend no streak', async () => {
  const player = await signIn(t);
  const id = await makeQuest(
    t,
    one({
      all: [
        { type: 'streak', days: 1 },
        { type: 'referrals', count: 2 },
        { type: 'plays', count: 1 },
      ],
    }),
  );
  await plays(player.wallet, 1);
  await consume(t.app);
  // A bind extends no streak, and the second one meets the requirement.
  for (let i = 0; i < 2; i++) {
    expect(await earned(t.app, player.wallet)).toEqual({});
    await act(t.app, { kind: 'bind', wallet: player.wallet });
    await consume(t.app);
  }
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
});

/** Consumes all activities. @returns how often a statement of the quest consumer ran */
async function countRuns(name: string): Promise<number> {
  let runs = 0;
  const counting: Consumer = {
    ...questConsumer,
    consume: (app, tx, open, activities) => {
      const query: typeof tx.query = (statement, ...values) => {
        if (statement.name === name) runs += 1;
        return tx.query(statement, ...values);
      };
      return questConsumer.consume(app, { ...tx, query }, open, activities);
    },
  };
  await consume(t.app, counting);
  return runs;
}

test('the streak of a wallet is read once a day, however often the wallet plays', async () => {
  const days = await calendar(t);
  const player = await signIn(t);
  const id = await makeQuest(
    t,
    one({
      all: [
        { type: 'streak', days: 2 },
        { type: 'plays', count: 1 },
      ],
    }),
  );
  const runs: number[] = [];
  for (let i = 0; i < 3; i++) {
    await plays(player.wallet, 1);
    runs.push(await countRuns('read_active_days'));
  }
  expect(runs).toEqual([1, 0, 0]);
  expect(await earned(t.app, player.wallet)).toEqual({});
  await days.go(1);
  await plays(player.wallet, 1);
  await consume(t.app);
  expect(Object.keys(await earned(t.app, player.wallet))).toEqual([`${id}:once`]);
});

test('a play extends the streak of a wallet whose progress was read for a bind on the same day', async () => {
  const player = await signIn(t);
  const id = await makeQuest(
    t,
    one({
      all: [
        { type: 'streak', days: 1 },
        { type: 'referrals', count: 1 },
      ],
    }),
  );
  await act(t.app, { kind: 'bind', wallet: player.wallet });
  await consume(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({});
  await plays(player.wallet, 1);
  await consume(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({ [`${id}:once`]: 100 });
});

test('an activity of the day before that is consumed late extends the streak of the day', async () => {
  const days = await calendar(t);
  const player = await signIn(t);
  const id = await makeQuest(t, { ...one({ type: 'streak', days: 2 }), repeat: 'daily' });
  await days.go(1);
  await plays(player.wallet, 1);
  await consume(t.app);
  expect(await earned(t.app, player.wallet)).toEqual({});
  await plays(player.wallet, 1);
  await sql(t.app, 'update activity_batches set day = day - 1');
  await consume(t.app);
  await plays(player.wallet, 1);
  await consume(t.app);
  expect(Object.keys(await earned(t.app, player.wallet))).toEqual([`${id}:${days.text()}`]);
});

test('a batch with 300 wallets needs at most 12 statements', async () => {
  await makeQuest(
    t,
    one({
      all: [
        { type: 'plays', count: 1 },
        { type: 'streak', days: 1 },
      ],
    }),
  );
  const wallets = Array.from({ length: 300 }, () => createWallet().address);
  await act(t.app, ...wallets.map((wallet) => ({ kind: 'play' as const, wallet, gameId: 'alpha' })));
  let statements = 0;
  const counted: Consumer = {
    ...questConsumer,
    consume: (app, tx, open, activities) => {
      const query: typeof tx.query = (...args) => {
        statements += 1;
        return tx.query(...args);
      };
      return questConsumer.consume(app, { ...tx, query }, open, activities);
    },
  };
  await consume(t.app, counted);
  expect(statements).toBeLessThanOrEqual(12);
  const [row] = await sql<{ n: number }>(t.app, 'select count(*)::int as n from ledger where wallet = any($1)', [wallets]);
  expect(row?.n).toBe(300);
});

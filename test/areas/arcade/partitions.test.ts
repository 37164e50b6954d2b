import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findGame, processScores } from '#areas/arcade';
import { voidScore } from '#areas/arcade/scores/decide.ts';
import { restoreScore } from '#areas/arcade/scores/restore.ts';
import { readEarlier } from '#areas/arcade/scores/rows.ts';
import { ensurePlayer } from '#areas/points';
import type { Submission } from '#jobs/scores.ts';
import { newId } from '#lib/ids.ts';
import { declaredStatements } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createWallet, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, 'free-game', { ...TEST_GAME, verification: 'none' });
  await registerGame(t.url, ADMIN_TOKEN, 'test-game', TEST_GAME);
});
afterAll(() => t.close());

const now = new Date();
/** Start of the next month, ms since 1970. */
const BOUNDARY = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
const MONTHS = [BOUNDARY - 1, BOUNDARY].map((ms) => new Date(ms).toISOString().slice(0, 7).replace('-', '_'));

/** Returns a UUIDv7 with the given time, ms since 1970. */
function idAt(ms: number): string {
  const digits = ms.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}${newId().slice(13)}`;
}

async function newPlayer(): Promise<string> {
  const wallet = createWallet().address;
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  return wallet;
}

const submissionOf = (wallet: string, at: number, more: Partial<Submission> = {}): Submission => ({
  ...{ id: idAt(at), wallet, gameId: 'free-game', score: 1_000, playId: null, durationMs: null, battleId: null, signature: null, replay: null },
  ...{ idempotencyKey: null, bodyHash: '0'.repeat(64), at: t.clock.now().toISOString(), ...more },
});

/** Records a score. @returns the id in the receipt */
async function record(submission: Submission): Promise<string> {
  const [result] = await processScores(t.app, [submission]);
  if (result?.outcome.status !== 200) throw new Error(`the score was refused: ${JSON.stringify(result?.outcome)}`);
  return result.outcome.receipt.scoreId;
}

const placesOf = async (wallet: string, table = 'scores') =>
  (await sql<{ name: string }>(t.app, `select tableoid::regclass::text as name from ${table} where wallet = $1 order by 1`, [wallet])).map(
    ({ name }) => name,
  );

describe('Scores at the end of a month', () => {
  test('a play that began before the end of a month gives one score after it, however often the score is submitted', async () => {
    const wallet = await newPlayer();
    const playId = idAt(BOUNDARY - 60_000);
    await sql(t.app, `insert into plays (id, wallet, game_id, started_at) values ($1, $2, 'test-game', app_now() - interval '1 minute')`, [
      playId,
      wallet,
    ]);
    const play = { gameId: 'test-game', playId };
    const first = await record(submissionOf(wallet, BOUNDARY + 1, play));
    expect(await record(submissionOf(wallet, BOUNDARY + 60_000, play))).toBe(first);
    expect(await record(submissionOf(wallet, BOUNDARY - 1, play))).toBe(first);
    expect([...(await placesOf(wallet, 'plays')), ...(await placesOf(wallet))]).toEqual([`plays_${MONTHS[0]}`, `scores_${MONTHS[1]}`]);
    const keys = await sql(t.app, 'select tableoid::regclass::text as name, score_id from score_plays where play_id = $1', [playId]);
    expect(keys).toEqual([{ name: `score_plays_${MONTHS[0]}`, score_id: first }]);
  });

  test('a play that has the id of an earlier month gives one score too, together with a play of this month', async () => {
    const wallet = await newPlayer();
    const plays = [idAt(now.getTime() - 50 * 86_400_000), newId()];
    await sql(
      t.app,
      `insert into plays (id, wallet, game_id, started_at) select id, $2, 'test-game', app_now() - interval '1 minute' from unnest($1::uuid[]) id`,
      [plays, wallet],
    );
    const recordBoth = async () => {
      const results = await processScores(
        t.app,
        plays.map((playId) => submissionOf(wallet, Date.now(), { gameId: 'test-game', playId })),
      );
      return results.map(({ outcome }) => (outcome.status === 200 ? outcome.receipt.scoreId : outcome));
    };
    const first = await recordBoth();
    expect(new Set(first).size).toBe(2);
    expect(await recordBoth()).toEqual(first);
  });

  test('an idempotency key that was used before the end of a month gives the same score after it', async () => {
    const wallet = await newPlayer();
    const first = await record(submissionOf(wallet, BOUNDARY - 1, { idempotencyKey: 'again' }));
    expect(await record(submissionOf(wallet, BOUNDARY, { idempotencyKey: 'again' }))).toBe(first);
    expect(await placesOf(wallet)).toEqual([`scores_${MONTHS[0]}`]);
    const other = await record(submissionOf(await newPlayer(), BOUNDARY, { idempotencyKey: 'again' }));
    expect(other).not.toBe(first);
  });

  test('a repeated job finds the score that it recorded before the end of the month', async () => {
    const wallet = await newPlayer();
    const submission = submissionOf(wallet, BOUNDARY - 1);
    await record(submission);
    await t.clock.set(new Date(BOUNDARY + 60_000));
    expect(await record(submission)).toBe(submission.id);
    expect(await placesOf(wallet)).toHaveLength(1);
    expect(await placesOf(wallet, 'ledger')).toEqual([`ledger_${MONTHS[0]}`]);
  });

  test('voids, restorations and second voids of a score of the last month are in the month of the score, and their sum is 0', async () => {
    const wallet = await newPlayer();
    const id = await record(submissionOf(wallet, BOUNDARY - 1));
    const decision = { by: 'a test', reason: 'a test' };
    const game = await findGame(t.app, 'free-game');
    if (!game) throw new Error('the game was not found');
    await voidScore(t.app, id, decision);
    await restoreScore(t.app, game, id, decision);
    await voidScore(t.app, id, decision);
    await expect(restoreScore(t.app, game, id, decision)).rejects.toMatchObject({ status: 409 });
    expect(await placesOf(wallet, 'ledger')).toEqual(Array.from({ length: 4 }, () => `ledger_${MONTHS[0]}`));
    expect(await sql(t.app, 'select sum(points)::int as points from ledger where wallet = $1', [wallet])).toEqual([{ points: 0 }]);
  });

  test('two statements cannot insert two scores of one play, or of one idempotency key, in different months', async () => {
    const [wallet, playId] = [await newPlayer(), newId()];
    const insert = (id: string, play: string | null, key: string | null) =>
      sql(
        t.app,
        `insert into scores (id, wallet, game_id, game_version, play_id, idempotency_key, body_hash, score, normalized, points, personal_best, status, mode, day, at)
         values ($1, $2, 'free-game', 1, $3, $4, '', 1, 1, 0, false, 'accepted', 'regular', 1, app_now())`,
        [id, wallet, play, key],
      );
    await insert(idAt(BOUNDARY - 1), playId, 'one');
    await expect(insert(idAt(BOUNDARY), playId, null)).rejects.toMatchObject({ code: '23505' });
    await expect(insert(idAt(BOUNDARY), null, 'one')).rejects.toMatchObject({ code: '23505' });
  });
});

test('lists of scores and points name the day before which their rows are in the archive, once a month is detached', async () => {
  const player = await signIn(t);
  const lists = ['/me/scores', '/ledger/quests', `/admin/wallets/${player.wallet}/scores`, `/admin/wallets/${player.wallet}/ledger`];
  const read = (path: string) =>
    path.startsWith('/admin') ? fetch(`${t.url}${path}`, { headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } }) : player.fetch(path);
  const days = async () => (await Promise.all(lists.map(read))).map(({ status, headers }) => [status, headers.get('X-Archived-Before')]);
  const unknown = async () => ((await (await fetch(`${t.url}/arcade/score/${newId()}`)).json()) as { error: string }).error;
  expect(await days()).toEqual(lists.map(() => [200, null]));
  expect(await unknown()).toBe('no such score');
  await sql(
    t.app,
    `insert into closed_partitions (relation, month, columns, blocks, closed_at, exported_at, detached_at)
     select 'scores', month, '{}', 0, app_now(), app_now(), case when month < 24311 then app_now() end from generate_series(24309, 24311) month`,
  );
  expect(await days()).toEqual(lists.map(() => [200, '2025-12-01']));
  expect(await unknown()).toBe('no such score: scores from before 2025-12-01 are in the archive');
});

test('a statement that finds earlier scores names either recent or older plays, so that few plays make it open the partitions of all months', async () => {
  const [old, recent] = [idAt(now.getTime() - 50 * 86_400_000), newId()];
  const playsOfStatements = async (...plays: string[]) => {
    const found: unknown[] = [];
    await t.app.tx((tx) => {
      const query: Tx['query'] = (one, values) => {
        if (one.name === 'find_earlier_scores') found.push(values?.[3]);
        return tx.query(one, values);
      };
      return readEarlier(
        { ...tx, query },
        plays.map((playId) => submissionOf('a wallet', Date.now(), { playId })),
      );
    });
    return found;
  };
  expect(await playsOfStatements(old, recent)).toEqual([[recent], [old]]);
  expect(await playsOfStatements(recent)).toEqual([[recent]]);
});

const ID = `'${newId()}'`;
const IDS = `'{${newId()}}'`;
test.each([
  ['find_earlier_scores', [IDS, ID, ID, IDS, ID, ID, `'{}'`, `'{}'`]],
  ['select_scores_by_id', [IDS, ID, ID]],
  ['select_plays', [IDS, `'{1}'`, ID, ID, ID, `'{free-game}'`, ID]],
  ['select_unfinished_plays', [`'{a}'`, `'{1}'`, ID, ID]],
  ['select_unfinished_seeds', [`'{a}'`, `'{free-game}'`, ID, ID]],
  ['select_ended_plays', [`'{a}'`, `'{free-game}'`, `'{1}'`, `'{1}'`, `'{1}'`, ID, ID]],
  ['select_equal_scores', [IDS, `'{a}'`, `'{free-game}'`, `'{1}'`, `'{1}'`, IDS, ID, ID]],
])('the statement %s opens no partition of another month', async (name, values) => {
  const { text = '' } = declaredStatements().get(name) ?? {};
  const plan = await t.app.tx(async (tx) => {
    await tx.query({ text: `prepare test_${name} as ${text}` });
    const rows = await tx.query<Record<'QUERY PLAN', string>>({ text: `explain execute test_${name}(${values.join(', ')})` });
    await tx.query({ text: `deallocate test_${name}` });
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  });
  expect(new Set(plan.match(/_(first|\d{4}_\d{2})\b/g))).toEqual(new Set([`_${MONTHS[0]}`]));
});

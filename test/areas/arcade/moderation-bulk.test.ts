import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { expectConsistent, playAndScore, registerGame, requestAsAdmin, TEST_GAME } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

const STRICT = 'strict-game';
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp();
  await registerGame(t.url, ADMIN_TOKEN, 'test-game');
  await registerGame(t.url, ADMIN_TOKEN, STRICT, { ...TEST_GAME, caps: { ...TEST_GAME.caps, scorePerSec: 100 } });
});
afterAll(() => t.close());

/** Makes a wallet submit scores that are held. @returns the ids of the scores */
async function hold(player: SignedIn, scores: readonly number[]): Promise<string[]> {
  const ids: string[] = [];
  for (const score of scores) {
    const { body } = await playAndScore(player, STRICT, score);
    expect(body).toMatchObject({ status: 'held' });
    ids.push(String(body.scoreId));
  }
  return ids;
}
interface Row {
  scoreId: string;
  status: string;
  wallet: string;
}
async function list(query: string): Promise<{ rows: Row[]; total: number }> {
  const response = await requestAsAdmin(t, `/admin/scores?${query}`);
  expect(response.status).toBe(200);
  return { rows: (await response.json()) as Row[], total: Number(response.headers.get('X-Total-Count')) };
}
const statesOf = async (ids: readonly string[]) =>
  (await sql<{ status: string }>(t.app, 'select status from scores where id = any($1::uuid[]) order by id', [[...ids]])).map(({ status }) => status);
const decide = async (json: unknown) => {
  const response = await requestAsAdmin(t, '/admin/scores/decisions', json as Record<string, unknown>);
  return {
    status: response.status,
    body: (await response.json()) as { decided: number; skipped: { error: string }[]; left: number; error?: string },
  };
};

describe('GET /admin/scores', () => {
  test('lists scores by wallet, game, reason and status', async () => {
    const [ada, bob] = [await signIn(t), await signIn(t)];
    const [first = '', second = ''] = await hold(ada, [5_001, 5_002]);
    await hold(bob, [5_003]);
    expect((await list(`wallet=${ada.wallet}`)).rows.map(({ scoreId }) => scoreId)).toEqual([first, second]);
    expect(await list(`wallet=${ada.wallet}&gameId=test-game`)).toEqual({ rows: [], total: 0 });
    expect((await list(`wallet=${ada.wallet}&reason=PER%20SECOND`)).total).toBe(2);
    expect((await list(`wallet=${ada.wallet}&reason=nothing%20of%20the%20kind`)).total).toBe(0);
    expect((await list(`gameId=${STRICT}&limit=1`)).rows).toHaveLength(1);
    await requestAsAdmin(t, `/admin/scores/${first}/decision`, { decision: 'reject', reason: 'modified client' });
    expect((await list(`status=rejected&wallet=${ada.wallet}`)).rows).toMatchObject([{ scoreId: first, status: 'rejected' }]);
    expect((await list(`status=held&wallet=${ada.wallet}`)).rows).toMatchObject([{ scoreId: second }]);
  });

  test('refuses to list the accepted scores of all wallets', async () => {
    const response = await requestAsAdmin(t, '/admin/scores?status=accepted');
    expect([response.status, await response.json()]).toEqual([400, { error: 'wallet must be given with the status accepted' }]);
  });
});

describe('POST /admin/scores/decisions', () => {
  test('rejects the given scores once, and lists the others as skipped', async () => {
    const [ada, bob] = [await signIn(t), await signIn(t)];
    const ids = [...(await hold(ada, [5_101, 5_102])), ...(await hold(bob, [5_103]))];
    const unknown = randomUUID();
    const json = { ids: [...ids, unknown], decision: 'reject', reason: 'bot' };
    expect((await decide(json)).body).toEqual({ decided: 3, skipped: [{ scoreId: unknown, error: 'no such score' }], left: 0 });
    expect(await statesOf(ids)).toEqual(['rejected', 'rejected', 'rejected']);
    const repeated = await decide(json);
    expect([repeated.status, repeated.body.decided, repeated.body.skipped.length]).toEqual([200, 0, 4]);
    await expectConsistent(t);
  });

  test('accepts the held scores that match a filter, within the caps of each wallet', async () => {
    const player = await signIn(t);
    const ids = await hold(player, [5_201, 5_202]);
    const { body } = await decide({ filter: { wallet: player.wallet }, decision: 'accept', reason: 'replay seen' });
    expect(body).toEqual({ decided: 2, skipped: [], left: 0 });
    expect(await statesOf(ids)).toEqual(['accepted', 'accepted']);
    await retryUntilPass(async () => expect(await (await player.fetch(`/game/${STRICT}/rank`)).json()).toMatchObject({ score: 5_202 }));
    await expectConsistent(t);
  });

  test('voids the accepted scores of a wallet', async () => {
    const player = await signIn(t);
    await playAndScore(player, 'test-game', 1_000);
    await playAndScore(player, 'test-game', 2_000);
    const { body } = await decide({ filter: { wallet: player.wallet }, decision: 'void', reason: 'modified client' });
    expect(body).toEqual({ decided: 2, skipped: [], left: 0 });
    await expectConsistent(t);
  });

  test('demands either ids or a filter with a field', async () => {
    for (const json of [
      { decision: 'reject', reason: 'bot' },
      { ids: [randomUUID()], filter: { gameId: STRICT }, decision: 'reject', reason: 'bot' },
      { filter: {}, decision: 'reject', reason: 'bot' },
      { filter: { gameId: STRICT }, decision: 'void', reason: 'bot' },
    ]) {
      expect((await decide(json)).status).toBe(400);
    }
  });
});

test('a ban rejects held scores, and its end makes them wait for a moderator again', async () => {
  const player = await signIn(t);
  const [first = '', second = ''] = await hold(player, [5_301, 5_302]);
  await requestAsAdmin(t, `/admin/scores/${first}/decision`, { decision: 'reject', reason: 'bot' });
  await requestAsAdmin(t, `/admin/wallets/${player.wallet}/ban`, { reason: 'bot' });
  await retryUntilPass(async () => expect(await statesOf([first, second])).toEqual(['rejected', 'rejected']));
  await requestAsAdmin(t, `/admin/wallets/${player.wallet}/unban`, {});
  expect(await statesOf([first, second])).toEqual(['rejected', 'held']);
  const [row] = await sql<{ reasons: string[] }>(t.app, 'select reasons from scores where id = $1', [second]);
  expect(row?.reasons).toEqual([expect.stringContaining('per second')]);
});

test('a wallet reads in plain words why its score is held or rejected', async () => {
  const player = await signIn(t);
  const [id = ''] = await hold(player, [5_401]);
  const reasonOf = async () => ((await (await player.fetch(`/arcade/score/${id}`)).json()) as { reason: string }).reason;
  expect(await reasonOf()).toMatch(/per second/);
  await requestAsAdmin(t, `/admin/scores/${id}/decision`, { decision: 'reject', reason: 'modified client' });
  expect(await reasonOf()).toBe('modified client');
  expect(await (await player.fetch('/me/scores')).json()).toMatchObject([{ scoreId: id, status: 'rejected', reason: 'modified client' }]);
});

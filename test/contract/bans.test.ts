import { expect, test } from '@jest/globals';
import { readGameStats } from '#areas/arcade/games/stats.ts';
import { PERIODS } from '#lib/periods.ts';
import { History, startTotalsApp } from '#test/support/totals/history.ts';
import { call, readAll } from '#test/support/totals/requests.ts';
import { GAME_IDS } from '#test/support/totals/rows.ts';

const BOARDS = ['/leaderboard/global', '/leaderboard/quests', '/game/referral/leaderboard', ...GAME_IDS.map((id) => `/game/${id}/leaderboard`)];
const PARTS = ['', ...PERIODS.map((period) => `?period=${period}`)];

/** Returns the wallets and scores of all boards. */
const boardsOf = ({ admin }: History) =>
  Promise.all(
    BOARDS.flatMap((board) =>
      PARTS.map(async (part) => [board + part, await readAll<{ wallet: string; score: number }>(admin, board + part)] as const),
    ),
  );

/** Returns all totals, boards, quests, scores and referrals that the API shows. */
async function snapshot(history: History) {
  const wallets = await Promise.all(
    history.players.map(async ({ wallet, fetch }) => ({
      wallet,
      view: await call<{ points: unknown }>(history.admin, `/admin/wallets/${wallet}`).then(({ points }) => points),
      stats: await call(history.admin, `/users/${wallet}/stats`),
      quests: await call(fetch, '/me/quests'),
      referrals: await call(fetch, '/api/referral/summary'),
      scores: (await readAll<{ scoreId: string; status: string }>(fetch, '/me/scores')).map(({ scoreId, status }) => [scoreId, status]),
    })),
  );
  const games = await Promise.all(GAME_IDS.map((id) => readGameStats(history.t.app.db, id)));
  return { boards: await boardsOf(history), wallets, games };
}

test('after a random history, a ban hides its wallets from every board, and the end of the ban restores all totals, boards, quests and referrals', async () => {
  const t = await startTotalsApp();
  const history = new History(t, 11);
  try {
    await history.goTo(Date.parse('2030-12-30T10:00:00Z'));
    await history.begin();
    for (let i = 0; i < 70; i++) await history.step();
    for (const wallet of [...history.model.banned]) {
      await call(history.admin, `/admin/wallets/${wallet}/unban`, { method: 'POST' });
      history.model.unban(wallet);
    }
    const settle = async () => {
      await history.pass(1);
      await history.step('settle');
      await history.step('settle');
    };
    await settle();
    const before = await snapshot(history);
    for (const banned of [history.players.slice(0, 2), history.players.slice(1, 4)]) {
      for (const { wallet } of banned) {
        await call(history.admin, `/admin/wallets/${wallet}/ban`, { json: { reason: 'a test' } });
        history.model.banned.add(wallet);
      }
      await settle();
      const listed = (await boardsOf(history)).flatMap(([, lines]) => lines.map(({ wallet }) => wallet));
      expect(listed.filter((wallet) => history.model.banned.has(wallet))).toEqual([]);
      for (const { wallet } of banned) {
        await call(history.admin, `/admin/wallets/${wallet}/unban`, { method: 'POST' });
        history.model.unban(wallet);
      }
      await settle();
      expect(await snapshot(history)).toEqual(before);
    }
  } finally {
    await t.close();
  }
}, 120_000);

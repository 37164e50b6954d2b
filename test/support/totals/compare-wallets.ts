import { expect } from '@jest/globals';
import { bucketOf, dayStart, PERIODS } from '#lib/periods.ts';
import type { History } from './history.ts';
import type { Model } from './model.ts';
import { call, type Player, readAll } from './requests.ts';
import { GAME_IDS, type Mode, type Row, type Score, sum } from './rows.ts';

const SOURCES = { games: 'game', quests: 'quest', referrals: 'referral', adjustments: 'adjustment', conversions: 'conversion' } as const;
const dayText = (day: number) => dayStart(day).toISOString().slice(0, 10);
const ofKind = (rows: readonly Row[], kind: Row['kind']) => sum(rows.filter((row) => row.kind === kind));
const bySource = (rows: readonly Row[]) => {
  const { conversions, ...sources } = Object.fromEntries(Object.entries(SOURCES).map(([name, kind]) => [name, ofKind(rows, kind)]));
  return { sources, conversions };
};

/** Returns the points of a wallet in a mode as the API lists them by source, period and game. */
function modePoints(model: Model, wallet: string, mode: Mode) {
  const rows = model.rowsOf(wallet, mode);
  const { sources, conversions } = bySource(rows);
  const periods = PERIODS.map((period) => {
    const counted = rows.filter((row) => row.kind !== 'conversion' && bucketOf(period, row.day) === bucketOf(period, model.today));
    return [period, { points: sum(counted), ...bySource(counted).sources }];
  });
  const games = GAME_IDS.flatMap((gameId) => {
    const scores = model.scores.filter((one) => one.wallet === wallet && one.mode === mode && one.gameId === gameId && one.status === 'accepted');
    const points = sum(rows.filter((row) => row.gameId === gameId));
    return scores.length === 0 ? [] : [{ gameId, best: Math.max(...scores.map(({ normalized }) => normalized)), scores: scores.length, points }];
  });
  games.sort((a, b) => b.best - a.best || (a.gameId < b.gameId ? -1 : 1));
  return { total: sum(rows), sources: { ...sources, conversions }, periods: Object.fromEntries(periods), games };
}

const scoreLine = ({ id, gameId, status, raw, normalized, points, mode }: Score) => {
  const line = { scoreId: id, gameId, status, score: raw, normalizedScore: normalized, mode };
  return { ...line, pointsAwarded: status === 'accepted' ? points : 0 };
};
const shownScore = ({ scoreId, gameId, status, score, normalizedScore, mode, pointsAwarded }: ReturnType<typeof shownScores>[number]) => ({
  ...{ scoreId, gameId, status, score, normalizedScore, mode, pointsAwarded },
});
const shownScores = (rows: readonly Omit<ReturnType<typeof scoreLine>, never>[]) => rows;
const byText = <T>(items: readonly T[]): string[] => items.map((item) => JSON.stringify(item)).sort();

/** Compares all that the API says about the points of each wallet. Precondition: the history is settled. */
export async function compareWallets(history: History): Promise<void> {
  await compareScores(history);
  await Promise.all(
    history.players.map(async (player) => {
      await compareLedger(history, player.wallet);
      await compareAsOperator(history, player.wallet);
      if (!history.isBanned(player)) await compareAsPlayer(history, player);
    }),
  );
}

/** Compares the list of held scores, and what everybody may read about a score. */
async function compareScores({ admin, model, t, random }: History): Promise<void> {
  const { scores } = model;
  const held = await readAll<{ scoreId: string; pointsAwarded: number }>(admin, '/admin/scores?status=held', 3);
  const expected = scores.flatMap(({ id, status }) => (status === 'held' ? [{ scoreId: id, pointsAwarded: 0 }] : []));
  expect(held.map(({ scoreId, pointsAwarded }) => ({ scoreId, pointsAwarded }))).toEqual(expected);
  const score = scores[random.int(0, scores.length - 1)];
  if (!score) return;
  const isPublic = score.status === 'accepted' && score.mode === 'regular' && !model.banned.has(score.wallet);
  const shown = await call((path) => fetch(`${t.url}${path}`), `/arcade/score/${score.id}`, {}, isPublic ? 200 : 404);
  if (isPublic) expect(shown).toMatchObject(scoreLine(score));
}

/** Compares the ledger of a wallet with the rows of the model. */
async function compareLedger({ admin, model }: History, wallet: string): Promise<void> {
  const entries = await readAll<Record<string, unknown>>(admin, `/admin/wallets/${wallet}/ledger`, 40);
  const times = entries.map(({ at }) => String(at));
  expect(times).toEqual([...times].sort().reverse());
  const found = entries.map(({ mode, source, kind, reason, cause, points, rewards, day }) => ({
    mode,
    source,
    kind,
    reason,
    cause,
    points,
    rewards,
    day,
  }));
  const expected = model.rows.flatMap(({ wallet: owner, mode, source, kind, reason, cause, points, rewards, day }) =>
    owner === wallet ? [{ mode, source, kind, reason, cause, points, rewards, day: dayText(day) }] : [],
  );
  expect({ wallet, ledger: byText(found) }).toEqual({ wallet, ledger: byText(expected) });
}

/** Returns the lines of a wallet's global rank. */
function globalPlace(model: Model, wallet: string) {
  const list = model.lister()('global', 'all', model.today);
  const rank = list.find((line) => line.wallet === wallet)?.rank ?? null;
  return { rank, percentile: rank === null ? null : Math.round((10_000 * (list.length - rank + 1)) / list.length) / 100 };
}

const countScores = (games: readonly { scores: number }[]) => games.reduce((all, { scores }) => all + scores, 0);

async function compareAsOperator({ admin, model }: History, wallet: string): Promise<void> {
  const [regular, beta] = (['regular', 'beta'] as const).map((mode) => modePoints(model, wallet, mode));
  const scores = model.scores.filter((one) => one.wallet === wallet).map(scoreLine);
  const rows = model.rows.filter((row) => row.wallet === wallet);
  const completions = rows.filter(({ kind, reason }) => kind === 'quest' && reason === 'quest');
  const view = await call<Record<string, { total: number }>>(admin, `/admin/wallets/${wallet}`);
  expect(view).toMatchObject({
    ...{ wallet, mode: model.modeOf(wallet), points: { regular, beta } },
    ...{ scores: { total: scores.length }, ledger: { total: rows.length }, quests: { total: completions.length } },
  });
  const listed = await readAll<ReturnType<typeof scoreLine>>(admin, `/admin/wallets/${wallet}/scores`, 20);
  expect(listed.map(shownScore)).toEqual(scores.reverse());
  const quests = await readAll<{ questId: string; window: string; mode: Mode; points: number }>(admin, `/admin/wallets/${wallet}/quests`);
  const found = quests.map(({ questId, window, mode, points }) => ({ mode, cause: `${questId}:${window}`, points }));
  expect(byText(found)).toEqual(byText(completions.map(({ mode, cause }) => ({ mode, cause, points: model.completion(wallet, mode, cause) }))));

  const { total, games = [] } = regular ?? {};
  const place = globalPlace(model, wallet);
  expect(await call(admin, `/users/${wallet}/stats`)).toMatchObject({
    ...{ wallet, points: total, gamesPlayed: games.length, scores: countScores(games), games, ...place },
  });
}

async function compareAsPlayer({ model }: History, { wallet, fetch }: Player): Promise<void> {
  const [regular, beta] = [modePoints(model, wallet, 'regular'), modePoints(model, wallet, 'beta')];
  const mode = model.modeOf(wallet);
  expect(await call(fetch, '/debug/points')).toEqual({ wallet, mode, regular, beta });
  expect(await call(fetch, '/api/profile')).toMatchObject({
    ...{ wallet, ...globalPlace(model, wallet) },
    points: { total: regular.total, today: regular.periods.day.points, week: regular.periods.week.points, sources: regular.sources },
    beta: { enabled: mode === 'beta', points: beta.total },
    games: { played: regular.games.length, scores: countScores(regular.games), top: regular.games.slice(0, 5) },
  });
  const conversions = [...model.conversions.values()].filter((one) => one.wallet === wallet);
  const converted = conversions.reduce((all, one) => all + one.beta, 0);
  const points = { total: beta.total, earned: beta.total + converted };
  expect(await call(fetch, '/api/profile/beta-points')).toEqual({ ...points, converted, sources: beta.sources, games: beta.games });
  expect(await call(fetch, '/api/profile/beta-stats')).toMatchObject({
    ...{ enabled: mode === 'beta', gamesPlayed: beta.games.length, scores: countScores(beta.games) },
    points: { ...points, today: beta.periods.day.points, week: beta.periods.week.points },
    converted: { betaPoints: converted, points: sum(conversions) },
  });

  const scores = model.scores
    .filter((one) => one.wallet === wallet)
    .map(scoreLine)
    .reverse();
  expect((await readAll<ReturnType<typeof scoreLine>>(fetch, '/me/scores', 15)).map(shownScore)).toEqual(scores);
  const ofGame = await readAll<ReturnType<typeof scoreLine>>(fetch, '/me/scores?gameId=golf');
  expect(ofGame.map(shownScore)).toEqual(scores.filter(({ gameId }) => gameId === 'golf'));
  await compareQuests(model, { wallet, fetch });
  await compareReferrals(model, { wallet, fetch });
}

interface OwnQuestLine {
  readonly id: string;
  readonly windowKey: string;
  readonly met: boolean;
  readonly task: boolean;
  readonly completed: boolean;
  readonly pointsAwarded: number | null;
}

async function compareQuests(model: Model, { wallet, fetch }: Pick<Player, 'wallet' | 'fetch'>): Promise<void> {
  const entries = await readAll<Record<string, unknown>>(fetch, '/ledger/quests', 10);
  const found = entries.map(({ questId, window, points, reason, mode }) => ({ cause: `${questId}:${window}`, points, reason, mode }));
  const rows = model.rows.filter((row) => row.wallet === wallet && row.kind === 'quest');
  expect(byText(found)).toEqual(
    byText(rows.map(({ cause, points, reason, mode }) => ({ cause: cause.split(':').slice(0, 2).join(':'), points, reason, mode }))),
  );
  const quests = await readAll<OwnQuestLine>(fetch, '/me/quests');
  const tasks = await call<OwnQuestLine[]>(fetch, '/api/tasks/daily');
  expect(tasks).toEqual(quests.filter(({ task }) => task));
  for (const { id, windowKey, met, task, completed, pointsAwarded } of quests) {
    const [mode, cause] = [model.modeOf(wallet), `${id}:${windowKey}`];
    const given = model.isVoid(wallet, mode, cause) ? undefined : model.completion(wallet, mode, cause);
    expect({ wallet, id, windowKey, completed, pointsAwarded }).toEqual({
      wallet,
      id,
      windowKey,
      completed: given !== undefined,
      pointsAwarded: given ?? null,
    });
    // After the jobs ran, every quest whose requirement is met is completed.
    if (met && !task) expect({ wallet, id, completed }).toEqual({ wallet, id, completed: true });
  }
}

async function compareReferrals({ referrals, today }: Model, { wallet, fetch }: Pick<Player, 'wallet' | 'fetch'>): Promise<void> {
  const bound = referrals.of(wallet);
  const pointsOf = (mode: Mode, referred?: string) =>
    sum(referrals.rows((row) => row.wallet === wallet && row.mode === mode && (referred === undefined || row.referred === referred)));
  const counts = { bound: bound.length, verified: bound.filter(([, { verified }]) => verified).length };
  const active = bound.filter((one) => one[1].active).length;
  expect(await call(fetch, '/api/referral/summary')).toEqual({
    ...{ referralCount: counts.bound, verifiedReferrals: counts.verified, activeReferrals: active },
    ...{ pointsEarned: pointsOf('regular'), betaPointsEarned: pointsOf('beta'), referredBy: referrals.bindings.get(wallet)?.referrer ?? null },
  });
  const byDay = Array.from({ length: 30 }, (_, i) => {
    const rows = referrals.rows((row) => row.wallet === wallet && row.mode === 'regular' && row.day === today - 29 + i);
    return { day: dayText(today - 29 + i), points: sum(rows) };
  });
  expect(await call(fetch, '/api/referral/stats')).toMatchObject({
    links: [{ bindings: counts.bound, verified: counts.verified }],
    conversion: counts,
    active: { last30Days: active },
    earnings: { points: pointsOf('regular'), betaPoints: pointsOf('beta'), byDay },
    today: { used: referrals.used(wallet) },
  });
  const referred = await readAll<{ wallet: string; verifiedAt: string | null; active: boolean; points: number }>(fetch, '/api/referral/referred');
  const found = referred.map((one) => ({ wallet: one.wallet, verified: one.verifiedAt !== null, active: one.active, points: one.points }));
  const expected = bound.map(([one, state]) => ({ wallet: one, verified: state.verified, active: state.active, points: pointsOf('regular', one) }));
  expect(found).toEqual(expected.reverse());
}

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RankedLine } from '#areas/points';
import { ReferralLinkView, ReferralSummary } from '#areas/referrals/schemas.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { asAdmin } from '#test/support/areas/epochs.ts';
import { patientPlayer, retryUntilPass } from '#test/support/areas/player.ts';
import { registerGames, VERIFIED } from '#test/support/areas/referrals.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { contradictions } from '#test/support/invariants.ts';
import { signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp();
  await registerGames(t);
});
afterAll(() => t.close());

test('workers add the share of a referred wallet’s score to the referral leaderboard, and a void removes it', async () => {
  const me = await signIn(t);
  const friend = await patientPlayer([t.url]);
  const { code } = await jsonOf(me.fetch('/api/referral/link'), ReferralLinkView);
  expect((await friend.request('/api/referral/bind', { json: { code } })).status).toBe(201);
  const { scoreId } = await friend.score(VERIFIED, 2_000);
  await friend.score(VERIFIED, 1_000);
  const earned = async () => (await jsonOf(me.fetch('/api/referral/summary'), ReferralSummary)).pointsEarned;
  const listed = async () =>
    ((await (await fetch(`${t.url}/game/referral/leaderboard?period=day`)).json()) as RankedLine[]).map(({ wallet, score }) => [wallet, score]);
  await retryUntilPass(async () => expect([await earned(), await listed()]).toEqual([30, [[me.wallet, 30]]]));
  expect((await asAdmin(t, `/admin/scores/${scoreId}/void`, { json: { reason: 'a test' } })).status).toBe(200);
  await retryUntilPass(async () => expect([await earned(), await listed()]).toEqual([10, [[me.wallet, 10]]]));
  const places = { databaseUrl: t.env.DATABASE_URL ?? '', redisUrl: t.env.REDIS_URL ?? '', redisPrefix: t.env.REDIS_PREFIX ?? '' };
  await retryUntilPass(async () => expect(await contradictions(places)).toEqual([]));
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Ranked } from '#areas/points';
import { ReferralLinkView, ReferralSummary } from '#areas/referrals/schemas.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { asAdmin } from '#test/support/areas/epochs.ts';
import { eventually, patientPlayer } from '#test/support/areas/player.ts';
import { registerGames, VERIFIED } from '#test/support/areas/referrals.ts';
import { bodyOf } from '#test/support/http/json.ts';
import { contradictions } from '#test/support/invariants.ts';
import { signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp();
  await registerGames(t);
});
afterAll(() => t.close());

test('a friend’s scores reach the referrer and the leaderboard by themselves, and leave again with a void', async () => {
  const me = await signIn(t);
  const friend = await patientPlayer([t.url]);
  const { code } = await bodyOf(me.fetch('/api/referral/link'), ReferralLinkView);
  expect((await friend.ask('/api/referral/bind', { json: { code } })).status).toBe(201);
  const { scoreId } = await friend.score(VERIFIED, 2_000);
  await friend.score(VERIFIED, 1_000);
  const earned = async () => (await bodyOf(me.fetch('/api/referral/summary'), ReferralSummary)).pointsEarned;
  const listed = async () =>
    ((await (await fetch(`${t.url}/game/referral/leaderboard?period=day`)).json()) as Ranked[]).map(({ wallet, score }) => [wallet, score]);
  await eventually(async () => expect([await earned(), await listed()]).toEqual([30, [[me.wallet, 30]]]));
  expect((await asAdmin(t, `/admin/scores/${scoreId}/void`, { json: { reason: 'a test' } })).status).toBe(200);
  await eventually(async () => expect([await earned(), await listed()]).toEqual([10, [[me.wallet, 10]]]));
  const places = { databaseUrl: t.env.DATABASE_URL ?? '', redisUrl: t.env.REDIS_URL ?? '', redisPrefix: t.env.REDIS_PREFIX ?? '' };
  await eventually(async () => expect(await contradictions(places)).toEqual([]));
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { routes as routesByCaller } from '#areas/index.ts';
import { SCOPES, type Scope } from '#config';
import { operationId } from '#platform/http/openapi/document.ts';
import type { AnyRoute } from '#platform/http/route.ts';
import { ADMIN_TOKEN } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { randomWallet } from '#test/support/areas/epochs.ts';
import { linkX, request, type SocialTest, start, startSocialTest, verify } from '#test/support/areas/social.ts';
import { showRound } from '#test/support/areas/social-rounds.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

/** Access tests: the objects of one wallet with the session of another wallet. */

const GAME = 'access-game';
const scoped = Object.fromEntries(SCOPES.map((scope) => [scope, `access-${scope}-token-0123456789`])) as Record<Scope, string>;
const routes: readonly AnyRoute[] = Object.values(routesByCaller).flat();

let t: SocialTest;
let owner: SignedIn;
let other: SignedIn;
beforeAll(async () => {
  t = await startSocialTest({
    env: {
      ADMIN_TOKENS: [ADMIN_TOKEN, ...SCOPES.map((scope) => `only-${scope}:${scope}:${scoped[scope]}`)].join(),
      REWARD_MINT: randomWallet(),
    },
  });
  await registerGame(t.url, ADMIN_TOKEN, GAME);
  [owner, other] = await Promise.all([signIn(t), signIn(t)]);
});
afterAll(() => t.close());

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** Attempts to use an object of another wallet, by the route whose path names the object. */
const ATTEMPTS: Readonly<Record<string, () => Promise<void>>> = {
  postGameByIdPlay: async () => {
    const play = async (who: SignedIn) =>
      (await request<{ playId: string }>(who, `/game/${GAME}/play`, { method: 'POST', headers: { 'Idempotency-Key': 'same-key' } })).body;
    const [first, second, again] = [await play(owner), await play(other), await play(owner)];
    expect(second.playId).not.toBe(first.playId);
    expect(again.playId).toBe(first.playId);
  },
  getGameByIdState: async () => {
    await owner.fetch(`/game/${GAME}/state`, { method: 'PUT', json: { secret: 1 } });
    expect((await request(other, `/game/${GAME}/state`)).body).toMatchObject({ state: null, version: 0 });
  },
  putGameByIdState: async () => {
    await owner.fetch(`/game/${GAME}/state`, { method: 'PUT', json: { mine: true } });
    await other.fetch(`/game/${GAME}/state`, { method: 'PUT', json: { mine: false } });
    expect((await request(owner, `/game/${GAME}/state`)).body).toMatchObject({ state: { mine: true } });
  },
  postGameByIdRecord: async () => {
    const record = (who: SignedIn) => request<{ sequence: number; previousHash: string }>(who, `/game/${GAME}/record`, { json: {} });
    await record(owner);
    expect((await record(other)).body).toMatchObject({ sequence: 1, previousHash: '0'.repeat(64) });
  },
  getGameByIdRank: async () => {
    expect((await request(other, `/game/${GAME}/rank?wallet=${owner.wallet}`)).body).toMatchObject({ rank: null });
  },
  getGameByIdRecords: async () => {
    await request(owner, `/game/${GAME}/record`, { json: { secret: 1 } });
    const { body } = await request<{ record: unknown }[]>(other, `/game/${GAME}/records?wallet=${owner.wallet}`);
    expect(body.map(({ record }) => record)).not.toContainEqual({ secret: 1 });
  },
  deleteMeSessionsById: async () => {
    const { body } = await request<{ id: string }[]>(owner, '/me/sessions');
    expect(body).not.toEqual([]);
    for (const { id } of body) expect((await request(other, `/me/sessions/${id}`, { method: 'DELETE' })).status).toBe(404);
    expect((await request(owner, '/me')).status).toBe(200);
  },
  postEventsBurnByIdTransaction: async () => {
    const event = await request<{ id: string }>(owner, '/events/burn', { json: { title: 'Owned', durationSec: 3_600 } });
    const burn = { amount: '1', source: 'page', wallet: owner.wallet };
    expect((await request(other, `/events/burn/${event.body.id}/transaction`, { json: burn })).status).toBe(400);
  },
  postRoundByIdTicket: async () => {
    // legacy-tickets.test.ts compares payer and ticket holder on a chain.
    const id = await showRound(t.app, { kind: 'legacy', state: 'active', ticketPrice: '1' });
    expect((await request(other, `/round/${id}/ticket`, { json: {} })).status).toBe(400);
  },
  postRoundByIdFinalize: async () => {
    const closesAt = new Date(Date.now() + 3_600_000).toISOString();
    const id = await showRound(t.app, { kind: 'legacy', state: 'active', createdBy: owner.wallet, closesAt });
    expect((await request(other, `/round/${id}/finalize`, { method: 'POST' })).status).toBe(403);
  },
  postBattleByIdJoin: async () => {
    const battle = await request<{ id: string }>(owner, '/battle/create', { json: { gameId: GAME, maxPlayers: 3 } });
    const joined = await request<{ participants: { wallet: string }[] }>(other, `/battle/${battle.body.id}/join`, { json: {} });
    expect(joined.body.participants.map(({ wallet }) => wallet).sort()).toEqual([owner.wallet, other.wallet].sort());
    // A wallet cannot join in the name of another wallet.
    expect((await request(other, `/battle/${battle.body.id}/join`, { json: { wallet: randomWallet() } })).status).toBe(400);
  },
  postBattleByIdStart: async () => {
    const battle = await request<{ id: string }>(owner, '/battle/create', { json: { gameId: GAME, maxPlayers: 3 } });
    await request(other, `/battle/${battle.body.id}/join`, { json: {} });
    expect((await request(other, `/battle/${battle.body.id}/start`, { json: {} })).status).toBe(403);
  },
  postEventsBurnByIdActivate: async () => {
    const event = await request<{ id: string }>(owner, '/events/burn', { json: { title: 'Mine', durationSec: 3_600 } });
    expect(event.status).toBe(201);
    expect((await request(other, `/events/burn/${event.body.id}/activate`, { json: {} })).status).toBe(403);
    for (const scope of ['money', 'rounds', 'moderation'] as const) {
      const answer = await send(t, `/events/burn/${event.body.id}/activate`, { method: 'POST', headers: bearer(scoped[scope]) });
      expect(answer.status).toBe(403);
    }
  },
  getEventsBurnByIdRank: async () => {
    const event = await request<{ id: string }>(owner, '/events/burn', { json: { title: 'Another', durationSec: 3_600 } });
    expect((await request(other, `/events/burn/${event.body.id}/rank?wallet=${owner.wallet}`)).body).toMatchObject({ rank: null });
  },
  deleteAuthSocialLinkByPlatform: async () => {
    expect((await linkX(t, owner, t.x.user())).status).toBe(200);
    expect((await request(other, '/auth/social/link/x', { method: 'DELETE' })).status).toBe(404);
    const { state } = await start(owner);
    expect((await verify(other, { platform: 'x', code: 'a-code-of-x', state })).status).toBe(400);
    expect((await request(owner, '/auth/social/link/x', { method: 'DELETE' })).status).toBe(204);
  },
};

const named = routes.filter(({ auth, path }) => path.includes('{') && (auth === 'session' || (typeof auth === 'object' && 'sessionOrAdmin' in auth)));

test('every session route with an id in its path has a test with another wallet', () => {
  expect(Object.keys(ATTEMPTS).sort()).toEqual(named.map(operationId).sort());
});

test.each(Object.keys(ATTEMPTS))('%s does not give access to an object of another wallet', async (name) => {
  await ATTEMPTS[name]?.();
});

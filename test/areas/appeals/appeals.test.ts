import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { playAndScore, registerGame, requestAsAdmin, TEST_GAME } from '#test/support/areas/arcade.ts';
import { sendMessage } from '#test/support/areas/chat.ts';
import { createWallet, type SignedIn, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp();
  await registerGame(t.url, ADMIN_TOKEN, 'strict-game', { ...TEST_GAME, caps: { ...TEST_GAME.caps, scorePerSec: 100 } });
});
afterAll(() => t.close());

interface Body {
  error?: string;
  appealId: string;
}
const appeal = async (player: SignedIn, json: unknown) => {
  const response = await player.fetch('/me/appeals', { json });
  return { status: response.status, body: (await response.json()) as Body };
};
const decide = async (id: string, json: Record<string, unknown>) => {
  const response = await requestAsAdmin(t, `/admin/appeals/${id}/decision`, json);
  return { status: response.status, body: (await response.json()) as Body };
};
async function heldScore(player: SignedIn, score = 8_000): Promise<string> {
  return String((await playAndScore(player, 'strict-game', score)).body.scoreId);
}

describe('an appeal about a score', () => {
  test('is shown beside the score, is answered once, and the wallet reads the answer', async () => {
    const player = await signIn(t);
    const id = await heldScore(player);
    const sent = await appeal(player, { kind: 'score', id, text: 'I practised.' });
    expect(sent).toMatchObject({ status: 201, body: { kind: 'score', caseId: id, status: 'open', answer: null, text: 'I practised.' } });
    const listed = (await (await requestAsAdmin(t, `/admin/scores?wallet=${player.wallet}`)).json()) as unknown[];
    expect(listed).toMatchObject([{ scoreId: id, appeal: { appealId: sent.body.appealId, text: 'I practised.', status: 'open' } }]);
    expect(await (await requestAsAdmin(t, `/admin/appeals?wallet=${player.wallet}`)).json()).toMatchObject([{ wallet: player.wallet, caseId: id }]);

    const json = { decision: 'grant', answer: 'We saw the replay.' };
    for (const _time of ['first', 'again']) expect((await decide(sent.body.appealId, json)).status).toBe(200);
    expect((await decide(sent.body.appealId, { decision: 'refuse', answer: 'no' })).status).toBe(409);
    const own = await player.fetch('/me/appeals');
    expect(own.headers.get('X-Total-Count')).toBe('1');
    expect(await own.json()).toMatchObject([{ status: 'granted', answer: 'We saw the replay.', decidedAt: expect.stringContaining('T') }]);
  });

  test('is accepted once per decision, also of concurrent requests', async () => {
    const player = await signIn(t);
    const id = await heldScore(player);
    const answers = await Promise.all(Array.from({ length: 5 }, () => appeal(player, { kind: 'score', id, text: 'please' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
    await requestAsAdmin(t, `/admin/scores/${id}/decision`, { decision: 'reject', reason: 'modified client' });
    expect((await appeal(player, { kind: 'score', id, text: 'my client is not modified' })).status).toBe(201);
    expect((await appeal(player, { kind: 'score', id, text: 'again' })).status).toBe(409);
  });

  test('needs a score of the caller that is not accepted', async () => {
    const [player, other] = [await signIn(t), await signIn(t)];
    const id = await heldScore(other);
    for (const one of [id, randomUUID()]) {
      const { status, body } = await appeal(player, { kind: 'score', id: one, text: 'please' });
      expect([status, body.error]).toEqual([404, 'there is no such decision about this wallet']);
    }
    const accepted = await heldScore(player, 5_000);
    await requestAsAdmin(t, `/admin/scores/${accepted}/decision`, { decision: 'accept' });
    expect((await appeal(player, { kind: 'score', id: accepted, text: 'please' })).status).toBe(404);
  });
});

test('a banned wallet reads the reason of its ban, appeals against it, and signs in without limits after the ban', async () => {
  const wallet = createWallet();
  const before = await signIn(t, wallet);
  expect((await appeal(before, { kind: 'ban', text: 'why' })).status).toBe(404);
  await requestAsAdmin(t, `/admin/wallets/${wallet.address}/ban`, { reason: 'a bot plays' });
  expect((await before.fetch('/me')).status).toBe(401);
  const banned = await signIn(t, wallet);
  expect(await (await banned.fetch('/api/profile')).json()).toMatchObject({ sanctions: [{ type: 'ban', reason: 'a bot plays', until: null }] });
  expect((await appeal(banned, { kind: 'ban', text: 'I am no bot' })).status).toBe(201);
  expect((await appeal(banned, { kind: 'ban', text: 'I am no bot' })).status).toBe(409);
  await requestAsAdmin(t, `/admin/wallets/${wallet.address}/unban`, {});
  expect((await banned.fetch('/me')).status).toBe(401);
  const after = await signIn(t, wallet);
  expect((await sendMessage(after, 'hello again')).status).toBe(201);
});

test('an appeal about chat answers a deleted message or a mute', async () => {
  const player = await signIn(t);
  const { body: said } = await sendMessage(player, 'buy gold');
  expect((await appeal(player, { kind: 'chat', id: said.messageId, text: 'a joke' })).status).toBe(404);
  await requestAsAdmin(t, '/admin/chat/moderate', { action: 'delete', messageId: said.messageId, reason: 'advertising' });
  await requestAsAdmin(t, '/admin/chat/moderate', { action: 'mute', wallet: player.wallet, minutes: 60, reason: 'advertising' });
  expect((await appeal(player, { kind: 'chat', id: said.messageId, text: 'a joke' })).status).toBe(201);
  expect((await appeal(player, { kind: 'chat', text: 'I will stop' })).status).toBe(201);
  expect(await (await player.fetch('/api/profile')).json()).toMatchObject({ sanctions: [{ type: 'chat-mute', reason: 'advertising' }] });
});

test('the id must fit the kind', async () => {
  const player = await signIn(t);
  for (const json of [
    { kind: 'ban', id: randomUUID(), text: 'please' },
    { kind: 'score', text: 'please' },
    { kind: 'clip', text: 'please' },
    { kind: 'nothing', text: 'please' },
    { kind: 'ban', text: '' },
    { kind: 'ban', text: 'x'.repeat(1_001) },
  ]) {
    expect((await appeal(player, json)).status).toBe(400);
  }
  expect((await decide(randomUUID(), { decision: 'grant', answer: 'yes' })).status).toBe(404);
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openRound as openChatRound, sendMessage } from '#test/support/areas/chat.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { openRound, randomSignature } from '#test/support/areas/tickets.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest();
});
afterAll(() => t.close());

async function entries(by: SignedIn, query = ''): Promise<{ total: string | null; rows: Record<string, unknown>[] }> {
  const response = await by.fetch(`/me/entries${query}`);
  expect(response.status).toBe(200);
  return { total: response.headers.get('X-Total-Count'), rows: (await response.json()) as Record<string, unknown>[] };
}

test('GET /me/entries lists chat entries and tickets of the caller in pages, newest first, each once', async () => {
  const [player, stranger] = [await signIn(t), await signIn(t)];
  expect(await entries(player)).toEqual({ total: '0', rows: [] });
  const free = await openRound(t, player, { ticketPrice: '0' });
  for (const by of [stranger, player]) expect((await by.fetch(`/round/${free.id}/ticket`, { json: {} })).status).toBe(201);
  const chat = await openChatRound(t);
  await sendMessage(player, '!enter 3 7 12 30 41');
  const paid = await openRound(t, player, { ticketPrice: '5' });
  const asked = await player.fetch(`/round/${paid.id}/ticket`, { json: { transaction: randomSignature() }, headers: { Prefer: 'respond-async' } });
  expect(asked.status).toBe(202);
  const { total, rows } = await entries(player);
  expect(total).toBe('3');
  expect(rows).toMatchObject([
    { kind: 'legacy', roundId: paid.id, roundStatus: 'active', status: 'checking', index: null, numbers: [] },
    { kind: 'chat', roundId: chat, roundStatus: 'active', status: 'confirmed', index: 0, numbers: [3, 7, 12, 30, 41], reason: null, prize: null },
    { kind: 'legacy', roundId: free.id, status: 'confirmed', index: 1, numbers: [] },
  ]);
  expect(await entries(player, '?limit=1&offset=1')).toEqual({ total: '3', rows: [rows[1]] });
  expect(await entries(player, '?offset=3')).toEqual({ total: '3', rows: [] });
  expect((await entries(stranger)).total).toBe('1');
  expect((await fetch(`${t.url}/me/entries`)).status).toBe(401);
});

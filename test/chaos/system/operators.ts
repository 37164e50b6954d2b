import { setTimeout as sleep } from 'node:timers/promises';
import { SYSTEM_ADMIN_TOKEN } from '#dev/stack/system.ts';
import { TEST_GAME } from '#test/support/areas/arcade.ts';
import type { JsonInit } from '#test/support/wallet.ts';
import { type Answer, type Client, newKey } from './client.ts';
import { GAME, type Scene, TASK, TICKET_PRICE, unlessGivenUp } from './players.ts';
import type { Random } from './random.ts';

const PRIZES = ['5000000', '3000000', '2000000'];

/** Asks as an operator. */
export function administer<T>(client: Client, path: string, { headers, ...init }: JsonInit = {}): Promise<Answer<T>> {
  const all = new Headers(headers);
  all.set('Authorization', `Bearer ${SYSTEM_ADMIN_TOKEN}`);
  return client.ask<T>(path, { ...init, headers: all });
}

/** What there is to play. @throws where it cannot be had: nothing has gone wrong yet */
export async function setUp(client: Client): Promise<void> {
  const wanted: [string, JsonInit][] = [
    [`/admin/games/${GAME}`, { method: 'PUT', json: TEST_GAME }],
    [
      '/quests',
      { json: { id: TASK, title: 'A play', requirement: { type: 'plays', count: 1, gameId: GAME }, points: 10, repeat: 'daily', task: true } },
    ],
    ['/quests', { json: { id: 'chaos-quest', title: 'Three plays', requirement: { type: 'plays', count: 3, gameId: GAME }, points: 50 } }],
  ];
  for (const [path, init] of wanted) {
    const { status, body } = await administer(client, path, init);
    if (status >= 300) throw new Error(`${path} answered ${status} ${JSON.stringify(body)}`);
  }
}

/** Rounds of chat, one after the other. */
export async function holdRounds(client: Client, scene: Scene, random: Random): Promise<void> {
  while (!scene.over) {
    await unlessGivenUp(() => holdRound(client, scene, random));
    await sleep(500);
  }
}

async function holdRound(client: Client, scene: Scene, random: Random): Promise<void> {
  const terms = { title: 'Through fire', range: 8, durationSec: random.between(3, 5), prizes: PRIZES.map((amount) => ({ amount, mint: 'usdc' })) };
  const made = await administer<{ id: string }>(client, '/chat/round', { json: terms, headers: newKey() });
  if (made.status !== 201) return client.complain('/chat/round', made);
  const path = `/chat/round/${made.body.id}/start`;
  while (!scene.over) {
    const started = await administer(client, path, { method: 'POST', headers: newKey() });
    if (started.status === 200) {
      scene.ledger.confirmed.rounds.push(made.body.id);
      await sleep(terms.durationSec * 1_000);
      return;
    }
    // The one before is still on.
    if (started.status !== 409) return client.complain(path, started);
    await sleep(300);
  }
}

/** Legacy rounds that sell tickets, one after the other. */
export async function sellTickets(client: Client, scene: Scene, random: Random): Promise<void> {
  while (!scene.over) {
    await unlessGivenUp(async () => {
      const ms = random.between(5_000, 9_000);
      const terms = { ticketPrice: String(TICKET_PRICE), closesAt: new Date(Date.now() + ms).toISOString() };
      const opened = await client.ask<{ id: string }>('/round', { json: terms, headers: newKey() });
      // 400: it took so long to be asked that it would be closed. 409: five that were asked for are open.
      if (opened.status === 400 || opened.status === 409) return;
      if (opened.status !== 201) return client.complain('/round', opened);
      scene.ledger.confirmed.legacyRounds.push(opened.body.id);
      scene.legacyRound = opened.body.id;
      await sleep(ms);
      scene.legacyRound = null;
    });
    await sleep(300);
  }
}

/** Brings rewards, of one day after the other, and says when they can be claimed. */
export async function giveRewards(client: Client, wallets: readonly string[], scene: Scene, random: Random): Promise<void> {
  let epoch = Math.floor(Date.now() / 86_400_000);
  while (!scene.over) {
    epoch--;
    await unlessGivenUp(async () => {
      const distribution = wallets.map((wallet) => ({ wallet, amount: String(random.between(2_000_000, 50_000_000)) }));
      const path = '/api/rewards/epoch/import';
      const answer = await administer(client, path, { json: { epoch, distribution }, headers: newKey() });
      if (answer.status >= 300) return client.complain(path, answer);
      scene.ledger.confirmed.epochs.push({ epoch, total: distribution.reduce((sum, { amount }) => sum + BigInt(amount), 0n) });
      while (!scene.over) {
        const shown = await client.ask<{ status: string }>(`/api/rewards/epoch/${epoch}`);
        if (shown.body.status === 'committed') {
          scene.claimable.add(epoch);
          break;
        }
        await sleep(200);
      }
    });
    await sleep(random.between(2_000, 5_000));
  }
}

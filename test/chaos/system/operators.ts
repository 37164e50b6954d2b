import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { SYSTEM_ADMIN_TOKEN } from '#dev/stack/system.ts';
import { MODULE_PATH } from '#games/block-cascade/build.ts';
import { TEST_GAME } from '#test/support/areas/arcade.ts';
import type { JsonInit } from '#test/support/wallet.ts';
import { type Client, type ClientResponse, newKey } from './client.ts';
import { GAME, ignoreAbandoned, type LoadContext, OPEN_GAME, REPLAYED_GAME, TASK, TICKET_PRICE } from './players.ts';
import type { Random } from './random.ts';

const PRIZES = ['5000000', '3000000', '2000000'];

/** Sends a request with the admin token. */
export function adminRequest<T>(client: Client, path: string, { headers, ...init }: JsonInit = {}): Promise<ClientResponse<T>> {
  const all = new Headers(headers);
  all.set('Authorization', `Bearer ${SYSTEM_ADMIN_TOKEN}`);
  return client.request<T>(path, { ...init, headers: all });
}

/** Creates the games and the quests. @throws on any error response, because no faults are active yet */
export async function createContent(client: Client): Promise<void> {
  const wanted: [string, JsonInit][] = [
    [`/admin/games/${GAME}`, { method: 'PUT', json: TEST_GAME }],
    [`/admin/games/${REPLAYED_GAME}`, { method: 'PUT', json: TEST_GAME }],
    [`/admin/games/${OPEN_GAME}`, { method: 'PUT', json: { ...TEST_GAME, verification: 'none' } }],
    [
      '/quests',
      { json: { id: TASK, title: 'A play', requirement: { type: 'plays', count: 1, gameId: GAME }, points: 10, repeat: 'daily', task: true } },
    ],
    ['/quests', { json: { id: 'chaos-quest', title: 'Three plays', requirement: { type: 'plays', count: 3, gameId: GAME }, points: 50 } }],
  ];
  for (const [path, init] of wanted) {
    const { status, body } = await adminRequest(client, path, init);
    if (status >= 300) throw new Error(`${path} returned ${status} ${JSON.stringify(body)}`);
  }
  await registerReplays(client);
}

/** Uploads the simulation of Block Cascade and sets it as the verification of the game. */
async function registerReplays(client: Client): Promise<void> {
  const path = `/admin/games/${REPLAYED_GAME}`;
  const uploaded = await adminRequest<{ hash: string }>(client, `${path}/simulation?ticksPerSecond=60&maxTicks=10800&instructionsPerTick=20000`, {
    ...{ method: 'PUT', headers: { 'Content-Type': 'application/wasm' }, body: await readFile(MODULE_PATH) },
  });
  const game = { ...TEST_GAME, verification: 'replay', simulation: uploaded.body.hash };
  const { status, body } = await adminRequest(client, path, { method: 'PUT', json: game });
  if (status >= 300) throw new Error(`${path} returned ${status} ${JSON.stringify(body)}`);
  // The other API processes read the changed game after at most one second. Until then they start plays without a seed.
  await sleep(1_500);
}

/** Runs chat rounds, one after the other, until the load ends. */
export async function runChatRounds(client: Client, load: LoadContext, random: Random): Promise<void> {
  while (!load.over) {
    await ignoreAbandoned(() => runChatRound(client, load, random));
    await sleep(500);
  }
}

async function runChatRound(client: Client, load: LoadContext, random: Random): Promise<void> {
  const terms = { title: 'Through fire', range: 8, durationSec: random.between(3, 5), prizes: PRIZES.map((amount) => ({ amount, mint: 'usdc' })) };
  const made = await adminRequest<{ id: string }>(client, '/chat/round', { json: terms, headers: newKey() });
  if (made.status !== 201) return client.reportViolation('/chat/round', made);
  const path = `/chat/round/${made.body.id}/start`;
  while (!load.over) {
    const started = await adminRequest(client, path, { method: 'POST', headers: newKey() });
    if (started.status === 200 || (started.status === 409 && (await hasStarted(client, made.body.id)))) {
      load.ledger.confirmed.rounds.push(made.body.id);
      await sleep(terms.durationSec * 1_000);
      return;
    }
    // 409: the previous round is still running.
    if (started.status !== 409) return client.reportViolation(path, started);
    await sleep(300);
  }
}

/** Returns whether a round was started by an earlier attempt whose response was lost. */
async function hasStarted(client: Client, id: string): Promise<boolean> {
  const { status, body } = await client.request<{ status: string }>(`/chat/round/${id}`);
  return status === 200 && body.status !== 'pending';
}

/** Runs legacy rounds that sell tickets, one after the other, until the load ends. */
export async function runTicketRounds(client: Client, load: LoadContext, random: Random): Promise<void> {
  while (!load.over) {
    await ignoreAbandoned(async () => {
      const ms = random.between(5_000, 9_000);
      const terms = { ticketPrice: String(TICKET_PRICE), closesAt: new Date(Date.now() + ms).toISOString() };
      const opened = await client.request<{ id: string }>('/round', { json: terms, headers: newKey() });
      // 400: `closesAt` has passed during the retries. 409: the wallet has too many rounds that are not drawn.
      if (opened.status === 400 || opened.status === 409) return;
      if (opened.status !== 201) return client.reportViolation('/round', opened);
      load.ledger.confirmed.legacyRounds.push(opened.body.id);
      load.legacyRound = opened.body.id;
      await sleep(ms);
      load.legacyRound = null;
    });
    await sleep(300);
  }
}

/** Imports epochs of past days, one after the other, and adds each to `claimable` once it is committed. */
export async function runEpochs(client: Client, wallets: readonly string[], load: LoadContext, random: Random): Promise<void> {
  let epoch = Math.floor(Date.now() / 86_400_000);
  while (!load.over) {
    epoch--;
    await ignoreAbandoned(async () => {
      const distribution = wallets.map((wallet) => ({ wallet, amount: String(random.between(2_000_000, 50_000_000)) }));
      const path = '/api/rewards/epoch/import';
      const answer = await adminRequest(client, path, { json: { epoch, distribution }, headers: newKey() });
      if (answer.status >= 300) return client.reportViolation(path, answer);
      load.ledger.confirmed.epochs.push({ epoch, total: distribution.reduce((sum, { amount }) => sum + BigInt(amount), 0n) });
      while (!load.over) {
        const shown = await client.request<{ status: string }>(`/api/rewards/epoch/${epoch}`);
        if (shown.body.status === 'committed') {
          load.claimable.add(epoch);
          break;
        }
        await sleep(200);
      }
    });
    await sleep(random.between(2_000, 5_000));
  }
}

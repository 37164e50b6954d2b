import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { form, mp4 } from '#test/support/areas/clips.ts';
import { standardHeaders } from '#test/support/http/webhook.ts';
import { Client, GaveUp, newKey } from './client.ts';
import type { Ledger } from './confirmed.ts';
import type { Random } from './random.ts';
import type { WalletChain } from './wallet-chain.ts';

/** The game that is played. */
export const GAME = 'chaos-game';
/** A daily task that one play completes. */
export const TASK = 'chaos-task';
/** A ticket of a legacy round, base units. */
export const TICKET_PRICE = 1_000n;

/** What is going on, as operators announce it. */
export interface Scene {
  readonly ledger: Ledger;
  readonly chain: WalletChain;
  readonly bridgeSecret: string;
  /** Epochs that can be claimed. */
  readonly claimable: Set<number>;
  /** The legacy round that sells tickets. */
  legacyRound: string | null;
  over: boolean;
}

/** Plays a game once. @returns the play, unless it was refused */
async function play(client: Client, { ledger }: Scene): Promise<string | null> {
  const path = `/game/${GAME}/play`;
  const begun = await client.ask<{ playId: string }>(path, { method: 'POST', headers: newKey() });
  if (begun.status !== 201) {
    client.complain(path, begun);
    return null;
  }
  ledger.confirmed.plays.push({ playId: begun.body.playId, wallet: client.wallet });
  return begun.body.playId;
}

/** Plays, and submits a score: the play names it, however often it is sent. */
async function score(client: Client, scene: Scene, random: Random, battleId: string | null = null): Promise<boolean> {
  const playId = await play(client, scene);
  if (playId === null) return false;
  const json = { gameId: GAME, score: random.between(0, 10_000), playId, ...(battleId === null ? {} : { battleId }) };
  const answer = await client.ask<{ scoreId: string; normalizedScore: number; pointsAwarded: number; status: string }>('/arcade/score', { json });
  if (answer.status !== 200) {
    // A battle may be over by then.
    if (battleId === null || answer.status >= 500) client.complain('/arcade/score', answer);
    return false;
  }
  const { scoreId, normalizedScore: normalized, pointsAwarded: points } = answer.body;
  scene.ledger.confirmed.scores.push({ scoreId, wallet: client.wallet, playId, normalized, points, battleId });
  return true;
}

async function chat(client: Client, { ledger }: Scene, random: Random): Promise<void> {
  const text = `message ${random.between(1, 1_000_000_000)}`;
  const answer = await client.ask<{ messageId: string }>('/chat/message', { json: { text }, headers: newKey() });
  if (answer.status !== 201) return client.complain('/chat/message', answer);
  ledger.confirmed.messages.push({ messageId: answer.body.messageId, wallet: client.wallet, text });
}

interface EntryAnswer {
  readonly messageId: string;
  readonly entry: {
    readonly id: string;
    readonly sequence: number;
    readonly receipt: { readonly body: { readonly round: string; readonly leaf: string } };
  };
}

/** Enters the round that is on; where there is none, or the wallet is in it, that is said. */
async function enter(client: Client, { ledger }: Scene): Promise<void> {
  const answer = await client.ask<EntryAnswer>('/chat/message', { json: { text: '!enter' }, headers: newKey() });
  if (answer.status === 409) return;
  if (answer.status !== 201) return client.complain('/chat/message', answer);
  const { messageId, entry } = answer.body;
  ledger.confirmed.messages.push({ messageId, wallet: client.wallet, text: '!enter' });
  const { round, leaf } = entry.receipt.body;
  ledger.confirmed.entries.push({ id: entry.id, wallet: client.wallet, round, sequence: entry.sequence, leaf });
}

/** Asks for every reward that can be claimed. */
async function claim(client: Client, scene: Scene): Promise<void> {
  const { claims } = scene.ledger.confirmed;
  for (const epoch of scene.claimable) {
    if (claims.some((known) => known.epoch === epoch && known.wallet === client.wallet)) continue;
    const proof = await client.ask<{ proof: string[] }>(`/api/rewards/epoch/${epoch}/proof/${client.wallet}`);
    if (proof.status === 404) continue;
    const json = { epoch, proof: proof.body.proof };
    const answer = await client.ask<{ claimId: string }>('/api/rewards/claim', { json, headers: { ...newKey(), Prefer: 'wait=2' } });
    if (answer.status === 200 || answer.status === 202) claims.push({ claimId: answer.body.claimId, wallet: client.wallet, epoch });
    else client.complain('/api/rewards/claim', answer);
  }
}

/** Pays for a ticket of the legacy round, and asks for it. */
async function ticket(client: Client, scene: Scene): Promise<void> {
  const { confirmed } = scene.ledger;
  const round = scene.legacyRound;
  if (round === null || !confirmed.purses.has(client.wallet)) return;
  const note = (signature: string) => void confirmed.payments.push({ wallet: client.wallet, signature, amount: TICKET_PRICE });
  const signature = await scene.chain.pay(client.key, TICKET_PRICE, round, note, () => scene.over);
  if (signature === null) return;
  const headers = { ...newKey(), Prefer: 'wait=2' };
  const answer = await client.ask<{ ticketId: string }>(`/round/${round}/ticket`, { json: { transaction: signature }, headers });
  if (answer.status === 409) return;
  if (answer.status !== 201 && answer.status !== 202) return client.complain('/round/{id}/ticket', answer);
  confirmed.tickets.push({ ticketId: answer.body.ticketId, round, wallet: client.wallet, signature, final: answer.status === 201 });
}

/** Delivers a message of another chat, as its bridge does. */
async function deliver(client: Client, { ledger, bridgeSecret }: Scene): Promise<void> {
  const [id, messageId] = [crypto.randomUUID(), crypto.randomUUID()];
  const body = JSON.stringify({
    platform: 'twitch',
    messageId,
    author: { id: client.wallet, handle: 'ada' },
    text: 'hello from elsewhere',
    at: new Date().toISOString(),
  });
  const headers = { 'Content-Type': 'application/json', ...standardHeaders(bridgeSecret, id, Math.floor(Date.now() / 1_000), body) };
  const answer = await client.ask('/integrations/chat/messages', { method: 'POST', headers, body });
  if (answer.status !== 200) return client.complain('/integrations/chat/messages', answer);
  ledger.confirmed.deliveries.push({ id, messageId });
}

async function task(client: Client, { ledger }: Scene): Promise<void> {
  const { tasks } = ledger.confirmed;
  if (tasks.some(({ wallet }) => wallet === client.wallet)) return;
  const path = '/api/tasks/daily/complete';
  const answer = await client.ask<{ pointsAwarded: number }>(path, { json: { taskId: TASK }, headers: newKey() });
  // 400: nothing was played, or it is not counted yet.
  if (answer.status === 200) tasks.push({ wallet: client.wallet, taskId: TASK, points: answer.body.pointsAwarded });
  else if (answer.status !== 400) client.complain(path, answer);
}

async function clip(client: Client, { ledger }: Scene, random: Random): Promise<void> {
  const file = mp4(random.between(500, 20_000), random.fraction());
  const headers = newKey();
  const body = form([
    ['gameId', GAME],
    ['title', 'A clip'],
    ['file', file],
  ]);
  const answer = await client.ask<{ id: string }>('/clip/upload', { method: 'POST', body, headers });
  // 50 a day.
  if (answer.status === 429) return;
  if (answer.status !== 201) return client.complain('/clip/upload', answer);
  ledger.confirmed.clips.push({ id: answer.body.id, wallet: client.wallet, sha256: createHash('sha256').update(file).digest('hex') });
}

/** Signs in once more, and perhaps out again. */
async function visit(client: Client, { ledger }: Scene, random: Random): Promise<void> {
  const visitor = new Client(client.urls, ledger, client.key);
  await visitor.signIn();
  if (random.fraction() < 0.5) return;
  const { cookie } = visitor;
  const answer = await visitor.ask('/auth/logout', { method: 'POST' });
  // 401: an answer got lost, and it was done.
  const { sessions, signedOut } = ledger.confirmed;
  sessions.splice(
    sessions.findIndex((session) => session.cookie === cookie),
    1,
  );
  if (answer.status === 200 || answer.status === 401) signedOut.push({ wallet: client.wallet, cookie });
  else client.complain('/auth/logout', answer);
}

type Deed = (client: Client, scene: Scene, random: Random) => Promise<unknown>;

const DEEDS: readonly (readonly [times: number, deed: Deed])[] = [
  [8, score],
  [3, chat],
  [3, enter],
  [2, claim],
  [2, ticket],
  [2, deliver],
  [1, task],
  [1, clip],
  [1, visit],
];
const DECK = DEEDS.flatMap(([times, deed]) => Array.from({ length: times }, () => deed));
/** What a wallet may do in any number at once. */
const BESIDES: readonly Deed[] = [score, score, chat, deliver];
/** So that whatever is killed has requests in hand. */
const AT_ONCE = 8;

/** A player who does what there is to do, several things at once, until it is over. */
export async function playOn(client: Client, scene: Scene, random: Random): Promise<void> {
  const keepDoing = async (deck: readonly Deed[], wishes: Random) => {
    while (!scene.over) {
      await unlessGivenUp(() => wishes.pick(deck)(client, scene, wishes));
      await sleep(wishes.between(20, 150));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => keepDoing(i === 0 ? DECK : BESIDES, random.fork(`lane ${i}`))));
}

/** Two wallets that do battle again and again: each submits one score. */
export async function doBattle(pair: readonly [Client, Client], scene: Scene, random: Random): Promise<void> {
  const [creator, other] = pair;
  const { battles } = scene.ledger.confirmed;
  while (!scene.over) {
    await unlessGivenUp(async () => {
      const terms = { gameId: GAME, maxPlayers: 2, durationSec: 60 };
      const made = await creator.ask<{ id: string }>('/battle/create', { json: terms, headers: newKey() });
      // Five that were created wait for their end: some were never joined.
      if (made.status === 409) return;
      if (made.status !== 201) return creator.complain('/battle/create', made);
      const { id } = made.body;
      const joined = await other.ask(`/battle/${id}/join`, { method: 'POST' });
      if (joined.status !== 200) return other.complain('/battle/{id}/join', joined);
      battles.push({ battleId: id, wallets: pair.map(({ wallet }) => wallet) });
      await Promise.all(pair.map((client) => score(client, scene, random, id)));
    });
    await sleep(random.between(500, 1_500));
  }
}

/** Who gives up has complained, and goes on with something else. */
export async function unlessGivenUp(work: () => Promise<unknown>): Promise<void> {
  await work().catch((error: unknown) => {
    if (!(error instanceof GaveUp)) throw error;
  });
}

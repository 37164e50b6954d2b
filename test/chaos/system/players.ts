import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { playAsBot } from '#games/block-cascade/bot.ts';
import { MODULE_PATH } from '#games/block-cascade/build.ts';
import { form, mp4 } from '#test/support/areas/clips.ts';
import { standardHeaders } from '#test/support/http/webhook.ts';
import { Client, newKey, RequestAbandoned } from './client.ts';
import type { RunRecord } from './confirmed.ts';
import type { Random } from './random.ts';
import type { WalletChain } from './wallet-chain.ts';

/** Id of the game that the players play. */
export const GAME = 'chaos-game';
/** Id of the game whose scores are verified by replay. Its simulation is Block Cascade. */
export const REPLAYED_GAME = 'chaos-cascade';
/** Id of the game that accepts scores without a play. Only the hostile caller plays it. */
export const OPEN_GAME = 'chaos-open';
/** A daily task that one play completes. */
export const TASK = 'chaos-task';
/** Price of a ticket of a legacy round, base units. */
export const TICKET_PRICE = 1_000n;

/** State that operators and players share during a run. */
export interface LoadContext {
  readonly ledger: RunRecord;
  readonly chain: WalletChain;
  readonly bridgeSecret: string;
  /** Epochs that can be claimed. */
  readonly claimable: Set<number>;
  /** Id of the open legacy round. */
  legacyRound: string | null;
  over: boolean;
}

interface Play {
  readonly playId: string;
  /** Hex; null in a game without replays. */
  readonly seed: string | null;
}

/** Starts a play. @returns null when it was refused */
async function play(client: Client, { ledger }: LoadContext, gameId: string): Promise<Play | null> {
  const path = `/game/${gameId}/play`;
  const begun = await client.request<Play>(path, { method: 'POST', headers: newKey() });
  if (begun.status !== 201) {
    client.reportViolation(path, begun);
    return null;
  }
  ledger.confirmed.plays.push({ playId: begun.body.playId, wallet: client.wallet });
  return begun.body;
}

/** Starts a play and submits its score. The play id makes retries idempotent. */
async function score(client: Client, load: LoadContext, random: Random, battleId: string | null = null): Promise<boolean> {
  const begun = await play(client, load, GAME);
  return begun !== null && (await submit(client, load, { gameId: GAME, score: random.between(0, 10_000), playId: begun.playId }, battleId));
}

const cascade = new WebAssembly.Module(new Uint8Array(readFileSync(MODULE_PATH)));

/** Plays Block Cascade for at most a second, which is less than the tolerance of the service, and submits the score with its replay. */
async function replayedScore(client: Client, load: LoadContext, random: Random): Promise<void> {
  const begun = await play(client, load, REPLAYED_GAME);
  if (begun === null) return;
  if (begun.seed === null) return void load.ledger.violations.push(`the play ${begun.playId} has no seed`);
  const { score, log } = playAsBot(cascade, Buffer.from(begun.seed, 'hex'), { random: () => random.fraction(), maxTicks: 60 });
  await submit(client, load, { gameId: REPLAYED_GAME, score, playId: begun.playId, replay: Buffer.from(log).toString('base64') }, null);
}

/** A score as it is submitted. */
interface NewScore {
  readonly gameId: string;
  readonly score: number;
  readonly playId: string;
  readonly replay?: string;
}

/** Submits a score. @returns whether it was accepted */
async function submit(client: Client, load: LoadContext, body: NewScore, battleId: string | null): Promise<boolean> {
  const { playId } = body;
  const json = { ...body, ...(battleId === null ? {} : { battleId }) };
  const answer = await client.request<{ scoreId: string; normalizedScore: number; pointsAwarded: number; status: string }>('/arcade/score', { json });
  if (answer.status !== 200) {
    // The battle may have ended during the retries.
    if (battleId === null || answer.status >= 500) client.reportViolation('/arcade/score', answer);
    return false;
  }
  const { scoreId, normalizedScore: normalized, pointsAwarded: points, status } = answer.body;
  load.ledger.confirmed.scores.push({ scoreId, wallet: client.wallet, playId, normalized, points, battleId, status });
  return true;
}

async function chat(client: Client, { ledger }: LoadContext, random: Random): Promise<void> {
  const text = `message ${random.between(1, 1_000_000_000)}`;
  const answer = await client.request<{ messageId: string }>('/chat/message', { json: { text }, headers: newKey() });
  if (answer.status !== 201) return client.reportViolation('/chat/message', answer);
  ledger.confirmed.messages.push({ messageId: answer.body.messageId, wallet: client.wallet, text });
}

interface EntryAnswer {
  readonly messageId: string;
  readonly entry: {
    readonly id: string;
    readonly sequence: number;
    readonly receipt: { readonly statement: { readonly round: string; readonly leaf: string } };
  };
}

/** Enters the running chat round. 409 means that there is none or that the wallet has entered already. */
async function enter(client: Client, { ledger }: LoadContext): Promise<void> {
  const answer = await client.request<EntryAnswer>('/chat/message', { json: { text: '!enter' }, headers: newKey() });
  if (answer.status === 409) return;
  if (answer.status !== 201) return client.reportViolation('/chat/message', answer);
  const { messageId, entry } = answer.body;
  ledger.confirmed.messages.push({ messageId, wallet: client.wallet, text: '!enter' });
  const { round, leaf } = entry.receipt.statement;
  ledger.confirmed.entries.push({ id: entry.id, wallet: client.wallet, round, sequence: entry.sequence, leaf });
}

/** Claims the wallet's reward of every claimable epoch. */
async function claim(client: Client, load: LoadContext): Promise<void> {
  const { claims } = load.ledger.confirmed;
  for (const epoch of load.claimable) {
    if (claims.some((known) => known.epoch === epoch && known.wallet === client.wallet)) continue;
    const proof = await client.request<{ proof: string[] }>(`/api/rewards/epoch/${epoch}/proof/${client.wallet}`);
    if (proof.status === 404) continue;
    const json = { epoch, proof: proof.body.proof };
    const answer = await client.request<{ claimId: string }>('/api/rewards/claim', { json, headers: { ...newKey(), Prefer: 'wait=2' } });
    if (answer.status === 200 || answer.status === 202) claims.push({ claimId: answer.body.claimId, wallet: client.wallet, epoch });
    else client.reportViolation('/api/rewards/claim', answer);
  }
}

/** Pays for a ticket of the open legacy round on the chain and submits the transaction. */
async function ticket(client: Client, load: LoadContext): Promise<void> {
  const { confirmed } = load.ledger;
  const round = load.legacyRound;
  if (round === null || !confirmed.funded.has(client.wallet)) return;
  const note = (signature: string) => void confirmed.payments.push({ wallet: client.wallet, signature, amount: TICKET_PRICE });
  const signature = await load.chain.pay(client.key, TICKET_PRICE, round, note, () => load.over);
  if (signature === null) return;
  const headers = { ...newKey(), Prefer: 'wait=2' };
  const answer = await client.request<{ ticketId: string }>(`/round/${round}/ticket`, { json: { transaction: signature }, headers });
  if (answer.status === 409) return;
  if (answer.status !== 201 && answer.status !== 202) return client.reportViolation('/round/{id}/ticket', answer);
  confirmed.tickets.push({ ticketId: answer.body.ticketId, round, wallet: client.wallet, signature, final: answer.status === 201 });
}

/** Sends the webhook of a chat bridge with a message of another chat. */
async function deliver(client: Client, { ledger, bridgeSecret }: LoadContext): Promise<void> {
  const [id, messageId] = [crypto.randomUUID(), crypto.randomUUID()];
  const body = JSON.stringify({
    platform: 'twitch',
    messageId,
    author: { id: client.wallet, handle: 'ada' },
    text: 'hello from elsewhere',
    at: new Date().toISOString(),
  });
  const headers = { 'Content-Type': 'application/json', ...standardHeaders(bridgeSecret, id, Math.floor(Date.now() / 1_000), body) };
  const answer = await client.request('/integrations/chat/messages', { method: 'POST', headers, body });
  if (answer.status !== 200) return client.reportViolation('/integrations/chat/messages', answer);
  ledger.confirmed.deliveries.push({ id, messageId });
}

/** Players whose task waits for the balance of their wallet. The service completes it without a further request. */
const waitingForBalance = new WeakSet<Client>();

async function task(client: Client, { ledger }: LoadContext): Promise<void> {
  const { tasks } = ledger.confirmed;
  if (tasks.some(({ wallet }) => wallet === client.wallet)) return;
  const path = '/api/tasks/daily/complete';
  const answer = await client.request<{ pointsAwarded: number }>(path, { json: { taskId: TASK }, headers: newKey() });
  // 400: the wallet has not played, or its play is not counted yet.
  if (answer.status === 200) tasks.push({ wallet: client.wallet, taskId: TASK, points: answer.body.pointsAwarded });
  // 202: no RPC node says which balance the wallet has, because of a fault. 409: the task was completed after such an answer.
  else if (answer.status === 202) waitingForBalance.add(client);
  else if (answer.status === 409 && waitingForBalance.has(client)) return;
  else if (answer.status !== 400) client.reportViolation(path, answer);
}

async function clip(client: Client, { ledger }: LoadContext, random: Random): Promise<void> {
  const file = mp4(random.between(500, 20_000), random.fraction());
  const headers = newKey();
  const body = form([
    ['gameId', GAME],
    ['title', 'A clip'],
    ['file', file],
  ]);
  const answer = await client.request<{ id: string }>('/clip/upload', { method: 'POST', body, headers });
  // 429: the daily limit of 50 clips is reached.
  if (answer.status === 429) return;
  if (answer.status !== 201) return client.reportViolation('/clip/upload', answer);
  ledger.confirmed.clips.push({ id: answer.body.id, wallet: client.wallet, sha256: createHash('sha256').update(file).digest('hex') });
}

/** Maximum sessions that a player keeps. The service ends the oldest sessions of a wallet beyond 100, also sessions whose response was lost. */
const MAX_VISITS = 50;

/** Signs in a second time and signs out again with a probability of 0.5. */
async function visit(client: Client, { ledger }: LoadContext, random: Random): Promise<void> {
  const visitor = new Client(client.urls, ledger, client.key);
  await visitor.signIn();
  const { cookie, wallet } = visitor;
  const staysSignedIn = random.fraction() < 0.5 && ledger.confirmed.sessions.filter((session) => session.wallet === wallet).length < MAX_VISITS;
  if (staysSignedIn) return;
  const answer = await visitor.request('/auth/logout', { method: 'POST' });
  // 401: an earlier attempt succeeded, and its response was lost.
  const { sessions, signedOut } = ledger.confirmed;
  sessions.splice(
    sessions.findIndex((session) => session.cookie === cookie),
    1,
  );
  if (answer.status === 200 || answer.status === 401) signedOut.push({ wallet: client.wallet, cookie });
  else client.reportViolation('/auth/logout', answer);
}

type PlayerAction = (client: Client, load: LoadContext, random: Random) => Promise<unknown>;

/** Actions with their relative frequency. */
const ACTIONS: readonly (readonly [weight: number, action: PlayerAction])[] = [
  [8, score],
  [3, replayedScore],
  [3, chat],
  [3, enter],
  [2, claim],
  [2, ticket],
  [2, deliver],
  [1, task],
  [1, clip],
  [1, visit],
];
const DECK = ACTIONS.flatMap(([weight, action]) => Array.from({ length: weight }, () => action));
/** Actions that one wallet may run in parallel. */
const PARALLEL_ACTIONS: readonly PlayerAction[] = [score, score, replayedScore, chat, deliver];
/** Parallel actions per player, so that every killed process has requests in flight. */
const MAX_IN_FLIGHT = 8;

/** Runs random actions of one player in parallel until the load ends. */
export async function playUntilOver(client: Client, load: LoadContext, random: Random): Promise<void> {
  const keepDoing = async (deck: readonly PlayerAction[], wishes: Random) => {
    while (!load.over) {
      await ignoreAbandoned(() => wishes.pick(deck)(client, load, wishes));
      await sleep(wishes.between(20, 150));
    }
  };
  await Promise.all(Array.from({ length: MAX_IN_FLIGHT }, (_, i) => keepDoing(i === 0 ? DECK : PARALLEL_ACTIONS, random.fork(`lane ${i}`))));
}

/** Runs battles between two wallets, one after the other. Each wallet submits one score per battle. */
export async function runBattles(pair: readonly [Client, Client], load: LoadContext, random: Random): Promise<void> {
  const [creator, other] = pair;
  const { battles } = load.ledger.confirmed;
  while (!load.over) {
    await ignoreAbandoned(async () => {
      const terms = { gameId: GAME, maxPlayers: 2, durationSec: 60 };
      const made = await creator.request<{ id: string }>('/battle/create', { json: terms, headers: newKey() });
      // 409: the maximum of five open battles is reached, because some were never joined.
      if (made.status === 409) return;
      if (made.status !== 201) return creator.reportViolation('/battle/create', made);
      const { id } = made.body;
      const joined = await other.request(`/battle/${id}/join`, { method: 'POST' });
      if (joined.status !== 200) return other.reportViolation('/battle/{id}/join', joined);
      battles.push({ battleId: id, wallets: pair.map(({ wallet }) => wallet) });
      await Promise.all(pair.map((client) => score(client, load, random, id)));
    });
    await sleep(random.between(500, 1_500));
  }
}

/** Ignores RequestAbandoned: the failure is recorded already, and the player continues with another action. */
export async function ignoreAbandoned(work: () => Promise<unknown>): Promise<void> {
  await work().catch((error: unknown) => {
    if (!(error instanceof RequestAbandoned)) throw error;
  });
}

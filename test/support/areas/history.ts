import { activateEvent, createEvent } from '#areas/burns/lifecycle.ts';
import { postRound as postChatRound, postStart } from '#areas/lottery/routes/rounds.ts';
import { closeEndedPeriods } from '#areas/points';
import { convertBeta } from '#areas/profile/convert.ts';
import { sweepEpochs } from '#areas/rewards';
import { confirmLink, unlink } from '#areas/social/link.ts';
import { playAsBot } from '#games/block-cascade/bot.ts';
import { ADMIN_TOKEN, startWorker } from '../app.ts';
import { adminOf } from '../http/client.ts';
import { openTokenAccount, type RewardsTest } from '../solana/claims.ts';
import { type JsonInit, type SignedIn, send, signIn } from '../wallet.ts';
import { registerGame, TEST_GAME } from './arcade.ts';
import { sql } from './boards.ts';
import { creditAll, finalizedBurn } from './burns.ts';
import { mp4, upload } from './clips.ts';
import { createAllPayments, paymentRequest, untilPaid } from './payouts.ts';
import { type Receipt, retryUntilPass } from './player.ts';
import { asAdmin, makeQuest } from './quests.ts';
import { startRoundsTest, untilState } from './rounds.ts';
import { newPayer, openRound, payFor, requestTicket, storedTickets } from './tickets.ts';

const DAY = 86_400_000;

/** A system in which every feature was used once and no work is pending. */
export interface History extends RewardsTest {
  /** A wallet with scores, quest and referral points, a claim, a clip, a linked account, records and states. */
  readonly player: SignedIn;
}

/** Returns the JSON body of a response. @throws for a response that is not a success */
async function fetchJson<Body = Record<string, unknown>>(asked: Promise<Response>): Promise<Body> {
  const response = await asked;
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  return (text === '' ? {} : JSON.parse(text)) as Body;
}

const post = <Body = Record<string, unknown>>(player: SignedIn, path: string, json: unknown = {}, init: JsonInit = {}): Promise<Body> =>
  fetchJson<Body>(player.fetch(path, { json, ...init }));

/** Starts a play and submits its score. */
async function play(player: SignedIn, gameId: string, score: number, more: Record<string, unknown> = {}): Promise<Receipt> {
  const { playId } = await post<{ playId: string }>(player, `/game/${gameId}/play`);
  return await post<Receipt>(player, '/arcade/score', { gameId, score, playId, ...more });
}

/** Submits the score of a bot in a game with replays, after a wrong score, which is refused. */
async function playReplayed(t: RewardsTest, player: SignedIn): Promise<void> {
  const { playId, seed, simulation } = await post<{ playId: string; seed: string; simulation: { path: string } }>(player, '/game/block-cascade/play');
  const module = new WebAssembly.Module(new Uint8Array(await (await send(t, simulation.path)).arrayBuffer()));
  // One second of play is less than the tolerance of the service, so that the score can be sent at once.
  const { score, log } = playAsBot(module, Buffer.from(seed, 'hex'), { maxTicks: 60 });
  const body = { gameId: 'block-cascade', playId, score, replay: Buffer.from(log).toString('base64') };
  await player.fetch('/arcade/score', { json: { ...body, score: score + 1 } });
  await post(player, '/arcade/score', body);
}

/** Waits until no activities, board refreshes, events, transactions, payments or rounds are pending. */
export async function waitUntilIdle(t: RewardsTest): Promise<void> {
  await retryUntilPass(async () => {
    const [left] = await sql<{ n: number }>(
      t.app,
      `select ((select count(*) from activity_batches) + (select count(*) from board_refreshes) + (select count(*) from outbox where publication is null)
         + (select count(*) from chain_transactions where state in ('queued', 'live', 'confirmed')) + (select count(*) from payments where state <> 'completed')
         + (select count(*) from rounds where state in ('active', 'closing', 'committed')))::int as n`,
    );
    if (left?.n !== 0) throw new Error(`${left?.n} rows are pending`);
  }, 60_000);
}

/** Creates the scores of yesterday, which form an epoch today, with a void, decisions, quests, a referral and beta points. */
async function playYesterday(t: RewardsTest, player: SignedIn, friend: SignedIn): Promise<void> {
  const beta = await signIn(t);
  await makeQuest(t, { requirement: { type: 'scores', count: 2 }, points: 100 });
  const { code } = await fetchJson<{ code: string }>(player.fetch('/api/referral/link'));
  await post(friend, '/api/referral/bind', { code });
  for (const score of [3_000, 8_000]) await play(player, 'alpha', score);
  const { scoreId } = await play(friend, 'alpha', 9_000);
  await play(friend, 'alpha', 5_000);
  await retryUntilPass(async () => {
    const shares = await sql<{ n: number }>(t.app, `select count(*)::int as n from ledger where kind = 'referral'`);
    if (shares[0]?.n !== 2) throw new Error('the referrer has not received its shares');
  }, 30_000);
  await fetchJson(asAdmin(t, `/admin/scores/${scoreId}/void`, { json: { reason: 'a test' } }));
  for (const decision of ['accept', 'reject']) {
    const held = await play(player, 'strict', 9_000);
    await fetchJson(asAdmin(t, `/admin/scores/${held.scoreId}/decision`, { json: { decision } }));
  }
  await post(beta, '/api/beta/preference', { enabled: true });
  await play(beta, 'alpha', 4_000);
  await t.app.tx((tx) => convertBeta(tx, { wallet: beta.wallet, rate: '0.5', by: 'test' }));
  await revokeGrants(t, player, beta);
  await waitUntilIdle(t);
}

/** Gives a wallet points and a completed quest, and revokes an adjustment, the completion and the conversion of another wallet, which then converts again. */
async function revokeGrants(t: RewardsTest, player: SignedIn, converted: SignedIn): Promise<void> {
  const json = { points: 40, reason: 'a test', rewards: true };
  for (let i = 0; i < 2; i++) await fetchJson(asAdmin(t, `/admin/wallets/${player.wallet}/points`, { json }));
  const quest = await makeQuest(t, { requirement: { type: 'manual' } });
  await fetchJson(asAdmin(t, `/admin/quests/${quest}/complete`, { json: { wallet: player.wallet } }));
  for (const [source, { wallet }] of [
    ['adjustment', player],
    ['quest', player],
    ['conversion', converted],
  ] as const) {
    const [entry] = await fetchJson<{ id: string }[]>(asAdmin(t, `/admin/wallets/${wallet}/ledger?source=${source}`));
    await fetchJson(asAdmin(t, `/admin/ledger/${entry?.id}/revoke`, { json: { reason: 'a test' } }));
  }
  await t.app.tx((tx) => convertBeta(tx, { wallet: converted.wallet, rate: '0.5', by: 'test' }));
}

/** Runs a chat round with entries and one without. */
async function chatRounds(t: RewardsTest, player: SignedIn, friend: SignedIn): Promise<void> {
  const begin = async (durationSec: number) => {
    const prizes = [{ amount: '3000000', mint: 'reward' as const }];
    const { body } = await adminOf(t).ok(postChatRound, { body: { title: 'A round', picks: 1, range: 1, durationSec, prizes } });
    await adminOf(t).ok(postStart, { params: { id: body.id } });
    return body.id;
  };
  const drawn = await begin(3);
  for (const who of [player, friend]) await post(who, '/chat/message', { text: '!enter' });
  // Only one chat round is active at a time; the next can start while this one waits for its beacon.
  await retryUntilPass(async () => {
    const active = await sql(t.app, `select from rounds where kind = 'chat' and state = 'active'`);
    if (active.length > 0) throw new Error('the round is still active');
  }, 60_000);
  const empty = await begin(1);
  await untilState(t, empty, 'void', 60_000);
  await untilState(t, drawn, 'finalized', 60_000);
}

/** Runs a free round, and a round with a ticket that was paid with a wrong amount. */
async function legacyRounds(t: RewardsTest, player: SignedIn, friend: SignedIn): Promise<void> {
  const free = await openRound(t, player, { ticketPrice: '0' });
  for (const who of [player, friend]) await post(who, `/round/${free.id}/ticket`);
  const paid = await openRound(t, friend);
  const payer = await newPayer(t);
  for (const amount of [1_000n, 999n]) await requestTicket(payer, paid, await payFor(t, payer, paid, amount));
  await retryUntilPass(async () => {
    const states = (await storedTickets(t, paid)).map(({ state }) => state);
    if (states.includes('checking')) throw new Error(`tickets are ${states}`);
  }, 60_000);
  await post(player, `/round/${free.id}/finalize`);
  await post(friend, `/round/${paid.id}/finalize`);
  for (const { id } of [free, paid]) await untilState(t, id, 'finalized', 60_000);
}

/** Computes and commits the epoch of yesterday, and claims it for one wallet. */
async function claimYesterday(t: RewardsTest, player: SignedIn): Promise<void> {
  const epoch = Math.floor(t.clock.now().getTime() / DAY) - 1;
  // Runs the sweeps at once, because the scheduled ones run only every 20 s.
  await closeEndedPeriods(t.app);
  await sweepEpochs(t.app);
  await retryUntilPass(async () => {
    const [row] = await sql<{ state: string }>(t.app, 'select state from epochs where epoch = $1', [epoch]);
    if (row?.state !== 'committed') throw new Error(`epoch ${epoch} is ${row?.state ?? 'missing'}`);
  }, 120_000);
  const { proof } = await fetchJson<{ proof: string[] }>(player.fetch(`/api/rewards/epoch/${epoch}/proof/${player.wallet}`));
  await post(player, '/api/rewards/claim', { epoch, proof });
  await retryUntilPass(async () => {
    const [row] = await sql<{ state: string }>(t.app, 'select state from claims where epoch = $1', [epoch]);
    if (row?.state !== 'claimed') throw new Error(`the claim is ${row?.state}`);
  }, 60_000);
}

/** Creates a finished, a running and an open battle. */
async function battles(player: SignedIn, friend: SignedIn): Promise<void> {
  const open = () => post<{ id: string }>(player, '/battle/create', { gameId: 'alpha' }).then(({ id }) => id);
  const [over, running] = [await open(), await open()];
  await open();
  for (const id of [over, running]) await post(friend, `/battle/${id}/join`);
  await play(player, 'alpha', 2_000, { battleId: over });
  await play(friend, 'alpha', 2_500, { battleId: over });
  await play(player, 'alpha', 1_500, { battleId: running });
}

/** Creates burns, clips, linked accounts, records, states and payments. */
async function useOtherAreas(t: RewardsTest, player: SignedIn, friend: SignedIn): Promise<void> {
  const { app } = t;
  const { id } = await app.tx((tx) => createEvent(app, tx, player.wallet, { title: 'A bonfire', durationSec: 86_400 }));
  const event = await activateEvent(app, id, null);
  await creditAll(app, event, [
    finalizedBurn(event, player.wallet, 500n),
    finalizedBurn(event, friend.wallet, 700n, 'social'),
    finalizedBurn(event, friend.wallet, 1n),
  ]);
  for (const seed of [1, 2]) {
    await fetchJson(upload(player, { gameId: 'alpha', file: mp4(2_000, seed) }));
  }
  for (const accountId of ['1', '2']) {
    await app.tx((tx) =>
      confirmLink(tx, { platform: accountId === '1' ? 'x' : 'y', accountId, handle: `player-${accountId}`, wallet: player.wallet }),
    );
  }
  await app.tx((tx) => unlink(tx, player.wallet, 'y'));
  await sql(app, `insert into kept_engagements (platform, account_id, kind, source_id) values ('x', '3', 'follow', 'x:3')`);
  for (const n of [1, 2]) await post(player, '/game/alpha/record', { n });
  await fetchJson(player.fetch('/game/alpha/state', { method: 'PUT', json: { level: 3 } }));
  await untilPaid(t, await createAllPayments(t, [paymentRequest(), paymentRequest({ currency: 'reward' })]), 'completed', 60_000);
}

/** Starts a system and uses every feature once, including an epoch that is computed, committed and claimed. */
export async function createHistory(): Promise<History> {
  const t = await startRoundsTest({ workers: false, env: { DRAW_LEAD_SEC: '8' } });
  const worker = await startWorker(t.env, t.clock);
  try {
    const now = new Date();
    await t.clock.set(new Date(Math.floor(now.getTime() / DAY) * DAY - DAY / 2));
    await registerGame(t.url, ADMIN_TOKEN, 'alpha');
    await registerGame(t.url, ADMIN_TOKEN, 'strict', { ...TEST_GAME, caps: { ...TEST_GAME.caps, scorePerSec: 100 } });
    const [player, friend] = [await signIn(t), await signIn(t)];
    await playYesterday(t, player, friend);
    await t.clock.set(now);
    await openTokenAccount(t, player.wallet);
    const today = async () => {
      await battles(player, friend);
      await playReplayed(t, player);
      await useOtherAreas(t, player, friend);
    };
    // Runs these steps concurrently, because most of their time is waiting for the chain and the beacon.
    await Promise.all([chatRounds(t, player, friend), legacyRounds(t, player, friend), claimYesterday(t, player), today()]);
    await waitUntilIdle(t);
    await worker.close();
    return { ...t, player };
  } catch (error) {
    await worker.close();
    await t.close();
    throw error;
  }
}

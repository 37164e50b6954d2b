import { activateEvent, createEvent } from '#areas/burns/lifecycle.ts';
import { postRound as postChatRound, postStart } from '#areas/lottery/routes/rounds.ts';
import { closeEnded } from '#areas/points';
import { convertBeta } from '#areas/profile/convert.ts';
import { sweepEpochs } from '#areas/rewards';
import { confirmLink, unlink } from '#areas/social/link.ts';
import { ADMIN_TOKEN, startWorker } from '../app.ts';
import { adminOf } from '../http/client.ts';
import { openTokenAccount, type RewardsTest } from '../solana/claims.ts';
import { type JsonInit, type SignedIn, signIn } from '../wallet.ts';
import { registerGame, TEST_GAME } from './arcade.ts';
import { sql } from './boards.ts';
import { creditAll, finalBurn } from './burns.ts';
import { mp4, upload } from './clips.ts';
import { debt, oweAll, untilPaid } from './payouts.ts';
import { eventually, type Receipt } from './player.ts';
import { asAdmin, makeQuest } from './quests.ts';
import { startRoundsTest, untilState } from './rounds.ts';
import { askTicket, newPayer, openRound, payFor, storedTickets } from './tickets.ts';

const DAY = 86_400_000;

/** A system to which everything has happened once, and on which nothing goes on any more. */
export interface History extends RewardsTest {
  /** Somebody with scores, points of quests and referrals, a claim, a clip, an account, records and states. */
  readonly player: SignedIn;
}

/** Asks, and gives the answer's body. @throws for any other answer than a success */
async function ok<Body = Record<string, unknown>>(asked: Promise<Response>): Promise<Body> {
  const response = await asked;
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  return (text === '' ? {} : JSON.parse(text)) as Body;
}

const post = <Body = Record<string, unknown>>(player: SignedIn, path: string, json: unknown = {}, init: JsonInit = {}): Promise<Body> =>
  ok<Body>(player.fetch(path, { json, ...init }));

/** Plays a game, once. */
async function play(player: SignedIn, gameId: string, score: number, more: Record<string, unknown> = {}): Promise<Receipt> {
  const { playId } = await post<{ playId: string }>(player, `/game/${gameId}/play`);
  return await post<Receipt>(player, '/arcade/score', { gameId, score, playId, ...more });
}

/** Waits until all that wallets did has been consumed, and all boards are up to date. */
export async function untilQuiet(t: RewardsTest): Promise<void> {
  await eventually(async () => {
    const [left] = await sql<{ n: number }>(
      t.app,
      `select ((select count(*) from activity_batches) + (select count(*) from board_refreshes) + (select count(*) from outbox where publication is null)
         + (select count(*) from chain_transactions where state in ('queued', 'live', 'confirmed')) + (select count(*) from payments where state <> 'completed')
         + (select count(*) from rounds where state in ('active', 'closing', 'committed')))::int as n`,
    );
    if (left?.n !== 0) throw new Error(`${left?.n} things go on`);
  }, 60_000);
}

/** Yesterday: scores, which make an epoch today; a void, decisions, quests, a referral, beta points. */
async function yesterday(t: RewardsTest, player: SignedIn, friend: SignedIn): Promise<void> {
  const beta = await signIn(t);
  await makeQuest(t, { requirement: { type: 'scores', count: 2 }, points: 100 });
  const { code } = await ok<{ code: string }>(player.fetch('/api/referral/link'));
  await post(friend, '/api/referral/bind', { code });
  for (const score of [3_000, 8_000]) await play(player, 'alpha', score);
  const { scoreId } = await play(friend, 'alpha', 9_000);
  await play(friend, 'alpha', 5_000);
  await eventually(async () => {
    const shares = await sql<{ n: number }>(t.app, `select count(*)::int as n from ledger where kind = 'referral'`);
    if (shares[0]?.n !== 2) throw new Error('the referrer has not got its shares');
  }, 30_000);
  await ok(asAdmin(t, `/admin/scores/${scoreId}/void`, { json: { reason: 'a test' } }));
  for (const decision of ['accept', 'reject']) {
    const held = await play(player, 'strict', 9_000);
    await ok(asAdmin(t, `/admin/scores/${held.scoreId}/decision`, { json: { decision } }));
  }
  await post(beta, '/api/beta/preference', { enabled: true });
  await play(beta, 'alpha', 4_000);
  await t.app.tx((tx) => convertBeta(tx, { wallet: beta.wallet, rate: '0.5', by: 'test' }));
  await untilQuiet(t);
}

/** A chat round that is drawn, and one that nobody entered. */
async function chatRounds(t: RewardsTest, player: SignedIn, friend: SignedIn): Promise<void> {
  const begin = async (durationSec: number) => {
    const prizes = [{ amount: '3000000', mint: 'reward' as const }];
    const { body } = await adminOf(t).ok(postChatRound, { body: { title: 'A round', picks: 1, range: 1, durationSec, prizes } });
    await adminOf(t).ok(postStart, { params: { id: body.id } });
    return body.id;
  };
  const drawn = await begin(3);
  for (const who of [player, friend]) await post(who, '/chat/message', { text: '!enter' });
  // There is one at a time, and the next one may run while this one waits for its beacon.
  await eventually(async () => {
    const active = await sql(t.app, `select from rounds where kind = 'chat' and state = 'active'`);
    if (active.length > 0) throw new Error('the round goes on');
  }, 60_000);
  const empty = await begin(1);
  await untilState(t, empty, 'void', 60_000);
  await untilState(t, drawn, 'finalized', 60_000);
}

/** A free round, and one with a ticket that was paid wrongly. */
async function legacyRounds(t: RewardsTest, player: SignedIn, friend: SignedIn): Promise<void> {
  const free = await openRound(t, player, { ticketPrice: '0' });
  for (const who of [player, friend]) await post(who, `/round/${free.id}/ticket`);
  const paid = await openRound(t, friend);
  const payer = await newPayer(t);
  for (const amount of [1_000n, 999n]) await askTicket(payer, paid, await payFor(t, payer, paid, amount));
  await eventually(async () => {
    const states = (await storedTickets(t, paid)).map(({ state }) => state);
    if (states.includes('checking')) throw new Error(`tickets are ${states}`);
  }, 60_000);
  await post(player, `/round/${free.id}/finalize`);
  await post(friend, `/round/${paid.id}/finalize`);
  for (const { id } of [free, paid]) await untilState(t, id, 'finalized', 60_000);
}

/** The epoch of yesterday: computed, committed, and claimed by one wallet. */
async function claimYesterday(t: RewardsTest, player: SignedIn): Promise<void> {
  const epoch = Math.floor(t.clock.now().getTime() / DAY) - 1;
  // Workers look for themselves, every twenty seconds.
  await closeEnded(t.app);
  await sweepEpochs(t.app);
  await eventually(async () => {
    const [row] = await sql<{ state: string }>(t.app, 'select state from epochs where epoch = $1', [epoch]);
    if (row?.state !== 'committed') throw new Error(`epoch ${epoch} is ${row?.state ?? 'not there'}`);
  }, 120_000);
  const { proof } = await ok<{ proof: string[] }>(player.fetch(`/api/rewards/epoch/${epoch}/proof/${player.wallet}`));
  await post(player, '/api/rewards/claim', { epoch, proof });
  await eventually(async () => {
    const [row] = await sql<{ state: string }>(t.app, 'select state from claims where epoch = $1', [epoch]);
    if (row?.state !== 'claimed') throw new Error(`the claim is ${row?.state}`);
  }, 60_000);
}

/** Battles that are over, running and open. */
async function battles(player: SignedIn, friend: SignedIn): Promise<void> {
  const open = () => post<{ id: string }>(player, '/battle/create', { gameId: 'alpha' }).then(({ id }) => id);
  const [over, running] = [await open(), await open()];
  await open();
  for (const id of [over, running]) await post(friend, `/battle/${id}/join`);
  await play(player, 'alpha', 2_000, { battleId: over });
  await play(friend, 'alpha', 2_500, { battleId: over });
  await play(player, 'alpha', 1_500, { battleId: running });
}

/** Burns, clips, accounts elsewhere, records and states of games, payments. */
async function others(t: RewardsTest, player: SignedIn, friend: SignedIn): Promise<void> {
  const { app } = t;
  const { id } = await app.tx((tx) => createEvent(app, tx, player.wallet, { title: 'A bonfire', durationSec: 86_400 }));
  const event = await activateEvent(app, id, null);
  await creditAll(app, event, [
    finalBurn(event, player.wallet, 500n),
    finalBurn(event, friend.wallet, 700n, 'social'),
    finalBurn(event, friend.wallet, 1n),
  ]);
  for (const seed of [1, 2]) {
    await ok(upload(player, { gameId: 'alpha', file: mp4(2_000, seed) }));
  }
  for (const accountId of ['1', '2']) {
    await app.tx((tx) =>
      confirmLink(tx, { platform: accountId === '1' ? 'x' : 'y', accountId, handle: `player-${accountId}`, wallet: player.wallet }),
    );
  }
  await app.tx((tx) => unlink(tx, player.wallet, 'y'));
  await sql(app, `insert into kept_engagements (platform, account_id, kind, source_id) values ('x', '3', 'follow', 'x:3')`);
  for (const n of [1, 2]) await post(player, '/game/alpha/record', { n });
  await ok(player.fetch('/game/alpha/state', { method: 'PUT', json: { level: 3 } }));
  await untilPaid(t, await oweAll(t, [debt(), debt({ currency: 'reward' })]), 'completed', 60_000);
}

/** Starts a system, and lets everything happen to it: the epoch of yesterday is computed, committed and claimed. */
export async function makeHistory(): Promise<History> {
  const t = await startRoundsTest({ workers: false, env: { DRAW_LEAD_SEC: '8' } });
  const worker = await startWorker(t.env, t.clock);
  try {
    const now = new Date();
    await t.clock.set(new Date(Math.floor(now.getTime() / DAY) * DAY - DAY / 2));
    await registerGame(t.url, ADMIN_TOKEN, 'alpha');
    await registerGame(t.url, ADMIN_TOKEN, 'strict', { ...TEST_GAME, caps: { ...TEST_GAME.caps, scorePerSec: 100 } });
    const [player, friend] = [await signIn(t), await signIn(t)];
    await yesterday(t, player, friend);
    await t.clock.set(now);
    await openTokenAccount(t, player.wallet);
    const today = async () => {
      await battles(player, friend);
      await others(t, player, friend);
    };
    // Most of it is waiting for the chain and its beacon.
    await Promise.all([chatRounds(t, player, friend), legacyRounds(t, player, friend), claimYesterday(t, player), today()]);
    await untilQuiet(t);
    await worker.close();
    return { ...t, player };
  } catch (error) {
    await worker.close();
    await t.close();
    throw error;
  }
}

import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { confirmLink } from '#areas/social/link.ts';
import { ADMIN_TOKEN } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { act, activitiesOf, asAdmin, consume, deleteAllQuests, earned, makeQuest, ownQuest, settle } from '#test/support/areas/quests.ts';
import { newPayer, PURSE } from '#test/support/areas/tickets.ts';
import { NEW_ID } from '#test/support/database.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
  await registerGame(t.url, ADMIN_TOKEN, 'alpha');
});
afterEach(async () => {
  await deleteAllQuests(t.app);
  await t.chain.control.clear();
});
afterAll(() => t?.close());

const PLAY = { type: 'plays', count: 1 };
const TASK = { repeat: 'daily', task: true } as const;
/** Starts a play of each wallet and completes the quests that are met. */
async function play(...players: SignedIn[]): Promise<void> {
  for (const { wallet } of players) await activitiesOf(t.app).plays(wallet, 1);
  await consume(t.app);
  await settle(t.app);
}
const addScore = ({ wallet }: SignedIn, status = 'accepted') =>
  sql(
    t.app,
    `insert into scores (id, wallet, game_id, game_version, body_hash, score, normalized, points, personal_best, status, mode, day, at)
     values (${NEW_ID}, $1, 'alpha', 1, '', 1, 1, 0, false, $2, 'regular', app_day(), app_now())`,
    [wallet, status],
  );
const link = ({ wallet }: SignedIn) =>
  t.app.tx((tx) => confirmLink(tx, { platform: 'x', accountId: `account of ${wallet}`, handle: 'someone', wallet }));
const isCompleted = async ({ wallet }: SignedIn, quest: string) => `${quest}:once` in (await earned(t.app, wallet));
const complete = async (by: SignedIn, taskId: string) => {
  const response = await by.fetch('/api/tasks/daily/complete', { json: { taskId } });
  return [response.status, ((await response.json()) as { error?: string }).error];
};

test('the list of quests shows the gates, and a quest without gates has none', async () => {
  const gates = {
    minTokenBalance: { amount: '500', mint: 'reward' },
    minAcceptedScores: 3,
    linkedAccount: 'x',
    signedInBefore: '2026-11-01T00:00:00.000Z',
  };
  await makeQuest(t, { requirement: PLAY, gates });
  const open = await makeQuest(t, { requirement: PLAY });
  // A definition of an earlier release has no gates.
  await sql(t.app, `update quests set definition = definition - 'gates' where id = $1`, [open]);
  expect(await (await send(t, '/quests')).json()).toMatchObject([{ gates }, { gates: {} }]);
  const wrong = await asAdmin(t, '/quests', { json: { title: 'A quest', points: 1, requirement: PLAY, gates: { minScores: 1 } } });
  expect(wrong.status).toBe(400);
  const player = await signIn(t);
  await play(player);
  expect(await isCompleted(player, open)).toBe(true);
});

test('a quest with a minimum of accepted scores is completed by the first activity after the wallet has them', async () => {
  const id = await makeQuest(t, { requirement: { type: 'clips', count: 1 }, gates: { minAcceptedScores: 2 } });
  const player = await signIn(t);
  await addScore(player);
  await addScore(player, 'held');
  await act(t.app, { kind: 'clip', wallet: player.wallet });
  await play(player);
  const gate = 'minAcceptedScores: the wallet must have at least 2 accepted scores';
  expect(await ownQuest(player, id)).toMatchObject({ met: false, missing: [gate], completed: false });
  expect(await isCompleted(player, id)).toBe(false);
  await addScore(player);
  expect(await ownQuest(player, id)).toMatchObject({ met: true, missing: [], completed: false });
  await play(player);
  expect(await isCompleted(player, id)).toBe(true);
});

test('a quest for linked accounts is completed when the wallet links its account', async () => {
  const id = await makeQuest(t, { requirement: PLAY, gates: { linkedAccount: 'x' } });
  const player = await signIn(t);
  await play(player);
  expect((await ownQuest(player, id))?.missing).toEqual(['linkedAccount: the wallet must have linked an account of x']);
  await link(player);
  await settle(t.app);
  expect(await isCompleted(player, id)).toBe(true);
});

test('a quest for early players is not completed by a wallet that signed in for the first time later', async () => {
  const early = await signIn(t);
  const signedInBefore = t.clock.now().toISOString();
  const late = await signIn(t);
  const id = await makeQuest(t, { requirement: PLAY, gates: { signedInBefore } });
  await play(early, late);
  expect([await isCompleted(early, id), await isCompleted(late, id)]).toEqual([true, false]);
  expect((await ownQuest(late, id))?.missing).toEqual([`signedInBefore: the wallet must have signed in before ${signedInBefore}`]);
});

test('a quest with a minimum balance is completed by wallets that hold it; while the balance cannot be read, the completion waits', async () => {
  const [rich, poor] = [await newPayer(t), await signIn(t)];
  const id = await makeQuest(t, { requirement: PLAY, gates: { minTokenBalance: { amount: String(PURSE), mint: 'usdc' } } });
  await t.chain.control.fault({ kind: 'fail', methods: ['getTokenAccountsByOwner'] });
  await play(rich, poor);
  expect(await isCompleted(rich, id)).toBe(false);
  expect((await ownQuest(rich, id))?.missing).toEqual(['the token balance of the wallet cannot be read at the moment, try again']);
  // Completions without a gate wait for at most an hour.
  await t.clock.set(new Date(t.clock.now().getTime() + 2 * 3_600_000));
  await settle(t.app);
  expect(await isCompleted(rich, id)).toBe(false);
  await t.chain.control.clear();
  await t.clock.set(new Date(t.clock.now().getTime() + 60_000));
  await settle(t.app);
  expect([await isCompleted(rich, id), await isCompleted(poor, id)]).toEqual([true, false]);
  const mint = t.chain.keys.usdcMint.publicKey.toBase58();
  expect((await ownQuest(poor, id))?.missing).toEqual([`minTokenBalance: the wallet must hold at least ${PURSE} base units of ${mint}`]);
});

test('a daily task says which gate is not met, and is completed when it is', async () => {
  const id = await makeQuest(t, { requirement: { type: 'manual' }, gates: { minAcceptedScores: 1 }, ...TASK });
  const player = await signIn(t);
  expect(await complete(player, id)).toEqual([
    400,
    'a gate of the task is not met; missing: minAcceptedScores: the wallet must have at least 1 accepted scores',
  ]);
  await addScore(player);
  expect(await complete(player, id)).toEqual([200, undefined]);
});

test('a daily task whose gate cannot be checked answers 503', async () => {
  const id = await makeQuest(t, { requirement: { type: 'manual' }, gates: { minTokenBalance: { amount: '1', mint: 'usdc' } }, ...TASK });
  await t.chain.control.fault({ kind: 'fail', methods: ['getTokenAccountsByOwner'] });
  expect(await complete(await signIn(t), id)).toEqual([503, 'the token balance of the wallet cannot be read at the moment, try again']);
});

test('an operator completes a quest for a wallet that does not meet its gates', async () => {
  const id = await makeQuest(t, { requirement: PLAY, gates: { minAcceptedScores: 5 } });
  const player = await signIn(t);
  expect((await asAdmin(t, `/admin/quests/${id}/complete`, { json: { wallet: player.wallet } })).status).toBe(200);
  expect(await isCompleted(player, id)).toBe(true);
});

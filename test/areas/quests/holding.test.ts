import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { ed25519 } from '@noble/curves/ed25519.js';
import { newSigner } from '#platform/solana/primitives.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { activitiesOf, asAdmin, consume, deleteAllQuests, earned, makeQuest, type OwnQuestFields, settle } from '#test/support/areas/quests.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { type SignedIn, signIn, type TestWallet } from '#test/support/wallet.ts';

let chain: TestChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  t = await startTestApp({ workers: false, env: { ...chain.env, GATE_MIN_BALANCE: '1000' } });
  await registerGame(t.url, ADMIN_TOKEN, 'alpha');
});
afterEach(async () => {
  await deleteAllQuests(t.app);
  await chain.control.clear();
});
afterAll(async () => {
  await t.close();
  await chain.close();
});

const later = (seconds: number) => t.clock.set(new Date(t.clock.now().getTime() + seconds * 1_000));
const play = (wallet: string) => activitiesOf(t.app).plays(wallet, 1);
const PLAY = { type: 'plays', count: 1 };

/** Signs in a wallet with a token balance. */
async function player(reward: bigint): Promise<SignedIn> {
  const keys = newSigner();
  if (reward > 0n) {
    await chain.fundWallet({ lamports: 1_000_000_000, reward }, keys);
    await chain.control.advance(10);
  }
  const wallet: TestWallet = {
    address: keys.publicKey.toBase58(),
    publicKey: keys.publicKey.toBytes(),
    sign: (bytes) => ed25519.sign(bytes, keys.secretKey.subarray(0, 32)),
  };
  return await signIn(t, wallet);
}

/** Reads the factors of a wallet's quest entries. */
const factorsOf = (wallet: string) =>
  sql<{ factors: { holding: boolean | null; holdingAt: string | null; basisPoints: number }; day: number }>(
    t.app,
    `select factors, day from ledger where wallet = $1 and kind = 'quest' order by source_id`,
    [wallet],
  );

/** Makes the RPC node unreachable. */
const breakNode = () => chain.control.fault({ kind: 'cut' });

test('the balance is read from the chain before the points are given, and the ledger entry says when', async () => {
  const [holder, poor] = [await player(1_000n), await player(999n)];
  const id = await makeQuest(t, { requirement: PLAY });
  for (const { wallet } of [holder, poor]) await play(wallet);
  await consume(t.app);
  // The consumer knows no balance, and does not wait for the RPC node.
  expect(await earned(t.app, holder.wallet)).toEqual({});
  await settle(t.app);
  expect([await earned(t.app, holder.wallet), await earned(t.app, poor.wallet)]).toEqual([{ [`${id}:once`]: 115 }, { [`${id}:once`]: 100 }]);
  const [[entry], [none]] = [await factorsOf(holder.wallet), await factorsOf(poor.wallet)];
  expect([entry?.factors.holding, none?.factors.holding]).toEqual([true, false]);
  expect(Math.abs(Date.parse(entry?.factors.holdingAt ?? '') - t.clock.now().getTime())).toBeLessThan(60_000);
  expect(await (await holder.fetch('/ledger/quests')).json()).toMatchObject([{ factors: { holding: true, holdingAt: entry?.factors.holdingAt } }]);
  expect(await (await holder.fetch('/me/quest-multiplier')).json()).toMatchObject({
    multiplier: 1.15,
    max: 1.75,
    factors: { holding: { bonus: 0.15, holding: true, at: expect.any(String) } },
  });
});

test('a balance of the last minute is used without another query to the RPC node', async () => {
  const holder = await player(1_000n);
  const id = await makeQuest(t, { requirement: PLAY });
  await holder.fetch('/eligibility');
  await breakNode();
  await play(holder.wallet);
  await consume(t.app);
  expect(await earned(t.app, holder.wallet)).toEqual({ [`${id}:once`]: 115 });
});

test('a balance that is older than a minute is read again before the points are given', async () => {
  const holder = await player(1_000n);
  await makeQuest(t, { requirement: PLAY });
  await holder.fetch('/eligibility');
  await later(61);
  await play(holder.wallet);
  await consume(t.app);
  expect(await earned(t.app, holder.wallet)).toEqual({});
  await settle(t.app);
  const [entry] = await factorsOf(holder.wallet);
  expect(t.clock.now().getTime() - Date.parse(entry?.factors.holdingAt ?? '')).toBeLessThan(60_000);
});

test('while the RPC node is down, points wait and count for the day; they come with the bonus when the node answers', async () => {
  const holder = await player(1_000n);
  const id = await makeQuest(t, { requirement: PLAY, repeat: 'daily' });
  const day = t.clock.now().toISOString().slice(0, 10);
  await play(holder.wallet);
  await breakNode();
  await consume(t.app);
  await settle(t.app);
  expect(await earned(t.app, holder.wallet)).toEqual({});
  const multiplier = await holder.fetch('/me/quest-multiplier');
  expect([multiplier.status, await multiplier.json()]).toMatchObject([200, { factors: { holding: { bonus: 0, holding: null, at: null } } }]);
  await chain.control.clear();
  await later(30);
  await settle(t.app);
  expect(await earned(t.app, holder.wallet)).toEqual({ [`${id}:${day}`]: 115 });
});

test('after the RPC node was down for an hour, points are given without the bonus', async () => {
  const holder = await player(1_000n);
  const id = await makeQuest(t, { requirement: PLAY });
  await play(holder.wallet);
  await breakNode();
  await consume(t.app);
  await settle(t.app);
  await later(3_601);
  await settle(t.app);
  expect(await earned(t.app, holder.wallet)).toEqual({ [`${id}:once`]: 100 });
  expect(await factorsOf(holder.wallet)).toMatchObject([{ factors: { holding: null, holdingAt: null, basisPoints: 10_000 } }]);
});

test('a daily task that is requested while the RPC node is down is answered with 202, and completed for that day later', async () => {
  const holder = await player(1_000n);
  const id = await makeQuest(t, { requirement: PLAY, repeat: 'daily', task: true });
  const day = t.clock.now().toISOString().slice(0, 10);
  await play(holder.wallet);
  await breakNode();
  const complete = () => holder.fetch('/api/tasks/daily/complete', { json: { taskId: id } });
  const answer = await complete();
  expect([answer.status, answer.headers.get('Location'), await answer.json()]).toMatchObject([
    202,
    '/api/tasks/daily',
    { status: 'pending', task: { id, met: true, completed: false } },
  ]);
  expect((await complete()).status).toBe(202);
  await chain.control.clear();
  await later(30);
  await settle(t.app);
  expect(await earned(t.app, holder.wallet)).toEqual({ [`${id}:${day}`]: 115 });
  const [task] = (await (await holder.fetch('/api/tasks/daily')).json()) as OwnQuestFields[];
  expect(task).toMatchObject({ completed: true, pointsAwarded: 115 });
  expect((await complete()).status).toBe(409);
});

test('an operator cannot complete a quest while the balance of the wallet cannot be read', async () => {
  const holder = await player(1_000n);
  const id = await makeQuest(t, { requirement: PLAY });
  await breakNode();
  const answer = await asAdmin(t, `/admin/quests/${id}/complete`, { json: { wallet: holder.wallet } });
  expect([answer.status, answer.headers.get('Retry-After')]).toEqual([503, '5']);
  expect(await earned(t.app, holder.wallet)).toEqual({});
});

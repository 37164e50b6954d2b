import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ed25519 } from '@noble/curves/ed25519.js';
import { receiptKey } from '#areas/lottery/receipts.ts';
import { linkAccount } from '#areas/social';
import { fromHex, toHex } from '#lib/draw/bytes.ts';
import { NO_ENTRY_RULES, parametersHash, RoundParameters } from '#lib/draw/parameters.ts';
import { extendRunningHash } from '#lib/draw/round-leaf.ts';
import { verifyStatement } from '#lib/draw/statements.ts';
import { sql } from '#test/support/areas/boards.ts';
import { entriesOf, openRound, sendMessage } from '#test/support/areas/chat.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { NEW_ID } from '#test/support/database.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
});
afterAll(() => t?.close());

/** Signs in a new wallet that holds an amount of the reward token. */
async function holder(reward: bigint): Promise<SignedIn> {
  const keys = await t.chain.fundWallet({ reward });
  const sign = (bytes: Uint8Array) => ed25519.sign(bytes, keys.secretKey.subarray(0, 32));
  return await signIn(t, { address: keys.publicKey.toBase58(), publicKey: keys.publicKey.toBytes(), sign });
}

const enter = async (player: Pick<SignedIn, 'fetch'>): Promise<[number, string | undefined]> => {
  const { status, body } = await sendMessage(player, '!enter');
  return [status, body.error];
};

test('each receipt has the hash of the parameters and continues the running hash of the entries before it', async () => {
  const round = await openRound(t);
  const [stored] = await sql<{ parameters: unknown }>(t.app, 'select parameters from rounds where id = $1', [round]);
  const hash = parametersHash(RoundParameters.parse(stored?.parameters));
  let running = hash;
  for (let i = 0; i < 4; i++) {
    const { body } = await sendMessage(await signIn(t), '!enter');
    const receipt = body.entry?.receipt;
    if (!receipt) throw new Error('there is no receipt');
    running = toHex(extendRunningHash(fromHex(running), fromHex(receipt.statement.leaf)));
    expect(receipt.statement).toMatchObject({ round, index: i, parametersHash: hash, runningHash: running });
    expect(verifyStatement(receiptKey(t.app).publicKey, receipt)).toBe(true);
  }
  expect(await sql(t.app, `select encode(running_hash, 'hex') as hash from rounds where id = $1`, [round])).toEqual([{ hash: running }]);
});

test('the times of entries never decrease, also when the clock is set back', async () => {
  const round = await openRound(t);
  await sendMessage(await signIn(t), '!enter');
  await t.clock.set(new Date(Date.now() - 60_000));
  try {
    await sendMessage(await signIn(t), '!enter');
  } finally {
    await t.clock.set(new Date());
  }
  const [first, second] = await entriesOf(t.app, round);
  expect(second?.at).toBe(first?.at);
});

test('a round with a minimum balance takes entries of wallets that hold it, and refuses other wallets with the rule', async () => {
  const mint = t.chain.keys.rewardMint.publicKey.toBase58();
  await openRound(t, { entryRules: { ...NO_ENTRY_RULES, minTokenBalance: { amount: '500', mint } } });
  const rich = await holder(500n);
  const poor = await holder(499n);
  // A process may know for a moment only the rules of the round before.
  await retryUntilPass(async () => expect((await enter(rich))[0]).toBe(201));
  expect(await enter(poor)).toEqual([403, `minTokenBalance: the wallet must hold at least 500 base units of ${mint}`]);
  expect(await enter(await signIn(t))).toEqual([403, `minTokenBalance: the wallet must hold at least 500 base units of ${mint}`]);
  const later = await signIn(t);
  const fault = await t.chain.control.fault({ kind: 'fail', methods: ['getTokenAccountsByOwner'] });
  expect((await enter(later))[0]).toBe(503);
  await fault.clear();
  // A message that is no entry needs no balance.
  expect((await sendMessage(poor, 'hello')).status).toBe(201);
});

test('a round with a minimum of accepted scores counts only accepted scores of the wallet', async () => {
  await openRound(t, { entryRules: { ...NO_ENTRY_RULES, minAcceptedScores: 2 } });
  const player = await signIn(t);
  const score = (status: string) =>
    sql(
      t.app,
      `insert into scores (id, wallet, game_id, game_version, body_hash, score, normalized, points, personal_best, status, mode, day, at)
       values (${NEW_ID}, $1, 'alpha', 1, '', 1, 1, 0, false, $2, 'regular', app_day(), app_now())`,
      [player.wallet, status],
    );
  await score('accepted');
  await score('held');
  expect(await enter(player)).toEqual([403, 'minAcceptedScores: the wallet must have at least 2 accepted scores']);
  await score('accepted');
  expect((await enter(player))[0]).toBe(201);
});

test('a round for linked accounts takes only wallets that linked an account of the network before the round opened', async () => {
  const [early, late, other] = [await signIn(t), await signIn(t), await signIn(t)];
  const link = (player: SignedIn, platform: string) =>
    t.app.tx((tx) => linkAccount(tx, { platform, accountId: `account of ${player.wallet}`, handle: 'someone', wallet: player.wallet }));
  await link(early, 'x');
  await link(other, 'twitch');
  await openRound(t, { entryRules: { ...NO_ENTRY_RULES, linkedAccount: 'x' } });
  await link(late, 'x');
  expect((await enter(early))[0]).toBe(201);
  const refused = [403, 'linkedAccount: the wallet must have linked an account of x before the round opened'];
  expect(await enter(late)).toEqual(refused);
  expect(await enter(other)).toEqual(refused);
});

test('a round for early players takes only wallets that signed in before the time', async () => {
  const early = await signIn(t);
  const signedInBefore = new Date(t.clock.now().getTime()).toISOString();
  const late = await signIn(t);
  await openRound(t, { entryRules: { ...NO_ENTRY_RULES, signedInBefore } });
  expect((await enter(early))[0]).toBe(201);
  expect(await enter(late)).toEqual([403, `signedInBefore: the wallet must have signed in before ${signedInBefore}`]);
});

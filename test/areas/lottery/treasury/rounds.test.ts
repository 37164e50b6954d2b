import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import { readHoldings, readObligations, readOutflowMarker, readReserved } from '#areas/lottery/treasury.ts';
import { createPayments } from '#areas/payouts';
import { newId } from '#lib/ids.ts';
import { pendingSpends, signAndSend } from '#platform/solana/submission/index.ts';
import { sql } from '#test/support/areas/boards.ts';
import { addTickets, createRound, endActive, enter, LONG_SEC, openLegacy, startRound } from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { asAdmin, startRoundsTest } from '#test/support/areas/rounds.ts';
import { insertComputedEpoch, type RewardsTest } from '#test/support/solana/claims.ts';
import { createWallet, send } from '#test/support/wallet.ts';
import { transactionTypes } from '#workers/transaction-types.ts';

let t: RewardsTest;
beforeAll(async () => {
  // No workers run, so that nothing is paid or drawn and the obligations stay the same.
  t = await startRoundsTest({ workers: false, env: { DAILY_REWARD_LIMIT: '1000000000000000000' } });
});
afterAll(() => t?.close());
beforeEach(() => endActive(t));

/** Returns the treasury's free balance of a currency: holdings minus obligations. */
async function free(currency: 'usdc' | 'reward'): Promise<bigint> {
  const marker = await readOutflowMarker(t.app);
  return (await readHoldings(t.app))[currency] - (await readObligations(t.app, t.app.db, currency, marker));
}

async function start(id: string): Promise<[number, string | undefined]> {
  const response = await send(t, `/chat/round/${id}/start`, { method: 'POST', headers: asAdmin });
  return [response.status, ((await response.json()) as { error?: string }).error];
}
const roundOf = (...prizes: [amount: bigint, mint: 'usdc' | 'reward'][]) =>
  createRound(t, { durationSec: LONG_SEC, prizes: prizes.map(([amount, mint]) => ({ amount: String(amount), mint })) });

/** Creates a payment to a new wallet. @returns the payment's id */
async function debt(amount: bigint, currency: 'usdc' | 'reward' = 'usdc'): Promise<string> {
  const [owed] = await t.app.tx((tx) =>
    createPayments(t.app, tx, [{ wallet: createWallet().address, currency, amount, cause: { kind: 'test', id: newId() } }]),
  );
  if (!owed) throw new Error('no payment was created');
  return owed.id;
}

/** Closes the active round with one entry, so that its prizes stay reserved. */
async function freeze(id: string): Promise<void> {
  await enter(t, 1);
  await t.app.tx((tx) => closeRound(t.app, tx, id));
}

test('a round starts only if the treasury’s free balance covers its prizes, exact to one base unit', async () => {
  const [usdc, reward] = [await free('usdc'), await free('reward')];
  const half = reward / 2n;
  const tooMuch = await roundOf([1n, 'usdc'], [half, 'reward'], [reward - half + 1n, 'reward']);
  const refused = await start(tooMuch.id);
  expect(refused).toEqual([
    409,
    `the prizes need ${reward + 1n} base units of reward; the treasury has ${reward} base units that are not reserved or owed`,
  ]);
  const round = await roundOf([usdc, 'usdc'], [half, 'reward'], [reward - half, 'reward']);
  expect(await start(round.id)).toEqual([200, undefined]);
  expect([await free('usdc'), await free('reward')]).toEqual([0n, 0n]);
  // The round has no entries and becomes void, so its reservation ends.
  await endActive(t);
  expect([await free('usdc'), await free('reward')]).toEqual([usdc, reward]);
});

test('the prizes of an undrawn round and pending payments reduce the free balance', async () => {
  const before = await free('usdc');
  const round = await startRound(t, { durationSec: LONG_SEC, prizes: [{ amount: '1000', mint: 'usdc' }] });
  await freeze(round.id);
  expect(await free('usdc')).toBe(before - 1_000n);
  await debt(500n);
  expect(await free('usdc')).toBe(before - 1_500n);
  const other = await roundOf([before - 1_499n, 'usdc']);
  expect((await start(other.id))[0]).toBe(409);
});

test('the ticket prices of an open legacy round are reserved for its winner', async () => {
  const before = { usdc: await readReserved(t.app.db, 'usdc'), reward: await readReserved(t.app.db, 'reward') };
  await addTickets(t, await openLegacy(t, '70'), 3);
  expect(await readReserved(t.app.db, 'usdc')).toBe(before.usdc + 210n);
  expect(await readReserved(t.app.db, 'reward')).toBe(before.reward);
});

test('a payment that completed after the outflow marker still counts as an obligation', async () => {
  const id = await debt(900n);
  const before = await readOutflowMarker(t.app);
  const owed = await readObligations(t.app, t.app.db, 'usdc', before);
  await sql(t.app, `update payments set state = 'completed', signature = 'test', completed_at = app_now() where id = $1`, [id]);
  expect(await readObligations(t.app, t.app.db, 'usdc', before)).toBe(owed);
  expect(await readObligations(t.app, t.app.db, 'usdc', await readOutflowMarker(t.app))).toBe(owed - 900n);
});

const transactionOf = async (epoch: number) => {
  const [row] = await sql<{ id: string; state: string; error: { message: string } | null }>(
    t.app,
    `select id::text, state, error from chain_transactions where kind = 'epoch-root' and subject = $1`,
    [String(epoch)],
  );
  if (!row) throw new Error(`epoch ${epoch} has no transaction`);
  return row;
};

test('an epoch that was composed before a round started cannot be signed with the tokens of that round’s prizes', async () => {
  const rest = await free('reward');
  await insertComputedEpoch(t.app, 20_002, [[createWallet().address, rest]]);
  const root = transactionTypes.get('epoch-root');
  const draft = await root?.compose(t.app, '20002');
  if (draft?.do !== 'sign') throw new Error(JSON.stringify(draft));
  const sign = () => t.app.tx(async (tx) => await root?.signed?.(tx, [{ subject: '20002', signature: 'test', draft }]));
  await sign();
  await startRound(t, { durationSec: LONG_SEC, prizes: [{ amount: '1', mint: 'reward' }] });
  await expect(sign()).rejects.toThrow('were reserved for a round or payment at the same time');
});

test('a reward epoch cannot use reserved or owed tokens, and a round cannot use tokens of an in-flight epoch', async () => {
  const round = await startRound(t, { durationSec: LONG_SEC, prizes: [{ amount: '1000', mint: 'reward' }] });
  await freeze(round.id);
  await debt(200n, 'reward');
  const rest = await free('reward');
  await insertComputedEpoch(t.app, 20_000, [[createWallet().address, rest + 1n]]);
  const waits = await transactionOf(20_000);
  await signAndSend(t.app, transactionTypes, waits.id);
  expect(await transactionOf(20_000)).toMatchObject({
    state: 'queued',
    error: { message: expect.stringContaining('are not reserved for rounds or payments') },
  });

  await insertComputedEpoch(t.app, 20_001, [[createWallet().address, rest - 10n]]);
  await signAndSend(t.app, transactionTypes, (await transactionOf(20_001)).id);
  expect((await transactionOf(20_001)).state).toBe('live');
  const mint = t.chain.keys.rewardMint.publicKey.toBase58();
  expect(await pendingSpends(t.app.db, mint, { name: 'payout-batch' })).toMatchObject([{ amount: rest - 10n }]);
  // The epoch's transaction has landed but is not recorded. Until it is, its amount is missing in the balance and is also subtracted from it.
  await retryUntilPass(async () => expect(await free('reward')).toBeLessThanOrEqual(10n));
  expect((await start((await roundOf([11n, 'reward'])).id))[0]).toBe(409);
});

test('a refused start names the free balance, which is 0 while the treasury owes more than it holds', async () => {
  const { id } = await roundOf([2n, 'usdc']);
  const refused = (available: bigint) => [
    ...[409, `the prizes need 2 base units of usdc; the treasury has ${available} base units that are not reserved or owed`],
  ];
  await debt((await free('usdc')) - 1n);
  expect(await start(id)).toEqual(refused(1n));
  await debt(5n);
  expect(await start(id)).toEqual(refused(0n));
});

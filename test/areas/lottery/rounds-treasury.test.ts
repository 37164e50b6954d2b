import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import { momentBefore, promised, readHoldings, reserved } from '#areas/lottery/reserve.ts';
import { owe } from '#areas/payouts';
import { parametersHash } from '#lib/draw/parameters.ts';
import { newId } from '#lib/ids.ts';
import { signAndSend, spendsUnderway } from '#platform/solana/submission/transactions.ts';
import { sql } from '#test/support/areas/boards.ts';
import { describeRound, endActive, enter, startRound } from '#test/support/areas/draws.ts';
import { eventually } from '#test/support/areas/player.ts';
import { asAdmin, startRoundsTest } from '#test/support/areas/rounds.ts';
import { makeEpoch, type RewardsTest } from '#test/support/solana/claims.ts';
import { createWallet, send } from '#test/support/wallet.ts';
import { transactionTypes } from '#workers/transaction-types.ts';

let t: RewardsTest;
beforeAll(async () => {
  // Nobody pays or draws, so that what is promised stays so.
  t = await startRoundsTest({ workers: false, env: { DAILY_REWARD_LIMIT: '1000000000000000000' } });
});
afterAll(() => t?.close());
beforeEach(() => endActive(t));

/** What the treasury holds of a currency that is promised to nobody. */
async function free(currency: 'usdc' | 'reward'): Promise<bigint> {
  const since = await momentBefore(t.app);
  return (await readHoldings(t.app))[currency] - (await promised(t.app, t.app.db, currency, since));
}

async function start(id: string): Promise<[number, string | undefined]> {
  const response = await send(t, `/chat/round/${id}/start`, { method: 'POST', headers: asAdmin });
  return [response.status, ((await response.json()) as { error?: string }).error];
}
const roundOf = (...prizes: [amount: bigint, mint: 'usdc' | 'reward'][]) =>
  describeRound(t, { durationSec: 600, prizes: prizes.map(([amount, mint]) => ({ amount: String(amount), mint })) });

/** Owes somebody something. @returns the payment's id */
async function debt(amount: bigint, currency: 'usdc' | 'reward' = 'usdc'): Promise<string> {
  const [owed] = await t.app.tx((tx) => owe(t.app, tx, [{ wallet: createWallet().address, currency, amount, cause: { kind: 'test', id: newId() } }]));
  if (!owed) throw new Error('nothing is owed');
  return owed.id;
}

/** Closes the active round with entries, so that its prizes stay reserved; nobody draws it. */
async function freeze(id: string): Promise<void> {
  await enter(t, 1);
  await t.app.tx((tx) => closeRound(tx, id));
}

test('what the treasury does not hold is promised to nobody, to the last unit', async () => {
  const [usdc, reward] = [await free('usdc'), await free('reward')];
  const half = reward / 2n;
  const tooMuch = await roundOf([1n, 'usdc'], [half, 'reward'], [reward - half + 1n, 'reward']);
  const refused = await start(tooMuch.id);
  expect(refused).toEqual([
    409,
    `the prizes need ${reward + 1n} base units of reward, and the treasury has ${reward} that are neither reserved nor owed`,
  ]);
  const round = await roundOf([usdc, 'usdc'], [half, 'reward'], [reward - half, 'reward']);
  expect(await start(round.id)).toEqual([200, undefined]);
  expect([await free('usdc'), await free('reward')]).toEqual([0n, 0n]);
  // Nobody enters: nothing is reserved any more.
  await endActive(t);
  expect([await free('usdc'), await free('reward')]).toEqual([usdc, reward]);
});

test('prizes stay reserved while a round is not drawn, and what is owed is not there for prizes', async () => {
  const before = await free('usdc');
  const round = await startRound(t, { durationSec: 600, prizes: [{ amount: '1000', mint: 'usdc' }] });
  await freeze(round.id);
  expect(await free('usdc')).toBe(before - 1_000n);
  await debt(500n);
  expect(await free('usdc')).toBe(before - 1_500n);
  const other = await roundOf([before - 1_499n, 'usdc']);
  expect((await start(other.id))[0]).toBe(409);
});

test('tickets of legacy rounds are reserved for their winner', async () => {
  const before = { usdc: await reserved(t.app.db, 'usdc'), reward: await reserved(t.app.db, 'reward') };
  const id = newId();
  const opensAt = t.clock.now().toISOString();
  const closesAt = new Date(t.clock.now().getTime() + 600_000).toISOString();
  const address = t.chain.keys.treasury.publicKey.toBase58();
  const parameters = {
    ...{ version: 1 as const, kind: 'legacy' as const, round: id, ticketPrice: '70', mint: address, treasury: address },
    ...{ maxTickets: null, leadSec: 3, marginSec: 1, opensAt, closesAt },
  };
  await sql(
    t.app,
    `insert into rounds (id, kind, state, created_by, ticket_price, parameters, parameters_hash, opens_at, closes_at, entries)
     values ($1, 'legacy', 'active', 'test', 70, $2, $3, $4, $5, 3)`,
    [id, JSON.stringify(parameters), parametersHash(parameters), opensAt, closesAt],
  );
  expect(await reserved(t.app.db, 'usdc')).toBe(before.usdc + 210n);
  expect(await reserved(t.app.db, 'reward')).toBe(before.reward);
});

test('what was paid since a balance was read counts as owed: it may still be in that balance', async () => {
  const id = await debt(900n);
  const before = await momentBefore(t.app);
  const owed = await promised(t.app, t.app.db, 'usdc', before);
  await sql(t.app, `update payments set state = 'completed', signature = 'test', completed_at = app_now() where id = $1`, [id]);
  expect(await promised(t.app, t.app.db, 'usdc', before)).toBe(owed);
  expect(await promised(t.app, t.app.db, 'usdc', await momentBefore(t.app))).toBe(owed - 900n);
});

const transactionOf = async (epoch: number) => {
  const [row] = await sql<{ id: string; state: string; error: { message: string } | null }>(
    t.app,
    `select id::text, state, error from chain_transactions where kind = 'epoch-root' and subject = $1`,
    [String(epoch)],
  );
  if (!row) throw new Error(`nobody asked for epoch ${epoch}`);
  return row;
};

test('an epoch that was composed before a round was started is not signed for what the round’s prizes need', async () => {
  const rest = await free('reward');
  await makeEpoch(t.app, 20_002, [[createWallet().address, rest]]);
  const root = transactionTypes.get('epoch-root');
  const draft = await root?.compose(t.app, '20002');
  if (draft?.do !== 'sign') throw new Error(JSON.stringify(draft));
  const sign = () => t.app.tx(async (tx) => await root?.signed?.(tx, { subject: '20002', signature: 'test', draft }));
  await sign();
  await startRound(t, { durationSec: 600, prizes: [{ amount: '1', mint: 'reward' }] });
  await expect(sign()).rejects.toThrow('promised to others');
});

test('a reward epoch is not funded out of what is reserved or owed, and no round out of what an epoch takes', async () => {
  const round = await startRound(t, { durationSec: 600, prizes: [{ amount: '1000', mint: 'reward' }] });
  await freeze(round.id);
  await debt(200n, 'reward');
  const rest = await free('reward');
  await makeEpoch(t.app, 20_000, [[createWallet().address, rest + 1n]]);
  const waits = await transactionOf(20_000);
  await signAndSend(t.app, transactionTypes, waits.id);
  expect(await transactionOf(20_000)).toMatchObject({ state: 'queued', error: { message: expect.stringContaining('neither reserved') } });

  await makeEpoch(t.app, 20_001, [[createWallet().address, rest - 10n]]);
  await signAndSend(t.app, transactionTypes, (await transactionOf(20_001)).id);
  expect((await transactionOf(20_001)).state).toBe('live');
  const mint = t.chain.keys.rewardMint.publicKey.toBase58();
  expect(await spendsUnderway(t.app.db, mint, { name: 'payout-batch' })).toMatchObject([{ amount: rest - 10n }]);
  // Landed, and nobody has recorded it: then it is missing in the balance and taken from it once more, until somebody has.
  await eventually(async () => expect(await free('reward')).toBeLessThanOrEqual(10n));
  expect((await start((await roundOf([11n, 'reward'])).id))[0]).toBe(409);
});
